"""Models of texts and images in a model file: a machine, and what else they have learned."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import __version__
from ..core.decoding import expect, expect_integer, expect_keys, expect_type
from ..core.parameters import OPTIONS
from ..core.patches import PatchGrid
from ..machine import Machine
from .container import Tensors, check_header_text, pack
from .decode import MAX_VERSION
from .errors import not_saveable
from .parameters import MAX_COUNT, plain
from .snapshots import decode_snapshot, encode_snapshot
from .upgrade import FORMAT

#: The classes of such files.
MACHINE_MODELS = ("CoTMEmbedding", "CoTMImageToImage", "CoTMLanguageModel")
#: The fields of their header.
FIELDS = (
    "format",
    "cotm",
    "class",
    "parameters",
    "machine",
    "seed",
    "step",
    "vocabulary",
    "history",
    "data",
    "extra",
)
#: Begins the names of the tensors that a class adds.
EXTRA = "extra."


@dataclass(frozen=True)
class SavedMachineModel:
    """Such a fitted model without its class, which this package does not know."""

    kind: str
    parameters: dict[str, Any]  # the constructor's
    machine: Machine
    history: tuple[dict[str, float], ...]  # of the epochs
    data: str  # what tells the training data from others
    vocabulary: tuple[str, ...] = ()  # of models of texts
    extra: dict[str, Any] = field(default_factory=dict)
    arrays: Tensors = field(default_factory=dict)
    format: int = FORMAT
    version: str = __version__


def pack_machine_model(saved: SavedMachineModel) -> bytes:
    """The bytes of a file with such a model."""
    machine, state = saved.machine, saved.machine.snapshot()
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": saved.kind,
        "parameters": {name: plain(value) for name, value in saved.parameters.items()},
        "machine": {name: getattr(machine.parameters, name) for name in OPTIONS},
        "seed": machine.seed_,
        "step": state.step,
        "vocabulary": list(saved.vocabulary),
        "history": list(saved.history),
        "data": saved.data,
        "extra": saved.extra,
    }
    tensors = encode_snapshot(state, "")
    tensors |= {EXTRA + name: array for name, array in saved.arrays.items()}
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    try:
        text = json.dumps(header)
        check_header_text(text)
        decode_machine_model(json.loads(text), tensors)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise not_saveable(error) from error
    return pack(text, tensors)


def decode_machine_model(header: dict[str, Any], tensors: Tensors) -> SavedMachineModel:
    """The model that was saved. Header and tensors may be hostile."""
    expect_keys(header, FIELDS, "the header of a model of texts or images")
    expect_integer(header, "format", FORMAT, FORMAT)
    version = expect_type(header["cotm"], str, "cotm")
    expect(len(version) <= MAX_VERSION, f"cotm is {version!r:.100}")
    parameters = expect_type(header["parameters"], dict, "parameters")
    seed = expect_integer(header, "seed", 0, 2**64 - 1)
    vocabulary = expect_type(header["vocabulary"], list, "vocabulary")
    expect(all(type(word) is str for word in vocabulary), "vocabulary holds what is no text")
    expect(len(set(vocabulary)) == len(vocabulary), "vocabulary repeats itself")
    history = expect_type(header["history"], list, "history")
    for record in history:
        expect_keys(record, ("epoch", "train_accuracy", "seconds"), "an epoch's record")
        expect_integer(record, "epoch", 1, MAX_COUNT)
        expect(all(type(record[name]) in (int, float) for name in record), "a record is no number")
    options = expect_type(header["machine"], dict, "machine")
    expect_keys(options, OPTIONS, "machine")
    machine = Machine(**options, n_jobs=parameters.get("n_jobs"), random_state=seed)
    expect("memory" in tensors and "weights" in tensors, "the state is missing")
    memory, weights = tensors["memory"], tensors["weights"]
    expect(memory.ndim == weights.ndim == 2 and memory.shape[1] >= 2, "the state has no rows")
    grid = PatchGrid.flat(memory.shape[1] // 2)
    state = decode_snapshot(machine, grid, weights.shape[1], tensors, "", header["step"])
    machine.load_state(grid, state)
    return SavedMachineModel(
        kind=header["class"],
        parameters=parameters,
        machine=machine,
        history=tuple(history),
        data=expect_type(header["data"], str, "data"),
        vocabulary=tuple(vocabulary),
        extra=expect_type(header["extra"], dict, "extra"),
        arrays={n.removeprefix(EXTRA): a for n, a in tensors.items() if n.startswith(EXTRA)},
        version=version,
    )
