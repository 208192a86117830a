"""Importances and partial dependence: what clauses read, with and without data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from explained_models import small, table, with_clauses
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence as by_sklearn
from sklearn.preprocessing import KBinsDiscretizer

import cotm
from cotm import CoTMClassifier

IRIS, SPECIES = load_iris(return_X_y=True)


def bits_model(**parameters):
    X = np.array([[0] * 4, [1] * 4] * 6)
    return small(X, "shared", np.random.default_rng(0), **parameters)


def test_importances_share_votes_among_columns():
    # x0 and not x1; x1; one that is never so; an empty one
    model = with_clauses(
        bits_model(), [[0, 5], [1], [0, 4], []], [[2, -4, 0], [0, 0, 6], [9, 9, 9], [9, 9, 9]]
    )
    expected = np.array([[1, 2, 0], [1, 2, 6], [0, 0, 0], [0, 0, 0]]) / 12
    np.testing.assert_allclose(model.class_importances_, expected)
    np.testing.assert_allclose(model.feature_importances_, expected.sum(axis=1))
    graded = with_clauses(bits_model(tolerance=2), [[0, 1, 2]], [[1, 0, -1]])
    np.testing.assert_allclose(graded.class_importances_[:, 0], [1 / 6, 1 / 6, 1 / 6, 0])
    two = with_clauses(bits_model(tolerance=2), [[0, 1, 2], [3]], [[1, 0, -1], [0, 2, 0]])
    np.testing.assert_allclose(two.class_importances_.sum(axis=0), [2 / 6, 2 / 6, 2 / 6])
    silent = with_clauses(bits_model(), [], [])
    assert not silent.feature_importances_.any()


def test_the_bits_of_a_column_are_one():
    X = table(np.random.default_rng(0), 60)
    model = small(X, "shared", np.random.default_rng(1))
    assert model.feature_importances_.shape == (3,)
    assert model.class_importances_.shape == (3, 3)
    assert np.isclose(model.feature_importances_.sum(), 1)


def test_importances_of_images_lie_where_clauses_may_speak():
    X = np.zeros((4, 4, 4), dtype=np.uint8)
    X[::2, 1, 2] = 1
    model = CoTMClassifier(1, epochs=1, T=5, patch_shape=(2, 1), preset="paper").fit(X, [0, 1] * 2)
    first = model.machine_.spec.grid.n_position_features
    # Below the first row of patches, and not below the second: its upper pixel.
    row_one = [0, model.machine_.spec.grid.n_features + 1]
    model = with_clauses(model, [[*row_one, first]], [[3, 0]])
    expected = np.zeros((4, 4))
    expected[1] = 1 / 4
    np.testing.assert_allclose(model.feature_importances_.reshape(4, 4), expected)
    assert not model.class_importances_[:, 1].any()


def test_importances_of_composites():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (12, 4))
    X[:2] = [[0] * 4, [1] * 4]
    members = {"a": small(X, "shared", rng, T=5), "b": small(X, "own", rng, T=20)}
    both = cotm.join(members, scale="margin")
    assert both.feature_importances_.shape == (4,)
    assert np.isclose(both.feature_importances_.sum(), 1)
    strengths = [m.class_importances_ * _strength(m) / m.T_ for m in members.values()]
    np.testing.assert_allclose(both.class_importances_, sum(strengths) / sum(strengths).sum())


def _strength(model):
    o = model.memory_.shape[1] // 2
    included = model.memory_ >= 0
    speaks = included.any(axis=1) & ~(included[:, :o] & included[:, o:]).any(axis=1)
    return np.abs(model.weights_[speaks]).sum()


def test_scikit_learn_selects_features_by_them():
    noise = np.random.default_rng(0).normal(size=(len(IRIS), 3))
    X = np.hstack([noise, IRIS])
    model = CoTMClassifier(20, epochs=10, random_state=0)
    chosen = SelectFromModel(model, max_features=2).fit(X, SPECIES).get_support()
    assert chosen[5:].all() and chosen.sum() == 2
    kept = RFE(model, n_features_to_select=2).fit(X, SPECIES).support_
    assert kept[5:].all() and kept.sum() == 2


def test_described_bits_are_columns_of_their_own_here():
    bits = cotm.Thermometer(3).fit_transform(IRIS)
    model = CoTMClassifier(10, epochs=2, random_state=0, preset="paper").fit(bits, SPECIES)
    assert model.feature_importances_.shape == (bits.shape[1],)
    assert model.explain(bits[:3]).contributions.shape[1] == 4
    assert SelectFromModel(model, prefit=True).transform(bits).shape[1] < bits.shape[1]


def test_bits_of_other_transformers_have_no_known_column():
    made = KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    model = CoTMClassifier(10, epochs=2, booleanize=made, preset="paper").fit(IRIS, SPECIES)
    assert not hasattr(model, "feature_importances_")
    assert model.class_importances_.shape == (12, 3)
    with pytest.raises(ValueError, match="this model makes bits of tables with KBinsDiscretizer"):
        model.partial_dependence(0, IRIS)


@pytest.mark.parametrize("tolerance, average", [(1, 1), (3, 2)])
def test_partial_dependence_is_that_of_the_votes(tolerance, average):
    rng = np.random.default_rng(tolerance)
    X = table(rng, 40)
    model = small(X, "shared", rng, tolerance=tolerance, average=average, n_clauses=12)
    for name, grid in [("n", [0.0, 2.5, None, 4.0]), ("t", ["a", "c", None, "new"]), ("b", [0, 1])]:
        found = model.partial_dependence(name, X, grid)
        for cell, votes in zip(grid, found.votes, strict=True):
            changed = X.copy()
            changed[name] = pd.Series([cell] * len(X), dtype=X[name].dtype)
            assert (model.votes(changed).mean(axis=0) == votes).all()
    usual = model.partial_dependence("n", X)
    assert usual.grid == tuple(sorted(X["n"].dropna().unique())) and usual.feature == "n"


def test_partial_dependence_of_composites_and_sparse_tables():
    X = scipy.sparse.csr_matrix(np.where(IRIS > 3, IRIS, 0.0) - 2.0 * (IRIS == 0.2))
    members = {
        name: CoTMClassifier(8, epochs=2, random_state=k, preset="paper", T=5 + k).fit(X, SPECIES)
        for k, name in enumerate("ab")
    }
    both = cotm.join(members, X)
    found = both.partial_dependence(3, X, [-2.0, 0.0, 1.0])
    for cell, votes in zip(found.grid, found.votes, strict=True):
        changed = X.toarray()
        changed[:, 3] = cell
        expected = both.votes(scipy.sparse.csr_matrix(changed)).mean(axis=0)
        np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert members["a"].partial_dependence(0, X).votes.shape[1] == 3


def test_columns_are_named_or_numbered():
    X = table(np.random.default_rng(0))
    model = small(X, "shared", np.random.default_rng(0))
    assert model.partial_dependence(2, X).grid == (0, 1)
    for wrong, message in [
        ("z", "not a column of X; it has n, t, b"),
        (3, "from 0 to 2"),
        (1.5, "the name or"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_dependence(wrong, X)
    with pytest.raises(ValueError, match="grid is empty"):
        model.partial_dependence("n", X, [])


def test_scikit_learns_partial_dependence_works_too():
    model = CoTMClassifier(10, epochs=3, random_state=0).fit(IRIS, SPECIES)
    found = by_sklearn(model, IRIS, [2], grid_resolution=5, response_method="decision_function")
    mine = model.partial_dependence(2, IRIS, found["grid_values"][0])
    np.testing.assert_allclose(found["average"], mine.votes.T)


def test_partial_dependence_of_quantities_is_in_their_units():
    model = cotm.CoTMRegressor(20, epochs=3, random_state=0).fit(IRIS[:, :3], 100 + IRIS[:, 3])
    found = model.partial_dependence(2, IRIS[:, :3], [1.0, 3.0, 6.0])
    for cell, predicted in zip(found.grid, found.predictions, strict=True):
        changed = IRIS[:, :3].copy()
        changed[:, 2] = cell
        np.testing.assert_allclose(predicted, [model.predict(changed).mean()], rtol=1e-12)
    assert np.ptp(found.predictions) > 0.1
