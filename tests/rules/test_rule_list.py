"""What rules do on examples, and lists of rules as tables, JSON, LaTeX and HTML."""

from __future__ import annotations

import builtins
import html
import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from helpers import classifier
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import cotm
from cotm import CoTMClassifier, CoTMComposite, Thermometer, TMClassifier
from cotm.rules import RuleList

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target_names[IRIS.target]


@pytest.fixture(
    scope="module", params=[{}, {"tolerance": 3}, {"average": 3}, {"kind": TMClassifier}]
)
def fitted(request):
    kind = request.param.get("kind", CoTMClassifier)
    options = {name: value for name, value in request.param.items() if name != "kind"}
    return classifier(kind, n_clauses=40, T=20, s=4, epochs=6, random_state=3, **options).fit(X, Y)


def test_evidence_is_what_clauses_do(fitted):
    outputs = fitted.clause_outputs(X)
    found = fitted.rules(X, Y)
    total = 0
    for rule in found:
        said = outputs[:, rule.clause].astype(int)
        fires, evidence = said > 0, rule.evidence
        assert all((outputs[:, clause] == outputs[:, rule.clause]).all() for clause in rule.clauses)
        assert evidence.count == fires.sum() and evidence.coverage == fires.mean()
        assert evidence.votes == said.sum() * sum(map(abs, rule.weights.values()))
        total += evidence.votes
        for label in fitted.classes_.tolist():
            there = label == Y
            assert evidence.counts[label] == (fires & there).sum()
            if fires.any():
                assert evidence.precision[label] == there[fires].mean()
                assert evidence.lift[label] == pytest.approx(there[fires].mean() / there.mean())
        if not fires.any():
            assert evidence.precision is None and evidence.lift is None
    assert [r.evidence.share_of_votes for r in found] == [r.evidence.votes / total for r in found]
    assert sorted(c for rule in found for c in rule.clauses) == sorted(
        {c for rule in fitted.rules() for c in rule.clauses}
    )


def test_rows_come_in_parts(fitted, monkeypatch):
    whole = fitted.rules(X, Y)
    monkeypatch.setattr("cotm.estimator.understanding._ROWS", 17)
    assert fitted.rules(X, Y) == whole
    assert fitted.rules(X)[0].evidence.counts is None


def test_order_and_filters(fitted):
    for name in ("coverage", "count", "lift", "precision", "share"):
        found = fitted.rules(X, Y, label="setosa", sort=name)
        measured = [
            {
                "share": r.evidence.share_of_votes,
                "precision": -1 if r.evidence.precision is None else r.evidence.precision["setosa"],
                "lift": -1 if r.evidence.lift is None else r.evidence.lift["setosa"],
            }.get(name, getattr(r.evidence, name, None))
            for r in found
        ]
        assert measured == sorted(measured, reverse=True)
        assert all(rule.weights["setosa"] > 0 for rule in found)
    every = fitted.rules(X, Y)
    least = {"coverage": 0.2, "precision": 0.7, "votes": 2}
    some = fitted.rules(X, Y, at_least=least)
    assert 0 < len(some) < len(every)
    for rule in every:
        best = max(rule.weights, key=rule.weights.get)
        evidence = rule.evidence
        right = evidence.coverage >= 0.2 and evidence.precision[best] >= 0.7 and rule.strength >= 2
        assert (rule in some) == right
    assert fitted.rules(X, Y, at_least=least, top=1) == some[:1]
    assert type(some[:1]) is RuleList


def test_lift_of_labels_that_are_not_there(fitted):
    rows = Y != "setosa"
    found = fitted.rules(X[rows], Y[rows], sort="lift", label="setosa")
    assert all(r.evidence.lift is None or "setosa" not in r.evidence.lift for r in found)
    assert all(r.evidence.counts["setosa"] == 0 for r in found)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"sort": "length"}, "'length' measures no rule; votes, coverage"),
        ({"sort": "coverage"}, "'coverage' needs examples; pass X"),
        ({"X": X, "sort": "lift"}, "'lift' needs labels; pass y"),
        ({"at_least": {"precision": 0.5}}, "'precision' needs examples"),
        ({"y": Y}, "y is given without X"),
        ({"X": X, "y": Y[:-1]}, "X has 150 examples, but y has 149 labels"),
        ({"X": X, "y": np.full(150, "rose")}, "label 'rose', which is not among the classes"),
        ({"label": "rose"}, "label='rose' is not a class"),
    ],
)
def test_what_cannot_be_measured(fitted, given, message):
    with pytest.raises(ValueError, match=message):
        fitted.rules(**given)


def test_evidence_of_patches_counts_examples():
    images = np.random.default_rng(0).integers(0, 2, (60, 5, 6))
    images[::2, 1, 1:3] = 1
    model = classifier(n_clauses=30, patch_shape=(2, 2), T=10, s=4, epochs=3, random_state=0)
    model.fit(images, np.arange(60) % 2)
    outputs = model.clause_outputs(images)
    found = model.rules(images, np.arange(60) % 2)
    for rule in found:
        assert rule.evidence.count == outputs[:, rule.clause].sum()
        (first, last), (left, right) = rule.position
        assert 0 <= first <= last <= 3 and 0 <= left <= right <= 4
        for test in rule.tests:
            if test.column == "row":
                assert (first, last) == (
                    0 if test.low is None else test.low + 1,
                    3 if test.high is None else test.high,
                )
    assert len({rule.position for rule in found}) > 1


def test_indicator_matrices():
    bits = np.random.default_rng(0).integers(0, 2, (50, 6))
    labels = bits[:, :2] ^ bits[:, 2:4]
    model = classifier(n_clauses=20, T=10, s=3, epochs=5, random_state=0).fit(bits, labels)
    for rule in model.rules(bits, labels):
        fires = model.clause_outputs(bits)[:, rule.clause]
        assert rule.evidence.counts == {k: (fires & (labels[:, k] == 1)).sum() for k in (0, 1)}


# Composites ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined():
    small = {"n_clauses": 25, "T": 15, "s": 3, "epochs": 4, "max_literals": 1}
    members = [classifier(**small, random_state=k) for k in range(2)]
    pipe = make_pipeline(Thermometer(3), classifier(**small, random_state=2))
    pairs = [("a", members[0]), ("b", members[1]), ("pipe", pipe)]
    return CoTMComposite(pairs, scale="none").fit(X, Y)


def test_equal_rules_of_members_are_one(joined):
    found = joined.rules(X, Y)
    members = joined.named_estimators_
    assert any(len(rule.members) > 1 for rule in found)
    assert not any({"a", "pipe"} <= {*rule.members} for rule in found)  # other bits
    votes, said = np.zeros((len(X), 3), dtype=int), 0
    for rule in found:
        for name, clauses in rule.members.items():
            member = members[name]
            read = member[:-1].transform(X) if name == "pipe" else X
            last = member[-1] if name == "pipe" else member
            fires = last.clause_outputs(read)[:, list(clauses)]
            assert (fires == fires[:, :1]).all()
            assert rule.evidence.count == fires[:, 0].sum()
        votes += fires[:, :1] * np.array([rule.weights[c] for c in joined.classes_.tolist()])
        said += rule.evidence.votes
        assert str(rule).startswith(f"{rule.member}: if ")
    np.testing.assert_array_equal(votes, joined.votes(X))
    assert said == sum(
        fires * abs(w)
        for rule in found
        for fires in [rule.evidence.count]
        for w in rule.weights.values()
    )
    assert sum(rule.evidence.share_of_votes for rule in found) == pytest.approx(1)


def test_members_of_other_sizes_stay_apart(joined):
    other = cotm.join({name: joined.named_estimators_[name] for name in "ab"}, X)
    found = other.rules(X, Y)
    assert {rule.divisor for rule in found} == {*other.divisors_}
    assert all(len(rule.members) == 1 for rule in found)
    sizes = [rule.strength / rule.divisor for rule in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(rule.evidence.share_of_votes for rule in found) == pytest.approx(1)
    assert cotm.join({name: joined.named_estimators_[name] for name in "ab"}, X).rules(
        {"a": X, "b": X}, Y
    )
    with pytest.raises(ValueError, match="label='rose' is not a class"):
        other.rules(label="rose")


# As tables and texts -------------------------------------------------------------------------


def test_frames(fitted, joined):
    found = fitted.rules(X, Y, top=5)
    frame = found.to_pandas()
    assert frame["condition"].tolist() == [rule.condition for rule in found]
    assert frame["votes virginica"].tolist() == [r.most * r.weights["virginica"] for r in found]
    assert frame["lift setosa"].tolist() == [r.evidence.lift["setosa"] for r in found]
    assert found.to_polars().to_dict(as_series=False) == frame.to_dict("list")
    bare = fitted.rules().to_pandas()
    assert "coverage" not in bare and len(bare) == len(fitted.rules())
    assert joined.rules(top=2).to_pandas()["member"].tolist()
    assert len(RuleList().to_pandas()) == len(RuleList().to_polars()) == 0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_libraries_that_are_missing(fitted, library, monkeypatch):
    found = fitted.rules(top=1)
    usual = builtins.__import__

    def without(name, *args, **kwargs):
        if name == library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return usual(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=f"to_{library} needs {library}: pip install"):
        getattr(found, f"to_{library}")()


def test_json_and_text(fitted):
    found = fitted.rules(X, Y, top=3)
    data = json.loads(found.to_json())
    assert data == json.loads(json.dumps(found.to_dicts()))
    for rule, entry in zip(found, data, strict=True):
        assert entry["weights"] == rule.weights and entry["clauses"] == [*rule.clauses]
        assert [test["text"] for test in entry["tests"]] == [*map(str, rule.tests)]
        assert entry["evidence"]["coverage"] == rule.evidence.coverage
    assert found.to_text().splitlines() == [f"{k}. {rule}" for k, rule in enumerate(found, 1)]


def test_a_list_shows_itself_as_text(fitted):
    found = fitted.rules(X, Y)
    assert repr(found[:2]) == found[:2].to_text()
    assert repr(found).splitlines()[:20] == found[:20].to_text().splitlines()
    assert repr(found).endswith(f"and {len(found) - 20:,} more")
    assert repr(RuleList()) == "RuleList([])"


def test_quantities_have_no_precision():
    model = cotm.CoTMRegressor(20, epochs=2, random_state=0).fit(X, X.iloc[:, 0])
    assert model.rules(X, sort="coverage")[0].evidence.counts is None
    with pytest.raises(ValueError, match="predicts quantities; leave y out"):
        model.rules(X, X.iloc[:, 0])


NASTY = r"\a_b & 100% {x}^2 ~ #1 $ <b>|</b> -- \"it's\""


def test_names_do_nothing_in_latex_and_html():
    table = pd.DataFrame({NASTY: [1.0, 2, 3, 4] * 10})
    labels = np.array(["<script>alert(1)</script>", r"\input{x}"])[np.arange(40) % 2]
    model = classifier(n_clauses=6, T=5, s=3, epochs=3, random_state=0).fit(table, labels)
    found = model.rules(table, labels)
    assert len(found) > 0
    shown = found._repr_html_()
    assert "<script" not in shown and "<b>" not in shown
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", shown)]
    assert found[0].condition in cells
    assert found[0].said in [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells]
    assert "\N{NO-BREAK SPACE}+" in shown  # a label and its votes stay together
    latex = found.to_latex()
    body = latex.split(r"\hline")[2]
    plain = re.sub(
        r"\{\\ttfamily\\char34\}|\\[a-z]+\{\}|\\[{}$&%#_]|\{-\}",
        "",
        body.replace(r" \\", "").replace(" & ", ""),
    )
    assert not set(plain) & set("\\{}$&%#_~^<>|\"'-")
    assert latex.count(r" \\") == len(found) + 1


def test_html_is_small():
    one = cotm.Rule(0, (cotm.Condition(cotm.BitFeature("a", "bit"), False),), {"yes": 1, "no": -1})
    shown = RuleList([one] * 5000)._repr_html_()
    assert len(shown) < 10_000 and "and 4,980 more rules" in shown
    assert "color:inherit" in shown  # on light pages and dark ones
    assert RuleList()._repr_html_().startswith("<table")


def test_ten_thousand_clauses_take_about_a_second():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(1000, 30)), rng.integers(0, 3, 1000)
    model = CoTMClassifier(500, epochs=20, average=20, random_state=0)
    model.fit(data[:100], labels[:100])
    assert len(model.memory_) == 10_000
    began = time.perf_counter()
    found = model.rules(data, labels)
    assert time.perf_counter() - began < 10  # a second on a machine that has nothing else to do
    assert len(found) > 1000
