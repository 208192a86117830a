"""Votes for frequent classes, where classes can hardly be told apart."""

import numpy as np
import pytest
from helpers import state
from sklearn.datasets import load_iris

import cotm
from cotm import Constraints, CoTMClassifier
from cotm.core.state import voters
from cotm.estimator import planning

RNG = np.random.default_rng(5)
X = RNG.normal(size=(260, 6)).round(2)
NOISE = RNG.choice(["often", "rare", "seldom"], len(X), p=[0.6, 0.3, 0.1])
TRAIN, TEST = slice(0, 120), slice(120, None)
DATA = X[TRAIN], NOISE[TRAIN]


def small(**parameters):
    return CoTMClassifier(**{"n_clauses": 60, "random_state": 3, "n_jobs": 1, **parameters})


def without(monkeypatch, **parameters):
    with monkeypatch.context() as patch:
        patch.setattr(planning, "with_prior", lambda fitted, sample: None)
        return small(**parameters).fit(*DATA)


def test_labels_that_say_nothing_are_predicted_by_the_most_frequent(monkeypatch):
    plain, model = without(monkeypatch), small().fit(*DATA)
    assert np.mean(plain.predict(X[TEST]) == "often") < 0.9
    assert np.mean(model.predict(X[TEST]) == "often") > 0.95
    more = model.votes(X) - plain.votes(X)
    common = np.median(more, axis=0)
    assert common[0] > common[1] > common[2] == 0
    # Two clauses that said little have made room.
    assert np.abs(more - common).max() < common[0] / 100
    assert model.machine_.n_states_ == plain.machine_.n_states_ == 17


def test_probabilities_follow(monkeypatch):
    def loss(model):
        shares = model.predict_proba(X[TEST])
        truth = np.searchsorted(model.classes_, NOISE[TEST])
        return -np.log(shares[np.arange(len(truth)), truth]).mean()

    shares = np.unique(NOISE[TRAIN], return_counts=True)[1] / 120
    entropy = -(shares * np.log(shares)).sum()
    seeds = range(6)  # of training; 140 rows to judge by are few
    models = [small(random_state=seed).fit(*DATA) for seed in seeds]
    plain = [without(monkeypatch, random_state=seed) for seed in seeds]
    assert np.mean([*map(loss, models)]) < entropy + 0.1 < min(map(loss, plain))


@pytest.mark.parametrize("says, machines", [(True, 1), (False, 3)])
def test_where_the_first_part_tells_classes_no_more_are_held_out(monkeypatch, says, machines):
    made, fresh = [], cotm.Machine.fresh
    monkeypatch.setattr("cotm.model.prior._is_in_doubt", lambda fitted, sample: True)
    monkeypatch.setattr(cotm.Machine, "fresh", lambda self: made.append(1) or fresh(self))
    labels = np.where(X[TRAIN, 0] > 0, "often", "rare") if says else NOISE[TRAIN]
    small().fit(X[TRAIN], labels)
    assert len(made) == machines


def test_classes_that_can_be_told_apart_get_none(monkeypatch):
    def refuse(*given):
        raise AssertionError("no machine need be trained")

    monkeypatch.setattr("cotm.model.prior._judged", refuse)
    data, labels = load_iris(return_X_y=True)
    small().fit(data, labels)
    with pytest.raises(AssertionError):
        small().fit(*DATA)


@pytest.mark.parametrize(
    ("parameters", "weight"),
    [
        ({"average": 17}, None),
        ({"epochs": 16}, None),
        ({"class_weight": "balanced"}, None),
        ({"negations": False}, None),
        ({"constraints": Constraints(forbid={"x5": ["often"]})}, None),
        ({"preset": "paper"}, None),
        ({}, np.linspace(0.5, 1, 120)),
        ({"early_stopping": True, "patience": 30}, None),
    ],
)
def test_what_was_asked_for_counts(monkeypatch, parameters, weight):
    def refuse(*given):
        raise AssertionError("not asked for")

    monkeypatch.setattr("cotm.model.prior._judged", refuse)
    small(**parameters).fit(*DATA, sample_weight=weight)


def test_training_goes_on_as_if_it_had_not_been():
    whole = small(epochs=22).fit(*DATA)
    parts = small(epochs=20, warm_start=True).fit(*DATA)
    votes = parts.votes(X)
    assert _has_prior(parts) and _has_prior(whole)
    assert parts.set_params(epochs=0).fit(*DATA) is parts
    assert np.array_equal(parts.votes(X), votes), "it is not added twice"
    parts.set_params(epochs=2).fit(*DATA)
    assert state(parts) == state(whole)
    assert np.array_equal(parts.votes(X), whole.votes(X))
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))


def test_a_checkpoint_of_the_last_epoch_goes_on_to_it(tmp_path):
    path = tmp_path / "last.cotm"
    whole = small(epochs=18, callbacks=[cotm.Checkpoint(path)]).fit(*DATA)
    loaded = cotm.load(path)
    assert _has_prior(whole) and not _has_prior(loaded)
    assert np.array_equal(loaded.fit(*DATA, resume=True).votes(X), whole.votes(X))


def test_backends_files_and_exports_agree(tmp_path):
    few = X[80:110, :2], NOISE[80:110]
    model = small(epochs=17, n_clauses=20).fit(*few)
    assert _has_prior(model)
    reference = small(epochs=17, n_clauses=20, backend="reference").fit(*few)
    assert np.array_equal(reference.votes(few[0]), model.votes(few[0]))
    model.save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert np.array_equal(loaded.votes(X[:, :2]), model.votes(X[:, :2]))
    assert np.array_equal(loaded.predict_proba(X[:, :2]), model.predict_proba(X[:, :2]))
    runtime = pytest.importorskip("onnxruntime")
    model.export(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    names = [output.name for output in session.get_outputs()]
    said = dict(
        zip(names, session.run(None, {session.get_inputs()[0].name: X[:, :2]}), strict=True)
    )
    assert np.array_equal(said["votes"], model.votes(X[:, :2]))


def _has_prior(model):
    """Whether some bit and its negation vote alike, alone, in the oldest state."""
    memory, weights = voters(model.machine_.snapshot())
    included = memory[: model.n_clauses] >= 0
    alone = included & (included.sum(axis=1, keepdims=True) == 1)
    bit, negation = (np.flatnonzero(alone[:, k]) for k in (0, memory.shape[1] // 2))
    pairs = [(weights[a], weights[b]) for a in bit for b in negation]
    return any((a == b).all() and a.any() and a.min() == 0 for a, b in pairs)
