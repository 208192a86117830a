"""Contributions are the Shapley values that all coalitions give."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from explained_models import by_coalitions, small, table
from hypothesis import given, settings
from hypothesis import strategies as st

import cotm
from cotm.core.extension import native_core
from cotm.explaining import shapley
from cotm.explaining.shapley import Pool, add_contributions, contributions, shares

SEEDS = st.integers(0, 2**32)
SOME = settings(max_examples=12, deadline=None)


def frame_rows(X, rows):
    return [X.iloc[[k]] for k in rows]


def check(model, x, background, everyone):
    """The exact values of one example, and the floats beside them."""
    why = model.explain(x, everyone)
    exact = why.exact(0)
    assert (exact.contributions == by_coalitions(model.votes, x, background)).all()
    assert (exact.base + exact.contributions.sum(axis=0) == why.votes[0]).all()
    assert all(isinstance(value, Fraction) for value in exact.contributions.ravel())
    np.testing.assert_allclose(
        why.contributions[0], exact.contributions.astype(float), rtol=1e-9, atol=1e-9
    )


@SOME
@given(SEEDS, st.sampled_from([1, 2, 5]), st.sampled_from(["shared", "own", "labels"]))
def test_values_of_bits_are_those_of_all_coalitions(seed, tolerance, kind):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (12, 5))
    X[:2] = [[0] * 5, [1] * 5]
    model = small(X, kind, rng, tolerance=tolerance)
    check(model, X[2:3], [X[4:5], X[5:6], X[6:7]], X[4:7])


@SOME
@given(SEEDS, st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]))
def test_the_bits_of_a_column_are_one_player(seed, tolerance, average):
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = small(X, "shared", rng, tolerance=tolerance, average=average)
    check(model, X.iloc[:1], frame_rows(X, (4, 5, 6)), X.iloc[4:7])


@SOME
@given(SEEDS, st.sampled_from(["range", "margin", "none"]))
def test_composites_share_what_division_cuts_off(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (12, 4))
    X[:2] = [[0] * 4, [1] * 4]
    models = {name: small(X, name, rng, T=5) for name in ("shared", "own")}
    both = cotm.join(models, X if scale == "range" else None, scale=scale)
    if scale == "none":
        both = cotm.CoTMComposite._of(cotm.estimator.composition.composed(models.items(), scale, X))
    why = both.explain(X[2:4], X[4:7])
    exact = why.exact(1)
    assert (exact.base + exact.contributions.sum(axis=0) == both.votes(X[3:4])[0]).all()
    divisors = both.divisors_ or (1, 1)
    unit = 1 if scale == "none" else 2**32
    whole = sum(
        by_coalitions(model.votes, X[3:4], [X[k : k + 1] for k in (4, 5, 6)])
        * Fraction(unit, divisor)
        for model, divisor in zip(models.values(), divisors, strict=True)
    )
    assert (abs(exact.contributions - whole) < (0.0001 if scale == "none" else 2)).all()
    total = why.base + why.contributions.sum(axis=1)
    np.testing.assert_allclose(total, why.votes, rtol=1e-12, atol=1e-4)


def test_a_clause_with_a_literal_and_its_negation():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (12, 3))
    X[:2] = [[0] * 3, [1] * 3]
    for tolerance in (1, 3):
        model = small(X, "shared", rng, tolerance=tolerance)
        snapshot = model.machine_.snapshot()
        memory = snapshot.memory.copy()
        memory[:, [0, 3]] = 0  # x0 and not x0
        model.machine_.load_state(
            model.machine_.spec.grid, cotm.Snapshot(memory, snapshot.weights, snapshot.step)
        )
        check(model, X[2:3], [X[4:5], X[5:6]], X[4:6])
        assert model.votes(X).any() == (tolerance > 1)


def random_pool(rng, n_bits, n_players, most, clauses=20):
    """Clauses of any kind over bits that belong to players."""
    player_of = np.sort(rng.integers(0, n_players, n_bits)).astype(np.int32)
    chosen = [np.flatnonzero(rng.random(2 * n_bits) < 0.3) for _ in range(clauses)]
    lengths = np.array([len(literals) for literals in chosen])
    features = np.concatenate(chosen) % n_bits
    negated = np.concatenate(chosen) // n_bits
    owner = np.repeat(np.arange(clauses), lengths)
    order = np.lexsort((player_of[features], owner))
    return Pool(
        numbers=tuple((k,) for k in range(clauses)),
        starts=np.concatenate([[0], np.cumsum(lengths)]),
        features=features[order].astype(np.int32),
        negated=negated[order].astype(np.uint8),
        players=player_of[features[order]],
        most=np.minimum(most, lengths).astype(np.int32),
        weights=rng.integers(-50, 50, (clauses, 3)),
    )


@pytest.mark.skipif(native_core() is None, reason="the native core is not built")
@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 90), st.integers(1, 90), st.integers(1, 20), st.integers(1, 3))
def test_the_native_core_equals_the_definition(seed, n_bits, n_players, most, threads):
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, n_bits, n_players, most, clauses=5)
    rows, background = (rng.integers(0, 2, (count, n_bits), dtype=np.uint8) for count in (3, 4))
    background[0] = rows[0]
    found = contributions(rows, background, pool, n_players, n_jobs=threads)
    defined = np.zeros_like(found)
    for row, out in zip(rows, defined, strict=True):
        add_contributions(row, background, pool, out, shapley._shares_in_floats)
    scale = np.abs(pool.weights).sum()
    np.testing.assert_allclose(found, defined, rtol=1e-9, atol=1e-12 * scale)


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    pool = random_pool(rng, 60, 20, 6)
    bits = rng.integers(0, 2, (9, 60), dtype=np.uint8)
    one, four = (contributions(bits, bits[:5], pool, 20, n_jobs=count) for count in (1, 4))
    assert one.tobytes() == four.tobytes()


def test_without_the_native_core_numpy_does_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    pool = random_pool(rng, 30, 12, 4)
    bits = rng.integers(0, 2, (4, 30), dtype=np.uint8)
    native = contributions(bits, bits, pool, 12)
    monkeypatch.setattr(shapley, "native_core", lambda: None)
    np.testing.assert_allclose(contributions(bits, bits, pool, 12), native, rtol=1e-9, atol=1e-9)


def test_the_closed_form_of_strict_clauses():
    """Each of g for x gets 1 / (g C(g + d, g)), each of d against it -1 / (d C(g + d, d))."""
    for g in range(1, 5):
        for d in range(1, 5):
            found = shares(1, ((-1, d), (1, g)))
            assert found[1] == Fraction(1, g * comb(g + d, g))
            assert found[-1] == -Fraction(1, d * comb(g + d, d))


def test_the_core_refuses_what_would_crash_it():
    rng = np.random.default_rng(0)
    pool = random_pool(rng, 10, 4, 2)
    bits = rng.integers(0, 2, (4, 10), dtype=np.uint8)
    with pytest.raises((ValueError, RuntimeError), match="out of range"):
        contributions(bits[:, :5].copy(), bits[:, :5].copy(), pool, 4)
    with pytest.raises((ValueError, RuntimeError), match="out of range"):
        contributions(bits, bits, pool, 1)
