"""A model as the header and tensors of a file of the latest format; see ``docs/files.md``."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .. import __version__
from ..model.schedules import Schedule
from .classes import encode_classes
from .container import Tensors
from .inputs import encode_bit_features, encode_reader
from .parameters import (
    LEARNING_OPTIONS,
    OPTIONS,
    READER_PARAMETERS,
    SCHEDULED,
    plain_parameters,
)
from .progress import encode_progress
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
        "scheduled": _scheduled_in_use(saved),
        "seed": machine.seed_,
        "step": state.step,
        "best_step": None if progress.best is None else progress.best.step,
        **encode_progress(progress),
        "sharpness": fitted.sharpness.value(),
        **encode_bit_features(fitted.reader),
    }
    header, texts = fold(header)
    tensors |= texts
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _scheduled_in_use(saved: SavedModel) -> dict[str, Any]:
    """What the machine has of the options that change from epoch to epoch, but for T."""
    names = [name for name in SCHEDULED if isinstance(saved.parameters[name], Schedule)]
    return {name: getattr(saved.fitted.machine, name) for name in names if name != "T"}


def _parameters_in_use(saved: SavedModel) -> dict[str, Any]:
    """The parameters that trained the machine, where others have been set since."""
    machine, reader = saved.fitted.machine, saved.fitted.reader
    in_use = {name: getattr(machine, name) for name in MACHINE_PARAMETERS}
    in_use |= {name: getattr(reader, name) for name in READER_PARAMETERS}
    if len(reader.stride) == 1:
        in_use["stride"] = reader.stride[0]
    for name, value in saved.parameters.items():
        if isinstance(value, Schedule) or (name in ("T", "e") and isinstance(value, str)):
            in_use[name] = value  # the header has what came of it
    if isinstance(saved.parameters["random_state"], numbers.Integral):
        in_use["random_state"] = machine.seed_
    return {
        name: in_use[name] if name in in_use else saved.parameters[name]
        for name in sorted(OPTIONS[saved.kind])
    }
