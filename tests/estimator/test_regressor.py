"""The regressor: scikit-learn's checks, y's own units, intervals, files, equal bits."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_sklearn import expected_failures

import cotm
from cotm import CoTMRegressor
from cotm.model.quantities import Quantities, Scaling, read_quantities


@parametrize_with_checks(
    [CoTMRegressor(n_clauses=60, epochs=15)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def small(**options):
    return CoTMRegressor(**{"n_clauses": 60, "epochs": 6, "random_state": 0, **options})


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(600, noise=0.5, random_state=0)
    return train_test_split(X, y, random_state=0)


def test_it_is_better_than_a_straight_line(friedman):
    X, X_test, y, y_test = friedman
    model = CoTMRegressor(200, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > Ridge().fit(X, y).score(X_test, y_test) + 0.05


def test_predictions_are_votes_in_units(friedman):
    X, X_test, y, _ = friedman
    model = small(average=3).fit(X, y)
    assert model.machine_.n_states_ == 3
    assert np.allclose(model.predict(X_test), model.votes(X_test)[:, 0] / model.unit_ + y.mean())
    assert model.T_ == 120 and np.isclose(model.unit_[0], 3 * 120 / y.std())


@pytest.mark.parametrize("factor, shift", [(1e-8, 0.0), (1e6, 0.0), (-3.0, 1e4)])
def test_units_of_y_do_not_matter(friedman, factor, shift):
    X, X_test, y, _ = friedman
    expected = small().fit(X, y).predict(X_test)
    found = small().fit(X, factor * y + shift).predict(X_test)
    if factor > 0:
        assert np.allclose((found - shift) / factor, expected)
    else:  # other clauses learn what is above and what is below
        assert np.corrcoef(found, expected)[0, 1] < -0.8


def test_several_targets_share_clauses():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    Y = pd.DataFrame({"disease": y, "bmi": X["bmi"]})
    X = X.drop(columns="bmi")
    model = small(average=4).fit(X, Y)
    assert model.predict(X).shape == (442, 2)
    assert model.memory_.shape[0] == 4 * 60 and model.weights_.shape[1] == 2
    assert np.min(np.diag(np.corrcoef(model.predict(X).T, Y.T)[:2, 2:])) > 0.6
    with pytest.raises(ValueError, match=r"y has the columns \['bmi', 'disease'\]"):
        model.partial_fit(X, Y[["bmi", "disease"]])
    with pytest.raises(ValueError, match="1 columns of quantities, but training began with 2"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("backend", ["reference", "native"])
def test_backends_and_threads_agree(friedman, backend):
    X, X_test, y, _ = friedman
    model = small(n_clauses=30, epochs=2, backend=backend, n_jobs=2).fit(X[:60], y[:60])
    again = small(n_clauses=30, epochs=2, backend="native", n_jobs=1).fit(X[:60], y[:60])
    assert np.array_equal(model.memory_, again.memory_)
    assert np.array_equal(model.predict(X_test), again.predict(X_test))
    assert [r["train_accuracy"] for r in model.history_] == [
        r["train_accuracy"] for r in again.history_
    ]


def test_training_goes_on_to_the_same_bits(friedman, tmp_path):
    X, _, y, _ = friedman
    whole = small().fit(X, y)

    def stop(estimator, record):
        return record["epoch"] == 3

    part = small(callbacks=[stop]).fit(X, y)
    part.save(tmp_path / "part.cotm")
    resumed = cotm.load(tmp_path / "part.cotm").fit(X, y, resume=True)
    assert np.array_equal(resumed.memory_, whole.memory_)
    with pytest.raises(ValueError, match="y holds other labels"):
        cotm.load(tmp_path / "part.cotm").fit(X, y + np.arange(len(y)) % 2, resume=True)


def test_files_and_pickles(friedman, tmp_path):
    X, X_test, y, _ = friedman
    model = small(early_stopping=True, scoring="neg_mean_absolute_error").fit(X, y)
    model.save(tmp_path / "model.cotm")
    for copy in (cotm.load(tmp_path / "model.cotm"), pickle.loads(pickle.dumps(model))):
        assert isinstance(copy, CoTMRegressor)
        assert np.array_equal(copy.predict(X_test), model.predict(X_test))
        assert np.array_equal(copy.predict_interval(X_test), model.predict_interval(X_test))
        assert copy.get_params() == model.get_params()
        assert copy.history_ == model.history_
        assert np.array_equal(copy.partial_fit(X, y).memory_, pickle_trained(model, X, y))


def pickle_trained(model, X, y):
    return pickle.loads(pickle.dumps(model)).partial_fit(X, y).memory_


def test_early_stopping_keeps_the_best_epoch(friedman):
    X, X_test, y, y_test = friedman
    model = small(epochs=30, patience=3).fit(X, y, eval_set=(X_test, y_test))
    scores = [record["validation_accuracy"] for record in model.history_]
    assert np.isclose(model.score(X_test, y_test), max(scores), atol=1e-3)
    with pytest.raises(ValueError, match="eval_set: y has 2 columns"):
        small().fit(X, y, eval_set=(X_test, np.column_stack([y_test, y_test])))


def test_intervals_cover_as_often_as_they_say():
    X, y = make_friedman1(3000, noise=1.0, random_state=1)
    model = small(n_clauses=100).fit(X[:500], y[:500])
    with pytest.raises(ValueError, match="call conformalize"):
        model.predict_interval(X)
    model.conformalize(X[500:1500], y[500:1500])
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[1500:], coverage=coverage)
        inside = ((low <= y[1500:]) & (y[1500:] <= high)).mean()
        assert abs(inside - coverage) < 0.06
    low, high = model.predict_interval(X[:1], coverage=0.9999)
    assert low[0] == -np.inf and high[0] == np.inf  # a thousand errors cannot promise that


def test_weights_say_which_examples_count(friedman):
    X, _, y, _ = friedman
    wrong = np.concatenate([y, -y])
    doubled = np.concatenate([X, X])
    weight = np.repeat([1.0, 0.01], len(y))
    assert small().fit(doubled, wrong, sample_weight=weight).score(X, y) > 0.5
    assert small().fit(doubled, wrong).score(X, y) < 0.5
    with pytest.raises(ValueError, match="at least one non-zero"):
        small().fit(X, y, sample_weight=np.zeros(len(y)))


def test_patches_sparse_bits_and_missing_values():
    rng = np.random.default_rng(0)
    images = (rng.random((200, 8, 8)) < 0.1).astype(np.uint8)
    bright = images.copy()
    bright[:100, 2:5, 3:6] = 1
    y = np.repeat([5.0, 1.0], 100)
    model = small(patch_shape=(3, 3)).fit(bright, y)
    assert model.score(bright, y) > 0.8
    frame = pd.DataFrame({"a": np.where(rng.random(200) < 0.2, np.nan, y), "b": ["u", "v"] * 100})
    assert small().fit(frame, y).score(frame, y) > 0.5


def test_search_and_clone(friedman):
    X, _, y, _ = friedman
    search = GridSearchCV(small(), {"s": [2.0, 5.0]}, cv=2).fit(X[:200], y[:200])
    assert search.best_score_ > 0.2
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_a_target_that_does_not_vary_is_predicted_as_it_is():
    X = np.arange(40.0)[:, None]
    predicted = small().fit(X, np.full(40, 7.5)).predict(X)
    assert np.abs(predicted - 7.5).max() < 0.5


@pytest.mark.parametrize(
    "y, message",
    [
        (None, "requires y"),
        ([], "y holds no quantities"),
        ([1.0, np.nan, 2.0], "NaN"),
        ([1.0, np.inf, 2.0], "infinity"),
        (["a", "b", "c"], "could not convert"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "convert dates"),
        ([1e308, -1e308, 0.0], "too far for float64"),
        (np.array([1j, 2j, 3j]), "Complex data not supported"),
    ],
)
def test_bad_targets_are_refused(y, message):
    model = small()
    with pytest.raises(ValueError, match=message):
        model.fit(np.eye(3), y)
    assert not hasattr(model, "memory_")


def test_a_scaling_goes_there_and_back():
    values = np.array([[1.0, -4.0], [3.0, -4.0], [8.0, 0.0]])
    scaling = Scaling.of(Quantities(values, False), 1000)
    assert np.allclose(scaling.quantities(scaling.aims(values), 1), values, atol=0.01)
    assert scaling.aims(np.full((1, 2), 1e300)).tolist() == [[2**30, 2**30]]


def test_a_column_is_one_target_and_a_frame_has_names():
    assert read_quantities([1, 2]).one
    with pytest.warns(UserWarning, match="column-vector"):
        assert read_quantities([[1], [2]]).one
    named = read_quantities(pd.DataFrame({"price": [1, 2]}))
    assert named.names == ["price"] and not named.one


def test_machine_wants_whole_votes():
    X = np.eye(4, dtype=np.uint8)
    machine = cotm.Machine(10, T=20, regression=True, random_state=0)
    votes = machine.fit(X, [40, -40, 0, 10], epochs=60).votes(X)[:, 0]
    assert np.argsort(votes).tolist() == [1, 2, 3, 0]
    with pytest.raises(ValueError, match=r"Y holds 0\.5; with regression=True"):
        machine.fit(X, [0.5, 1, 2, 3])
    with pytest.raises(ValueError, match="quantities have no classes"):
        cotm.Machine(10, T=20, regression=True, negatives="drawn")


def test_explanations_add_up_to_the_prediction(friedman):
    X, X_test, y, _ = friedman
    Y = np.column_stack([y, -2.0 * y])
    for target in (y, Y):
        model = small(n_clauses=20, average=2).fit(X, target)
        said = model.explain(X_test[:6], background=X[:8])
        total = said.base + said.contributions.sum(axis=1)
        assert np.allclose(total, model.predict(X_test[:6]).reshape(total.shape))
        assert np.allclose(said.base, model.predict(X[:8]).reshape(8, -1).mean(axis=0))
    assert said[0].sentence(label=1).startswith("1: ") and ": raised by" in said[0].sentence()
    assert '"prediction": [' in said.to_json()
    with pytest.raises(ValueError, match="quantities have no probabilities"):
        said.probabilities  # noqa: B018


@pytest.mark.parametrize("columns", [1, 2])
def test_checkpoints(columns, friedman, tmp_path):
    X, _, y, _ = friedman
    Y = y if columns == 1 else np.column_stack([y, -2 * y])
    path = tmp_path / "run.cotm"
    whole = small(callbacks=[cotm.Checkpoint(path, every=4)]).fit(X, Y)
    resumed = cotm.load(path).fit(X, Y, resume=True)
    assert len(resumed.history_) == 6 and np.array_equal(resumed.memory_, whole.memory_)
    assert np.array_equal(resumed.weights_, whole.weights_)
