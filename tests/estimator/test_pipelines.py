"""What bits mean goes from a transformer to the classifier behind it, or is lost, never wrong."""

import copy
import json
import pickle
import re
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse as sp
from helpers import classifier
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import train_test_split
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import cotm
from cotm import (
    AdaptiveGaussianThreshold,
    Booleanizer,
    Categories,
    ImageThermometer,
    Thermometer,
)
from cotm.booleanize import bit_features_of, features_from_state, features_to_state, plain_array
from cotm.booleanize.described import DescribedBits
from cotm.files import container
from cotm.rules import feature_descriptions

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, 80),
        "city": RNG.choice(["Oslo", "Bergen", None], 80),
        "when": pd.date_range("2021-01-01", periods=80),
    }
)
Y = np.where(TABLE["age"] > 45, "old", "young")
SPARSE = sp.random(80, 4, 0.5, format="csr", random_state=0)
IMAGES = RNG.integers(0, 256, (40, 6, 6), dtype=np.uint8)


small = partial(classifier, n_clauses=20, epochs=3, random_state=0)


def names(model):
    return [str(feature) for feature in feature_descriptions(model)]


CASES = {
    "booleanizer": (Booleanizer(4), TABLE),
    "thermometer": (Thermometer(4), TABLE[["age", "when"]]),
    "categories": (Categories(), TABLE[["city"]]),
    "unnamed": (Booleanizer(4), TABLE[["age"]].to_numpy()),
    "sparse": (Booleanizer(4), SPARSE),
    "sparse array": (Thermometer(2), sp.csr_array(SPARSE)),
}


@pytest.mark.parametrize("case", CASES)
def test_rules_of_the_last_step_say_what_bits_mean(case, tmp_path):
    transformer, X = CASES[case]
    pipeline = make_pipeline(transformer, small()).fit(X, Y)
    expected = pipeline[0].get_feature_names_out().tolist()
    model = pipeline[-1]
    assert names(model) == expected
    assert model.booleanizer_ is None
    # The same bits by hand, without names, learn the same.
    bits = pipeline[0].transform(X)
    bare = small().fit(sp.csr_matrix(bits) if sp.issparse(bits) else np.array(bits), Y)
    np.testing.assert_array_equal(bare.memory_, model.memory_)
    assert names(bare) == [f"x{k}" for k in range(len(expected))]
    model.save(tmp_path / "m.cotm")
    loaded = cotm.load(tmp_path / "m.cotm")
    assert names(loaded) == expected
    assert [*map(str, loaded.rules())] == [*map(str, model.rules())]
    assert feature_descriptions(loaded) == feature_descriptions(model)
    assert names(pickle.loads(pickle.dumps(model))) == expected
    np.testing.assert_array_equal(loaded.votes(bits), model.votes(bits))


def test_a_rule_in_words():
    pipeline = make_pipeline(Booleanizer(), small()).fit(TABLE[["age"]], Y)
    rule = pipeline[-1].rules(label="old", top=1)[0]
    assert [condition.feature.column for condition in rule.conditions][:1] == ["age"]
    assert re.match(r"if (\d\S+ < )?age (>|<=) \d", str(rule))


def test_frames_as_output():
    transformer = Booleanizer(4).set_output(transform="pandas")
    pipeline = make_pipeline(transformer, small()).fit(TABLE, Y)
    assert pipeline[0].transform(TABLE).columns.tolist() == names(pipeline[-1])
    assert "city = Oslo" in names(pipeline[-1])


def test_cached_pipelines_keep_names(tmp_path):
    pipeline = make_pipeline(Booleanizer(4), small(), memory=joblib.Memory(tmp_path, verbose=0))
    first = names(pipeline.fit(TABLE, Y)[-1])
    assert names(pipeline.fit(TABLE, Y)[-1]) == first == names_out(Booleanizer(4).fit(TABLE))


def names_out(transformer):
    return transformer.get_feature_names_out().tolist()


def test_images():
    thermometer = ImageThermometer(2).fit(IMAGES)
    bits = thermometer.transform(IMAGES)
    model = small(patch_shape=(6, 6)).fit(bits, np.arange(40) % 2)
    whole = small(patch_shape=(6, 6), booleanize=ImageThermometer(2)).fit(IMAGES, np.arange(40) % 2)
    low, high = thermometer.thresholds_[0]
    assert names(model)[:2] == [f"pixel(0,0) > {low:g}", f"pixel(0,0) > {high:g}"]
    assert names(model) == names(whole)
    colours = RNG.integers(0, 256, (40, 6, 6, 3), dtype=np.uint8)
    bits = AdaptiveGaussianThreshold().fit_transform(colours)
    model = small(patch_shape=(6, 6)).fit(bits, np.arange(40) % 2)
    assert names(model)[1] == "pixel(0,0) channel 1 > local mean - 2"


# What keeps a description, and what does not


@pytest.fixture
def bits():
    return Booleanizer(4).fit_transform(TABLE)


ROWS = {
    "slice": lambda b: b[10:50:2],
    "list": lambda b: b[[3, 1, 2]],
    "mask": lambda b: b[np.arange(80) % 3 == 0],
    "numbers": lambda b: b[np.arange(5)],
    "rows and all": lambda b: b[np.arange(5), :],
    "rows and dots": lambda b: b[np.arange(5), ...],
    "split": lambda b: train_test_split(b)[0],
    "pickle": lambda b: pickle.loads(pickle.dumps(b)),
    "old pickle": lambda b: pickle.loads(pickle.dumps(b, protocol=2)),
}


@pytest.mark.parametrize("kept", ROWS)
def test_choosing_rows_keeps_names(bits, kept):
    chosen = ROWS[kept](bits)
    assert bit_features_of(chosen) == bit_features_of(bits) == Booleanizer(4).fit(TABLE).describe()
    assert chosen.shape[1] == bits.shape[1]


OTHERS = {
    "columns": lambda b: b[:, ::-1],
    "one column": lambda b: b[:, :1],
    "all columns": lambda b: b[:, RNG.permutation(b.shape[1])],
    "transposed": lambda b: b.T,
    "new axis": lambda b: b[None],
    "reshaped": lambda b: b.reshape(len(b), -1),
    "square": lambda b: b[: b.shape[1]].T,
    "one row": lambda b: b[0],
    "cells": lambda b: b[b == 1],
    "pairs": lambda b: b[np.arange(3), np.arange(3)],
    "rolled": lambda b: np.roll(b, 1, axis=1),
    "stacked": lambda b: np.hstack([b, b]),
    "flipped": lambda b: np.fliplr(b),
    "taken": lambda b: np.take(b, [1, 0, 2], axis=1),
    "deleted": lambda b: np.delete(b, 0, axis=1),
    "array": lambda b: np.asarray(b),
    "negated": lambda b: 1 - b,
    "compared": lambda b: b == 0,
    "wider": lambda b: b.astype(np.int64),
    "view": lambda b: b.view(DescribedBits),
    "multiplied": lambda b: b @ np.eye(b.shape[1], dtype=np.uint8)[::-1],
    "copy": lambda b: b.copy(),
    "sorted": lambda b: np.sort(b),
    "partitioned": lambda b: np.partition(b, 2, axis=1),
    "shuffled": lambda b: RNG.permuted(b, axis=1),
    "deep copy": lambda b: copy.deepcopy(b)[:, ::-1],
}


@pytest.mark.parametrize("lost", OTHERS)
def test_everything_else_loses_them(bits, lost):
    assert bit_features_of(OTHERS[lost](bits)) is None
    assert bit_features_of(bits) is not None


def flip(b):
    b ^= 1


def assign(b):
    b[:, 0] = 1


def write_out(b):
    np.logical_not(b, out=b)


def write_at(b):
    np.add.at(b, 0, 0)


def sort(b):
    b.sort(axis=1)


def partition(b):
    b.partition(2, axis=1)


@pytest.mark.parametrize("write", [flip, assign, write_out, write_at, sort, partition])
def test_writing_loses_them(bits, write):
    twin = np.array(bits)
    write(bits), write(twin)
    assert bit_features_of(bits) is None and isinstance(bits, DescribedBits)
    np.testing.assert_array_equal(bits, twin)


def test_bits_are_an_array_like_any_other(bits):
    assert isinstance(bits, np.ndarray) and bits.dtype == np.uint8
    for value in (bits.sum(), bits.mean(), bits.max(), bits.any(), (bits == 1).sum()):
        assert isinstance(value, np.generic)
    for array in (1 - bits, bits.sum(axis=0), np.add(bits, 1), bits == 1):
        assert type(array) is np.ndarray
    assert type(plain_array(bits)) is np.ndarray and plain_array(bits).base is not None
    assert repr(bits) == repr(np.asarray(bits)) and str(bits) == str(np.asarray(bits))
    before = joblib.hash(bits)
    assert bit_features_of(bits) and joblib.hash(bits) == before


def test_joblib(bits, tmp_path):
    joblib.dump(bits, tmp_path / "bits")
    again = joblib.load(tmp_path / "bits")
    np.testing.assert_array_equal(again, bits)
    assert bit_features_of(again) == bit_features_of(bits)


def test_sparse_bits():
    bits = Booleanizer(4).fit_transform(SPARSE)
    assert bit_features_of(bits) == Booleanizer(4).fit(SPARSE).describe()
    assert bit_features_of(pickle.loads(pickle.dumps(bits))) == bit_features_of(bits)
    for other in (bits[:, ::-1], sp.hstack([bits, bits]).tocsr(), bits.T.tocsr(), bits.multiply(2)):
        assert bit_features_of(other) is None


def test_refitting_a_transformer_does_not_rename_earlier_bits():
    transformer = Booleanizer(4)
    bits = transformer.fit_transform(TABLE)
    before = transformer.describe()
    transformer.fit(TABLE[["when", "age"]])
    assert bit_features_of(bits) == before


@pytest.mark.parametrize(
    "step",
    [
        ColumnTransformer([("b", Booleanizer(4), ["when", "age"]), ("c", Categories(), ["city"])]),
        ColumnTransformer([("b", Booleanizer(4), ["when", "age"])]),
        FeatureUnion([("a", Booleanizer(2)), ("b", Booleanizer(4))]),
        make_pipeline(Booleanizer(4), SelectKBest(k=3)),
        make_pipeline(Booleanizer(4), FunctionTransformer(lambda X: X[:, ::-1])),
        make_pipeline(Booleanizer(4), FunctionTransformer(lambda X: 1 - X)),
    ],
    ids=["columns", "one", "union", "selection", "reversed", "negated"],
)
def test_names_may_be_lost_but_are_never_wrong(step):
    model = make_pipeline(step, small()).fit(TABLE, Y)[-1]
    assert names(model) == [f"x{k}" for k in range(model.n_features_in_)]


def test_a_booleanizer_of_the_model_has_the_word(bits):
    model = small(booleanize=Booleanizer()).fit(bits, Y)
    assert names(model) == [f"x{k}" for k in range(bits.shape[1])]


def test_fitting_again_forgets_names(bits):
    model = small().fit(bits, Y)
    assert names(model)[0].startswith("age > ")
    assert names(model.fit(np.array(bits), Y))[0] == "x0"


# Files


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop(),
        lambda s: s.append(s[0]),
        lambda s: s.__setitem__(0, "abcde"),
        lambda s: s[0].pop(),
        lambda s: s[0].__setitem__(0, 5),
        lambda s: s[0].__setitem__(1, "!="),
        lambda s: s[0].__setitem__(1, ["bit"]),
        lambda s: s[0].__setitem__(2, "many"),
        lambda s: s[0].__setitem__(2, True),
        lambda s: s[0].__setitem__(2, float("nan")),
        lambda s: s[0].__setitem__(2, None),
        lambda s: s[0].__setitem__(3, None),
        lambda s: s[0].__setitem__(4, -1),
        lambda s: s[0].__setitem__(4, True),
        lambda s: s[-1].__setitem__(2, []),
    ],
)
def test_damaged_descriptions_are_refused(damage):
    features = Booleanizer(4).fit(TABLE).describe()
    state = features_to_state(features)
    assert features_from_state(state, len(features)) == features
    damage(state)
    with pytest.raises(ValueError, match="Damaged booleanizer state"):
        features_from_state(state, len(features))
    for odd in (None, {}, "", 3):
        with pytest.raises(ValueError, match="Damaged booleanizer state"):
            features_from_state(odd, len(features))


def test_hostile_files(bits, tmp_path):
    path = tmp_path / "m.cotm"
    small().fit(bits, Y).save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["cotm"])
    tensors = safetensors.numpy.load(data)
    good = header["bit_features"]
    for bad in (None, [], good[:-1], [good], {"0": good[0]}, [["a", ">", {}, "", 0]] * len(good)):
        text = json.dumps({**header, "bit_features": bad})
        path.write_bytes(container.pack(text, tensors))
        with pytest.raises(cotm.ModelFileError, match="damaged"):
            cotm.load(path)
    # Values that no booleanizer writes make odd rules, no crash.
    odd = [["a", ">", 10**400, "", 0], ["a", "<=", -(10**400), "", 0]] * len(good)
    text = json.dumps({**header, "bit_features": odd[: len(good)]})
    path.write_bytes(container.pack(text, tensors))
    odd_rules = [str(rule) for rule in cotm.load(path).rules()]
    assert odd_rules and all(re.match(r"if .*\ba [<>]", rule) for rule in odd_rules)
