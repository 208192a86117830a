"""Which outputs that an example is not of give feedback."""

import numpy as np
import pytest

from cotm.backends.reference import speakers
from cotm.core.patches import PatchGrid
from cotm.core.randomness import step_key
from cotm.core.spec import Negatives, Spec

STEPS = 4000


def spec_of(negatives, votes, T):
    return Spec(n=1, m=len(votes), grid=PatchGrid.flat(1), T=T, q=0, N=1, negatives=negatives)


def speaking(spec, votes, target, step):
    """Those of all outputs that may give feedback, when the example asks each."""
    return speakers(spec, votes, target, np.ones(spec.m, dtype=bool), step_key(7, step))


def counts(negatives, votes, target, T=100):
    """How often each output may give feedback in as many steps."""
    spec = spec_of(negatives, votes, T)
    found = np.zeros(spec.m, dtype=int)
    for step in range(STEPS):
        speaks = speaking(spec, np.array(votes), np.array(target), step)
        found += speaks
        expected = sum(target) + 1 if negatives else spec.m
        assert speaks.sum() <= expected
    return found


def expect(found, shares):
    """Frequencies within five standard errors of the shares."""
    p = np.array(shares) / sum(shares)
    assert (abs(found - STEPS * p) <= 5 * np.sqrt(STEPS * p * (1 - p))).all(), found


def test_all():
    assert (counts(Negatives.ALL, [5, -100, 3], [1, 0, 0]) == STEPS).all()


def test_one_is_drawn_evenly():
    found = counts(Negatives.DRAWN, [5, -100, 3, 99, 0], [0, 0, 1, 0, 0])
    assert found[2] == STEPS and found.sum() == 2 * STEPS
    expect(found[[0, 1, 3, 4]], [1, 1, 1, 1])


def test_one_is_drawn_by_its_votes():
    """In proportion to clipped votes above -T, several labels among them."""
    found = counts(Negatives.FOCUSED, [-60, -100, 3, 900, 0, 7], [0, 0, 1, 0, 0, 1])
    assert (found[[2, 5]] == STEPS).all() and found.sum() == 3 * STEPS
    expect(found[[0, 1, 3, 4]], [40, 0, 200, 100])


def test_large_sums_are_exact():
    """2**24 outputs at the top of the largest margin: the sum has 55 bits."""
    T = 2**30
    votes, target = np.full(2**24, T), np.zeros(2**24, dtype=np.uint8)
    spec = spec_of(Negatives.FOCUSED, votes, T)
    (drawn,) = np.flatnonzero(speaking(spec, votes, target, 0))
    uniform = spec_of(Negatives.DRAWN, votes, T)
    assert drawn == np.flatnonzero(speaking(uniform, votes, target, 0))


@pytest.mark.parametrize("negatives", [Negatives.DRAWN, Negatives.FOCUSED])
def test_there_may_be_none(negatives):
    assert (counts(negatives, [5, -7], [1, 1]) == STEPS).all()
    if negatives == Negatives.FOCUSED:
        assert (counts(negatives, [5, -100, -300], [1, 0, 0]) == [STEPS, 0, 0]).all()


@pytest.mark.parametrize("negatives", Negatives)
def test_outputs_that_are_not_asked_say_nothing(negatives):
    """None of them speaks, and the drawn ones are of those that are."""
    spec = spec_of(negatives, [5, 7, 9, 11], 100)
    votes, target = np.array([5, 7, 9, 11]), np.array([1, 1, 0, 0])
    asked = np.array([False, True, True, False])
    for step in range(50):
        speaks = speakers(spec, votes, target, asked, step_key(7, step))
        assert speaks.tolist() == asked.tolist()
