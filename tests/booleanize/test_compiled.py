"""Tables that the native core reads: the bits and the errors of the definition, to the unit."""

import copy
import datetime as dt
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotm import Booleanizer, Categories, Thermometer
from cotm.booleanize import booleanizer_from_state
from cotm.booleanize.compiled import CompiledCodes
from cotm.core.extension import native_core

pytestmark = pytest.mark.skipif(native_core() is None, reason="there is no native core")

DAY, HOUR = dt.datetime(2020, 1, 1), dt.timedelta(hours=1)
#: Cells of columns by what training sees in them, and odd ones that may come later.
COLUMNS = {
    "number": [0.5, 1, -7, 2.25, 1e300, 2**53 + 1, np.float32(0.1), np.float64(2.5)],
    "bit": [0, 1, True, False, 0.5, 2],
    "text": ["a", "b", "", "é", "c", "unseen", "\ud800"],
    "code": [1, 2.0, 7, 2**53, 2**60 + 1, 0.1, -0.0, 0],
    "flags": [True, False, 1, 0],
    "mixed": ["a", 1, 2.5, "2.5", True],
    "date": [DAY, DAY + 30 * HOUR, dt.date(1960, 2, 29), pd.Timestamp("2021-03-05 12:00:00.25")],
    "duration": [HOUR, -30 * HOUR, dt.timedelta(microseconds=1), pd.Timedelta("2h 1us")],
    "time": [dt.time(1), dt.time(14, 30, 59, 999999), dt.time(0)],
}
MISSING = [None, float("nan"), pd.NA, pd.NaT]
ODD = [
    np.inf,
    -np.inf,
    "text",
    3,
    DAY,
    HOUR,
    b"bytes",
    1j,
    DAY.astimezone(),
    np.timedelta64(1, "s"),
    np.longdouble(1),
]
ODD += [np.datetime64("2020-01-01"), np.int64(3), np.uint8(1), np.bool_(True)]


def definition(transformer):
    """The same transformer, which reads every table in NumPy."""
    slow = copy.copy(transformer)
    slow._compiled = None
    return slow


def outcome(transformer, X):
    """Bits, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return transformer.transform(X).tolist(), [str(w.message) for w in caught]
        except Exception as error:
            return type(error), str(error)


def objects(cells):
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def frame_of(rows, kinds):
    columns = zip(*rows, strict=True)
    return pd.DataFrame(
        {kind: objects(cells) for kind, cells in zip(kinds, columns, strict=True)}, dtype=object
    )


def inferred(frame):
    """With columns of the types that their cells have."""
    try:
        return frame.infer_objects()
    except UnicodeError:  # texts that are none
        return frame


@st.composite
def tables(draw):
    """A frame to learn from, and one that may hold other cells."""
    kinds = draw(st.lists(st.sampled_from([*COLUMNS]), min_size=1, max_size=4, unique=True))

    def rows(odd, most):
        cell = {
            kind: st.sampled_from(
                [*COLUMNS[kind], *MISSING] + (ODD if odd and draw(st.booleans()) else [])
            )
            for kind in kinds
        }
        row = st.tuples(*(cell[kind] for kind in kinds))
        return draw(st.lists(row, min_size=1, max_size=most))

    return frame_of(rows(False, 8), kinds), frame_of(rows(True, 3), kinds)


@settings(deadline=None, max_examples=200)
@given(tables(), st.sampled_from([Booleanizer(n_bits=3), Categories(), Thermometer(n_bits=20)]))
def test_cells_of_every_kind(pair, transformer):
    training, X = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            transformer.fit(training)
        except ValueError:
            return
        bare = type(transformer)().fit(training.to_numpy())
    slow = definition(transformer)
    for table in (X, X.iloc[:1], inferred(X), inferred(X.iloc[:1])):
        assert outcome(transformer, table) == outcome(slow, table)
    assert outcome(bare, X.to_numpy()) == outcome(definition(bare), X.to_numpy())


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_arrays_of_every_type(dtype, order):
    rng = np.random.default_rng(ord(dtype[0]))
    X = rng.integers(0, 2 if dtype == "?" else 100, (90, 5)).astype(dtype)
    X[:, 1] = X[:, 1] % 2
    if dtype[0] == "f":
        X[::7, 2] = np.nan
    for transformer in (Booleanizer(), Categories(), Thermometer(n_bits=40)):
        transformer.fit(X[:60])
        Z = X[30:]
        if order == "strided":
            Z = np.repeat(np.repeat(Z, 2, axis=0), 2, axis=1)[::-2, ::2]
        Z = np.asarray(Z, order="F") if order == "F" else Z
        Z.flags.writeable = False
        assert transformer.quick_bits(Z) is not None
        expected = definition(transformer).transform(Z)
        np.testing.assert_array_equal(transformer.transform(Z), expected)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_what_is_wrong_is_left_to_the_definition(bad):
    X = np.arange(12.0).reshape(4, 3)
    booleanizer = Booleanizer().fit(X)
    X[2, 1] = bad
    assert booleanizer.quick_bits(X) is None
    for wrong in (X, X[:, :2], X[0], X.astype(complex), X.astype("U8"), X[:0], X.astype(">f8")):
        assert outcome(booleanizer, wrong) == outcome(definition(booleanizer), wrong)


def training_frame():
    return pd.DataFrame(
        {
            "a": [1.5, 2.5, None, 9],
            "n": pd.array([1, None, 3, 4], dtype="Int64"),
            "k": [1, 2, 3, 4],
            "s": ["x", "y", None, "x"],
            "c": pd.Categorical(["u", "v", None, "u"]),
            "b": [True, False, True, True],
            "d": pd.to_datetime(["1950-01-01", None, "2021-01-01", "2022-01-01"]),
            "w": pd.to_timedelta([1, 2, 3, None], unit="s"),
            "t": [dt.time(1), None, dt.time(3), dt.time(4)],
        }
    )


def test_frames_are_read_at_once():
    frame = training_frame()
    booleanizer = Booleanizer().fit(frame)
    expected = definition(booleanizer).transform(frame)
    several = [pl.from_pandas(frame), pl.from_pandas(frame).with_columns(pl.col("c").cast(str))]
    for X in (frame, frame.convert_dtypes().astype({"c": "category"}), *several):
        for rows in (X, X[1:], X[2:3]):
            found = booleanizer.quick_bits(rows)
            np.testing.assert_array_equal(found, definition(booleanizer).transform(rows))
    np.testing.assert_array_equal(booleanizer.quick_bits(frame), expected)


def test_numbers_of_large_frames_are_read_at_once():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "k": rng.integers(0, 9, 200)})
    booleanizer = Booleanizer().fit(frame)
    expected = definition(booleanizer).transform(frame)
    np.testing.assert_array_equal(booleanizer.quick_bits(frame), expected)
    mixed = frame.assign(a=frame.a.astype(object))
    assert booleanizer.quick_bits(mixed) is None
    np.testing.assert_array_equal(booleanizer.transform(mixed), expected)


def test_wrong_columns_are_left_to_the_definition():
    frame = training_frame()
    booleanizer = Booleanizer().fit(frame)
    for X in (frame[frame.columns[::-1]], frame.drop(columns="a"), frame.to_numpy()):
        assert booleanizer.quick_bits(X) is None
        assert outcome(booleanizer, X) == outcome(definition(booleanizer), X)


def test_copies_read_as_before():
    frame = training_frame()
    booleanizer = Booleanizer().fit(frame)
    before = pickle.dumps(booleanizer)
    expected = booleanizer.transform(frame)
    assert pickle.dumps(booleanizer) == before
    restored = booleanizer_from_state(*booleanizer.to_state())
    for other in (pickle.loads(before), copy.deepcopy(booleanizer), restored):
        assert isinstance(other._compiled, CompiledCodes)
        np.testing.assert_array_equal(other.quick_bits(frame), expected)
