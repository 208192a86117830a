"""Which clauses serve which outputs, and which rules repeat or contradict each other."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from helpers import classifier
from sklearn.datasets import load_iris

import cotm
from cotm import CoTMClassifier, TMClassifier

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target_names[IRIS.target]


@pytest.fixture(scope="module")
def model():
    return classifier(n_clauses=40, T=20, s=3, epochs=5, average=2, random_state=1).fit(X, Y)


def test_clauses_and_the_outputs_that_share_them(model):
    found = model.clause_sharing()
    included = (model.memory_ >= 0).any(axis=1)
    speaks = [j for j in range(80) if included[j] and model.weights_[j].any()]
    assert found.clauses.tolist() == speaks and len(found) == len(speaks)
    for place, j in enumerate(speaks):
        weights = dict(zip(model.classes_.tolist(), model.weights_[j].tolist(), strict=True))
        liked, disliked = found.served(place)
        assert set(liked) == {label for label, w in weights.items() if w > 0}
        assert set(disliked) == {label for label, w in weights.items() if w < 0}
        assert [abs(weights[k]) for k in liked] == sorted((weights[k] for k in liked), reverse=True)
        size = sum(map(abs, weights.values()))
        assert found.shares[place] == pytest.approx([abs(w) / size for w in weights.values()])
    for a, b in itertools.product(range(3), repeat=2):
        pairs = model.weights_[speaks][:, [a, b]].astype(int)
        signs = pairs[:, 0] * pairs[:, 1]
        assert found.agreeing[a, b] == (signs > 0).sum()
        assert found.opposing[a, b] == (signs < 0).sum()
        assert found.shared[a, b] == (signs != 0).sum()
    frame = found.to_pandas()
    assert frame.loc["setosa", "virginica"] == found.shared[0, 2]
    data = found.to_dicts()
    assert data[0]["clause"] == speaks[0] and sum(data[0]["shares"].values()) == pytest.approx(1)
    with pytest.raises(ValueError, match="read-only"):
        found.votes[0] = 1


def test_outputs_with_clauses_of_their_own_share_none():
    own = classifier(TMClassifier, n_clauses=30, T=10, s=3, epochs=2, random_state=0).fit(X, Y)
    found = own.clause_sharing()
    assert not found.shared[~np.eye(3, dtype=bool)].any() and found.shared.trace() == len(found)


def test_overlap_is_counted(model):
    found = model.rule_overlap(X, most=20, similarity=0.8, pairs=1000)
    fires = [model.clause_outputs(X)[:, rule.clause] > 0 for rule in found.rules]
    assert found.n_examples == 150 and len(found.rules) == 20
    redundant, conflicts = {}, {}
    for a, b in itertools.combinations(range(20), 2):
        both, either = (fires[a] & fires[b]).sum(), (fires[a] | fires[b]).sum()
        assert found.together[a, b] == found.together[b, a] == both
        first, second = found.rules[a].weights, found.rules[b].weights
        opposed = sum(min(abs(first[k]), abs(second[k])) for k in first if first[k] * second[k] < 0)
        if both and (both / either >= 0.8 or both in (fires[a].sum(), fires[b].sum())):
            redundant[a, b] = both / either
        if both and opposed:
            conflicts[a, b] = both * opposed
    place = {rule.clause: k for k, rule in enumerate(found.rules)}
    assert {
        (place[p.first.clause], place[p.second.clause]): p.similarity for p in found.redundant
    } == pytest.approx(redundant)
    assert {
        (place[p.first.clause], place[p.second.clause]): p.together * p.opposed
        for p in found.conflicts
    } == pytest.approx(conflicts)
    assert redundant and conflicts
    likeness = [pair.similarity for pair in found.redundant]
    assert likeness == sorted(likeness, reverse=True)
    for pair in found.redundant:
        a, b = place[pair.first.clause], place[pair.second.clause]
        assert pair.first_implies_second == (not (fires[a] & ~fires[b]).any())
        assert pair.second_implies_first == (not (fires[b] & ~fires[a]).any())
    assert "votes opposed" in str(found.conflicts[0])


def test_rows_come_in_parts(model, monkeypatch):
    whole = model.rule_overlap(X)
    monkeypatch.setattr("cotm.estimator.understanding._ROWS", 31)
    assert np.array_equal(model.rule_overlap(X).together, whole.together)


def test_many_rules_take_bounded_time():
    rng = np.random.default_rng(0)
    data, labels = rng.normal(size=(3000, 20)), rng.integers(0, 3, 3000)
    model = CoTMClassifier(500, epochs=20, average=20, random_state=0).fit(data[:60], labels[:60])
    began = time.perf_counter()
    found = model.rule_overlap(data, pairs=5)
    assert time.perf_counter() - began < 10
    assert len(found.rules) == 500 and len(found.redundant) <= 5 and len(found.conflicts) <= 5


def test_members_share_and_overlap(model):
    other = classifier(n_clauses=20, T=15, s=3, epochs=3, random_state=2).fit(X.iloc[:, :2], Y)
    joined = cotm.join(
        {"all": model, "two": other}, {"all": X, "two": X.iloc[:, :2]}, scale="range"
    )
    both = {"all": X, "two": X.iloc[:, :2]}
    sharing = joined.clause_sharing()
    parts = [model.clause_sharing(), other.clause_sharing()]
    assert np.array_equal(sharing.shared, parts[0].shared + parts[1].shared)
    assert sharing.members == ("all",) * len(parts[0]) + ("two",) * len(parts[1])
    assert sharing.clauses.tolist() == [*parts[0].clauses, *parts[1].clauses]
    found = joined.rule_overlap(both, most=12)
    for k, rule in enumerate(found.rules):
        member = {"all": model, "two": other}[rule.member]
        assert found.count[k] == (member.clause_outputs(both[rule.member])[:, rule.clause]).sum()
    assert {rule.member for rule in found.rules} == {"all", "two"}


@pytest.mark.parametrize("options", [{"most": 0}, {"similarity": 2}, {"pairs": -1}])
def test_overlap_refuses(model, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        model.rule_overlap(X, **options)


def test_what_they_are_is_one_line(model):
    sharing, overlap = model.clause_sharing(), model.rule_overlap(X)
    assert f"{len(sharing)} clauses" in repr(sharing) and "\n" not in repr(sharing)
    assert f"{len(overlap.conflicts)} conflicts" in repr(overlap) and "\n" not in repr(overlap)
