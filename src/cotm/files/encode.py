"""A model as the header and tensors of a file of the latest format; see ``docs/files.md``."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .. import __version__
from .classes import encode_classes, encode_columns
from .compression import encode_compression
from .container import Tensors
from .edits import encode_edits
from .inputs import encode_bit_features, encode_reader
from .parameters import (
    LEARNING_OPTIONS,
    OPTIONS,
    READER_PARAMETERS,
    plain_parameters,
    says_no_value,
)
from .progress import encode_progress
from .quantities import ERRORS, encode_scaling
from .saved_model import SavedModel
from .snapshots import BEST, encode_snapshot
from .texts import fold
from .upgrade import FORMAT

#: Parameters that a file holds as the trained machine has them, whatever was set since.
MACHINE_PARAMETERS = (*LEARNING_OPTIONS, "weighted", "backend", "n_jobs")


def encode(saved: SavedModel) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors; a TypeError or ValueError says what of the model no file can hold."""
    if saved.kind not in OPTIONS:
        raise TypeError(f"a {saved.kind} cannot be saved; models are {' or '.join(OPTIONS)}")
    fitted = saved.fitted
    machine, progress = fitted.machine, fitted.progress
    state = machine.snapshot()
    tensors = encode_snapshot(state, "")
    if progress.best is not None:
        tensors |= encode_snapshot(progress.best, BEST)
    if fitted.errors is not None:
        tensors[ERRORS] = fitted.errors
    edits, edited_tensors = encode_edits(fitted.edits)
    tensors |= edited_tensors
    reader_fields, reader_tensors = encode_reader(fitted.reader)
    tensors |= reader_tensors
    classes, classes_type = encode_classes(fitted.classes)
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": saved.kind,
        "parameters": plain_parameters(_parameters_in_use(saved)),
        "classes": classes,
        "classes_type": classes_type,
        "multilabel": bool(fitted.multilabel),
        **reader_fields,
        "T": machine.parameters.T,
        "e": machine.parameters.e,
        "scheduled": _options_in_use(saved),
        "seed": machine.seed_,
        "step": state.step,
        "best_step": None if progress.best is None else progress.best.step,
        **encode_progress(progress),
        "sharpness": fitted.sharpness.value(),
        "preset": fitted.preset,
        "scaling": encode_scaling(fitted.scaling),
        "edits": edits,
        "compression": encode_compression(fitted.compression),
        "label_columns": encode_columns(fitted.columns),
        **encode_bit_features(fitted.reader),
    }
    header, texts = fold(header)
    tensors |= texts
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _options_in_use(saved: SavedModel) -> dict[str, Any]:
    """What the machine has of the options whose parameters do not say it, but for T and e."""
    names = [name for name in LEARNING_OPTIONS if says_no_value(name, saved.parameters[name])]
    return {name: getattr(saved.fitted.machine, name) for name in names if name not in ("T", "e")}


def _parameters_in_use(saved: SavedModel) -> dict[str, Any]:
    """The parameters that trained the machine, where others have been set since."""
    machine, reader = saved.fitted.machine, saved.fitted.reader
    in_use = {name: getattr(machine, name) for name in MACHINE_PARAMETERS}
    in_use |= {name: getattr(reader, name) for name in READER_PARAMETERS}
    in_use["constraints"] = saved.fitted.edits.constraints
    if len(reader.stride) == 1:
        in_use["stride"] = reader.stride[0]
    for name, value in saved.parameters.items():
        if says_no_value(name, value):
            in_use[name] = value  # the header has what came of it
    if isinstance(saved.parameters["random_state"], numbers.Integral):
        in_use["random_state"] = machine.seed_
    return {
        name: in_use[name] if name in in_use else saved.parameters[name]
        for name in sorted(OPTIONS[saved.kind])
    }
