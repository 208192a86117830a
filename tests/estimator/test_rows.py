"""Predictions of single rows: quick, and what a batch gives."""

import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer

import cotm
from cotm.core.extension import native_core
from cotm.model import inputs

METHODS = ("votes", "predict", "predict_proba", "decision_function")


@pytest.fixture(scope="module")
def table():
    frame, y = load_breast_cancer(as_frame=True, return_X_y=True)
    frame = frame.iloc[:, :6].assign(size=np.where(frame["mean area"] > 600, "large", "small"))
    return frame, y


def fitted(X, y):
    return cotm.CoTMClassifier(20, epochs=2, preset="paper", random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def models(table):
    frame, y = table
    numbers = frame.iloc[:, :6].to_numpy()
    bits = (numbers > numbers.mean(axis=0)).astype(np.uint8)
    return {
        "frame": (fitted(frame, y), frame),
        "polars": (fitted(frame, y), pl.from_pandas(frame)),
        "objects": (fitted(frame.to_numpy(), y), frame.to_numpy()),
        "numbers": (fitted(numbers, y), numbers),
        "bits": (fitted(bits, y), bits),
        "graded": (cotm.CoTMClassifier(9, tolerance=4, epochs=1).fit(bits, y), bits.astype(bool)),
    }


NAMES = ["frame", "polars", "objects", "numbers", "bits", "graded"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_give_what_a_batch_gives(models, name):
    model, X = models[name]
    for method in METHODS:
        call = getattr(model, method)
        expected = call(X)
        for rows in (slice(0, 1), slice(7, 8), slice(30, 33), slice(100, 120)):
            np.testing.assert_array_equal(call(X[rows]), expected[rows])


def test_lists_are_read_as_arrays(models):
    model, X = models["numbers"]
    np.testing.assert_array_equal(model.votes(X[:3].tolist()), model.votes(X[:3]))


@pytest.mark.skipif(native_core() is None, reason="there is no native core")
@pytest.mark.parametrize("name", NAMES)
def test_good_rows_need_no_closer_look(models, name, monkeypatch):
    def look(*_):
        raise AssertionError("X was checked the slow way")

    monkeypatch.setattr(inputs.InputReader, "_checked", look)
    model, X = models[name]
    for method in METHODS:
        getattr(model, method)(X[:1])
    model.votes(X[:40])


def outcome(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return model.votes(X).tolist(), [(str(w.message), w.category) for w in caught]
        except Exception as error:
            return type(error), str(error)


def test_bad_rows_are_told_as_ever(models, monkeypatch):
    cases = []
    for name, (model, X) in models.items():
        rows = X.to_pandas() if name == "polars" else X
        values = rows.to_numpy() if isinstance(rows, pd.DataFrame) else rows
        wrong = values[:2].astype(object)
        wrong[1, 2] = "text"
        cases += [(model, bad) for bad in (values[0], values[:0], values[:2, 1:], wrong, [[1], 2])]
        cases += [(model, values[:2]), (model, 2 * values[:2, :2]), (model, None), (model, "text")]
        if isinstance(rows, pd.DataFrame):
            cases += [(model, rows[rows.columns[::-1]]), (model, rows.iloc[:0])]
            cases += [(model, rows[:3].rename(columns={"size": "width"}))]
        else:
            cases += [(model, pd.DataFrame(rows[:2]).add_prefix("x"))]
            number = rows[:2].astype(np.float64) if name != "objects" else rows[:2].copy()
            number[0, 1] = np.inf
            cases += [(model, number)]
    found = [outcome(*case) for case in cases]
    monkeypatch.setattr(inputs.InputReader, "_quick", lambda self, X: None)
    assert found == [outcome(*case) for case in cases]
    assert sum(isinstance(first, type) for first, _ in found) > 30  # errors


def test_threads_may_predict_single_rows_at_once(models):
    model, X = models["frame"]
    expected, failures = model.votes(X[:16]), []

    def work():
        for k in range(16):
            if not np.array_equal(model.votes(X[k : k + 1])[0], expected[k]):
                failures.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_rows_follow_training(table):
    frame, y = table
    model = fitted(frame, y)
    for _ in range(3):
        model.partial_fit(frame, y)
        np.testing.assert_array_equal(model.votes(frame[:1])[0], model.votes(frame)[0])
