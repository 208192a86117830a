"""Counterfactuals: the smallest change, as trying everything finds it, in every kind of X."""

from __future__ import annotations

import datetime
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from explained_models import small, table, with_clauses
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import cotm
from cotm import CoTMClassifier
from cotm.explaining import search

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return CoTMClassifier(20, epochs=5, random_state=0, preset="paper").fit(IRIS, SPECIES)


def fewest(model, x, cells):
    """How many columns must change, by trying all rows of these cells."""
    rows = pd.DataFrame([*itertools.product(*cells)], columns=x.columns)
    for name in x:
        rows[name] = rows[name].astype(x[name].dtype)
    others = rows[model.predict(rows) != model.predict(x)[0]]
    now = x.iloc[0]
    changed = [
        sum(not (a == b or (pd.isna(a) and pd.isna(b))) for a, b in zip(row, now, strict=True))
        for row in others.itertuples(index=False)
    ]
    return min(changed, default=None)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 3]), st.booleans())
def test_no_fewer_columns_would_do(seed, tolerance, missing):
    rng = np.random.default_rng(seed)
    X = table(rng, 30)
    model = small(X, "shared", rng, tolerance=tolerance)
    x = X.iloc[[0]]
    gone = [None] if missing else []
    cells = [
        [0.0, 1.0, 2.0, 3.0, 4.0, *([np.nan] * missing)],
        ["a", "b", "c", *gone],
        [0, 1],
    ]
    for column, name in enumerate(X):
        if pd.isna(x.iloc[0, column]) and not missing:
            cells[column] = [*cells[column], x.iloc[0, column]]
        assert name in X
    found = model.counterfactual(x, missing=missing)
    least = fewest(model, x, cells)
    if least is None:
        assert found is None
        return
    assert found is not None and len(found.changes) == least
    assert found.is_smallest == (least <= 2)
    assert model.predict(found.row)[0] == found.label != model.predict(x)[0]
    assert (model.votes(found.row)[0] == found.votes).all()
    assert (model.votes(x)[0] == found.votes_before).all()
    for name, old, new in found.changes:
        assert found.row[name].iloc[0] == new or (new is None and pd.isna(found.row[name].iloc[0]))
        assert old == x[name].iloc[0] or (old is None and pd.isna(x[name].iloc[0]))
    unchanged = [name for name in X if name not in [change.feature for change in found.changes]]
    pd.testing.assert_frame_equal(found.row[unchanged], x[unchanged])


def test_of_changes_in_one_column_the_nearest(iris):
    thresholds = (
        iris.booleanizer_.thresholds_
        if hasattr(iris.booleanizer_, "thresholds_")
        else [code.thresholds for code in iris.booleanizer_.codes_]
    )
    singles = 0
    for k in range(0, 150, 7):
        found = iris.counterfactual(IRIS[k])
        now = iris.predict(IRIS[k : k + 1])[0]
        crossed = []
        for column in range(4):
            cuts = thresholds[column]
            ways = [*cuts, cuts[-1] + 1]
            rows = np.repeat(IRIS[k : k + 1], len(ways), axis=0)
            rows[:, column] = ways
            place = np.searchsorted(cuts, IRIS[k, column])
            flips = np.flatnonzero(iris.predict(rows) != now)
            crossed += [abs(int(flip) - place) / len(cuts) for flip in flips]
        assert (len(found.changes) == 1) == bool(crossed)
        if crossed:
            singles += 1
            column = int(found.changes[0].feature[1:])
            place, there = np.searchsorted(
                thresholds[column], [IRIS[k, column], found.changes[0].new]
            )
            assert np.isclose(abs(there - place) / len(thresholds[column]), min(crossed))
    assert singles > 3


def test_a_certain_label(iris):
    x = IRIS[:1]
    for label in (1, 2):
        found = iris.counterfactual(x, label)
        assert found.label == label == iris.predict(found.row)[0]
    assert str(found).startswith("2 instead of 0, if x")
    with pytest.raises(ValueError, match="label=0 is what is predicted already"):
        iris.counterfactual(x, 0)
    with pytest.raises(ValueError, match="label='a' is not a class"):
        iris.counterfactual(x, "a")


def test_columns_that_may_and_may_not_change(iris):
    x = IRIS[100:101]
    free = iris.counterfactual(x)
    changed = {change.feature for change in free.changes}
    other = iris.counterfactual(x, keep=changed)
    assert other is None or not changed & {change.feature for change in other.changes}
    only = iris.counterfactual(x, features=[0, "x3"])
    assert {change.feature for change in only.changes} <= {"x0", "x3"}
    assert iris.counterfactual(x, features=0, keep=[0]) is None
    with pytest.raises(ValueError, match="not a column of X"):
        iris.counterfactual(x, features="z")


def test_cells_of_given_examples(iris):
    found = iris.counterfactual(IRIS[:1], values=IRIS[50:])
    for name, _, new in found.changes:
        assert new in IRIS[50:, int(name[1:])]
    assert iris.counterfactual(IRIS[:1], values=IRIS[:1]) is None


def test_the_search_goes_on_where_pairs_are_too_many(iris):
    x = IRIS[:1]
    exhaustive = iris.counterfactual(x, 2)
    for limit in (40, 1):
        found = iris.counterfactual(x, 2, max_tries=limit)
        if found is not None:
            assert iris.predict(found.row)[0] == 2
            assert len(found.changes) >= len(exhaustive.changes)
            if len(found.changes) > 1:
                assert not found.is_smallest and "a smaller change may do" in str(found)
    assert iris.counterfactual(x, 2, max_changes=1) is None


def test_no_change_is_farther_than_it_must_be(iris):
    """Of changes that greed found: no column can stay, or come nearer."""
    seen = 0
    for k in range(0, 150, 10):
        x = IRIS[k : k + 1]
        target = int((iris.predict(x)[0] + 1) % 3)
        found = iris.counterfactual(x, target, max_tries=60)
        if found is None or found.is_smallest:
            continue
        seen += 1
        for name, old, new in found.changes:
            column = int(name[1:])
            cuts = iris.booleanizer_.codes_[column].thresholds
            low, high = sorted((old, new))
            for value in [old, *cuts[(cuts >= low) & (cuts < high)], *cuts[(cuts > low)] - 1e-9]:
                if np.searchsorted(cuts, value) == np.searchsorted(cuts, new):
                    continue
                if low <= value <= high:
                    row = np.array(found.row)
                    row[0, column] = value
                    assert iris.predict(row)[0] != target
    assert seen > 3


def test_blocks_change_nothing(iris, monkeypatch):
    whole = [iris.counterfactual(IRIS[k]) for k in (0, 60, 120)]
    monkeypatch.setattr(search, "_BLOCK_ROWS", 3)
    for k, before in zip((0, 60, 120), whole, strict=True):
        found = iris.counterfactual(IRIS[k])
        assert len(found.changes) == len(before.changes) and found.tries <= before.tries
        assert np.isclose(cost(iris, found), cost(iris, before))


def cost(model, found):
    total = 0
    for name, old, new in found.changes:
        cuts = model.booleanizer_.codes_[int(name[1:])].thresholds
        place, there = np.searchsorted(cuts, [old, new])
        total += abs(there - place) / len(cuts)
    return total


def test_a_change_has_nothing_to_spare():
    """Seven bits that vote with different weights: many must change, and no part of them does."""
    X = np.array([[0] * 7, [1] * 7] * 6)
    weights = [5, 4, 3, 3, 2, 2, 1]
    for limit in (100_000, 10):
        model = with_clauses(
            small(X, "shared", np.random.default_rng(0), n_clauses=21),
            [*([k] for k in range(7)), *([7 + k] for k in range(7))],
            [*([0, w, 0] for w in weights), *([w, 0, 0] for w in weights)],
        )
        found = model.counterfactual(X[:1], max_tries=limit)
        assert found.label == 1 and len(found.changes) == 3 and not found.is_smallest
        labels = with_clauses(
            small(X, "labels", np.random.default_rng(0), n_clauses=21),
            [*([k] for k in range(7)), *([7 + k] for k in range(7))],
            [*([0, w] for w in weights[::-1]), *([0, -w] for w in weights[::-1])],
        )
        for row, label in ((X[:1], "1"), (X[1:2], "not 1")):
            come = labels.counterfactual(row, 1, max_tries=limit)
            assert come.after == label and len(come.changes) == 3
        for change in found.changes:
            row = np.array(found.row)
            row[0, int(change.feature[1:])] = 0
            assert model.predict(row)[0] == 0


ROWS = {
    "array": lambda X: X.to_numpy(),
    "list": lambda X: X.to_numpy().tolist(),
    "pandas": lambda X: X,
    "polars": pl.from_pandas,
    "sparse": lambda X: scipy.sparse.csr_matrix(X.to_numpy()),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_every_kind(kind):
    frame = pd.DataFrame({"a": IRIS[:, 2], "b": (IRIS[:, 3] * 10).astype(int)})
    X = ROWS[kind](frame)
    model = CoTMClassifier(20, epochs=5, random_state=0, preset="paper").fit(X, SPECIES)
    x = X[:1]
    before = str(x)
    found = model.counterfactual(x)
    assert model.predict(found.row)[0] == found.label != 0
    assert type(found.row) is type(x) and str(x) == before
    for name, old, new in found.changes:
        if name in ("b", "x1") and kind in ("pandas", "polars"):
            assert type(new) is int and type(old) is int
    assert json.loads(found.to_json())["changes"][0]["feature"] == found.changes[0].feature


def test_dates_durations_and_missing_values():
    days = pd.Series(pd.date_range("2021-03-05", periods=40, freq="h", tz="Asia/Tokyo"))
    spans = pd.Series(pd.to_timedelta(np.arange(40), unit="h"))
    y = np.repeat([0, 1], 20)
    for column in (days, spans):
        X = pd.DataFrame({"when": column})
        model = CoTMClassifier(10, epochs=5, random_state=0, preset="paper").fit(X, y)
        found = model.counterfactual(X[:1])
        assert model.predict(found.row)[0] == 1
        kind = datetime.timedelta if column is spans else datetime.datetime
        assert isinstance(found.changes[0].new, kind)
        assert json.loads(found.to_json())
    X = pd.DataFrame({"size": [5.0, None] * 20})
    model = CoTMClassifier(10, epochs=5, random_state=0, preset="paper").fit(X, [0, 1] * 20)
    assert model.counterfactual(X[:1]) is None
    found = model.counterfactual(X[:1], missing=True)
    assert found.changes[0].new is None and "size were missing instead of 5" in str(found)
    back = model.counterfactual(X[1:2], values=X)
    assert back.changes[0].old is None and back.changes[0].new == 5


def test_several_labels():
    X = np.array([[0] * 3, [1] * 3] * 6)
    model = with_clauses(
        small(X, "labels", np.random.default_rng(0)),
        [[0], [3], [1], [4]],
        [[5, 0], [-5, 0], [0, 5], [0, -5]],
    )
    x = np.array([[1, 0, 0]])
    with pytest.raises(ValueError, match=r"say by label=.* is to come or to go"):
        model.counterfactual(x)
    gone, come = model.counterfactual(x, 0), model.counterfactual(x, 1)
    assert str(gone) == "not 0 instead of 0, if x0 were 0 instead of 1."
    assert str(come) == "1 instead of not 1, if x1 were 1 instead of 0." and come.label == 1


def test_composites(iris):
    other = CoTMClassifier(
        20, epochs=5, random_state=1, preset="paper", booleanize=cotm.Thermometer(3)
    ).fit(IRIS, SPECIES)
    both = cotm.join({"a": iris, "b": other}, IRIS)
    found = both.counterfactual(IRIS[:1])
    assert found.label == both.predict(found.row)[0] != both.predict(IRIS[:1])[0]
    with pytest.raises(ValueError, match="x is a dictionary"):
        both.counterfactual({"a": IRIS[:1], "b": IRIS[:1]})
    piped = cotm.CoTMComposite(
        [("p", make_pipeline(cotm.Thermometer(2), CoTMClassifier(10, epochs=1)))]
    ).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="the member 'p' is a pipeline"):
        piped.counterfactual(IRIS[:1])


def test_images_of_bits_flip_pixels_and_others_are_refused():
    X = np.random.default_rng(0).integers(0, 2, (60, 4, 4))
    y = X[:, 1, 2]
    model = CoTMClassifier(
        20, epochs=10, T=20, patch_shape=(3, 3), random_state=0, preset="paper"
    ).fit(X, y)
    found = model.counterfactual(X[:1])
    assert found.row.shape == (1, 4, 4) and (found.row != X[:1]).sum() == len(found.changes)
    assert all(change.feature.startswith("pixel(") for change in found.changes)
    gray = CoTMClassifier(5, epochs=1, patch_shape=(3, 3), preset="paper").fit(X * 90, y)
    with pytest.raises(ValueError, match="makes bits of images with"):
        gray.counterfactual(X[:1] * 90)


def test_what_cannot_be_asked(iris):
    with pytest.raises(ValueError, match="x holds 3 examples; pass one, as in X"):
        iris.counterfactual(IRIS[:3])
    for wrong in ({"max_changes": 0}, {"max_tries": 0}, {"missing": 2}):
        with pytest.raises(ValueError):
            iris.counterfactual(IRIS[:1], **wrong)
