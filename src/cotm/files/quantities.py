"""What a model file holds of a regressor: how quantities become votes, and how far it was off."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect, expect_keys, expect_type
from ..model.fitted import Fitted
from ..model.quantities import Scaling

#: The tensor of errors on held-out examples.
ERRORS = "errors"
_NUMBERS = ("offset", "unit", "spread")


def encode_scaling(scaling: Scaling | None) -> dict[str, Any] | None:
    """As plain numbers; None for classes."""
    if scaling is None:
        return None
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in dataclasses.asdict(scaling).items()
    }


def decode_scaling(encoded: Any, names: Any) -> Scaling | None:
    """What ``encode_scaling`` encoded, for so many outputs; both may be hostile."""
    if encoded is None:
        return None
    expect_keys(encoded, (*_NUMBERS, "one"), "scaling")
    expect(isinstance(names, list) and len(names) >= 1, "it names no output")
    for name in _NUMBERS:
        values = encoded[name]
        expect(
            isinstance(values, list)
            and len(values) == len(names)
            and all(type(value) is float and math.isfinite(value) for value in values),
            f"scaling.{name} is {values!r:.100}",
        )
    expect(all(unit > 0 for unit in encoded["unit"]), "a unit of its scaling is not above 0")
    expect(all(spread >= 0 for spread in encoded["spread"]), "a spread is below 0")
    one = expect_type(encoded["one"], bool, "scaling.one")
    expect(len(names) == 1 or not one, "it has several outputs for one quantity")
    return Scaling(**{name: tuple(encoded[name]) for name in _NUMBERS}, one=one)


def decode_names(values: Any, type_name: Any) -> NDArray[Any]:
    """What the outputs are called: texts, or numbers from 0 on."""
    expect(isinstance(values, list) and len(values) >= 1, "it names no output")
    if type_name == "str":
        expect(all(isinstance(v, str) and len(v) <= 10_000 for v in values), "a name is no text")
        expect(sum(map(len, values)) <= 25_000_000, "names are too long")
        return np.array(values)
    expect(values == list(range(len(values))), "its outputs have strange numbers")
    return np.arange(len(values))


def decode_errors(errors: NDArray[Any], fitted: Fitted) -> NDArray[np.float64]:
    """Errors on held-out examples, each column in ascending order."""
    expect(fitted.scaling is not None, "classes have no errors")
    expect(
        errors.dtype == np.float64
        and errors.ndim == 2
        and errors.shape[0] >= 1
        and errors.shape[1] == len(fitted.classes)
        and bool(np.isfinite(errors).all() and (errors >= 0).all())
        and bool((errors[1:] >= errors[:-1]).all()),
        "errors on held-out examples are damaged",
    )
    return errors
