"""Sines in integers, so that no library of floats can disagree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Angles are whole numbers of so many parts of a turn.
TURN = 1 << 16

#: Sines have so many bits after the point.
SINE_BITS = 30


def sine(angle: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sine of an angle in parts of a `TURN`, by its series.

    >>> (sine(np.array([TURN // 8, TURN // 4])) / 2**SINE_BITS).round(8).tolist()
    [0.70710678, 1.0]
    """
    half = TURN // 2
    angle = (angle + half) % TURN - half
    quarter = np.minimum(np.abs(angle), half - np.abs(angle))
    x = quarter * 6_746_518_852 // TURN  # 2 pi, with as many bits after the point
    square = x * x >> SINE_BITS
    one = 1 << SINE_BITS
    series = np.full_like(x, one)
    for odd in (13, 11, 9, 7, 5, 3):
        series = one - (square * series >> SINE_BITS) // (odd * (odd - 1))
    return np.sign(angle) * (x * series >> SINE_BITS)


def cosine(angle: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cosine of an angle in parts of a `TURN`."""
    return sine(angle + TURN // 4)
