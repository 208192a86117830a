"""Constraints hold after every epoch, to the same bits everywhere, and survive everything."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers import classifier, state
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import cotm
from cotm import Constraints, CoTMClassifier, CoTMRegressor, TMClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
Y = np.array(["low", "mid", "high"])[
    np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * RNG.normal(size=120), [-0.5, 0.6])
]
RISING = Constraints(
    monotone={0: {"high": 1, "low": -1}, 2: {"mid": 1}}, forbid={1: ["high"], 3: ["low", "mid"]}
)
KINDS = {
    "coalesced": (CoTMClassifier, {}),
    "averaged": (CoTMClassifier, {"average": 3}),
    "graded": (CoTMClassifier, {"tolerance": 3, "T": 60}),
    "weighted": (TMClassifier, {}),
    "plain": (TMClassifier, {"weighted": False, "average": 2}),
}


def make(kind="coalesced", **options):
    make, fixed = KINDS[kind]
    given = {"n_clauses": 45, "T": 20, "s": 4, "epochs": 5, "constraints": RISING}
    return classifier(make, **{**given, "random_state": 0, **fixed, **options})


def wrong(model, constraints=RISING):
    """Clauses of all states that violate constraints, found one by one."""
    features, labels = model.booleanizer_.describe(), model.classes_.tolist()
    found = []
    for j, (entries, weights) in enumerate(zip(model.memory_, model.weights_, strict=True)):
        for k in np.flatnonzero(entries >= 0).tolist():
            feature, rises = features[k % len(features)], k < len(features)
            for label in (constraints.forbid or {}).get(feature.index, ()):
                if weights[labels.index(label)]:
                    found.append((j, feature.index, label))
            ways = (constraints.monotone or {}).get(feature.index, {})
            for label, way in ways.items():
                speaks = weights[labels.index(label)] * way * (1 if rises else -1)
                if feature.op == ">" and speaks < 0:
                    found.append((j, feature.index, label))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_constraints_hold_after_every_epoch(kind):
    epochs = []

    def look(model, record):
        assert not wrong(model) and model.check() == []
        epochs.append((model.memory_ >= 0).sum())

    free = make(kind, constraints=None).fit(X, Y)
    assert wrong(free)  # they do not hold by themselves
    model = make(kind, callbacks=[look]).fit(X, Y)
    assert len(epochs) == 5 and epochs[-1] > 0
    for _ in range(2):
        model.partial_fit(X[:50], Y[:50])
        assert not wrong(model)
    model.partial_fit(X[:4], Y[:4])  # so few that a pass is not cut into slices
    assert not wrong(model)


@pytest.mark.parametrize("kind", KINDS)
def test_votes_rise_with_their_columns(kind):
    model = make(kind).fit(X, Y)
    others = np.nan_to_num(X[:20])
    steps = np.linspace(-3, 3, 15)
    labels = model.classes_.tolist()
    for row in others:
        for column, label, way in ((0, "high", 1), (0, "low", -1), (2, "mid", 1)):
            rows = np.repeat(row[None], len(steps), axis=0)
            rows[:, column] = steps
            assert (np.diff(model.votes(rows)[:, labels.index(label)]) * way >= 0).all()
    for column, label in ((1, "high"), (3, "low"), (3, "mid")):
        changed = others.copy()
        changed[:, column] = RNG.permutation(others[:, column])
        votes = model.votes(others)[:, labels.index(label)]
        assert np.array_equal(model.votes(changed)[:, labels.index(label)], votes)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_every_backend(kind):
    models = [make(kind, epochs=3, backend=name).fit(X, Y) for name in ("native", "reference")]
    assert state(models[0]) == state(models[1])


@pytest.mark.parametrize("kind", ["coalesced", "averaged", "plain"])
def test_resumed_training_is_as_uninterrupted(kind, tmp_path):
    whole = make(kind, epochs=6).fit(X, Y)

    def stop(model, record):
        return record["epoch"] == 3

    part = make(kind, epochs=6, callbacks=[stop]).fit(X, Y)
    part.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert loaded.constraints == RISING
    assert state(loaded.fit(X, Y, resume=True)) == state(whole)


def test_early_stopping_goes_back_to_a_state_within():
    model = make(epochs=20, early_stopping=True, patience=3).fit(X, Y)
    assert not wrong(model)


def test_constraints_that_come_later():
    model = make(constraints=None, average=3).fit(X, Y)
    assert wrong(model)
    model.set_params(constraints=RISING)
    found = {(v.column, v.label) for v in model.check()}
    assert found == {(column, label) for _, column, label in wrong(model)}
    model.partial_fit(X, Y)
    assert not wrong(model) and model.check() == []
    assert model.edits_ == ()


def test_what_was_set_since_is_not_in_the_file(tmp_path):
    model = make(constraints=None).fit(X, Y).set_params(constraints=RISING)
    model.save(tmp_path / "m.cotm")
    assert cotm.load(tmp_path / "m.cotm").constraints is None


def test_two_classes_and_names():
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["site"] = np.where(X[:, 3] > 0, "north", "south")
    y = Y == "high"
    one = Constraints(monotone={"a": 1}, forbid={"site": [True]})
    model = make(constraints=one).fit(table, y)
    full = Constraints(monotone={0: {True: 1, False: -1}}, forbid={4: [True]})
    assert not wrong(model, full)
    assert state(make(constraints=full).fit(table, y)) == state(model)


def test_quantities_rise():
    y = np.nan_to_num(X[:, 0]) ** 3
    model = CoTMRegressor(40, epochs=4, constraints=Constraints(monotone={0: 1}), random_state=0)
    model.fit(X, y)
    steps = np.zeros((30, 4))
    steps[:, 0] = np.linspace(-3, 3, 30)
    assert (np.diff(model.predict(steps)) >= 0).all() and model.check() == []


def test_constraints_are_parameters():
    model = make(epochs=2)
    assert clone(model).constraints == RISING
    grid = GridSearchCV(model, {"constraints": [None, RISING]}, cv=2).fit(np.nan_to_num(X), Y)
    assert len(grid.cv_results_["params"]) == 2
    assert clone(RISING) == RISING and Constraints() != RISING


@pytest.mark.parametrize(
    "constraints, message",
    [
        ({"monotone": {0: 1}}, "must be a cotm.Constraints"),
        (Constraints(monotone=[0]), "must be a dictionary"),
        (Constraints(monotone={0: 2}), "says 2; 1 is rising"),
        (Constraints(monotone={0: {"high": "up"}}), "says 'up'"),
        (Constraints(monotone={0: 1}), "is for two classes, and there are 3"),
        (Constraints(monotone={9: {"high": 1}}), "column 9; X has 4"),
        (Constraints(monotone={"age": {"high": 1}}), "column 'age', which the model does not know"),
        (Constraints(monotone={0: {"top": 1}}), "label 'top'; there are"),
        (Constraints(forbid={0: "high"}), "must be a list of labels"),
        (Constraints(forbid={1.5: ["high"]}), "columns are named by name or number"),
    ],
)
def test_wrong_constraints(constraints, message):
    model = make(constraints=constraints)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "memory_")


def test_where_constraints_make_no_sense():
    images = RNG.integers(0, 2, (20, 4, 4))
    model = classifier(n_clauses=10, patch_shape=(2, 2), constraints=Constraints(forbid={0: [1]}))
    with pytest.raises(ValueError, match="reads X as images"):
        model.fit(images, np.arange(20) % 2)
    texts = np.array([["a"], ["b"]] * 20, dtype=object)
    model = make(constraints=Constraints(monotone={0: {"low": 1}}))
    with pytest.raises(ValueError, match="neither high nor low"):
        model.fit(texts, np.array(["low", "high"] * 20))


def test_pools_and_composites_keep_them(tmp_path):
    bound = [make(random_state=k, epochs=2).fit(X, Y) for k in range(2)]
    pool = cotm.join(bound, scale="none")
    assert pool.constraints == RISING and not wrong(pool)
    assert not wrong(pool.partial_fit(X, Y))
    free = make(constraints=None, epochs=2).fit(X, Y)
    assert cotm.join([bound[0], free], scale="none").constraints is None
    both = cotm.CoTMComposite([("a", make(epochs=2)), ("b", make(epochs=1))]).fit(X, Y)
    both.save(tmp_path / "both.cotm")
    for member in cotm.load(tmp_path / "both.cotm").estimators_:
        assert member.constraints == RISING and member.check() == []


def test_checkpoints_have_them(tmp_path):
    model = make(callbacks=[cotm.Checkpoint(tmp_path / "m.cotm")]).fit(X, Y)
    again = cotm.load(tmp_path / "m.cotm")
    assert again.constraints == RISING and state(again) == state(model)
