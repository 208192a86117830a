"""Rules say what the clauses do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import cotm
from cotm import BitFeature, Condition, CoTMClassifier, Rule
from cotm.rules import feature_descriptions, simplify


def holds(condition, row):
    """Whether a condition's text is true of a row."""
    feature = condition.feature
    value = row[feature.column]
    truth = {
        "bit": lambda: value == 1,
        ">": lambda: value > feature.value,
        "<=": lambda: value <= feature.value,
        "=": lambda: value == feature.value,
        "missing": lambda: pd.isna(value),
    }[feature.op]()
    return truth != condition.negated


@pytest.fixture(scope="module")
def fitted():
    X = load_iris(as_frame=True).data.iloc[:, :3].assign(site=["north", "south", "east"] * 50)
    X["wet"] = np.arange(150) % 2
    y = load_iris().target_names[load_iris().target]
    return CoTMClassifier(60, epochs=20, random_state=0).fit(X, y), X


def test_a_rule_holds_where_its_clause_fires(fitted):
    model, X = fitted
    outputs = model.clause_outputs(X)
    found = model.rules()
    assert found
    rows = X.to_dict("records")
    for rule in found:
        expected = [all(holds(c, row) for c in rule.conditions) for row in rows]
        assert outputs[:, rule.clause].tolist() == expected
        short = [all(holds(c, row) for c in simplify(rule.conditions)) for row in rows]
        assert short == expected


def test_rules_carry_all_votes(fitted):
    model, X = fitted
    outputs = model.clause_outputs(X)
    votes = sum(
        outputs[:, r.clause, None] * np.array([r.weights[c] for c in model.classes_])
        for r in model.rules()
    )
    assert np.array_equal(votes, model.votes(X))


def test_order_label_and_top(fitted):
    model, _ = fitted
    strengths = [rule.strength for rule in model.rules()]
    assert strengths == sorted(strengths, reverse=True)
    assert len(model.rules(top=3)) == 3
    for_setosa = [rule.weights["setosa"] for rule in model.rules(label="setosa")]
    assert for_setosa == sorted(for_setosa, reverse=True)
    assert min(for_setosa) > 0
    with pytest.raises(ValueError, match=r"label='rose' is not a class.*setosa"):
        model.rules(label="rose")


def test_text():
    age = [BitFeature("age", ">", t) for t in (20.0, 37.5, 60.0)]
    rule = Rule(
        0,
        (
            Condition(age[0], False),
            Condition(age[1], False),
            Condition(age[2], True),
            Condition(BitFeature("colour", "=", "red"), True),
            Condition(BitFeature("smoker", "bit"), False),
        ),
        {"well": -3, "ill": 12, "other": 0},
    )
    assert str(rule) == (
        "if age > 37.5 and age <= 60 and colour != red and smoker: ill +12, well -3"
    )


def test_names_of_patches():
    X = np.random.default_rng(0).integers(0, 2, (20, 4, 5, 2))
    model = CoTMClassifier(4, patch_shape=(2, 3), epochs=1).fit(X, np.arange(20) % 2)
    names = [str(feature) for feature in feature_descriptions(model)]
    assert len(names) == model.memory_.shape[1] // 2
    assert names[:5] == ["row > 0", "row > 1", "column > 0", "column > 1", "pixel(0,0) channel 0"]
    assert names[-1] == "pixel(1,2) channel 1"


def test_given_names():
    X = np.array([[0, 1], [1, 0]] * 20)
    model = cotm.CoTMClassifier(10, T=5, s=3, random_state=0).fit(X, X[:, 0])
    assert "fever" in str(model.rules(label=1, feature_names=["fever", "cough"])[0])
    with pytest.raises(ValueError, match="1 names, but the model has 2 bits"):
        model.rules(feature_names=["fever"])
