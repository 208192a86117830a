"""Lists of quantiles as booleanizers for images take them, and in the names of bits."""

from __future__ import annotations

import itertools
import numbers
from typing import Any

import numpy as np

from ..core.checks import shortened
from .descriptions import BitFeature
from .filters import PARTS

# More than anyone needs, so that a damaged model file cannot ask for all memory.
_MAX_QUANTILES = 64

_QUARTILES = {2500: "1st quartile", 5000: "median", 7500: "3rd quartile"}


def listed(name: str, values: Any) -> list[Any]:
    """The entries of a short list, or a ValueError."""
    if not isinstance(values, list | tuple | np.ndarray) or np.ndim(values) != 1:
        raise ValueError(f"{name}={shortened(values)} must be a list or tuple")
    if len(values) > _MAX_QUANTILES:
        raise ValueError(f"{name} has {len(values)} entries, but at most {_MAX_QUANTILES} fit")
    return [*values]


def quantile_parts(name: str, values: Any) -> list[int]:
    """Quantiles in integer parts, checked."""
    parts = []
    for value in listed(name, values):
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        part = round(value * PARTS) if is_number and 0 <= value < 1 else PARTS
        # What is left after rounding is what floats cannot hold of decimals.
        if part >= PARTS or abs(value * PARTS - part) > 1e-6:
            raise ValueError(
                f"{name} holds {value!r:.200}; each must be a number from 0 up and below 1, with "
                "at most four decimals"
            )
        parts.append(int(part))
    if any(low >= high for low, high in itertools.pairwise(parts)):
        raise ValueError(f"{name}={shortened(values)} must increase")
    return parts


def quantile_of(part: int) -> float:
    """The quantile that is so many parts."""
    return part / PARTS if part else 0


def quantile_feature(column: str, op: str, part: int) -> BitFeature:
    """The bit that says whether a column is above a quantile, or below that of what is negative."""
    text = _QUARTILES.get(part, f"quantile {part / PARTS:g}") if part else "0"
    if op == "<" and part:
        return BitFeature(column, op, -quantile_of(part), f"-{text}")
    return BitFeature(column, op, quantile_of(part), text)
