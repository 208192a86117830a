"""The detector of outliers: scikit-learn's checks, what it finds, and that it is exact."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from command_line import fails, run
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import cotm
from cotm import CoTMClassifier, CoTMOutlierDetector
from cotm.booleanize.frames import read_table
from cotm.detecting.made_up import KINDS, with_made_up
from cotm.files.container import pack, unpack
from cotm.loading import load_bytes


@parametrize_with_checks([CoTMOutlierDetector(CoTMClassifier(40, epochs=5), copies=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def line(rows=300, seed=0):
    across = np.random.default_rng(seed).uniform(size=rows)
    return np.column_stack([across, across + 0.05])


def detector(**options):
    learner = CoTMClassifier(100, epochs=8)
    return CoTMOutlierDetector(learner, **{"random_state": 0, "copies": 2, **options})


def test_it_finds_what_does_not_go_together():
    fitted, new = detector().fit(line()), line(100, seed=1)
    odd = np.column_stack([new[:, 0], new[::-1, 1]])
    odd = odd[np.abs(odd[:, 0] - odd[:, 1]) > 0.3]
    scores = [fitted.score_samples(X) for X in (new, odd)]
    assert roc_auc_score([1] * len(new) + [0] * len(odd), np.concatenate(scores)) > 0.97
    assert (fitted.predict(new) == 1).mean() > 0.8 and (fitted.predict(odd) == -1).mean() > 0.8
    assert all((part == np.rint(part)).all() for part in scores)
    far = fitted.score_samples([[3.0, 3.05], [-2.0, -1.95]])
    assert (far < np.median(scores[0])).all() and (fitted.predict([[3.0, 3.05]]) == -1).all()


def test_contamination_says_where_outliers_begin():
    X = line()
    fitted = detector(contamination=0.1).fit(X)
    assert 0.05 < (fitted.predict(X) == -1).mean() <= 0.1
    assert (detector(contamination=0.1).fit_predict(X) == fitted.predict(X)).all()
    free = detector().fit(X)
    assert (free.score_samples(X) == fitted.score_samples(X)).all()
    assert (free.predict(line(1000, seed=2)) == -1).mean() < 0.15
    assert (fitted.decision_function(X) == fitted.score_samples(X) - fitted.offset_).all()


def test_new_digits_are_found():
    X, y = load_digits(return_X_y=True)
    known = y < 5
    scores = detector().fit(X[known][::2]).score_samples(X)
    rest = np.setdiff1d(np.arange(len(X)), np.flatnonzero(known)[::2])
    assert roc_auc_score(known[rest], scores[rest]) > 0.75


def test_the_same_seed_is_the_same_detector():
    X = line(100)
    first, again = detector().fit(X), detector().fit(X)
    assert (first.classifier_.memory_ == again.classifier_.memory_).all()
    assert (first.score_samples(X) == pickle.loads(pickle.dumps(again)).score_samples(X)).all()
    assert (first.score_samples(X) != detector(random_state=1).fit(X).score_samples(X)).any()


def table():
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Rome"], 300)
    heat = np.where(city == "Oslo", 5.0, 25.0) + rng.normal(0, 2, 300)
    heat[::10] = np.nan
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D")
    return pd.DataFrame({"city": pd.Categorical(city), "heat": heat, "day": day, "wet": heat < 4})


@pytest.mark.parametrize("form", [lambda X: X, pl.from_pandas, lambda X: X.astype(object)])
def test_frames_of_all_types(form):
    X = table()
    fitted = detector().fit(form(X))
    assert fitted.feature_names_in_.tolist() == ["city", "heat", "day", "wet"]
    odd = X[:20].assign(city=np.where(X.city[:20] == "Oslo", "Rome", "Oslo"))
    scores = [fitted.score_samples(form(some)) for some in (X[:20], odd)]
    assert np.median(scores[0]) > np.median(scores[1])
    assert any(rule.weights["real"] > 0 for rule in fitted.classifier_.rules(label="real"))
    why = fitted.classifier_.explain(form(odd), background=form(X))
    assert "real" in why[1].sentence(label="real")


def test_made_up_rows():
    X = table()
    rows, kinds = with_made_up(X, read_table(X), 3, 7)
    assert len(rows) == len(kinds) == 3 * 4 * 300
    assert [str(kind) for kind in np.unique(kinds)] == sorted(["real", *KINDS])
    assert (rows.dtypes == X.dtypes).all()
    pd.testing.assert_frame_equal(rows[:300], X)
    shuffled = rows[kinds == "shuffled"]
    for name in X:
        for copy in range(3):
            part = shuffled[name][300 * copy : 300 * (copy + 1)]
            assert not part.reset_index(drop=True).equals(X[name])
            assert sorted(map(str, part)) == sorted(map(str, X[name]))
    uniform = rows[kinds == "uniform"]
    low, high = X["heat"].min(), X["heat"].max()
    assert uniform["heat"].min() < low and uniform["heat"].max() > high
    assert uniform["heat"].min() >= low - 0.25 * (high - low)
    assert uniform["heat"].isna().mean() == X["heat"].isna().mean()
    assert 0.4 < (uniform["city"] == "Oslo").mean() < 0.6
    whole = with_made_up(np.array([[0, 1], [5, 2], [9, 4]] * 9), read_table(np.eye(3)), 1, 0)[0]
    assert (whole == np.rint(whole)).all()


def test_files(tmp_path):
    X, path = line(100), tmp_path / "d.cotm"
    fitted = detector(contamination=0.1).fit(X)
    fitted.save(path)
    again = cotm.load(path)
    assert (again.decision_function(X) == fitted.decision_function(X)).all()
    assert (again.predict(X) == fitted.predict(X)).all()
    assert (again.fit(X).score_samples(X) == fitted.score_samples(X)).all()
    header, tensors = unpack(path.read_bytes())
    good = header["parameters"]
    for change in (
        {"offset": float("inf")}, {"offset": None}, {"offset": 3}, {"format": 2}, {"cotm": 1},
        {"class": "CoTMComposite"}, {"parameters": {**good, "copies": 0}}, {"more": 1},
        {"parameters": {**good, "contamination": 0.7}}, {"parameters": None},
        {"parameters": {**good, "random_state": -1}},
    ):  # fmt: skip
        with pytest.raises(cotm.ModelFileError):
            load_bytes(pack(json.dumps({**header, **change}), tensors), "d.cotm")
    data = tensors["classifier"]
    damaged = [{"classifier": bad} for bad in (data[:-1], data[None], data.astype(float))]
    for bad in ({}, {**tensors, "more": data}, *damaged):
        with pytest.raises(cotm.ModelFileError):
            load_bytes(pack(json.dumps(header), bad), "d.cotm")
    assert "read it in Python" in fails("predict", path, path)
    assert f"below {fitted.offset_:g}" in run("info", path).stdout
    assert json.loads(run("info", path, "--json").stdout)["offset"] == fitted.offset_
    with pytest.raises(NotFittedError):
        detector().save(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"contamination": 0.7}, "contamination=0.7"),
        ({"contamination": "some"}, "contamination='some'"),
        ({"copies": 0}, "copies=0"),
        ({"estimator": cotm.CoTMRegressor()}, "must be a CoTMClassifier"),
        ({"estimator": CoTMClassifier(patch_shape=(3, 3))}, "without patch_shape"),
    ],
)
def test_bad_parameters_are_refused(options, said):
    fresh = CoTMOutlierDetector(**options)
    with pytest.raises(ValueError, match=said):
        fresh.fit(line(20))
    assert not hasattr(fresh, "classifier_")
