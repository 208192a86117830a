"""Who trains how far."""

from __future__ import annotations

import math
import random

import pytest

from cotm.tuning.halving import Halving


def halving(**changes: int) -> Halving:
    options = {"max_epochs": 27, "min_epochs": None, "factor": 3, "batch": 9, "candidates": 20}
    return Halving.of(**{**options, **changes}, through=[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "rungs"),
    [
        ({}, (3, 9, 27)),
        ({"batch": 3}, (9, 27)),
        ({"batch": 1}, (27,)),
        ({"factor": 2, "batch": 4, "max_epochs": 10}, (2, 5, 10)),
        ({"min_epochs": 5}, (9, 27)),
        ({"max_epochs": 2}, (2,)),
        ({"max_epochs": 75}, (8, 25, 75)),
    ],
)
def test_rungs_are_a_factor_apart_and_no_lower_than_the_fewest(changes, rungs):
    assert halving(**changes).rungs == rungs


def scored(rules: Halving, score, order) -> dict[tuple[int, int], float]:
    """All scores of a search whose trainings end in any order."""
    scores: dict[tuple[int, int], float] = {}
    begun = ended = 0
    seen = []
    while True:
        while ended < begun and rules.has_ended(ended, scores):
            ended += 1
        while rules.may_begin(begun, ended, scores):
            seen.append(rules.seen(begun, scores))
            begun += 1
        due = rules.due(ended, begun, scores)
        if not due:
            assert begun == rules.batches
            return {"seen": seen, **scores}  # type: ignore[dict-item]
        one, rung = order(due)
        scores[one, rung] = score(one, rung)


def test_the_best_of_each_batch_go_on_and_the_first_candidate_in_any_case():
    found = scored(halving(), lambda one, rung: float(one), lambda due: due[0])
    climbed = {rung: [one for one, r in list(found)[1:] if r == rung] for rung in range(3)}
    assert sorted(climbed[1]) == [0, 6, 7, 8, 15, 16, 17, 19]
    assert sorted(climbed[2]) == [0, 8, 17, 19]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_tried_and_known_depends_on_scores_and_not_on_who_was_quick(seed):
    draw = random.Random(seed)
    score = lambda one, rung: math.sin(7 * one + rung)  # noqa: E731
    rules = halving(candidates=65)  # eight batches, of which four are under way
    first = scored(rules, score, lambda due: due[0])
    assert scored(rules, score, draw.choice) == first


def test_failures_go_nowhere_and_of_equals_the_earlier_goes_on():
    rules = halving(candidates=9)
    scores = {(one, 0): (math.nan if one < 7 else 0.5) for one in range(9)}
    assert rules.climbing(0, 1, scores) == [7, 8]
    assert rules.climbing(0, 1, {(one, 0): 0.5 for one in range(9)}) == [0, 1, 2]
    assert rules.climbing(0, 1, {(one, 0): math.nan for one in range(9)}) == []
    assert rules.has_ended(0, {(one, 0): math.nan for one in range(9)})


def test_a_longer_search_forgets_who_should_not_have_gone_on():
    short, long = halving(candidates=11), halving(candidates=18)
    scores = {(one, 0): one / 100 for one in range(18)}
    assert short.climbing(1, 1, scores) == [10]
    scores[10, 1] = 1.0
    assert (10, 1) in short.counting(2, scores)
    assert (10, 1) not in long.counting(2, scores)
