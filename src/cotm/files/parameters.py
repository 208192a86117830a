"""A classifier's parameters in a model file: plain numbers, texts and lists."""

from __future__ import annotations

import json
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.base import clone

from ..augmentation import Augmentation
from ..backends import check_backend
from ..core import parameters as learning
from ..core.checks import check_flag, check_integer, check_number
from ..core.decoding import UnknownError, expect, expect_keys
from ..model.presets import check_preset, is_left
from ..model.schedules import Schedule
from .edits import constraints_from, plain_constraints

#: The learning options, as the trained machine has them, whatever was set since.
LEARNING_OPTIONS = tuple(name for name, o in learning.OPTIONS.items() if not o.is_kind)
#: Those among them that may change from epoch to epoch.
SCHEDULED = tuple(name for name in LEARNING_OPTIONS if learning.OPTIONS[name].scheduled)
_OPTIONS = (
    *LEARNING_OPTIONS,
    "augment",
    "backend",
    "booleanize",
    "class_weight",
    "constraints",
    "early_stopping",
    "epochs",
    "image_shape",
    "n_jobs",
    "patch_shape",
    "patience",
    "preset",
    "random_state",
    "scoring",
    "shuffle",
    "stride",
    "validation_fraction",
    "verbose",
    "warm_start",
)
#: The classes that a model can be of, and the parameters that a file holds of each. Callbacks
#: are left out: they are code, which a file must not bring. One that is added here needs a line
#: in ``upgrade.LATER_OPTIONS``, since earlier files do not have it.
OPTIONS = {
    "CoTMClassifier": _OPTIONS,
    "TMClassifier": (*_OPTIONS, "weighted"),
    "CoTMRegressor": _OPTIONS,
}
#: What a class says of a machine, and no parameter.
KINDS: dict[str, dict[str, Any]] = {
    "CoTMClassifier": {"sharing": True},
    "TMClassifier": {"sharing": False},
    "CoTMRegressor": {"sharing": True, "regression": True},
}

#: Parameters that describe X. A file holds them as the fitted reader of X has them.
READER_PARAMETERS = ("patch_shape", "image_shape", "stride", "booleanize")
#: Stands in a file for a booleanizer, whose own state says the rest.
_FITTED = "fitted"
_TUPLES = ("patch_shape", "image_shape", "stride")
#: The largest number of epochs, steps and the like.
MAX_COUNT = 2**63 - 1
#: Python refuses to write out integers of many more bits.
_MAX_BITS = 4096
#: Characters in the name of a scorer.
_MAX_NAME = 1000


def says_no_value(name: str, value: Any) -> bool:
    """Whether a parameter leaves a learning option to the epoch or to the preset."""
    return isinstance(value, Schedule) or is_left(name, value)


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as what JSON knows; a TypeError or ValueError names one that cannot be."""
    parameters = dict(parameters)
    if parameters["augment"] is not None:
        parameters["augment"] = parameters["augment"].get_params()
    parameters["constraints"] = plain_constraints(parameters["constraints"])
    if callable(parameters["scoring"]):
        raise TypeError(
            f"a model with scoring={parameters['scoring']!r:.200} cannot be saved: a model file "
            "holds no code; take the name of a scorer instead, or set scoring=None before saving"
        )
    for name in SCHEDULED:
        if isinstance(parameters[name], Schedule):
            parameters[name] = parameters[name].get_params()
    if not isinstance(parameters["booleanize"], str | None):
        parameters["booleanize"] = _FITTED
    if not isinstance(parameters["random_state"], numbers.Integral):
        parameters["random_state"] = None  # the seed that was drawn from it is saved
    if isinstance(parameters["class_weight"], dict):
        pairs = [[plain(k), plain(v)] for k, v in parameters["class_weight"].items()]
        for label, _ in pairs:
            _check_weighted_label(label)
        parameters["class_weight"] = pairs
    converted = {name: plain(value) for name, value in parameters.items()}
    for name, value in converted.items():
        _check_digits(name, value)
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            given = parameters[name]
            raise TypeError(
                f"a model with {name}={given!r:.200} cannot be saved ({error}); use plain numbers "
                "and texts"
            ) from error
    return converted


def plain(value: Any) -> Any:
    """NumPy's numbers, fractions and the like as Python's own."""
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real | Decimal) else value


def decode_parameters(kind: Any, encoded: dict[str, Any], booleanizer: Any) -> dict[str, Any]:
    """All parameters of a class from a file that may be hostile; ``booleanizer`` is the fitted one.

    They are of the types that a classifier takes. Their values are checked as far as neither the
    machine nor the reader of X does that before they are needed.
    """
    expect(isinstance(kind, str), f"class is {kind!r:.100}")
    if kind not in OPTIONS:
        raise UnknownError(f"class {kind!r:.100} is unknown")
    for name in encoded:
        if name not in OPTIONS[kind]:
            raise UnknownError(f"option {name!r:.100} is unknown")
    for name in OPTIONS[kind]:
        expect(name in encoded, f"option {name!r} is missing, and is not in LATER_OPTIONS")
    parameters = from_plain(encoded)
    check_settings(parameters)
    if parameters["booleanize"] == _FITTED:
        expect(booleanizer is not None, "its booleanizer is missing")
        parameters["booleanize"] = clone(booleanizer)
    return parameters


def from_plain(encoded: dict[str, Any]) -> dict[str, Any]:
    """What ``plain_parameters`` made plain, but for the booleanizer, which is not in it."""
    parameters = dict(encoded)
    if parameters["augment"] is not None:
        parameters["augment"] = _augmentation(parameters["augment"])
    parameters["constraints"] = constraints_from(parameters["constraints"])
    for name in SCHEDULED:
        if isinstance(parameters[name], dict):
            parameters[name] = _schedule(name, parameters[name])
    for name in _TUPLES:
        if isinstance(parameters[name], list):
            parameters[name] = tuple(parameters[name])
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = {key: value for key, value in parameters["class_weight"]}
    try:
        check_backend(parameters["backend"])
    except ValueError:
        parameters["backend"] = "auto"  # a model opens anywhere, whatever trained it
    return parameters


def _augmentation(encoded: Any) -> Augmentation:
    expect_keys(encoded, Augmentation().get_params(), "augment")
    for name, value in encoded.items():
        _check_digits(f"augment.{name}", value)
    augmentation = Augmentation(**encoded)
    if isinstance(augmentation.shift, list):
        augmentation.shift = tuple(augmentation.shift)
    augmentation.changes()
    return augmentation


def _schedule(name: str, encoded: dict[str, Any]) -> Schedule:
    expect_keys(encoded, ("start", "end", "epochs", "shape"), name)
    for part, value in encoded.items():
        _check_digits(f"{name}.{part}", value)
    schedule = Schedule(**encoded)
    schedule.check(learning.OPTIONS[name])
    return schedule


def check_settings(parameters: dict[str, Any]) -> None:
    """Check what nobody else checks before it is needed, or with narrower limits."""
    for name, value in parameters.items():
        _check_digits(name, value)
    check_flag("warm_start", parameters["warm_start"])
    check_preset(parameters["preset"])
    for name in ("epochs", "patience", "verbose"):
        if not (isinstance(parameters[name], bool) or is_left(name, parameters[name])):
            check_integer(name, parameters[name], 0, MAX_COUNT)
    if parameters["random_state"] is not None:
        check_integer("random_state", parameters["random_state"], 0, 2**64 - 1)
    scoring = parameters["scoring"]
    if not (scoring is None or (isinstance(scoring, str) and len(scoring) <= _MAX_NAME)):
        raise ValueError(f"scoring={scoring!r:.100} must be the name of a scorer, or None")
    weights = parameters["class_weight"]
    if isinstance(weights, dict):
        for label, value in weights.items():
            _check_weighted_label(label)
            check_number(f"class_weight[{label!r:.100}]", value, 0.0)
    elif weights not in (None, "balanced"):
        raise ValueError(f"class_weight={weights!r:.100} must be a dictionary, 'balanced' or None")


def _check_digits(name: str, value: Any) -> None:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ValueError(f"{name} is a number of {value.bit_length()} bits; use a smaller one")


def _check_weighted_label(label: Any) -> None:
    if not isinstance(label, str | int | float):
        raise TypeError(
            f"a model with class_weight for the label {label!r:.100} cannot be saved: such labels "
            "are text, numbers or booleans in a model file; pass sample_weight instead"
        )
