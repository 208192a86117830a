"""The header and tensors of a file as a model; everything in them is checked."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..core.checks import check_choice
from ..core.decoding import UnknownError, expect, expect_integer, expect_keys, expect_type
from ..core.limits import MAX_T
from ..machine import Machine
from ..model.constraints import Constraints
from ..model.fitted import Fitted
from ..model.inputs import QUANTITY_BITS
from ..model.presets import PRESETS
from ..model.probabilities import Sharpness
from .classes import decode_classes, decode_columns
from .compression import decode_compression
from .container import Tensors
from .edits import TENSORS as EDITED
from .edits import check_constraints, decode_edits
from .encode import MACHINE_PARAMETERS
from .inputs import BOOLEANIZER, decode_booleanizer, decode_reader
from .parameters import KINDS, LEARNING_OPTIONS, decode_parameters, says_no_value
from .progress import decode_progress
from .quantities import ERRORS, decode_errors, decode_names, decode_scaling
from .saved_model import SavedModel
from .snapshots import BEST, TENSORS, decode_snapshot
from .texts import IN_TENSORS, unfold
from .upgrade import upgrade

#: The fields of a header of the latest format; ``bit_features`` may be missing.
FIELDS = (
    "format",
    "cotm",
    "class",
    "parameters",
    "classes",
    "classes_type",
    "multilabel",
    "n_features_in",
    "feature_names_in",
    "booleanizer",
    "example_shape",
    "grid",
    "T",
    "e",
    "scheduled",
    "seed",
    "step",
    "best_step",
    "history",
    "target",
    "patience_from",
    "scored_from",
    "data",
    "sharpness",
    "preset",
    "scaling",
    "edits",
    "compression",
    "label_columns",
    "bit_features",
)
MAX_VERSION = 100


def decode(header: dict[str, Any], tensors: Tensors) -> SavedModel:
    """The model that was saved. Header and tensors may be hostile, and of an earlier format."""
    file_format: Any = header.get("format")
    header, tensors = upgrade(header, tensors)
    _check_names(header, tensors)
    header, tensors = unfold(header, tensors)
    for tensor in tensors.values():
        tensor.flags.writeable = False
    saved = decode_header(header, decode_booleanizer(header["booleanizer"], tensors))
    fitted = _with_state(saved.fitted, header, tensors, saved.parameters["constraints"])
    return dataclasses.replace(saved, fitted=fitted, format=file_format)


def _check_names(header: dict[str, Any], tensors: Tensors) -> None:
    """Only a newer version can have written a field or tensor that this one does not know."""
    for name in header:
        if name not in FIELDS:
            raise UnknownError(f"field {name!r:.100} is unknown")
    for name in FIELDS:
        expect(name in header or name == "bit_features", f"field {name!r} is missing")
    for name in tensors:
        if name not in (*TENSORS, *EDITED, ERRORS) and not name.startswith(
            (BOOLEANIZER, f"{IN_TENSORS}.")
        ):
            raise UnknownError(f"tensor {name!r:.100} is unknown")


def decode_header(header: dict[str, Any], booleanizer: Any) -> SavedModel:
    """A model whose machine has no state yet, from an unfolded header of the latest format.

    Every field is checked, and those that depend on each other together.
    """
    kind, version = header["class"], expect_type(header["cotm"], str, "cotm")
    expect(len(version) <= MAX_VERSION, f"cotm is {version!r:.100}")
    parameters = decode_parameters(kind, header["parameters"], booleanizer)
    multilabel = expect_type(header["multilabel"], bool, "multilabel")
    sharpness = header["sharpness"]
    expect(
        sharpness is None or (type(sharpness) is float and 0 < sharpness < 1e9),
        f"sharpness is {sharpness!r:.100}",
    )
    scaling = decode_scaling(header["scaling"], header["classes"])
    regression = KINDS[kind].get("regression", False)
    expect((scaling is not None) == regression, "its scaling does not fit its class")
    expect(not (multilabel and regression), "quantities are no labels")
    columns = decode_columns(header["label_columns"], header["classes"], header["classes_type"])
    expect(columns is None or not (multilabel or regression), "columns of labels are no quantities")
    reader = decode_reader(kind, parameters, header, booleanizer)
    reader.number_bits = QUANTITY_BITS if regression else None
    fitted = Fitted(
        reader=reader,
        classes=columns.outputs
        if columns is not None
        else decode_names(header["classes"], header["classes_type"])
        if regression
        else decode_classes(header["classes"], header["classes_type"], multilabel),
        multilabel=multilabel,
        machine=_decode_machine(kind, parameters, header),
        progress=decode_progress(header),
        sharpness=Sharpness(sharpness),
        preset=str(check_choice("preset", header["preset"], tuple(PRESETS))),
        scaling=scaling,
        compression=decode_compression(header["compression"]),
        columns=columns,
    )
    return SavedModel(kind, parameters, fitted, version=version)


def _decode_machine(kind: str, parameters: dict[str, Any], header: dict[str, Any]) -> Machine:
    """A machine without state.

    T and e are in the header as the machine used them. Among the parameters they are what the
    user set: "auto", a Schedule, or the same values once more. So are others that are no values.
    """
    in_use = {"T": expect_integer(header, "T", 1, MAX_T), "e": header["e"]}
    left = {name for name in LEARNING_OPTIONS if says_no_value(name, parameters[name])}
    expect_keys(header["scheduled"], left - {"T", "e"}, "scheduled")
    in_use |= header["scheduled"]
    for name, value in in_use.items():
        given = parameters[name]
        expect(
            name in left or (type(given) is type(value) and given == value),
            f"{name} is {value!r:.100}, but the parameter {given!r:.100}",
        )
    return Machine(
        **{name: parameters[name] for name in MACHINE_PARAMETERS if name in parameters} | in_use,
        patch_shape=parameters["patch_shape"],
        stride=parameters["stride"],
        **KINDS[kind],
        random_state=expect_integer(header, "seed", 0, 2**64 - 1),
    )


def _with_state(
    fitted: Fitted, header: dict[str, Any], tensors: Tensors, constraints: Constraints | None
) -> Fitted:
    """The same with the states that the tensors hold."""
    machine, grid, m = fitted.machine, fitted.reader.grid, len(fitted.classes)
    assert grid is not None
    state = decode_snapshot(machine, grid, m, tensors, "", header["step"])
    machine.load_state(grid, state)
    best = None
    if header["best_step"] is not None:
        best = decode_snapshot(machine, grid, m, tensors, BEST, header["best_step"])
        best = machine.adapt(best)
    else:
        surplus = sorted(name for name in tensors if name.startswith(BEST))
        expect(not surplus, f"it holds {surplus}, but no best_step")
    progress = dataclasses.replace(fitted.progress, step=state.step, best=best)
    errors = None if ERRORS not in tensors else decode_errors(tensors[ERRORS], fitted)
    edits = decode_edits(header["edits"], tensors, machine, state, constraints)
    fitted = dataclasses.replace(fitted, progress=progress, errors=errors, edits=edits)
    check_constraints(fitted)
    return fitted
