"""Models changed by hand: what changes, what does not, what can be taken back."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from helpers import classifier, state
from sklearn.datasets import load_iris

import cotm
from cotm import Constraints, CoTMClassifier, TMClassifier
from cotm.files import container

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target_names[IRIS.target]
LABELS = ["setosa", "versicolor", "virginica"]
KINDS = {
    "coalesced": (CoTMClassifier, {}),
    "averaged": (CoTMClassifier, {"average": 3}),
    "graded": (CoTMClassifier, {"tolerance": 3, "T": 60}),
    "weighted": (TMClassifier, {}),
}


def make(kind="coalesced", **options):
    make, fixed = KINDS[kind]
    given = {"n_clauses": 42, "T": 20, "s": 4, "epochs": 4, "random_state": 0}
    return classifier(make, **{**given, **fixed, **options}).fit(X, Y)


@pytest.fixture(params=KINDS)
def model(request):
    return make(request.param)


def untouched(before, model):
    """All clauses that the last edit does not name have their bits."""
    others = np.ones(len(model.memory_), dtype=bool)
    others[[*model.edits_[-1].clauses]] = False
    assert np.array_equal(before[0][others], model.memory_[others])
    assert np.array_equal(before[1][others], model.weights_[others])


def bits(model):
    return model.memory_.copy(), model.weights_.copy()


def test_a_rule_is_dropped(model):
    before, first = bits(model), state(model)
    rule = model.rules()[0]
    outputs = model.clause_outputs(X)[:, rule.clause].astype(int)
    votes = model.votes(X)
    assert model.drop_rule(rule) is model
    untouched(before, model)
    lost = outputs[:, None] * np.array([rule.weights[label] for label in LABELS])
    assert np.array_equal(model.votes(X), votes - lost)
    assert all(set(rule.clauses).isdisjoint(other.clauses) for other in model.rules())
    (edit,) = model.edits_
    assert (edit.kind, edit.text, edit.clauses) == ("drop", str(rule), rule.clauses)
    assert edit.step == model.step_
    assert state(model.undo()) == first and model.edits_ == ()


def test_votes_are_set(model):
    before, first = bits(model), state(model)
    rule = model.rules()[1]
    label = max(rule.weights, key=lambda label: abs(rule.weights[label]))
    model.set_votes(rule, {label: 7})
    untouched(before, model)
    changed = next(r for r in model.rules() if rule.clause in r.clauses)
    assert changed.weights == {**rule.weights, label: 7}
    assert changed.conditions == rule.conditions
    assert state(model.undo()) == first


def test_a_rule_is_added(model):
    before, first = bits(model), state(model)
    names = [column for column in X.columns if "petal" in column]
    threshold = model.booleanizer_.codes_[2].thresholds[3]
    high = model.booleanizer_.codes_[3].thresholds[5]
    text = f"{names[0]} > {float(threshold)!r} and {names[1]} <= {float(high)!r}"
    votes = model.votes(X)
    added = model.add_rule(text, {"virginica": 5})
    untouched(before, model)
    edit = model.edits_[-1]
    assert edit.kind == "add" and edit.text == f"if {text}: virginica +5"
    # What it replaced is gone, and what it says has come.
    gone = [np.zeros_like(votes)]
    old = model._with(model._now())
    old.undo()
    outputs = old.clause_outputs(X).astype(int)
    for clause in edit.clauses:
        gone.append(outputs[:, clause, None] * old.weights_[clause].astype(int))
    tolerance = model.machine_.parameters.tolerance
    held = (X[names[0]] > threshold).to_numpy() * 1 + (X[names[1]] <= high).to_numpy()
    fires = np.maximum(0, held - 2 + min(2, tolerance))
    expected = votes - sum(gone)
    expected[:, 2] += 5 * fires
    assert np.array_equal(model.votes(X), expected)
    assert {*edit.clauses} <= {*added.clauses}
    assert state(model.undo()) == first


def test_a_pinned_rule_keeps_its_literals(model):
    current = (model.machine_.n_states_ - 1) * 42
    rules = [rule for rule in model.rules() if max(rule.clauses) >= current]
    first, second = rules[0], rules[1]
    own = [clause - current for clause in first.clauses if clause >= current]
    held = [clause - current for clause in second.clauses if clause >= current]
    model.pin_rule(first).pin_rule(second, votes=True)
    free = pickle.loads(pickle.dumps(model)).unpin_rule(first)
    before = model.machine_.snapshot()
    for each in (model, free):
        for _ in range(3):
            each.partial_fit(X, Y)
    now = model.machine_.snapshot()
    assert np.array_equal(now.memory[own], before.memory[own])
    assert np.array_equal(now.memory[held], before.memory[held])
    assert np.array_equal(now.weights[held], before.weights[held])
    assert not np.array_equal(now.memory, before.memory)
    assert not np.array_equal(free.machine_.snapshot().memory[own], before.memory[own])
    with pytest.raises(ValueError, match="is pinned; unpin it first"):
        now_second = next(r for r in model.rules() if current + held[0] in r.clauses)
        model.set_votes(now_second, {"setosa": 1})


def test_training_goes_on_after_edits_as_from_a_file(model, tmp_path):
    current = (model.machine_.n_states_ - 1) * 42
    model.drop_rule(model.rules()[0])
    model.pin_rule(next(r for r in model.rules() if max(r.clauses) >= current))
    model.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert loaded.edits_ == model.edits_ and state(loaded) == state(model)
    for each in (model, loaded):
        each.partial_fit(X, Y)
    assert state(loaded) == state(model)
    with pytest.raises(ValueError, match="training has gone on since"):
        model.undo()
    # A training that begins anew knows nothing of it.
    assert model.set_params(epochs=1).fit(X, Y).edits_ == ()


def test_undo_goes_all_the_way_back_from_a_file(model, tmp_path):
    first = state(model)
    model.set_votes(model.rules()[2], {}).drop_rule(model.rules()[0]).drop_rule(model.rules()[1])
    model.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    for _ in range(3):
        loaded.undo()
    assert state(loaded) == first
    with pytest.raises(ValueError, match="nothing was changed by hand"):
        loaded.undo()


def test_columns_are_forbidden_at_once():
    model = make(average=2)
    first, before = state(model), bits(model)
    model.forbid("petal width (cm)", "setosa").forbid("petal length (cm)", "setosa")
    assert model.constraints.forbid == {
        "petal width (cm)": ["setosa"],
        "petal length (cm)": ["setosa"],
    }
    changed = X.assign(**{name: 1.0 for name in X.columns if "petal" in name})
    assert np.array_equal(model.votes(X)[:, 0], model.votes(changed)[:, 0])
    assert np.array_equal(before[1][:, 1:], model.weights_[:, 1:])
    assert model.check() == [] and len(model.edits_) == 2
    with pytest.raises(ValueError, match="violates the constraints: forbidden"):
        threshold = float(model.booleanizer_.codes_[3].thresholds[2])
        model.add_rule(f"petal width (cm) > {threshold!r}", {"setosa": 3})
    assert state(model.undo().undo()) == first and model.constraints is None
    with pytest.raises(ValueError, match="label 'rose'"):
        model.forbid("petal width (cm)", "rose")
    assert model.constraints is None and state(model) == first


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda m: m.drop_rule(10**6), "clause 1000000 is no rule of this model"),
        (lambda m: m.set_votes(m.rules()[0], {"rose": 1}), "label 'rose'; there are"),
        (lambda m: m.set_votes(m.rules()[0], {"setosa": 1.5}), "must be a whole number"),
        (lambda m: m.set_votes(m.rules()[0], {"setosa": 2**40}), "more than a weight can be"),
        (lambda m: m.add_rule("petal width (cm) > 0.123", {"setosa": 1}), "compares it with"),
        (lambda m: m.add_rule("petal > 1", {"setosa": 1}), "no bit of the model tests 'petal'"),
        (lambda m: m.add_rule("petal width (cm) is missing", {"setosa": 1}), "cannot say this"),
        (lambda m: m.add_rule("petal width (cm) > 1 > 2", {"setosa": 1}), "compares in a way"),
        (lambda m: m.unpin_rule(m.rules()[0]), "is not pinned"),
        (lambda m: m.pin_rule(cotm.Rule(0, (), {"setosa": 1})), "is no rule of this model"),
    ],
)
def test_what_is_refused_changes_nothing(change, message):
    model = make()
    before = state(model)
    with pytest.raises(ValueError, match=message):
        change(model)
    assert state(model) == before and model.edits_ == ()


def test_a_rule_of_an_earlier_moment_is_refused():
    model = make()
    rule = model.rules()[0]
    model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="is no rule of this model as it is now"):
        model.drop_rule(rule)


def test_plain_machines():
    plain = make("weighted", weighted=False)
    votes = plain.votes(X)
    rule = plain.rules()[0]
    plain.drop_rule(rule)
    assert not np.array_equal(plain.votes(X), votes) and (abs(plain.weights_) <= 1).all()
    with pytest.raises(ValueError, match="1 and -1, and cannot be set"):
        plain.set_votes(plain.rules()[0], {"setosa": 2})
    owned = make("weighted")
    with pytest.raises(ValueError, match="every clause votes for one label"):
        threshold = float(owned.booleanizer_.codes_[0].thresholds[0])
        text = f"sepal length (cm) > {threshold!r}"
        owned.add_rule(text, {"setosa": 2, "virginica": -1})


def test_files_that_contradict_their_edits_are_refused(tmp_path):
    model = make(constraints=Constraints(forbid={0: ["setosa"]}))
    model.drop_rule(model.rules()[0])
    model.save(tmp_path / "m.cotm")
    header, tensors = container.unpack((tmp_path / "m.cotm").read_bytes())

    def refused(changed, **arrays):
        data = container.pack(json.dumps({**header, **changed}), {**tensors, **arrays})
        (tmp_path / "bad.cotm").write_bytes(data)
        with pytest.raises(cotm.ModelFileError, match="damaged"):
            cotm.load(tmp_path / "bad.cotm")

    edits = header["edits"]
    (entry,) = edits["log"]
    refused({"edits": {**edits, "pinned": [10**6]}})
    refused({"edits": {**edits, "pinned": [3, 1]}})
    refused({"edits": {**edits, "held": [1]}})
    refused({"edits": {**edits, "log": [{**entry, "kind": "magic"}]}})
    refused({"edits": {**edits, "log": [{**entry, "mark": entry["mark"] ^ 1}]}})
    refused({"edits": {**edits, "log": [{**entry, "rows": 2}]}})
    refused({"edits": {**edits, "log": [{**entry, "step": header["step"] + 1}]}})
    refused({"edits": None})
    weights = tensors["weights"].copy()
    weights[model.edits_[0].clauses[0]] += 1
    refused({}, weights=weights)
    parameters = header["parameters"]
    forbid = {"monotone": None, "forbid": [[1, ["setosa"]]]}
    refused({"parameters": {**parameters, "constraints": forbid}})
    refused({"parameters": {**parameters, "constraints": {"monotone": None, "forbid": [[1]]}}})
