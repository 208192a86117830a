"""Several columns of labels: any type, some missing, one pool, and all that is built on it."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import state
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.multiclass import type_of_target

import cotm
from cotm import CannotExportError, CoTMClassifier, CoTMComposite, CoTMSearchCV, TMClassifier
from cotm.files import ModelFileError
from cotm.files.container import pack, unpack
from cotm.loading import load_bytes
from cotm.rules import parse_rule

X, SPECIES = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versi color", "virg,inica"])[SPECIES]
Y = pd.DataFrame(
    {
        "species": NAMES,
        "wide": np.where(X.iloc[:, 1] > 3, "yes", "no"),
        "petal": pd.cut(X.iloc[:, 2], 4, labels=False),
    }
)
PARTS = [slice(0, 3), slice(3, 5), slice(5, 9)]


def small(**options):
    return CoTMClassifier(**{"n_clauses": 60, "epochs": 8, "random_state": 0, **options})


def with_gaps():
    gaps = Y.astype(object)
    gaps.iloc[::3, 0] = None
    gaps.iloc[1::3, 2] = np.nan
    return gaps


@pytest.fixture(scope="module")
def model():
    return small().fit(X, Y)


def test_it_answers_as_a_forest_does(model):
    codes = np.column_stack([SPECIES, Y["petal"]])
    ours, forest = small().fit(X, codes), RandomForestClassifier(5, random_state=0).fit(X, codes)
    assert ours.n_outputs_ == forest.n_outputs_ == 2
    assert [c.tolist() for c in ours.classes_] == [c.tolist() for c in forest.classes_]
    predicted = ours.predict(X)
    assert predicted.shape == forest.predict(X).shape and predicted.dtype.kind == "i"
    for mine, theirs in zip(ours.predict_proba(X), forest.predict_proba(X), strict=True):
        assert mine.shape == theirs.shape and np.allclose(mine.sum(axis=1), 1)
        assert isinstance(mine, np.ndarray)
    assert ours.score(X, codes) == (predicted == codes).all(axis=1).mean() > 0.85
    assert [s.shape for s in model.decision_function(X)] == [(150, 3), (150,), (150, 4)]
    assert clone(model).get_params() == model.get_params()


def test_votes_decide_in_each_column(model):
    votes, predicted = model.votes(X), model.predict(X)
    assert predicted.dtype == object and predicted.shape == (150, 3)
    for k, (part, classes) in enumerate(zip(PARTS, model.classes_, strict=True)):
        assert (predicted[:, k] == classes[votes[:, part].argmax(axis=1)]).all()
    assert model.output_names_.tolist()[2:5] == ["species=virg,inica", "wide=no", "wide=yes"]
    assert isinstance(predicted[0, 2], int) and model.score(X, Y) > 0.85


def test_every_form_of_y_is_the_same(model):
    forms = [
        pl.DataFrame({name: Y[name].tolist() for name in Y}),
        Y.astype({"species": "category", "petal": "Int64"}),
        Y.to_numpy(),
        Y.to_numpy().tolist(),
    ]
    for form in forms:
        assert state(small().fit(X, form))[:3] == state(model)[:3]
    unnamed = small(epochs=1).fit(X, Y.to_numpy())
    assert unnamed.output_names_[0] == "y0=setosa"
    texts = small(epochs=1).fit(X, Y[["species", "wide"]])
    assert texts.predict(X).dtype.kind == "U"


def test_only_zeros_and_ones_are_several_labels():
    bits = (Y[["petal"]] > 1).assign(wide=Y["wide"] == "yes").astype(int)
    for form in (bits, bits.to_numpy(), bits.to_numpy().astype(float)):
        assert type_of_target(form) == "multilabel-indicator"
        assert small(epochs=1).fit(X, form).predict(X).max() == 1
        assert small(epochs=1).fit(X, form).classes_[0] in ("petal", 0)
    words = bits.replace({0: "no", 1: "yes"})
    assert small(epochs=1).fit(X, words).n_outputs_ == 2
    assert len(small(epochs=1).fit(X, words).output_names_) == 4


def test_outputs_of_missing_labels_learn_nothing():
    gaps = with_gaps()
    fitted = small(n_clauses=20, epochs=1, shuffle=False).fit(X, gaps)
    machine, targets = fitted.machine_, np.full((150, 9), np.nan)
    for part, name, classes in zip(PARTS, gaps, fitted.classes_, strict=True):
        known = gaps[name].notna().to_numpy()
        cells = gaps.loc[known, name].to_numpy()
        targets[known, part] = cells[:, None] == classes.astype(object)
    names = ("s", "T", "memory_depth", "include_depth", "average")
    options = {name: getattr(machine, name) for name in names}
    again = cotm.Machine(20, random_state=fitted.seed_, **options)
    again.partial_fit(fitted.booleanizer_.transform(X), targets)
    assert (again.weights_ == fitted.weights_).all() and (again.memory_ == fitted.memory_).all()
    assert fitted.history_[0]["train_accuracy"] > 0.5
    assert small(early_stopping=True).fit(X, gaps).score(X, Y) > 0.6


def test_backends_agree_where_labels_are_missing():
    fitted = [
        small(n_clauses=20, epochs=2, backend=backend).fit(X[::3], with_gaps()[::3].assign(
            species=NAMES[::3]))
        for backend in ("reference", "native")
    ]  # fmt: skip
    assert state(fitted[0])[:3] == state(fitted[1])[:3]
    assert fitted[0].predict(X).tolist() == fitted[1].predict(X).tolist()


def test_missing_labels_are_not_counted(model):
    gaps = with_gaps()
    right = (model.predict(X) == gaps.to_numpy()) | gaps.isna().to_numpy()
    assert model.score(X, gaps) == right.all(axis=1).mean()
    nothing = gaps.copy()
    nothing.iloc[4] = None
    with pytest.raises(ValueError, match="no label at all in row 4"):
        model.score(X, nothing)


def test_rules_and_reasons_name_column_and_label(model):
    rules = model.rules(X, Y)
    assert any("species=setosa +" in str(rule) for rule in rules)
    assert any("'species=virg,inica' +" in str(rule) for rule in rules)
    for rule in rules:
        assert parse_rule(str(rule)).votes == {k: v for k, v in rule.weights.items() if v}
    votes = sum(rule.weights["wide=yes"] * rule.evidence.count for rule in rules)
    assert votes == model.votes(X)[:, 4].sum()
    assert set(rules[0].evidence.counts) == {*model.output_names_.tolist()}
    assert len(model.rules(label="petal=2")) < len(rules)
    why = model.explain(X)
    assert np.allclose(why.base + why.contributions.sum(axis=1), why.votes)
    assert np.array_equal(why.predictions, model.predict(X))
    assert np.allclose(why.probabilities[:, PARTS[0]], model.predict_proba(X)[0])
    assert why[0].sentence(label="species=setosa").startswith("species=setosa (")
    assert why[0].sentence(label="species=virg,inica").startswith("not species=virg,inica (")
    json.loads(why[:2].to_json())
    change = model.counterfactual(X.iloc[[0]], "wide=no")
    assert "wide=no instead of wide=yes" in str(change)
    with pytest.raises(ValueError, match="species, wide, petal; say by label"):
        model.counterfactual(X.iloc[[0]])
    assert model.clause_sharing().to_pandas().loc["species=setosa", "wide=yes"] > 0


def test_files_hold_the_columns(model, tmp_path):
    model.save(tmp_path / "m.cotm")
    again = cotm.load(tmp_path / "m.cotm")
    assert (again.predict(X) == model.predict(X)).all() and again.score(X, Y) == model.score(X, Y)
    assert [c.dtype for c in again.classes_] == [c.dtype for c in model.classes_]
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    more = again.set_params(warm_start=True, epochs=1).fit(X, Y)
    assert state(more) == state(clone(model).set_params(epochs=8).fit(X, Y).set_params(
        warm_start=True, epochs=1).fit(X, Y))  # fmt: skip
    header, tensors = unpack((tmp_path / "m.cotm").read_bytes())
    good = header["label_columns"]
    for bad in (
        good[:1], good[:2], good[::-1], [{**good[0], "name": 3}, *good[1:]], "x", [*good, None],
        [{**good[0], "classes": ["a", "b", "c"]}, *good[1:]],
        [{**good[0], "name": None}, *good[1:]],
    ):  # fmt: skip
        with pytest.raises(ModelFileError):
            load_bytes(pack(json.dumps({**header, "label_columns": bad}), tensors), tmp_path)
    with pytest.raises(ModelFileError):
        load_bytes(pack(json.dumps({**header, "multilabel": True}), tensors), tmp_path)


def test_parts_composites_and_smaller_ones(model, tmp_path):
    classes = [[*names.tolist()] for names in model.classes_]
    parts = small(epochs=3)
    for first in range(0, 150, 30):
        part = slice(first, first + 30)  # each holds one species only
        parts.partial_fit(X[part], Y[part], classes=classes)
    assert [c.tolist() for c in parts.classes_] == classes
    with pytest.raises(ValueError, match="'species' of y holds the label 'rose'"):
        parts.partial_fit(X, Y.assign(species="rose"))
    for loss, y in ((0.0, Y), (None, Y), (0.02, with_gaps())):
        less = model.compress(X, y, max_loss=loss)
        assert (less.memory_ >= 0).sum() < (model.memory_ >= 0).sum()
        if loss != 0.02:
            assert (less.predict(X) == model.predict(X)).all()
        assert less.score(X, y) >= model.score(X, y) - (loss or 0)
    members = [("a", small(epochs=3, random_state=1)), ("b", small(epochs=3, random_state=2))]
    both = CoTMComposite(members).fit(X, Y)
    assert both.score(X, Y) > 0.8 and both.predict(X).shape == (150, 3)
    assert [p.shape[1] for p in both.predict_proba(X)] == [3, 2, 4]
    assert (both.compress(X).predict(X) == both.predict(X)).all()
    both.save(tmp_path / "c.cotm")
    assert (cotm.load(tmp_path / "c.cotm").votes(X) == both.votes(X)).all()
    pool = cotm.join([model, small(random_state=5).fit(X, Y)], scale="none")
    assert (pool.predict(X) == pool.predict(X)).all() and len(pool.classes_) == 3
    with pytest.raises(ValueError, match="members need the same"):
        cotm.join([model, small(epochs=1).fit(X, Y[["species", "wide"]])], X)
    assert TMClassifier(60, epochs=5, random_state=0).fit(X, Y).score(X, Y) > 0.6


def test_a_search_and_early_stopping():
    search = CoTMSearchCV(small(), n_trials=2, max_epochs=3, random_state=0).fit(X, Y)
    assert 0.3 < search.best_score_ <= 1 and search.predict(X).shape == (150, 3)
    stopped = small(epochs=30, patience=3).fit(X[::2], Y[::2], eval_set=(X[1::2], Y[1::2]))
    accuracies = [record["validation_accuracy"] for record in stopped.history_]
    accuracy = (stopped.predict(X[1::2]) == Y[1::2].to_numpy()).mean()
    assert np.isclose(max(accuracies), accuracy)
    balanced = small(class_weight="balanced").fit(X, Y)
    assert state(balanced) != state(small().fit(X, Y))


def test_exports_are_exact_or_refused(model, tmp_path):
    model.export(tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    assert data["classes"] == model.output_names_.tolist()
    known = {column["name"]: column["classes"] for column in data["label_columns"]}
    assert known == {"species": [*np.unique(NAMES)], "wide": ["no", "yes"], "petal": [0, 1, 2, 3]}
    for ending in ("c", "onnx", "js", "sql", "v"):
        with pytest.raises(CannotExportError, match="each of 3 columns"):
            model.export(tmp_path / f"m.{ending}")
    with pytest.raises(ValueError, match="each of 3 columns"):
        model.report(tmp_path / "m.html", X, Y)
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (Y.assign(wide="no"), "'wide' of y has 1 class only"),
        (Y.assign(wide=None), "'wide' of y has 0 classes only"),
        (Y.assign(wide=X.iloc[:, 0]), "'wide' of y holds quantities such as 5.1"),
        (Y.assign(wide=[1, "a"] * 75), "labels of the types int, str"),
        (np.array([[0, 1], [1, np.nan]] * 75), "0, 1 and missing labels only"),
        (pd.DataFrame({"a": NAMES, "a=b": NAMES, "c": "d"}).assign(
            **{"a": [f"b={n}" for n in NAMES]}).iloc[:, :2], "two outputs would be called"),
    ],
)  # fmt: skip
def test_bad_labels_are_refused(y, said):
    fresh = small()
    with pytest.raises(ValueError, match=said):
        fresh.fit(X, y)
    assert not hasattr(fresh, "classes_")


def test_what_does_not_fit_is_refused(model):
    warm = pickle.loads(pickle.dumps(model)).set_params(warm_start=True)
    before = state(warm)
    for y, said in (
        (NAMES, "another kind"),
        (Y[["species", "wide"]], "columns"),
        (Y[["wide", "species", "petal"]], "training began with"),
        (Y.assign(petal=9), "holds the label 9"),
    ):
        with pytest.raises(ValueError, match=said):
            warm.fit(X, y)
        assert state(warm) == before
    with pytest.raises(ValueError, match="one column of labels for each of species, wide, petal"):
        model.score(X, NAMES)
    with pytest.raises(ValueError, match="set negatives='all'"):
        small(negatives="drawn").fit(X, Y)
    with pytest.raises(ValueError, match="'balanced' or None"):
        small(class_weight={"no": 2}).fit(X, Y)
    with pytest.raises(ValueError, match="missing ones"):
        small(class_weight="balanced").fit(X, with_gaps())
    with pytest.raises(ValueError, match="another kind"):
        small().fit(X, Y, eval_set=(X, NAMES))
    with pytest.raises(ValueError, match="a list with the labels of each"):
        small().partial_fit(X, Y, classes=["a", "b"])


def test_quantities_among_the_columns_are_told():
    with pytest.warns(UserWarning, match="column 'n' of y is a number with 150 different values"):
        small(epochs=1).fit(X, Y.assign(n=range(150)))


def test_feedback_of_the_paper_is_balanced():
    """As much of it for the classes an example is not of as for those it is of."""
    assert small(preset="paper", epochs=1).fit(X, Y).machine_.parameters.e == 3 / 6
    even = pd.DataFrame({"a": NAMES, "b": NAMES})
    assert small(preset="paper", epochs=1).fit(X, even).machine_.parameters.e == 1 / 2
