"""Clauses and literals that sleep for a pass: which, that they do nothing, and that it is exact."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from helpers import state

import cotm
from cotm.backends.reference import awake_clauses, awake_literals
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, drop_threshold

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (300, 12), dtype=np.uint8)
Y = np.column_stack([X[:, 0] ^ X[:, 1], X[:, 2]])
machine = partial(cotm.Machine, 80, T=30, s=3.0, random_state=4, drop_clauses=0.4)


def asleep(made, step):
    """Which clauses a machine leaves out in the pass that begins at a step."""
    return ~awake_clauses(made.spec, step)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_share_of_the_clauses_sleeps(share):
    n = 20_000
    spec = Spec(n=n, m=1, grid=PatchGrid.flat(1), T=1, q=0, N=1, drop_clauses=drop_threshold(share))
    passes = [~awake_clauses(spec, step) for step in (0, 60_000)]
    for found in passes:
        assert abs(found.mean() - share) <= 5 * np.sqrt(share * (1 - share) / n)
    both = (passes[0] & passes[1]).mean()
    assert abs(both - share**2) <= 5 * np.sqrt(share / n), "passes are unrelated"


def test_a_share_of_the_literals_sleeps():
    spec = Spec(n=1, m=1, grid=PatchGrid.flat(10_000), T=1, q=0, N=1)
    spec = dataclasses.replace(spec, drop_literals=drop_threshold(0.3))
    passes = [~awake_literals(spec, step) for step in (0, 60_000)]
    assert all(abs(found.mean() - 0.3) < 0.02 for found in passes)
    assert abs((passes[0] & passes[1]).mean() - 0.09) < 0.02, "passes are unrelated"
    negations = passes[0].reshape(2, -1)
    assert abs(negations.all(axis=0).mean() - 0.09) < 0.02, "a bit and its negation are too"


@pytest.mark.parametrize("options", [{}, {"tolerance": 3, "forgetting": "sampled"}])
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_a_literal_that_sleeps_stays_as_it_is(backend, options):
    made = machine(backend=backend, drop_clauses=0.0, drop_literals=0.4, **options).fit(X, Y)
    for _ in range(3):
        before, out = made.snapshot(), ~awake_literals(made.spec, made.step_)
        assert 0.1 < out.mean() < 0.8
        made.partial_fit(X, Y)
        changed = (before.memory != made.snapshot().memory).any(axis=0)
        assert not changed[out].any() and changed[~out].all()
        votes = made.with_state(made.snapshot()).votes(X)
        assert np.array_equal(made.votes(X), votes), "in prediction all literals count"


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_a_clause_that_sleeps_stays_as_it_is(backend):
    made = machine(backend=backend, forgetting="sampled").fit(X, Y)
    for _ in range(3):
        before, out = made.snapshot(), asleep(made, made.step_)
        assert 0.2 < out.mean() < 0.6
        made.partial_fit(X, Y)
        after = made.snapshot()
        changed = (before.memory != after.memory).any(axis=1)
        changed |= (before.weights != after.weights).any(axis=1)
        assert not changed[out].any()
        assert changed[~out].mean() > 0.9


def test_training_counts_the_votes_of_those_awake_and_prediction_all():
    """One example, whose votes before the update say whether it was right."""
    made = machine().fit(X, Y, epochs=5)
    outputs, weights = made.clause_outputs(X), made.weights_
    assert np.array_equal(made.votes(X), outputs @ weights)
    empty = (made.memory_ < 0).all(axis=1)  # in training these fire
    differ = 0
    for row in range(60):
        copy = made.with_state(made.snapshot())
        training = copy.prepare(
            cotm.core.examples.as_examples(X[row : row + 1], copy.spec.grid),
            Y[row : row + 1],
            np.ones(1),
        )
        counts = copy.train_pass(training, shuffle=False)
        says = (outputs[row] | empty) & ~asleep(made, made.step_)
        assert counts.correct == ((says @ weights >= 0) == Y[row]).sum()
        differ += counts.correct != ((made.votes(X[row : row + 1]) >= 0) == Y[row]).sum()
    assert differ, "it would be the same with all clauses awake"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tolerance": 3},
        {"forgetting": "sampled"},
        {"drop_literals": 0.3},
        {"drop_literals": 0.3, "tolerance": 3, "forgetting": "sampled"},
    ],
)
def test_slices_threads_and_stops_change_nothing(options):
    whole = machine(**options, n_jobs=1).fit(X, Y, epochs=3)
    stops = [1, 4, 2]  # after as many slices of a pass, the first of which are small
    broken = machine(**options, n_jobs=3)
    broken.start(broken.grid_for(X), Y.shape[1])
    training = broken.prepare(
        cotm.core.examples.as_examples(X, broken.spec.grid), Y.astype(np.uint8), np.ones(1)
    )
    while broken.step_ < 3 * len(X):
        broken._slice = 16
        left = stops.pop() if stops else 10**6

        slices = iter([False] * min(left, 99))
        counts = broken.train_pass(training, should_stop=partial(next, slices, True))
        assert (counts is None) == (left < 10)
    assert not stops
    assert state(broken) == state(whole)


def test_a_resumed_training_has_the_same_sleepers(tmp_path):
    make = partial(cotm.CoTMClassifier, 60, drop_clauses=0.5, drop_literals=0.2, random_state=3)
    y = Y[:, 0]
    whole = make(epochs=6).fit(X, y)
    make(epochs=2).fit(X, y).save(tmp_path / "m.cotm")
    again = cotm.load(tmp_path / "m.cotm")
    assert state(again.set_params(epochs=6).fit(X, y, resume=True)) == state(whole)


@pytest.mark.parametrize("name", ["drop_clauses", "drop_literals"])
@pytest.mark.parametrize("share", [1.0, -0.1, "half", None, True])
def test_shares_are_checked(share, name):
    with pytest.raises(ValueError, match=rf"{name}=.* must be from 0 to 0\.99"):
        machine(**{name: share})
