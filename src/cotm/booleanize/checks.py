"""Checks for state read from files: whatever is off becomes a ValueError."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

VERSION = 1


def expect(condition: bool, message: str) -> None:
    """Raise the ValueError of damaged state unless ``condition`` holds."""
    if not condition:
        raise ValueError(f"Damaged booleanizer state: {message}.")


def expect_keys(mapping: Any, keys: Iterable[str], what: str) -> None:
    """Expect a dict with exactly these keys."""
    expect(isinstance(mapping, dict), f"{what} must be a dict, got {type(mapping).__name__}")
    expected = set(keys)
    expect(
        mapping.keys() == expected,
        f"{what} must have the keys {sorted(expected)}, got {[*mapping]!r:.200}",
    )


def expect_type(value: Any, kind: type, what: str) -> Any:
    """``value``, expected to be of exactly this type."""
    # `type(...) is`, since True passes for an integer with isinstance.
    expect(type(value) is kind, f"{what} must be of type {kind.__name__}, got {value!r:.200}")
    return value


def expect_array(arrays: dict[str, Any], key: str, dtype: type, length: int | None) -> np.ndarray:
    """One of ``arrays``, expected to be a vector of this type and length."""
    array = arrays[key]
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.dtype(dtype) and array.ndim == 1,
        f"array {key!r} must be one-dimensional of {np.dtype(dtype)}",
    )
    expect(
        length is None or len(array) == length,
        f"array {key!r} must have {length} entries, got {len(array)}",
    )
    return array  # type: ignore[no-any-return]


def pack_groups(groups: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Lists of thresholds as two arrays."""
    return {
        "thresholds": np.concatenate(groups).astype(np.float64),
        "offsets": np.cumsum([0, *map(len, groups)], dtype=np.int64),
    }


def unpack_groups(arrays: dict[str, Any], count: int, n_bits: int) -> list[np.ndarray]:
    """What ``pack_groups`` packed: ``count`` groups of increasing finite numbers."""
    flat = expect_array(arrays, "thresholds", np.float64, None)
    offsets = expect_array(arrays, "offsets", np.int64, count + 1)
    # Differences of numbers that are not negative cannot overflow.
    expect(
        offsets[0] == 0
        and offsets[-1] == len(flat)
        and bool((offsets >= 0).all())
        and bool((np.diff(offsets) >= 0).all()),
        f"array 'offsets' must rise from 0 to {len(flat)}",
    )
    expect(bool(np.isfinite(flat).all()), "thresholds must be finite")
    inner = np.ones(max(len(flat) - 1, 0), dtype=bool)
    inner[offsets[(offsets > 0) & (offsets < len(flat))] - 1] = False
    expect(bool((np.diff(flat)[inner] > 0).all()), "thresholds of a column must increase")
    expect(bool((np.diff(offsets) <= n_bits).all()), f"a column has more than {n_bits} thresholds")
    return np.split(flat, offsets[1:-1])
