"""Sines in integers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cotm.core.angles import SINE_BITS, TURN, cosine, sine


@given(st.integers(-TURN // 2, TURN))
@settings(deadline=None)
def test_sines_are_exact_to_a_part_in_2_to_the_28(angle):
    assert (
        abs(int(sine(np.array([angle]))[0]) / 2**SINE_BITS - np.sin(2 * np.pi * angle / TURN))
        < 4e-9
    )
    assert cosine(np.array([angle])) == sine(np.array([TURN // 4 - angle]))


def test_quarter_turns_are_exact():
    assert sine(np.array([0, 1, 2, 3]) * TURN // 4).tolist() == [0, 2**30, 0, -(2**30)]


def test_sines_are_pinned():
    """Whatever they were, models and bits hang on them."""
    assert sine(np.array([1, 1820, 4096, 8192, 40_000])).tolist() == [
        102942,
        186408252,
        410903206,
        759250124,
        -686254646,
    ]
