"""Booleanizers become data and come back; damaged data are refused."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from booleanize_helpers import noise, pandas_frame
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.base import clone

from cotm.booleanize import (
    AdaptiveGaussianThreshold,
    Booleanizer,
    Categories,
    EdgeThermometer,
    GradientHistogram,
    ImageThermometer,
    ImageUnion,
    Thermometer,
    booleanizer_from_state,
)


def fitted():
    frame = pandas_frame()
    sparse = sp.random(30, 6, 0.4, format="csr", random_state=0)
    sparse.data[::3] *= -1
    sparse.data[1] = np.nan
    bits = sp.csr_matrix(np.eye(3))
    rows = [[1, "a"], [2.5, "b"], [True, None], ["1", "a"]]
    images = noise((4, 7, 9, 2), 7)
    return {
        "thermometer": (Thermometer(3).fit(frame[["age", "flag"]]), frame[["age", "flag"]]),
        "sparse": (Thermometer(3).fit(sparse), sparse),
        "categories": (Categories().fit(rows), np.array(rows, dtype=object)),
        "booleanizer": (Booleanizer(3).fit(frame), frame),
        "bits": (Booleanizer().fit(bits), bits),
        "adaptive": (AdaptiveGaussianThreshold(5, 1.5).fit(images), images),
        "edges": (EdgeThermometer(("line y 3 px",), negative=(0, 0.5)).fit(images), images),
        "histogram": (GradientHistogram((3, 2), (1, 2), colour="each").fit(images), images),
        "images": (ImageThermometer(3).fit(images), images),
        "union": (
            ImageUnion([GradientHistogram((2, 3), (1, 2)), ImageThermometer(3)]).fit(images),
            images,
        ),
    }


FITTED = fitted()


def plain_params(transformer):
    """Parameters, and those of what is inside in its place."""
    named = {n: p for n, p in transformer.get_params().items() if n != "booleanizers"}
    return {n: p for n, p in named.items() if not hasattr(p, "get_params")}


def as_dense(bits):
    return bits.toarray() if sp.issparse(bits) else bits


@pytest.mark.parametrize("name", FITTED)
def test_state_round_trip(name):
    transformer, X = FITTED[name]
    meta, arrays = transformer.to_state()
    assert all(array.dtype.kind in "uif" for array in arrays.values())
    again = booleanizer_from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays)
    assert type(again) is type(transformer)
    assert plain_params(again) == plain_params(transformer)
    np.testing.assert_array_equal(as_dense(again.transform(X)), as_dense(transformer.transform(X)))
    assert again.describe() == transformer.describe()
    assert [*map(str, again.describe())] == transformer.get_feature_names_out().tolist()
    # 1 == 1.0 == True: equality alone would not see a type change.
    types = [type(feature.value) for feature in transformer.describe()]
    assert [type(feature.value) for feature in again.describe()] == types
    assert again.n_bits_out_ == transformer.n_bits_out_
    second_meta, second = again.to_state()
    assert second_meta == meta and second.keys() == arrays.keys()


@pytest.mark.parametrize("name", FITTED)
def test_clone_forgets_and_unfitted_refuses(name):
    transformer, X = FITTED[name]
    fresh = clone(transformer)
    for call in (fresh.describe, fresh.to_state, lambda: fresh.transform(X)):
        with pytest.raises(ValueError, match="not fitted"):
            call()
    np.testing.assert_array_equal(
        as_dense(fresh.fit_transform(X)), as_dense(transformer.transform(X))
    )


@pytest.mark.parametrize(
    ("transformer", "X", "changed"),
    [
        (Thermometer(), [[1.0], [2.0]], {"n_bits": 2.5}),
        (Booleanizer(), [[1.0], [2.0]], {"n_bits": 2.5}),
        (ImageThermometer(), np.zeros((1, 2, 2)), {"n_bits": 2.5}),
        (AdaptiveGaussianThreshold(), np.zeros((1, 2, 2)), {"window": 5.5}),
    ],
)
def test_parameters_are_not_truncated_in_state(transformer, X, changed):
    fitted = clone(transformer).fit(X).set_params(**changed)
    ((name, value),) = changed.items()
    with pytest.raises(ValueError, match=f"{name}={value} must be an integer"):
        fitted.to_state()


def test_whole_floats_are_integers_in_state():
    for transformer in (Thermometer(3.0), Booleanizer(np.float32(3))):
        meta, _ = transformer.fit([[1.0], [2.0], [4.0]]).to_state()
        assert meta["params"] == {"n_bits": 3} and type(meta["params"]["n_bits"]) is int
    images = np.zeros((1, 2, 2))
    meta, _ = AdaptiveGaussianThreshold(window=5.0, constant=1.5).fit(images).to_state()
    assert meta["params"] == {"window": 5, "constant": 1.5}


def damaged(name, change):
    meta, arrays = copy.deepcopy(FITTED[name][0].to_state())
    change(meta, arrays)
    return meta, arrays


def overflow_offsets(meta, arrays):
    # The difference of these two wraps around to a positive number.
    arrays["offsets"][1:3] = 2**62, -(2**62) - 1
    meta["params"]["n_bits"] = 2**64


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("sparse", lambda m, a: m.update({"class": "os.system"}), "class must be one of"),
        ("sparse", lambda m, a: m.update({"class": ["Thermometer"]}), "class must be one of"),
        ("sparse", lambda m, a: m.update(version=2), "version must be 1"),
        ("sparse", lambda m, a: m.update(version=True), "version must be 1"),
        ("sparse", lambda m, a: m.update(extra=1), "meta must have the keys"),
        ("sparse", lambda m, a: m.pop("names"), "meta must have the keys"),
        ("sparse", lambda m, a: m.update(params=[1]), "params must be a dict"),
        ("sparse", lambda m, a: m["params"].update(n_bits=True), "n_bits must be of type int"),
        (
            "sparse",
            lambda m, a: m["params"].update(n_bits=0),
            "n_bits=0 must be an integer",
        ),
        ("sparse", lambda m, a: m["params"].update(n_bits=1), "more than 1 thresholds"),
        ("sparse", lambda m, a: m.update(sparse=1), "sparse must be of type bool"),
        ("sparse", lambda m, a: m.update({"class": "Categories", "params": {}}), "more than 1"),
        ("sparse", lambda m, a: a.pop("kinds"), "arrays must have the keys"),
        ("sparse", lambda m, a: a.update(kinds=[0]), "'kinds' must be one-dimensional of uint8"),
        ("sparse", lambda m, a: a["kinds"].fill(1), "do not fit a column of kind bit"),
        ("sparse", lambda m, a: a["kinds"].fill(3), "kinds must be below 3"),
        ("sparse", lambda m, a: a["missing"].fill(2), "must hold 0 and 1 only"),
        ("sparse", lambda m, a: a.update(missing=a["missing"][1:]), "must have 6 entries"),
        ("sparse", lambda m, a: a["thresholds"].fill(np.nan), "must be finite"),
        ("sparse", lambda m, a: a["thresholds"].fill(1), "must increase"),
        ("sparse", lambda m, a: a["offsets"].fill(0), "must rise from 0"),
        ("sparse", lambda m, a: a["offsets"].__setitem__(1, -(2**63)), "must rise from 0"),
        ("sparse", lambda m, a: a["offsets"].__setitem__(1, 2**40), "must rise from 0"),
        ("sparse", overflow_offsets, "must rise from 0"),
        (
            "sparse",
            lambda m, a: a.update(thresholds=a["thresholds"].astype(">f8")),
            "one-dimensional of float64",
        ),
        (
            "sparse",
            lambda m, a: a.update(thresholds=a["thresholds"].astype(object)),
            "one-dimensional of float64",
        ),
        ("bits", lambda m, a: m.update({"class": "Thermometer"}), "no columns of kind"),
        ("booleanizer", lambda m, a: m.update(sparse=True), r"no columns of kind \['category'\]"),
        ("sparse", lambda m, a: m.update(types=["number"] * 6), "sparse data have no types"),
        ("booleanizer", lambda m, a: m.update(types={}), "types must be of type list"),
        ("booleanizer", lambda m, a: m["types"].pop(), "types must be 9, got 8"),
        ("booleanizer", lambda m, a: m["types"].__setitem__(0, "bit"), "number has the type 'bit'"),
        ("booleanizer", lambda m, a: m["types"].__setitem__(2, "date"), "bit has the type 'date'"),
        ("booleanizer", lambda m, a: m["types"].__setitem__(3, ["text"]), "category has the type"),
        ("booleanizer", lambda m, a: a["thresholds"].__setitem__(-4, 1e300), "must increase|range"),
        ("booleanizer", lambda m, a: m["names"].pop(), "names must be 9, got 8"),
        ("booleanizer", lambda m, a: m["names"].__setitem__(0, 1), "column's name must be of"),
        ("booleanizer", lambda m, a: m["categories"].pop(), "one list of categories for each"),
        ("booleanizer", lambda m, a: a["kinds"].fill(2), "one list of categories for each"),
        ("categories", lambda m, a: m["categories"][0].reverse(), "sorted and distinct"),
        ("categories", lambda m, a: m["categories"][1].append("b"), "sorted and distinct"),
        ("categories", lambda m, a: m["categories"][0].insert(1, 1.0), "sorted and distinct"),
        ("categories", lambda m, a: m["categories"][1].append(None), "a category must be"),
        ("categories", lambda m, a: m["categories"][1].append(np.inf), "a category must be"),
        ("categories", lambda m, a: m["categories"].__setitem__(0, "ab"), "must be of type list"),
        ("adaptive", lambda m, a: m["params"].update(window=4), "window=4 must be odd"),
        ("adaptive", lambda m, a: m["params"].update(window=10**9 + 1), "window=.* must be"),
        ("adaptive", lambda m, a: m["params"].update(constant=np.nan), "constant=nan must"),
        ("adaptive", lambda m, a: m.update(n_channels=10**12), "n_channels is out of range"),
        ("adaptive", lambda m, a: a.update(extra=np.zeros(1)), "arrays must have the keys"),
        ("edges", lambda m, a: m["params"].update(filters="x"), "filters must be of type list"),
        ("edges", lambda m, a: m["params"].update(filters=[["x"]]), "filters"),
        ("edges", lambda m, a: m["params"].update(filters=["x"]), "filters holds 'x'"),
        ("edges", lambda m, a: m["params"].update(levels=[0.5, 0.25]), "levels=.* must increase"),
        ("edges", lambda m, a: m["params"].update(levels=[*range(99)]), "levels has 99 entries"),
        ("edges", lambda m, a: m["params"].update(positive=[np.nan]), "positive holds nan"),
        ("edges", lambda m, a: m["params"].update(negative=[True]), "negative holds True"),
        ("edges", lambda m, a: a.update(extra=np.zeros(1)), "arrays must have the keys"),
        ("histogram", lambda m, a: m["params"].update(cell=3), "cell must be of type list"),
        ("histogram", lambda m, a: m["params"].update(cell=[3]), "cell=.* must be a tuple of 2"),
        ("histogram", lambda m, a: m["params"].update(step=[1, 0]), "step=0 must be an integer"),
        ("histogram", lambda m, a: m["params"].update(directions=True), "directions must be of"),
        ("histogram", lambda m, a: m["params"].update(directions=10**9), "directions=1000000000"),
        ("histogram", lambda m, a: m["params"].update(colour="gray"), "colour='gray' must be one"),
        ("histogram", lambda m, a: m["params"].update(quantiles=[]), "quantiles is empty"),
        ("histogram", lambda m, a: m["params"].update(n_jobs=2), "has .* too"),
        ("images", lambda m, a: m.update(n_channels=3), "'offsets' must have 4 entries"),
    ],
)
def test_damaged_state_is_refused(name, change, message):
    with pytest.raises(ValueError, match=message):
        booleanizer_from_state(*damaged(name, change))


@pytest.mark.parametrize("state", [(None, {}), ([], {}), ({}, {}), ("x", None)])
def test_state_of_no_kind_is_refused(state):
    with pytest.raises(ValueError, match="Damaged booleanizer state"):
        booleanizer_from_state(*state)


@pytest.mark.parametrize("name", FITTED)
def test_arrays_must_be_a_dict(name):
    meta, _ = FITTED[name][0].to_state()
    for arrays in (None, [], "thresholds"):
        with pytest.raises(ValueError, match="arrays must be a dict"):
            booleanizer_from_state(meta, arrays)


json_value = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 12),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["Thermometer", "Categories", "Booleanizer", "EdgeThermometer"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
odd_array = st.one_of(
    np_arrays(
        st.sampled_from([np.uint8, np.int64, np.float64, np.float32, np.bool_, np.complex128]),
        st.one_of(st.tuples(st.integers(0, 12)), st.just((2, 2)), st.just(())),
    ),
    st.just(np.array(["a", None], dtype=object)),
    st.none(),
)


def places(node, path=()):
    """Paths of everything inside nested dicts and lists."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([*FITTED]), st.data())
def test_random_damage_is_refused_or_harmless(name, data):
    meta, arrays = copy.deepcopy(FITTED[name][0].to_state())
    for _ in range(data.draw(st.integers(1, 3))):
        if arrays and data.draw(st.booleans()):
            key = data.draw(st.sampled_from([*arrays]))
            if isinstance(arrays[key], np.ndarray) and data.draw(st.booleans()):
                array = arrays[key] = arrays[key].copy()
                if array.size and array.ndim == 1 and array.dtype.kind in "uif":
                    values = [0, 1, 2, 255] + [-1, 2**40] * (array.dtype.itemsize > 1)
                    where = data.draw(st.integers(0, array.size - 1))
                    array[where] = data.draw(st.sampled_from(values))
            else:
                arrays[key] = data.draw(odd_array)
            continue
        path = data.draw(st.sampled_from([*places(meta)] or [("class",)]))
        node = meta
        for step in path[:-1]:
            node = node[step]
        if data.draw(st.booleans()):
            node[path[-1]] = data.draw(json_value)
        elif isinstance(node, dict):
            node.pop(path[-1], None)
    try:
        transformer = booleanizer_from_state(meta, arrays)
    except ValueError:
        return
    # What is accepted must work: an image of zeros, or a row without values, which is of every
    # type, gets as many bits as promised.
    if transformer.n_bits_out_ > 100_000:
        return  # an image said to be large has many bits, of which nothing is made yet
    bits = len(transformer.describe())
    assert bits == transformer.n_bits_out_
    if hasattr(transformer, "n_channels_"):
        shape = getattr(transformer, "image_shape_", (5, 6, transformer.n_channels_))
        try:
            expected = transformer.bits_shape(shape)
        except ValueError as error:
            assert "cell" in str(error) and "is larger than the images" in str(error)
            return
        assert transformer.transform(np.zeros((1, *shape))).shape == (1, *expected)
        assert expected[-1] == bits
    else:
        names = getattr(transformer, "feature_names_in_", None)
        row = np.full((1, transformer.n_features_in_), np.nan)
        if names is not None:
            row = pd.DataFrame(row, columns=[*names])
        assert transformer.transform(row).shape == (1, bits)
