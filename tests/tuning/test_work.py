"""Trainings that go on are those that were never interrupted, on data that are read once."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from searched import iris
from sklearn.datasets import load_diabetes, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cotm import Augmentation, CoTMClassifier, CoTMRegressor, Schedule, TMClassifier
from cotm.backends.packing import PackedExamples
from cotm.tuning.folds import Folds, Recipe, split
from cotm.tuning.work import StoppedError, Work, advance, default_score, train

SCORERS = {"score": default_score}


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300].reshape(-1, 8, 8).astype(np.uint8) * 15, y[:300]


def table():
    X, y = iris()
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    return frame.with_columns(pl.when(pl.col("a") > 5.5).then(pl.lit("x")).alias("e")), y


def text():
    random = np.random.default_rng(0)
    X = scipy.sparse.csr_array((random.random((120, 1500)) < 0.02).astype(np.uint8))
    return X, np.asarray(X[:, [0, 1, 2, 3, 4, 5, 6, 7]].sum(axis=1)).ravel() > 0


def several():
    X, y = iris()
    return X, np.column_stack([y == "setosa", X[:, 0] > 6]).astype(int)


CASES = {
    "table": (CoTMClassifier(30, random_state=1), table),
    "scheduled": (CoTMClassifier(20, T=Schedule(5, 40, epochs=4), average=3, random_state=1), iris),
    "separate": (TMClassifier(20, class_weight="balanced", random_state=2), iris),
    "several": (CoTMClassifier(20, drop_clauses=0.3, random_state=2), several),
    "text": (CoTMClassifier(20, random_state=2), text),
    "images": (CoTMClassifier(20, patch_shape=(4, 4), random_state=3), digits),
    "changed images": (
        CoTMClassifier(
            20, patch_shape=(4, 4), augment=Augmentation(shift=1), average=2, random_state=3
        ),
        digits,
    ),
    "quantities": (CoTMRegressor(20, random_state=4), lambda: load_diabetes(return_X_y=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_going_on_equals_fit_at_once(case):
    learner, data = CASES[case]
    X, y = data()
    learner = learner.set_params(backend="native", n_jobs=1)
    splits = split(3, X, y, None, learner, 0)
    weight = np.linspace(0.5, 1.0, len(y))
    folds = Folds(Recipe.of(learner), X, y, weight, splits)
    fold = folds.fold(1, {})
    first = advance(Work(learner, 2, 0, None), fold, SCORERS)
    assert first.error is None
    state = pickle.loads(pickle.dumps(first.state))
    second = advance(Work(learner, 6, 2, state), fold, SCORERS)

    rows, held = splits[1]
    X_train, X_held = (
        X[part.tolist()] if hasattr(X, "columns") else X[part] for part in (rows, held)
    )
    whole = type(learner)(**{**learner.get_params(deep=False), "epochs": 6})
    whole.fit(X_train, y[rows], sample_weight=weight[rows])
    state = whole.machine_.snapshot()
    assert np.array_equal(second.state.memory, state.memory)
    assert np.array_equal(second.state.weights, state.weights)
    assert second.state.step == state.step
    assert len(second.state.earlier) == len(state.earlier)
    for mine, theirs in zip(second.state.earlier, state.earlier, strict=True):
        assert np.array_equal(mine.included, theirs.included)
        assert np.array_equal(mine.weights, theirs.weights)
    assert second.scores["score"] == pytest.approx(whole.score(X_held, y[held]), abs=1e-12)


def test_what_precedes_a_learner_is_fitted_on_the_rows_to_train_on():
    X, y = iris()
    X = X.copy()
    pipeline = make_pipeline(StandardScaler(), CoTMClassifier(10, random_state=0))
    splits = split(0.4, X, y, None, pipeline, 5)
    X[splits[0][1]] += 1000
    fold = Folds(Recipe.of(pipeline), X, y, None, splits).fold(0, {})
    # As if the rows to judge by had never been seen: they are all above every threshold.
    assert fold.held_X.min() > 100
    assert fold.held.bits.reshape(len(fold.held_X), -1).all()


def test_labels_that_are_rare_may_lie_all_in_one_part():
    X, y = iris()
    y = y.copy()
    y[0] = "rare"
    learner = CoTMClassifier(10, epochs=1, random_state=0)
    rows = np.arange(1, 100), np.array([0, 120, 130])
    fold = Folds(Recipe.of(learner), X, y, None, [rows]).fold(0, {})
    assert fold.classes.tolist() == ["rare", "setosa", "versicolor", "virginica"]
    assert advance(Work(learner, 1, 0, None), fold, SCORERS).error is None


def test_examples_are_packed_once_for_all_who_ask_at_the_same_time():
    X, y = iris()
    learner = CoTMClassifier(10, backend="native", random_state=0)
    fold = Folds(Recipe.of(learner), X, y, None, split(2, X, y, None, learner, 0)).fold(0, {})
    calls = []

    class Backend:
        name = "native"

        def prepare(self, examples):
            calls.append(examples)
            return object()

    packed = PackedExamples(fold.examples)
    forms = []
    threads = [
        threading.Thread(target=lambda: forms.append(packed.on(Backend()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(set(map(id, forms))) == 1
    assert len(pickle.loads(pickle.dumps(packed))) == len(packed)


def test_folds_are_read_once_and_by_the_parameters_that_say_how():
    X, y = iris()
    learner = CoTMClassifier(10, random_state=0)
    folds = Folds(Recipe.of(learner), X, y, None, split(2, X, y, None, learner, 0))
    assert folds.fold(0, {}) is folds.fold(0, {})
    assert folds.fold(0, {}, "other") is not folds.fold(0, {})


def test_what_does_not_fit_together_is_told_and_not_raised():
    X, y = iris()
    learner = CoTMClassifier(10, boost_true_positive=False, forgetting="sampled", random_state=0)
    fold = Folds(Recipe.of(learner), X, y, None, split(2, X, y, None, learner, 0)).fold(0, {})
    done = advance(Work(learner, 1, 0, None), fold, SCORERS)
    assert "boost_true_positive" in done.error and np.isnan(done.scores["score"])


def test_work_that_is_stopped_comes_to_nothing():
    X, y = iris()
    learner = CoTMClassifier(10, random_state=0)
    fold = Folds(Recipe.of(learner), X, y, None, split(2, X, y, None, learner, 0)).fold(0, {})
    with pytest.raises(StoppedError):
        train(Work(learner, 1, 0, None), fold, lambda: True)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(5), np.arange(3, 9))], "judges by rows that it trains on"),
        ([(np.arange(5), np.arange(0))], "no rows on one side"),
        (1.5, "cv=1.5 must be from 0 to 1"),
    ],
)
def test_folds_that_would_judge_nothing_are_refused(cv, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        split(cv, X, y, None, CoTMClassifier(), 0)
