"""Smaller classifiers: what they promise, and that they are classifiers like any other."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

import cotm
from cotm.core.patches import PatchGrid
from cotm.model.compression import Compression
from cotm.model.judging import Judge

DIGITS, DIGIT = load_digits(return_X_y=True)
ROWS = slice(0, 500)
IMAGES = (DIGITS > 7).astype(np.uint8).reshape(-1, 8, 8)
BITS = IMAGES.reshape(-1, 64)
LABELS = np.column_stack([DIGIT % 2, DIGIT > 4])


def fitted(X, y=DIGIT, kind=cotm.CoTMClassifier, n_clauses=30, **options):
    options = {"epochs": 4, "preset": "paper", "random_state": 0, "n_jobs": 1, **options}
    return kind(n_clauses, **options).fit(X[ROWS], y[ROWS])


MODELS = {
    "numbers": lambda: (fitted(DIGITS), DIGITS, DIGIT),
    "bits": lambda: (fitted(BITS), BITS, DIGIT),
    "graded": lambda: (fitted(BITS, tolerance=4), BITS, DIGIT),
    "averaged": lambda: (fitted(BITS, average=3, T=30), BITS, DIGIT),
    "images": lambda: (fitted(IMAGES, patch_shape=(4, 4)), IMAGES, DIGIT),
    "graded images": lambda: (
        fitted(IMAGES, patch_shape=(5, 5), tolerance=3, n_clauses=12, epochs=1),
        IMAGES,
        DIGIT,
    ),
    "several labels": lambda: (fitted(BITS, LABELS), BITS, LABELS),
    "own clauses": lambda: (fitted(BITS, kind=cotm.TMClassifier, n_clauses=50), BITS, DIGIT),
    "plain": lambda: (
        fitted(BITS, kind=cotm.TMClassifier, n_clauses=50, weighted=False),
        BITS,
        DIGIT,
    ),
    "texts": lambda: (
        fitted(pd.DataFrame({"a": DIGITS[:, 20], "b": (DIGITS[:, 42] > 4).astype(str)}), DIGIT > 4),
        pd.DataFrame({"a": DIGITS[:, 20], "b": (DIGITS[:, 42] > 4).astype(str)}),
        DIGIT > 4,
    ),
}
_made = {}


def model(name):
    if name not in _made:
        _made[name] = MODELS[name]()
    return _made[name]


def right(classifier, X, y):
    same = classifier.predict(X) == y
    return int((same.all(axis=1) if same.ndim == 2 else same).sum())


@pytest.mark.parametrize("name", MODELS)
def test_without_a_loss_votes_are_the_same_everywhere(name):
    classifier, X, _ = model(name)
    small = classifier.compress(max_loss=None)
    np.testing.assert_array_equal(small.votes(X), classifier.votes(X))
    np.testing.assert_allclose(small.predict_proba(X), classifier.predict_proba(X))
    assert small.compression_["clauses"][0] >= small.compression_["clauses"][1]


@pytest.mark.parametrize("name", MODELS)
def test_no_prediction_changes_where_nothing_may_be_lost(name):
    classifier, X, y = model(name)
    small = classifier.compress(X[ROWS], y[ROWS])
    np.testing.assert_array_equal(small.predict(X[ROWS]), classifier.predict(X[ROWS]))
    assert small.compression_["right_after"] == small.compression_["examples"] == 500


@pytest.mark.parametrize("name", MODELS)
def test_no_more_is_lost_than_may_be(name, tmp_path):
    classifier, X, y = model(name)
    before, state = right(classifier, X[ROWS], y[ROWS]), pickle.dumps(classifier)
    small = classifier.compress(X[ROWS], y[ROWS], max_loss=0.02)
    said = small.compression_
    assert said["right_before"] == before
    assert said["right_after"] == right(small, X[ROWS], y[ROWS]) >= before - 10
    assert type(small) is type(classifier) and pickle.dumps(classifier) == state
    assert said["literals"] == (
        int((classifier.memory_ >= 0).sum()),
        int((small.memory_ >= 0).sum()),
    )
    assert said["clauses"][1] <= small.n_clauses == len(small.memory_)
    assert said["literals"][1] < said["literals"][0]
    small.save(tmp_path / "m.cotm")
    small.export(tmp_path / "m.json")
    loaded = cotm.load(tmp_path / "m.cotm")
    for other in (loaded, pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(other.votes(X), small.votes(X))
    assert small.rules(top=1)[0].conditions
    again = small.partial_fit(X[ROWS], y[ROWS])
    assert again.step_ == classifier.step_ + 500
    assert loaded.compression_ == said
    with pytest.raises(AttributeError, match="was not made by compress"):
        _ = classifier.compression_


def test_weights_become_short_and_margins_follow():
    classifier, X, y = model("bits")
    small = classifier.compress(X[ROWS], y[ROWS], max_loss=0.05)
    assert small.compression_["weight_bits"][1] < small.compression_["weight_bits"][0]
    assert np.abs(small.weights_).max() < 2 ** (small.compression_["weight_bits"][1] - 1)
    assert small.T_ < classifier.T_
    sure = [each.predict_proba(X).max(axis=1).mean() for each in (classifier, small)]
    assert abs(sure[0] - sure[1]) < 0.15


def test_equal_clauses_become_one_and_dead_ones_go():
    grid = PatchGrid.flat(3)
    machine = cotm.Machine(6, 10, average=1)
    machine.start(grid, 2)
    included = np.array([[1, 0, 0, 0, 1, 0]] * 2 + [[0, 1, 0, 0, 0, 0]] * 2 + [[0] * 6] * 2, bool)
    weights = [[3, -1], [1, 1], [2, 2], [-2, -2], [5, 5], [1, 0]]
    work = Compression(machine, included, weights, None)
    work.merge(included.any(axis=1))
    assert work.sources.tolist() == [0] and work.weights.tolist() == [[4, 0]]


def test_literals_that_decide_nothing_go():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 5)).astype(np.uint8)
    X[:, 4] = X[:, 0]  # says nothing beside column 0
    classifier = cotm.CoTMClassifier(2, T=5, epochs=1, preset="paper", random_state=0)
    classifier.fit(X, X[:, 0])
    machine = classifier.machine_
    memory = np.full_like(machine.memory_, -1)
    memory[0, [0, 4]] = 3
    memory[1, [5, 9]] = 3
    state = type(machine.snapshot())(memory, np.array([[-9, 9], [9, -9]], np.int32), 400)
    machine.restore(state)
    small = classifier.compress(X, max_loss=0.0)
    assert classifier.score(X, X[:, 0]) == 1 == small.score(X, X[:, 0])
    assert small.compression_["literals"] == (4, 2) and small.n_clauses == 2


def test_judges_count_as_predictions_do():
    rng = np.random.default_rng(1)
    votes = rng.integers(-3, 4, (300, 3))
    targets = rng.integers(0, 3, 300)
    found, missing = Judge(targets, 4)(votes)
    np.testing.assert_array_equal(found, votes.argmax(axis=1) == targets)
    others = np.where(np.arange(3) == targets[:, None], -99, votes).max(axis=1)
    own = votes[np.arange(300), targets]
    np.testing.assert_array_equal(missing, np.maximum(0, 4 - own + others))
    labels = rng.integers(0, 2, (300, 3))
    found, missing = Judge(labels, 4)(votes)
    np.testing.assert_array_equal(found, ((votes >= 0) == labels).all(axis=1))
    assert (missing[~found] > 0).all()


@pytest.mark.parametrize("scale", ["range", "margin", "none"])
def test_composites_by_members(scale, tmp_path):
    members = [model("bits")[0], model("graded")[0]]
    both = cotm.join(members, BITS[ROWS] if scale == "range" else None, scale=scale)
    same = both.compress(BITS[ROWS])
    np.testing.assert_array_equal(same.predict(BITS[ROWS]), both.predict(BITS[ROWS]))
    np.testing.assert_array_equal(both.compress(max_loss=None).votes(BITS), both.votes(BITS))
    small = both.compress(BITS[ROWS], DIGIT[ROWS], max_loss=0.02)
    before = right(both, BITS[ROWS], DIGIT[ROWS])
    assert before - 10 <= right(small, BITS[ROWS], DIGIT[ROWS])
    assert all(each.compression_["literals"][1] < 9000 for each in small.estimators_)
    assert small.divisors_ == both.divisors_
    small.save(tmp_path / "m.cotm")
    np.testing.assert_array_equal(cotm.load(tmp_path / "m.cotm").votes(BITS), small.votes(BITS))


def test_pipelines_in_composites_keep_their_steps():
    pipeline = make_pipeline(cotm.Thermometer(n_bits=3), cotm.CoTMClassifier(10, epochs=1))
    pipeline.fit(DIGITS[ROWS], DIGIT[ROWS])
    both = cotm.join({"p": pipeline, "n": model("numbers")[0]}, DIGITS[ROWS])
    small = both.compress(DIGITS[ROWS], DIGIT[ROWS], max_loss=0.1)
    assert [name for name, _ in small.named_estimators_["p"].steps] == [
        name for name, _ in pipeline.steps
    ]
    assert right(small, DIGITS[ROWS], DIGIT[ROWS]) >= right(both, DIGITS[ROWS], DIGIT[ROWS]) - 50


@pytest.mark.parametrize(
    "arguments, what",
    [
        ({}, "needs examples to measure on: pass X,"),
        ({"X": BITS, "max_loss": 0.1}, "pass X and y"),
        ({"X": BITS, "y": DIGIT, "max_loss": -0.1}, "max_loss"),
        ({"X": BITS, "y": DIGIT, "max_loss": "a"}, "max_loss"),
        ({"X": BITS, "y": DIGIT[:9], "max_loss": 0.1}, "inconsistent"),
        ({"X": BITS, "y": DIGIT + 5, "max_loss": 0.1}, "holds the label 10"),
        ({"X": BITS[:, :9], "y": DIGIT, "max_loss": 0.1}, "9 features"),
    ],
)
def test_mistakes_are_told(arguments, what):
    with pytest.raises(ValueError, match=what):
        model("bits")[0].compress(**arguments)
