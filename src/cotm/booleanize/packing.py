"""What the states of fitted booleanizers have in common: their version, and lists of thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.decoding import expect, expect_array

#: Of what ``to_state`` gives. A new one needs a step from the one before in ``state.UPGRADES``.
VERSION = 1


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
