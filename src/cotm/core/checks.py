"""Checks of values, each error naming the parameter, its value and what is allowed."""

from __future__ import annotations

import math
import numbers
from typing import Any

from .limits import MAX_SIZE


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """An integer within [low, high], NumPy's and whole floats such as 1e3 too, no booleans."""
    allowed = f"an integer from {low} up" if high is None else f"an integer from {low} to {high}"
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):  # floats
        whole = math.isfinite(value) and value == int(value)  # type: ignore[call-overload]
    number = int(value) if whole else low - 1
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name}={shortened(value)} must be {allowed}")
    return number


def shortened(value: Any) -> str:
    """A value for a message; those of hundreds of digits are no help."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out thousands of digits
        text = f"a number of {value.bit_length()} bits"
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """A finite real number within [low, high]."""
    allowed = f"a number from {low:g} up" if high == math.inf else f"from {low:g} to {high:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name}={shortened(value)} must be {allowed}")
    number = _as_float(value)
    if not math.isfinite(number) or not low <= number <= high:
        raise ValueError(f"{name}={shortened(value)} must be {allowed}")
    return number


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """One of a few values."""
    if not any(
        value is choice or (type(value) is type(choice) and value == choice) for choice in choices
    ):
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}")
    return value


def check_flag(name: str, value: Any) -> bool:
    """True or False; NumPy's too."""
    import numpy as np  # here, because the command line shows its help without it

    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def check_pair(name: str, value: Any, *, lengths: tuple[int, ...], scalar: bool) -> tuple[int, ...]:
    """A tuple of positive integers, or (where ``scalar``) one integer for all."""
    if scalar and isinstance(value, numbers.Integral):
        return (check_integer(name, value, 1, MAX_SIZE),)
    if not isinstance(value, (tuple, list)) or len(value) not in lengths:
        kinds = " or ".join(map(str, lengths))
        raise ValueError(f"{name}={value!r} must be a tuple of {kinds} positive integers")
    return tuple(check_integer(name, part, 1, MAX_SIZE) for part in value)
