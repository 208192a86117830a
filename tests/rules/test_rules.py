"""Rules say what the clauses do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import cotm
from cotm import BitFeature, Condition, CoTMClassifier, Rule
from cotm.rules import column_tests, feature_descriptions, parse_rule, rules


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
    assert str(rule) == ("if 37.5 < age <= 60 and colour != red and smoker: ill +12, well -3")


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


# What is implied, and what cannot be

A = {t: BitFeature("a", ">", t) for t in (2.5, 5.0, 8.0)}
BELOW = BitFeature("a", "<=", -2.0)
GONE = BitFeature("a", "missing")
X, Y = BitFeature("a", "=", "x"), BitFeature("a", "=", "y")
SMOKER = BitFeature("smoker", "bit")


def conditions(*parts):
    """Conditions; a feature in a list is negated."""
    return tuple(
        Condition(part[0], True) if isinstance(part, list) else Condition(part, False)
        for part in parts
    )


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ((GONE, [X]), "a is missing"),
        ((GONE, [A[2.5]]), "a is missing"),
        ((X, [Y]), "a = x"),
        ((X, [GONE]), "a = x"),
        ((A[5.0], [GONE]), "a > 5"),
        ((A[2.5], A[5.0], [A[8.0]], [GONE]), "5 < a <= 8"),
        (([A[5.0]], [A[8.0]], [GONE]), "a <= 5 and a is not missing"),
        (([X], [Y], [GONE]), "a not in {x, y} and a is not missing"),
        ((BELOW, [A[5.0]], [GONE]), "a <= -2 and a is not missing"),
        (([BELOW], A[5.0]), "a > 5"),
        (([BELOW], [A[5.0]]), "-2 < a <= 5 or missing"),
        ((SMOKER, [BitFeature("smoker", "missing")]), "smoker"),
        (([SMOKER], [BitFeature("smoker", "missing")]), "not smoker and smoker is not missing"),
        ((SMOKER, X), "smoker and a = x"),
        # Two columns of one name are two columns.
        ((BitFeature("a", ">", 1, "", 0), BitFeature("a", ">", 2, "", 1)), "a[0] > 1 and a[1] > 2"),
        # Not a column of ours: tests of several kinds are left alone.
        ((X, A[5.0], [GONE]), "a = x and a > 5 and a is not missing"),
    ],
)
def test_what_others_imply_is_left_out(given, left):
    given = conditions(*given)
    assert " and ".join(map(str, column_tests(given))) == left


@pytest.mark.parametrize(
    "given",
    [
        (A[8.0], [A[2.5]]),
        (A[8.0], [A[8.0]]),
        (SMOKER, [SMOKER]),
        (X, Y),
        (X, [X]),
        (X, GONE),
        (A[2.5], GONE),
        (BELOW, GONE),
        (BELOW, A[5.0]),
        (GONE, [GONE]),
        (SMOKER, X, [SMOKER]),
        (BitFeature("row", ">", 3), [BitFeature("row", ">", 1)]),
        (BitFeature("a", "=", True), BitFeature("a", "=", 1)),
    ],
)
def test_what_cannot_be(given):
    assert column_tests(conditions(*given)) == ()


@pytest.fixture(scope="module")
def two_numbers():
    table = pd.DataFrame({"age": [1.0, 2, 3, 4] * 10, "city": ["a", "b"] * 20})
    return CoTMClassifier(4, epochs=1, random_state=0).fit(table, table["city"])


def pool(model, *clauses):
    included = np.zeros((len(clauses), model.memory_.shape[1]), dtype=bool)
    for row, clause in zip(included, clauses, strict=True):
        row[list(clause)] = True
    return included


def test_clauses_that_never_fire_are_no_rules(two_numbers):
    # age > 1.5, age > 2.5, age > 3.5, city = a, city = b, and their negations
    included = pool(two_numbers, [2, 5], [0, 7], [3, 4], [3, 8], [1, 4])
    weights = np.array([[9, -9], [1, -1], [9, -9], [9, -9], [0, 5]])
    found = rules(two_numbers, included=included, weights=weights)
    assert [str(rule) for rule in found] == [
        "if age > 2.5 and city = b: b +5",
        "if 1.5 < age <= 3.5: a +1, b -1",
    ]
    # Other names do not make them possible.
    named = rules(two_numbers, feature_names=[*"vwxyz"], included=included, weights=weights)
    assert [str(rule) for rule in named] == ["if w and z: b +5", "if v and not x: a +1, b -1"]


def test_equal_clauses_can_become_one_rule(two_numbers):
    included = pool(two_numbers, [0], [1], [0], [1], [2], [0, 3])
    most = 2**31 - 1
    weights = np.array([[1, 2], [most, 0], [3, -4], [most, 0], [0, 0], [7, 7]], dtype=np.int32)
    found = rules(two_numbers, included=included, weights=weights)
    assert [(rule.clauses, rule.clause, rule.weights) for rule in found] == [
        ((1, 3), 1, {"a": 2 * most, "b": 0}),
        ((5,), 5, {"a": 7, "b": 7}),
        ((0, 2), 0, {"a": 4, "b": -2}),
    ]
    # What cancels out has no say.
    weights[2] = -weights[0]
    found = rules(two_numbers, included=included, weights=weights)
    assert [rule.clause for rule in found] == [1, 5]
    assert weights[0].tolist() == [1, 2]


def test_clauses_are_equal_by_what_they_accept(two_numbers):
    # age > 2.5 implies age > 1.5; a city of two need not be the other one.
    included = pool(two_numbers, [1], [0, 1], [3], [9])
    weights = np.array([[1, 0], [2, 0], [1, 0], [1, 0]])
    found = rules(two_numbers, included=included, weights=weights)
    assert [(rule.clauses, str(rule)) for rule in found] == [
        ((0, 1), "if age > 2.5: a +3"),
        ((2,), "if city = a: a +1"),
        ((3,), "if city != b: a +1"),
    ]


def test_given_names_may_repeat():
    X = np.array([[0, 1], [1, 0]] * 20)
    model = CoTMClassifier(4, epochs=1, random_state=0).fit(X, X[:, 0])
    included = pool(model, [0, 3])  # the first bit, and not the second
    found = rules(model, feature_names=["x", "x"], included=included, weights=np.array([[1, 2]]))
    assert str(found[0]) == "if x[0] and not x[1]: 1 +2, 0 +1"


@pytest.mark.parametrize("name", ["'a\nb'", "'\\N{x}'", "'\\x'", "'a\0'", "'\\u12'"])
def test_quotes_that_python_does_not_know_are_no_rule(name):
    for text in (f"if {name} > 1: yes +1", f"if a = {name}: yes +1", f"if a > 1: {name} +1"):
        with pytest.raises(ValueError):
            parse_rule(text)
