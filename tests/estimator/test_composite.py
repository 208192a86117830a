"""Composites: sums of votes in whole numbers, members of all kinds, pools, files."""

import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from command_line import run
from helpers import classifier, state
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import cotm
from cotm import CoTMClassifier, CoTMComposite, ModelFileError, TMClassifier
from cotm.core.decoding import UnknownError
from cotm.files import container
from cotm.files.decode import decode
from cotm.model.joining import joined_votes

X, Y = load_iris(return_X_y=True)
DIGITS, DIGIT = (part[:300] for part in load_digits(return_X_y=True))
small = partial(classifier, n_clauses=20, epochs=3, random_state=0)


def shapes(**more):
    return small(image_shape=(8, 8), patch_shape=(4, 4), **more)


def grays(**more):
    return small(booleanize=cotm.Thermometer(3), **more)


@pytest.fixture(scope="module")
def members():
    tm = small(TMClassifier, average=2)
    return [model.fit(DIGITS, DIGIT) for model in (shapes(), grays(), tm)]


def by_rule(votes, divisors):
    """The rule, one number at a time."""
    total = [[0] * len(votes[0][0]) for _ in votes[0]]
    for part, divisor in zip(votes, divisors, strict=True):
        for row, numbers in enumerate(part.tolist()):
            for output, vote in enumerate(numbers):
                total[row][output] += vote * 2**32 // divisor
    return total


# The sum -----------------------------------------------------------------------------


@given(st.data())
def test_sums_are_exact(data):
    big = st.one_of(st.integers(-100, 100), st.integers(-(2**40), 2**40))
    numbers = st.lists(big, min_size=3, max_size=3)
    parts = data.draw(st.lists(numbers, min_size=1, max_size=4))
    divisors = [data.draw(st.one_of(st.integers(1, 9), st.integers(1, 2**41))) for _ in parts]
    votes = [np.array([part], dtype=np.int64) for part in parts]
    expected = by_rule(votes, divisors)
    if max(abs(value) for value in expected[0]) >= 2**63:
        with pytest.raises(ValueError, match="64 bits"):
            joined_votes(votes, divisors)
    else:
        assert joined_votes(votes, divisors).tolist() == expected
    plain = joined_votes(votes, None)
    assert plain.dtype == np.int64 and (plain == sum(votes)).all()


def test_scales(members):
    votes = [model.votes(DIGITS) for model in members]
    ranges = [int(part.max() - part.min()) for part in votes]
    margins = [model.T_ * model.machine_.n_states_ for model in members]
    assert margins[2] == 2 * members[2].T_
    for joined, divisors in (
        (cotm.join(members, DIGITS), ranges),
        (cotm.join(members), margins),
        (cotm.join(members, scale="margin"), margins),
    ):
        assert joined.divisors_ == tuple(divisors)
        assert joined.votes(DIGITS).tolist() == by_rule(votes, divisors)
        best = joined.votes(DIGITS).argmax(axis=1)
        assert np.array_equal(joined.predict(DIGITS), joined.classes_[best])
        assert np.array_equal(joined.decision_function(DIGITS).argmax(axis=1), best)
        assert np.array_equal(joined.predict_proba(DIGITS).argmax(axis=1), best)
        assert joined.score(DIGITS, DIGIT) > max(m.score(DIGITS, DIGIT) for m in members) - 0.1
    plain = cotm.join(members, scale="none")
    assert isinstance(plain, CoTMComposite) and plain.divisors_ is None
    assert np.array_equal(plain.votes(DIGITS), sum(votes))


def test_equal_members_have_the_probabilities_of_one():
    model = small().fit(X, Y)
    for scale in ("margin", "none"):
        joined = cotm.join([model] * 3, scale=scale)
        assert np.allclose(joined.predict_proba(X), model.predict_proba(X))


def test_several_labels():
    labels = np.column_stack([Y == 0, Y > 0, Y == 2]).astype(int)
    models = [
        small(random_state=k, booleanize=cotm.Thermometer(2 + k)).fit(X, labels) for k in (0, 1)
    ]
    joined = cotm.join(models, X)
    assert np.array_equal(joined.predict(X), (joined.votes(X) >= 0).astype(int))
    assert np.array_equal(joined.decision_function(X) > 0, joined.predict(X) == 1)
    assert np.array_equal(joined.predict_proba(X) > 0.5, joined.predict(X) == 1)


def test_what_models_learn_later_changes_nothing():
    model = small().fit(X, Y)
    joined = cotm.join({"one": model})
    before = joined.votes(X)
    model.partial_fit(X, Y)
    assert np.array_equal(joined.votes(X), before)


def test_what_cannot_be_joined(members):
    other = small().fit(X, Y)
    several = small().fit(X, np.eye(3, dtype=int)[Y])
    for models, error, message in (
        ([], ValueError, "no model"),
        ([members[0], other], ValueError, "have|has the classes"),
        ([other, several], ValueError, "'member0' predicts one class and 'member1' several"),
        ([LogisticRegression()], TypeError, "LogisticRegression, which has no votes"),
        ([cotm.join(members)], TypeError, "CoTMComposite, which has no votes"),
        (other, TypeError, "list of models"),
        ([("a", other), ("a", other)], ValueError, "not unique"),
        ([("a__b", other)], ValueError, "__"),
        ([("", other)], ValueError, "empty"),
        ([small()], NotFittedError, "not fitted"),
    ):
        with pytest.raises(error, match=message):
            cotm.join(models)
    with pytest.raises(ValueError, match="pass some as X"):
        cotm.join([other], scale="range")
    with pytest.raises(ValueError, match="leave X out"):
        cotm.join([other], X, scale="margin")
    with pytest.raises(ValueError, match="scale"):
        cotm.join([other], scale="mean")


def test_rules_say_whose_they_are(members):
    joined = cotm.join({"a": members[0], "b": members[1]}, DIGITS)
    found = joined.rules(label=3, top=8)
    ranks = [r.weights[3] * 2**32 // joined.divisors_["ab".index(r.member)] for r in found]
    assert len(found) == 8 and ranks == sorted(ranks, reverse=True)
    assert str(found[0]).startswith(f"{found[0].member}: if ")
    assert len(joined.rules()) == sum(len(model.rules()) for model in members[:2])
    for rule, data in zip(found, json.loads(found.to_json()), strict=True):
        assert data["members"] == {rule.member: [*rule.clauses]}
        assert data["divisor"] == joined.divisors_["ab".index(rule.member)]


# As an estimator ---------------------------------------------------------------------

NOT_REPETITIONS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a weight is no repetition, as with the members",
)


@parametrize_with_checks(
    [CoTMComposite([("a", small(n_clauses=30, epochs=8)), ("b", small(TMClassifier, epochs=8))])],
    expected_failed_checks=lambda estimator: NOT_REPETITIONS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_fitting_is_joining_what_was_fitted():
    composite = CoTMComposite([("shapes", shapes()), ("grays", grays())])
    weight = np.linspace(0.5, 2, len(DIGITS))
    joined = cotm.join(
        [shapes().fit(DIGITS, DIGIT, weight), grays().fit(DIGITS, DIGIT, weight)], DIGITS
    )
    for jobs in (None, 2):
        fitted = clone(composite).set_params(n_jobs=jobs).fit(DIGITS, DIGIT, weight)
        assert np.array_equal(fitted.votes(DIGITS), joined.votes(DIGITS))
        assert fitted.divisors_ == joined.divisors_
    assert [*fitted.named_estimators_] == ["shapes", "grays"] and fitted.n_features_in_ == 64
    assert not hasattr(composite, "classes_")
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.votes(DIGITS), joined.votes(DIGITS))
    fresh = clone(cotm.join(fitted.named_estimators_))
    assert np.array_equal(
        fresh.set_params(scale="range").fit(DIGITS, DIGIT, weight).votes(DIGITS),
        joined.votes(DIGITS),
    )


def test_parameters_of_members():
    composite = CoTMComposite([("one", small()), ("two", small())])
    composite.set_params(one__s=3.0, two=small(n_clauses=7))
    assert composite.get_params()["one__s"] == 3.0
    assert composite.get_params()["two__n_clauses"] == 7
    search = GridSearchCV(composite, {"one__s": [2.0, 9.0]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.6


def test_pipelines():
    pipe = make_pipeline(cotm.Thermometer(3), small())
    composite = CoTMComposite([("pipe", pipe), ("plain", small())])
    composite.fit(X, Y, np.full(len(X), 0.9))
    pipe, plain = composite.estimators_
    votes = [pipe[-1].votes(pipe[0].transform(X)), plain.votes(X)]
    assert composite.votes(X).tolist() == by_rule(votes, composite.divisors_)
    assert composite.rules(top=1)
    with pytest.raises(TypeError, match="'pipe' cannot be saved, since it is a Pipeline"):
        composite.save("never.cotm")


def test_each_member_with_its_own_data():
    frame = pd.DataFrame(X, columns=list("abcd"))
    parts = {"left": frame[["a", "b"]], "right": frame[["c", "d"]].iloc[:, :1]}
    composite = CoTMComposite([("left", small()), ("right", small())]).fit(parts, Y)
    assert composite.predict(parts).shape == Y.shape
    assert not hasattr(composite, "n_features_in_") and not hasattr(composite, "feature_names_in_")
    with pytest.raises(ValueError, match="members are"):
        composite.predict({"left": parts["left"]})
    with pytest.raises(ValueError, match="different numbers of examples"):
        composite.predict({**parts, "right": parts["right"][:5]})


def test_wrong_estimators():
    for estimators in ([], [small()], [("a", LogisticRegression())], [("scale", small())]):
        with pytest.raises((ValueError, TypeError)):
            CoTMComposite(estimators).fit(X, Y)
    composite = CoTMComposite([("a", small())]).fit(X, Y)
    before = composite.votes(X)
    with pytest.raises(ValueError):
        composite.fit(X, Y[:-1])
    assert np.array_equal(composite.votes(X), before)


# Pools -------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_union_of_pools_is_a_pool(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    patches = data.draw(st.booleans())
    bits = rng.integers(0, 2, (40, 5, 4) if patches else (40, 9)).astype(np.uint8)
    labels = rng.integers(0, 3, 40)
    y = np.eye(3, dtype=int)[labels] if data.draw(st.booleans()) else labels
    voting = {
        "tolerance": data.draw(st.sampled_from([1, 1, 3])),
        "include_depth": data.draw(st.sampled_from([None, None, 2])),
    }
    models = [
        small(
            n_clauses=data.draw(st.integers(1, 12)),
            T=data.draw(st.integers(1, 20)),
            epochs=data.draw(st.integers(0, 4)),
            average=data.draw(st.integers(1, 3)),
            memory_depth=data.draw(st.sampled_from([1, 7, 128])),
            max_literals=data.draw(st.sampled_from([None, 2, 5])),
            max_weight=data.draw(st.sampled_from([None, 3])),
            forgetting=data.draw(st.sampled_from(["drawn", "sampled"])),
            growth_limit=data.draw(st.sampled_from([None, 2])),
            **voting,
            patch_shape=(2, 3) if patches else None,
            random_state=data.draw(st.integers(0, 9)),
        ).fit(bits, y)
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    pool = cotm.join(models, scale="none")
    assert type(pool) is CoTMClassifier
    assert np.array_equal(pool.votes(bits), sum(model.votes(bits) for model in models))
    assert np.array_equal(pool.memory_ >= 0, np.concatenate([m.memory_ >= 0 for m in models]))
    assert np.array_equal(pool.weights_, np.concatenate([m.weights_ for m in models]))
    assert pool.n_clauses == len(pool.memory_)


def test_a_pool_is_a_classifier_like_any_other(tmp_path):
    models = [small(random_state=k).fit(X, Y) for k in range(3)]
    pool = cotm.join(models, scale="none")
    assert sum(model.T_ for model in models) == pool.T_ and pool.rules(top=1)
    pool.save(tmp_path / "pool.cotm")
    again = cotm.load(tmp_path / "pool.cotm")
    assert state(again) == state(pool)
    assert np.array_equal(again.predict_proba(X), pool.predict_proba(X))
    assert state(again.partial_fit(X, Y)) == state(pool.partial_fit(X, Y))


def test_other_bits_make_no_pool():
    model = small().fit(X, Y)
    for other in (
        small(booleanize=cotm.Thermometer(2)).fit(X, Y),
        small().fit(X + (np.arange(len(X)) % 7)[:, None] / 10, Y),
        small().fit(pd.DataFrame(X, columns=list("abcd")), Y),
        small(TMClassifier).fit(X, Y),
    ):
        assert isinstance(cotm.join([model, other], scale="none"), CoTMComposite)
    assert isinstance(cotm.join([model, small(random_state=5).fit(X, Y)]), CoTMComposite)


@pytest.mark.parametrize("option", [{"tolerance": 2}, {"include_depth": 5}])
def test_clauses_that_vote_by_other_rules_make_no_pool(option):
    models = [small().fit(X, Y), small(**option).fit(X, Y)]
    joined = cotm.join(models, scale="none")
    assert isinstance(joined, CoTMComposite)
    assert np.array_equal(joined.votes(X), sum(model.votes(X) for model in models))


# Files -------------------------------------------------------------------------------


@pytest.fixture
def saved(members, tmp_path):
    joined = cotm.join(members, DIGITS)
    joined.save(tmp_path / "composite.cotm")
    return joined, tmp_path / "composite.cotm"


def written(path, header, tensors):
    path.write_bytes(container.pack(json.dumps(header), tensors))
    return path


def test_files_hold_all_of_a_composite(members, saved, tmp_path):
    for scale, measured in (("range", DIGITS), ("margin", None), ("none", None)):
        joined = cotm.join({"ä": members[0], "b c": members[1]}, measured, scale)
        joined.set_params(n_jobs=2).save(tmp_path / "one.cotm")
        again = cotm.load(tmp_path / "one.cotm")
        assert isinstance(again, CoTMComposite) and again.n_jobs == 2 and again.scale == scale
        assert [*again.named_estimators_] == ["ä", "b c"]
        assert again.divisors_ == joined.divisors_
        assert np.array_equal(again.votes(DIGITS), joined.votes(DIGITS))
        assert np.array_equal(again.predict_proba(DIGITS), joined.predict_proba(DIGITS))
        for one, other in zip(again.estimators_, joined.estimators_, strict=True):
            assert state(one) == state(other)
    joined, path = saved
    cotm.load(path).save(tmp_path / "again.cotm")
    assert np.array_equal(cotm.load(tmp_path / "again.cotm").votes(DIGITS), joined.votes(DIGITS))


def test_versions_without_composites_call_a_file_newer(saved):
    """They go straight to what decodes a classifier."""
    header, tensors = container.read_container(saved[1])
    with pytest.raises(UnknownError, match="unknown"):
        decode(header, tensors)


def test_what_is_unknown_is_newer(saved, tmp_path):
    header, tensors = container.read_container(saved[1])
    parameters = header["parameters"]
    for change, more in (
        ({"format": 2}, {}),
        ({"novelty": 1}, {}),
        ({"parameters": {**parameters, "novelty": 1}}, {}),
        ({"parameters": {**parameters, "scale": "novel"}}, {}),
        ({}, {"novelty": np.zeros(3)}),
    ):
        path = written(tmp_path / "new.cotm", {**header, **change}, {**tensors, **more})
        with pytest.raises(ModelFileError, match="newer"):
            cotm.load(path)


def test_damaged_and_hostile_composites(saved, tmp_path):
    header, tensors = container.read_container(saved[1])
    parameters, first = header["parameters"], tensors["member.0"]
    broken = first.copy()
    broken[-1] ^= 1
    other = small().fit(X, Y)
    other.save(tmp_path / "other.cotm")
    foreign = np.frombuffer((tmp_path / "other.cotm").read_bytes(), np.uint8)
    nested = np.frombuffer(saved[1].read_bytes(), np.uint8)
    cases = [
        ({"members": []}, {}),
        ({"members": ["a", "b"]}, {}),
        ({"members": ["a", "b", "a"]}, {}),
        ({"members": ["a", "b", "c", "d"]}, {}),
        ({"members": ["a", "b", 3]}, {}),
        ({"members": ["a", "b", "c__d"]}, {}),
        ({"members": ["a", "b", "x" * 1001]}, {}),
        ({"members": None}, {}),
        ({"divisors": None}, {}),
        ({"divisors": [1, 2]}, {}),
        ({"divisors": [1, 2, 0]}, {}),
        ({"divisors": [1, 2, 2**63]}, {}),
        ({"divisors": [1, 2, 3.0]}, {}),
        ({"parameters": {**parameters, "scale": "margin"}}, {}),
        ({"parameters": {**parameters, "n_jobs": 0}}, {}),
        ({"parameters": {**parameters, "n_jobs": 10**400}}, {}),
        ({"parameters": {}}, {}),
        ({"parameters": None}, {}),
        ({"cotm": 5}, {}),
        ({"format": "1"}, {}),
        ({}, {"member.0": broken}),
        ({}, {"member.0": first[:-1]}),
        ({}, {"member.0": first[:9]}),
        ({}, {"member.0": first[:0]}),
        ({}, {"member.0": first.astype(np.int16)}),
        ({}, {"member.0": first[None]}),
        ({}, {"member.0": foreign}),
        ({}, {"member.0": nested}),
        ({}, {"member.00": first}),
        ({}, {"member.3": first}),
    ]
    for change, more in cases:
        path = written(tmp_path / "bad.cotm", {**header, **change}, {**tensors, **more})
        with pytest.raises(ModelFileError, match=r"damaged|not a model file") as caught:
            cotm.load(path)
        assert "newer" not in str(caught.value), (change, [*more])
    whole = bytearray(saved[1].read_bytes())
    whole[-40] ^= 1
    (tmp_path / "bad.cotm").write_bytes(whole)
    with pytest.raises(ModelFileError, match="checksum"):
        cotm.load(tmp_path / "bad.cotm")


def test_what_could_not_be_loaded_is_not_written(tmp_path):
    joined = cotm.join({"x" * 2000: small().fit(X, Y)})
    with pytest.raises(ValueError, match="could not be loaded again"):
        joined.save(tmp_path / "never.cotm")
    assert not (tmp_path / "never.cotm").exists()


def test_commands_know_composites(tmp_path):
    joined = cotm.join({"coarse": grays().fit(X, Y), "fine": small().fit(X, Y)}, X)
    joined.save(tmp_path / "model.cotm")
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    model, data = tmp_path / "model.cotm", tmp_path / "data.npz"
    lines = run("predict", model, data).stdout.split()
    assert lines == ["prediction", *map(str, joined.predict(X))]
    assert f"{joined.score(X, Y):.2%}" in run("evaluate", model, data).stdout
    assert run("rules", model, "--top", "1").stdout == f"1. {joined.rules(top=1)[0]}\n"
    assert "member fine" in run("info", model).stdout
    refused = run("train", data, "--out", model, "--resume", code=1)
    assert "is a composite" in refused.stderr
