"""The classifiers among scikit-learn's tools."""

from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import classifier
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from cotm import Categories, CoTMClassifier, Thermometer, TMClassifier

WEIGHTS_ARE_NOT_REPETITIONS = (
    "a weight scales the probability that an example gives feedback, so an example of weight k is "
    "presented once, not k times, and random numbers follow the count of presented examples"
)


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_NOT_REPETITIONS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_NOT_REPETITIONS,
    }


@parametrize_with_checks(
    [
        CoTMClassifier(n_clauses=40, epochs=10),
        TMClassifier(n_clauses=40, epochs=10),
        TMClassifier(n_clauses=40, epochs=10, T=10, weighted=False),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def iris():
    return load_iris(return_X_y=True)


small = partial(classifier, n_clauses=60, epochs=20, random_state=0)


def test_pipeline_and_cross_validation():
    X, y = iris()
    scores = cross_val_score(make_pipeline(Thermometer(n_bits=6), small()), X, y, cv=3)
    assert scores.mean() > 0.9


def test_coin_flips_score_as_coin_flips():
    """No state leaks from one fold into the next."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (200, 10)), rng.integers(0, 2, 200)
    assert cross_val_score(small(), X, y, cv=5).mean() < 0.65


def test_grid_search():
    X, y = iris()
    search = GridSearchCV(small(), {"s": [2.0, 10.0], "n_clauses": [20, 60]}, cv=3, n_jobs=2)
    assert search.fit(X, y).best_score_ > 0.9


def test_calibration():
    X, y = load_breast_cancer(return_X_y=True)
    model = CalibratedClassifierCV(small(), cv=3).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9
    assert np.allclose(model.predict_proba(X[400:]).sum(axis=1), 1)


def test_clone_and_joblib(tmp_path):
    X, y = iris()
    model = small(T=100, max_literals=8).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    assert np.array_equal(clone(model).fit(X, y).memory_, model.memory_)
    joblib.dump(model, tmp_path / "model.joblib")
    copy = joblib.load(tmp_path / "model.joblib")
    assert np.array_equal(copy.votes(X), model.votes(X))
    again = [m.set_params(warm_start=True, epochs=3).fit(X, y).memory_ for m in (model, copy)]
    assert np.array_equal(*again)


def test_threads_in_joblib_do_not_change_results():
    X, y = iris()
    one = joblib.Parallel(2, backend="threading")(
        joblib.delayed(lambda s: small(random_state=s).fit(X, y).memory_)(s) for s in range(4)
    )
    two = [small(random_state=s).fit(X, y).memory_ for s in range(4)]
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_classifier_chain_takes_it():
    X, Y = make_multilabel_classification(n_samples=100, n_labels=2, random_state=0)
    assert ClassifierChain(small()).fit(X, Y).predict(X).shape == Y.shape


def test_column_transformer_gives_bits_from_a_frame():
    frame = pd.DataFrame({"age": [20, 30, 40, 50] * 10, "colour": ["red", "blue"] * 20})
    bits = ColumnTransformer(
        [("age", Thermometer(), ["age"]), ("colour", Categories(), ["colour"])]
    )
    y = (frame["age"] > 25).astype(int)
    model = make_pipeline(bits, small()).fit(frame, y)
    assert model.score(frame, y) == 1.0


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_column_names(library):
    frame = library.DataFrame({"age": [20.0, 30.0, None, 50.0] * 10, "sex": ["f", "m"] * 20})
    y = ["old" if a == 50.0 else "young" for a in [20.0, 30.0, None, 50.0] * 10]
    model = small().fit(frame, y)
    assert list(model.feature_names_in_) == ["age", "sex"]
    assert model.score(frame, y) == 1.0
    with pytest.raises(ValueError, match="feature names"):
        model.predict(library.DataFrame({"sex": ["f"], "age": [20.0]}))


def test_text_in_csr():
    texts = ["a good film", "a bad film", "good good fun", "bad and boring"] * 20
    y = ["pos", "neg", "pos", "neg"] * 20
    model = make_pipeline(CountVectorizer(binary=True, token_pattern=r"\w+"), small()).fit(texts, y)
    assert model.score(texts, y) == 1.0
    assert model.predict(["good fun", "boring"]).tolist() == ["pos", "neg"]
