"""Booleanizers against naive twins, OpenCV, each other's inputs, and hostile state."""

import copy
import datetime
import json
from decimal import Decimal

import cv2
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils.estimator_checks import check_estimator

from cotm.booleanize import (
    AdaptiveGaussianThreshold,
    BitFeature,
    Booleanizer,
    Categories,
    ImageThermometer,
    Thermometer,
    booleanizer_from_state,
)
from cotm.booleanize.blur import blur, gaussian_kernel
from cotm.booleanize.descriptions import number_texts
from cotm.booleanize.thresholds import learn_thresholds

quick = settings(deadline=None, max_examples=60)
finite = st.floats(-1e6, 1e6).map(lambda value: value + 0.0)
coarse = st.integers(-3, 3).map(float)


def is_missing(cell):
    return cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell))


def naive_bit(feature, cell, told_apart=()):
    """What a described bit must be for one cell, word for word.

    Columns in `told_apart` have both booleans and numbers as categories.
    """
    if feature.op == "missing" or is_missing(cell):
        return feature.op == "missing" and is_missing(cell)
    if feature.op == "=":
        alike = isinstance(cell, bool) == isinstance(feature.value, bool)
        return cell == feature.value and (alike or feature.column not in told_apart)
    return {
        "bit": lambda: cell == 1,
        ">": lambda: cell > feature.value,
        "<=": lambda: cell <= feature.value,
    }[feature.op]()


def naive_bits(transformer, names, rows):
    """The bits that `describe` promises for a table given as rows of Python values."""
    features = transformer.describe()
    values = {name: {type(f.value) for f in features if f.column == name} for name in names}
    apart = [name for name in names if bool in values[name] and values[name] & {int, float}]
    return np.array(
        [[naive_bit(f, row[names.index(f.column)], apart) for f in features] for row in rows],
        dtype=np.uint8,
    ).reshape(len(rows), len(features))


def columns_of(X):
    return [f"x{index}" for index in range(X.shape[1])]


# Names


@pytest.mark.parametrize(
    ("feature", "text", "negated"),
    [
        (BitFeature("age", ">", 37.5), "age > 37.5", "age <= 37.5"),
        (BitFeature("debt", "<=", -2.0), "debt <= -2", "debt > -2"),
        (BitFeature("colour", "=", "red"), "colour = red", "colour != red"),
        (BitFeature("colour", "=", ""), "colour = ''", "colour != ''"),
        (BitFeature("colour", "missing"), "colour is missing", "colour is not missing"),
        (BitFeature("smoker", "bit"), "smoker", "not smoker"),
        (BitFeature("{0}", "=", "{column}"), "{0} = {column}", "{0} != {column}"),
        (BitFeature("pixel", "pixel", 2), "pixel > local mean - 2", "pixel <= local mean - 2"),
    ],
)
def test_bit_feature_texts(feature, text, negated):
    assert (str(feature), feature.negated()) == (text, negated)


def test_bit_feature_is_frozen_and_checked():
    assert BitFeature("a", ">", 1.0, "1") == BitFeature("a", ">", 1.0, "one")
    with pytest.raises(AttributeError):
        BitFeature("a", "bit").column = "b"
    with pytest.raises(ValueError, match="op must be one of"):
        BitFeature("a", "<")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.123456789], ["0.123457"]),
        ([0.123456789, 0.223456789], ["0.123", "0.223"]),
        ([0.12345678, 0.12345679], ["0.12345678", "0.12345679"]),
        ([4.95, 5.05], ["4.95", "5.05"]),
        ([37.5, 1000.0], ["37.5", "1000"]),
        ([123456.5, 123457.5], ["123456.5", "123457.5"]),
        ([0.0, 1e-7, 1e20], ["0", "1e-07", "1e+20"]),
    ],
)
def test_numbers_are_short_but_distinct(values, texts):
    assert number_texts(np.array(values)) == texts


@quick
@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=12, unique=True))
def test_number_texts_tell_neighbours_apart(values):
    values = np.unique(values)
    texts = number_texts(values)
    assert len(set(texts)) == len(values)
    read = np.array([float(text) for text in texts])
    assert (np.diff(read) > 0).all()


# Thermometer


@quick
@given(np_arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=coarse))
def test_few_distinct_values_lose_nothing(X):
    thermometer = Thermometer(n_bits=6).fit(X)
    for column, thresholds in zip(X.T, thermometer.thresholds_, strict=True):
        distinct = np.unique(column)
        np.testing.assert_array_equal(thresholds, (distinct[1:] + distinct[:-1]) / 2)
        assert thresholds.dtype == np.float64
    bits = thermometer.transform(X)
    assert bits.dtype == np.uint8
    np.testing.assert_array_equal(bits, naive_bits(thermometer, columns_of(X), X.tolist()))


@quick
@given(
    st.lists(finite, min_size=1, max_size=200, unique=True),
    st.integers(1, 12),
)
def test_many_distinct_values_are_cut_above_their_quantiles(values, n_bits):
    X = np.array(values)[:, None]
    thresholds = Thermometer(n_bits).fit(X).thresholds_[0]
    ordered = np.sort(values)
    if len(ordered) <= n_bits + 1:
        below = ordered[:-1]
    else:
        # In exact integers: the smallest value with at least k/(n_bits+1) of them at or below.
        ranks = [-(-len(ordered) * k // (n_bits + 1)) - 1 for k in range(1, n_bits + 1)]
        below = ordered[np.unique(ranks)]
    above = ordered[np.searchsorted(ordered, below) + 1]
    expected = below / 2 + above / 2
    np.testing.assert_array_equal(thresholds, np.where(expected < above, expected, below))
    assert len(thresholds) == min(n_bits, len(ordered) - 1)
    assert ((below <= thresholds) & (thresholds < above)).all()


def test_a_frequent_value_leaves_bits_for_the_others():
    rng = np.random.default_rng(0)
    X = np.where(rng.random(5000) < 0.95, 0.0, rng.lognormal(size=5000))[:, None]
    thresholds = Thermometer(10).fit(X).thresholds_[0]
    assert len(thresholds) == 10
    positive = np.sort(X[X > 0])
    assert 0 <= thresholds[0] < positive[0]
    # The rest splits the other values about evenly.
    shares = np.diff(np.searchsorted(positive, thresholds))
    assert shares.max() <= 1.2 * shares.min()


def test_a_rare_largest_value_adds_no_threshold():
    # It must not be taken for one more quantile, within the slack for rounding.
    groups = [(np.array([0.0, 1.0, 2.0]), np.array([10**9, 10**9, 1]))]
    assert learn_thresholds(groups, n_bits=1)[0].tolist() == [0.5]


def test_neighbouring_floats_are_told_apart():
    # The middle of the first two rounds down, that of the next two up.
    values = [1.0, np.nextafter(1.0, 2)]
    values.append(np.nextafter(values[-1], 2))
    thermometer = Thermometer().fit(np.array(values)[:, None])
    assert thermometer.thresholds_[0].tolist() == values[:2]
    assert thermometer.transform(np.array(values)[:, None]).tolist() == [[0, 0], [1, 0], [1, 1]]


def test_the_largest_floats_have_a_middle():
    largest = np.finfo(np.float64).max
    thermometer = Thermometer().fit([[largest / 2], [largest]])
    assert thermometer.thresholds_[0] == pytest.approx([0.75 * largest])


def test_constant_column_gets_no_bits():
    thermometer = Thermometer().fit([[3.0, 1.0], [3.0, 2.0]])
    assert [len(t) for t in thermometer.thresholds_] == [0, 1]
    assert thermometer.get_feature_names_out().tolist() == ["x1 > 1.5"]
    assert Thermometer().fit_transform([[3.0], [3.0]]).shape == (2, 0)


def test_missing_numbers():
    X = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0]])
    thermometer = Thermometer().fit(X)
    assert thermometer.missing_.tolist() == [False, True]
    names = ["x0 > 1.5", "x0 > 2.5", "x1 > 2", "x1 is missing"]
    assert thermometer.get_feature_names_out().tolist() == names
    bits = thermometer.transform([[np.nan, np.nan], [None, 9.0]])
    assert bits.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 10**400], ids=["inf", "-inf", "huge"])
@pytest.mark.parametrize("wrap", [list, np.array, lambda X: pd.DataFrame(np.array(X))])
def test_infinity_is_refused_by_name(value, wrap):
    good = wrap([[1.0, 2.0], [3.0, 4.0]])
    bad = wrap([[1.0, 2.0], [3.0, value]])
    for transformer in (Thermometer(), Booleanizer()):
        with pytest.raises(ValueError, match=r"'x1' holds -?inf in row 1"):
            transformer.fit(bad)
        with pytest.raises(ValueError, match=r"'x1' holds -?inf in row 1"):
            transformer.fit(good).transform(bad)


def test_sparse_infinity_is_refused_by_name():
    X = sp.csr_matrix([[0.0, 1.0], [0.0, 2.0], [0.0, np.inf]])
    with pytest.raises(ValueError, match="'x1' holds inf in row 2"):
        Thermometer().fit(X)


def test_thermometer_refuses_text():
    frame = pd.DataFrame({"a": [1, 2], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match=r"'colour' must hold only numbers.*'red'.*Booleanizer"):
        Thermometer().fit(frame)


@pytest.mark.parametrize("n_bits", [0, -1, 2.0, "3", None, True])
def test_n_bits_is_checked(n_bits):
    for transformer, X in [
        (Thermometer(n_bits), [[1.0]]),
        (Booleanizer(n_bits), [[1.0]]),
        (ImageThermometer(n_bits), np.zeros((1, 2, 2))),
    ]:
        with pytest.raises(ValueError, match="n_bits must be an integer of at least 1"):
            transformer.fit(X)


# Sparse

sparse_cell = st.one_of(st.just(0.0), st.just(0.0), coarse, finite, st.just(np.nan))


@quick
@given(
    np_arrays(np.float64, st.tuples(st.integers(1, 25), st.integers(1, 4)), elements=sparse_cell),
    st.integers(1, 4),
    st.sampled_from(["csr", "csc", "coo", "lil", "dok"]),
)
def test_sparse_thermometer_matches_its_description(X, n_bits, form):
    thermometer = Thermometer(n_bits).fit(sp.csr_array(X).asformat(form))
    bits = thermometer.transform(sp.csr_array(X).asformat(form))
    assert isinstance(bits, sp.csr_array) and bits.dtype == np.uint8
    assert bits.has_canonical_format and (bits.data == 1).all()
    expected = naive_bits(thermometer, columns_of(X), X.tolist())
    np.testing.assert_array_equal(bits.toarray(), expected)
    # A dense table, in the same coordinates, gets the same bits.
    np.testing.assert_array_equal(thermometer.transform(X), expected)
    assert not thermometer.transform(np.zeros((1, X.shape[1]))).any()
    for column, thresholds in zip(X.T, thermometer.thresholds_, strict=True):
        distinct = np.unique(np.append(column[~np.isnan(column)], 0))
        assert len(thresholds) <= n_bits
        if len(distinct) <= n_bits + 1:
            # Nothing is lost: one threshold in each gap.
            gaps = np.searchsorted(distinct, thresholds, side="right") - 1
            assert gaps.tolist() == list(range(len(distinct) - 1))
    assert thermometer.missing_.tolist() == np.isnan(X).any(axis=0).tolist()


def test_sparse_values_are_cut_at_zero_and_at_quantiles_of_the_rest():
    X = np.zeros((1000, 3))
    X[:99, 0] = np.arange(1, 100)
    X[:99, 1] = -np.arange(1, 100)
    X[::2, 2] = 1
    thermometer = Thermometer(10).fit(sp.csr_matrix(X))
    up, down, bit = thermometer.thresholds_
    assert len(up) == 10
    shares = np.diff(np.searchsorted(np.arange(1, 100), up))
    assert up[0] == 0 and shares.min() >= 9 and shares.max() <= 11
    assert len(down) == 10 and (down < 0).all() and down[-1] == -0.5
    assert bit.tolist() == [0]
    assert thermometer.get_feature_names_out()[-1] == "x2 > 0"


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_sparse_input_is_left_alone_and_duplicates_add_up(dtype):
    stored = np.array([1, 1, 0], dtype=dtype)
    X = sp.csr_matrix((stored, np.array([0, 0, 1]), np.array([0, 2, 3])))
    bits = Thermometer().fit(sp.csr_matrix([[1.0, 0], [2, 1]])).transform(X)
    assert type(bits) is sp.csr_matrix
    assert bits.toarray().tolist() == [[1, 1, 0], [0, 0, 0]]
    assert X.data.tolist() == [1, 1, 0] and X.indices.tolist() == [0, 0, 1]


@pytest.mark.parametrize("transformer", [Thermometer(), Booleanizer()])
def test_sparse_is_never_made_dense(monkeypatch, transformer):
    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    for kind in (sp.csr_matrix, sp.csc_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, refuse)
    X = sp.random(200, 50, 0.1, format="csc", random_state=0)
    assert sp.issparse(transformer.fit_transform(X))


def test_sparse_after_dense_is_refused():
    with pytest.raises(ValueError, match=r"fitted on dense data.*X\.toarray\(\)"):
        Thermometer().fit([[1.0], [2.0]]).transform(sp.csr_matrix([[1.0]]))


@pytest.mark.parametrize("X", [sp.csr_matrix((2, 2), dtype=complex), sp.coo_array([1.0, 2.0])])
def test_sparse_must_be_a_matrix_of_real_numbers(X):
    if X.ndim == 2 and X.dtype.kind == "f":
        pytest.skip("this SciPy makes a matrix of a vector")
    with pytest.raises(ValueError, match="sparse X must be a matrix of real numbers"):
        Thermometer().fit(X)


# Categories


def drifted(categories, cells):
    """Whether a column is all text after training on none, or the other way round."""
    before = {isinstance(value, str) for value in categories}
    now = {isinstance(cell, str) for cell in cells if not is_missing(cell)}
    return bool(before and now) and before.isdisjoint(now)


mixed_cell = st.sampled_from([None, np.nan, "a", "b", "", 1, 2, 1.5, 2.0, True, False, "1", "True"])


@quick
@given(
    st.lists(st.tuples(mixed_cell, mixed_cell), min_size=1, max_size=20),
    st.lists(st.tuples(mixed_cell, mixed_cell), max_size=20),
)
def test_categories_match_their_description(rows, later):
    categories = Categories().fit(rows)
    for index, seen in enumerate(categories.categories_):
        keys = [(type(value).__name__, value) for value in seen]
        assert keys == sorted(keys)
        cells = [row[index] for row in rows]
        assert categories.missing_[index] == any(is_missing(cell) for cell in cells)
        present = {(isinstance(c, bool), c) for c in cells if not is_missing(c)}
        assert {(isinstance(c, bool), c) for c in seen} == present and len(seen) == len(present)
    names = categories.get_feature_names_out()
    assert len(set(names)) == len(names)
    for table in (rows, later):
        cells = np.empty((len(table), 2), dtype=object)
        cells[:] = [list(row) for row in table] if table else cells
        if table is later and any(map(drifted, categories.categories_, cells.T)):
            with pytest.raises(ValueError, match=r"held .* in training, but holds .* now"):
                categories.transform(cells)
            continue
        expected = naive_bits(categories, ["x0", "x1"], table)
        np.testing.assert_array_equal(categories.transform(cells), expected)


def test_category_names_and_unknowns():
    categories = Categories().fit(pd.DataFrame({"colour": ["red", "blue", None]}))
    names = ["colour = blue", "colour = red", "colour is missing"]
    assert categories.get_feature_names_out().tolist() == names
    later = pd.DataFrame({"colour": ["green", pd.NA, np.nan, "red"]})
    assert categories.transform(later).tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]]


def test_integer_categories_survive_becoming_floats():
    categories = Categories().fit(np.array([[1], [2]]))
    bits = categories.transform(np.array([[2.0], [np.nan]]))
    assert bits.tolist() == [[0, 1], [0, 0]]


def test_close_numbers_get_distinct_names():
    categories = Categories().fit([[0.12345678], [0.12345679], [3.0]])
    names = ["x0 = 0.12345678", "x0 = 0.12345679", "x0 = 3"]
    assert categories.get_feature_names_out().tolist() == names


def test_mixed_types_get_distinct_names():
    categories = Categories().fit([[1], ["1"], [True], ["True"]])
    names = ["x0 = True", "x0 = 1", "x0 = '1'", "x0 = 'True'"]
    assert categories.get_feature_names_out().tolist() == names


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_matrix([[1.0]]), "no sparse data"),
        ([[2.0], [float("inf")]], "'x0' holds inf in row 1, counted from 0, which is no category"),
        ([[datetime.date(2020, 1, 1)]], "'x0' holds datetime.date.*of type date in row 0"),
        ([[{"a": 1}]], "'x0' holds {'a': 1} of type dict"),
        (np.array([["2020-01-01"]], dtype="M8[ns]"), "dates and durations are no categories"),
    ],
)
def test_categories_refuse(X, message):
    with pytest.raises(ValueError, match=message):
        Categories().fit(X)


# Booleanizer


def pandas_frame():
    return pd.DataFrame(
        {
            "age": [30.0, 41.0, None, 22.0],
            "count": pd.array([1, None, 3, 3], dtype="Int64"),
            "ok": pd.array([True, None, False, True], dtype="boolean"),
            "city": pd.array(["a", None, "b", "a"], dtype="string"),
            "code": pd.Categorical(["v", "u", None, "u"]),
            "flag": [0, 1, 1, 0],
            "on": [True, False, True, True],
            "day": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2022-01-01"]),
            "wait": pd.to_timedelta([1, 2, 3, None], unit="s"),
        }
    )


def polars_frame():
    day = datetime.date
    return pl.DataFrame(
        {
            "age": [30.0, 41.0, None, 22.0],
            "count": pl.Series([1, None, 3, 3], dtype=pl.Int32),
            "ok": [True, None, False, True],
            "city": pl.Series(["a", None, "b", "a"], dtype=pl.Categorical),
            "code": pl.Series(["v", "u", None, "u"], dtype=pl.Enum(["w", "v", "u"])),
            "flag": pl.Series([0, 1, 1, 0], dtype=pl.UInt8),
            "on": [True, False, True, True],
            "day": [day(2020, 1, 1), None, day(2021, 1, 1), day(2022, 1, 1)],
            "wait": [*(datetime.timedelta(seconds=s) for s in (1, 2, 3)), None],
        }
    )


DAYS = [1577836800, None, 1609459200, 1640995200]
ROWS = [
    [30.0, 1, True, "a", "v", 0, True, DAYS[0], 1],
    [41.0, None, None, None, "u", 1, False, DAYS[1], 2],
    [None, 3, False, "b", None, 1, True, DAYS[2], 3],
    [22.0, 3, True, "a", "u", 0, True, DAYS[3], None],
]
MIXED_NAMES = [
    *("age > 26", "age > 35.5", "age is missing", "count > 2", "count is missing"),
    *("ok", "ok is missing", "city = a", "city = b", "city is missing"),
    *("code = u", "code = v", "code is missing", "flag", "on"),
    *("day > 2020-07-02", "day > 2021-07-02", "day is missing"),
    *("wait > 00:00:01.5", "wait > 00:00:02.5", "wait is missing"),
]


def structured():
    kinds = [float, object, object, object, object, int, bool, "M8[s]", "m8[s]"]
    fields = [*zip(pandas_frame().columns, kinds, strict=True)]
    rows = [
        (
            np.nan if row[0] is None else row[0],
            *row[1:7],
            np.datetime64("NaT" if row[7] is None else row[7], "s"),
            np.timedelta64("NaT" if row[8] is None else row[8], "s"),
        )
        for row in ROWS
    ]
    return np.array(rows, fields)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, structured])
def test_frames_give_the_bits_of_plain_values(make):
    booleanizer = Booleanizer().fit(make())
    assert booleanizer.get_feature_names_out().tolist() == MIXED_NAMES
    names = [*booleanizer.feature_names_in_]
    assert names == [*pandas_frame().columns] and booleanizer.n_features_in_ == 9
    bits = booleanizer.transform(make())
    assert bits.dtype == np.uint8 and bits.shape == (4, booleanizer.n_bits_out_)
    np.testing.assert_array_equal(bits, naive_bits(booleanizer, names, ROWS))
    plain = Booleanizer().fit(ROWS)
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(bits, plain.transform(np.array(ROWS, dtype=object)))
    # Fitted on one kind of frame, applied to another.
    for other in (pandas_frame, polars_frame, structured):
        np.testing.assert_array_equal(booleanizer.transform(other()), bits)


@quick
@given(
    st.lists(
        st.tuples(
            st.one_of(finite, st.none()),
            st.one_of(st.sampled_from("abc"), st.none()),
            st.one_of(st.booleans(), st.none()),
            st.integers(-5, 5),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_pandas_polars_and_objects_agree(rows):
    names = ["x0", "x1", "x2", "x3"]
    schema = {"x0": pl.Float64, "x1": pl.String, "x2": pl.Boolean, "x3": pl.Int64}
    polars = pl.DataFrame(rows, schema=schema, orient="row")
    pandas = pd.DataFrame(rows, columns=names).astype({"x1": "string", "x2": "boolean"})
    cells = np.array(rows, dtype=object)
    fitted = [Booleanizer(3).fit(X) for X in (polars, pandas)]
    reference = Booleanizer(3).fit(cells)
    expected = [str(f) for f in reference.describe()]
    for booleanizer, X in zip(fitted, (polars, pandas), strict=True):
        assert booleanizer.get_feature_names_out().tolist() == expected
        bits = booleanizer.transform(X)
        np.testing.assert_array_equal(bits, naive_bits(booleanizer, names, rows))
        np.testing.assert_array_equal(bits, reference.transform(cells))


def test_kinds_of_columns():
    frame = pd.DataFrame(
        {
            "bits": [0.0, 1.0],
            "zeros": [0, 0],
            "bools": [True, False],
            "numbers": [0, 2],
            "grades": pd.Categorical([1, 2]),
            "money": [Decimal("1.5"), Decimal("2.5")],
            "bytes": [b"a", b"b"],
            "nothing": [None, None],
            "nan": [np.nan, np.nan],
            "mixed": [1, "1"],
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True),
        }
    )
    booleanizer = Booleanizer().fit(frame)
    assert dict(zip(frame.columns, booleanizer.kinds_, strict=True)) == {
        **dict.fromkeys(["bits", "zeros", "bools"], "bit"),
        **dict.fromkeys(["numbers", "money", "nan", "when"], "number"),
        **dict.fromkeys(["grades", "bytes", "mixed", "nothing"], "category"),
    }
    names = booleanizer.get_feature_names_out().tolist()
    assert {"bits", "nothing is missing", "nan is missing", "grades = 1", "bytes = b"} <= {*names}
    # Nothing is known of a column without values, so any later value is fine.
    assert booleanizer.transform(frame.assign(nothing=["a", 5])).shape == (2, len(names))


def test_numpy_text_arrays():
    for array in (np.array([["a"], ["b"]]), np.array([[b"a"], [b"b"]])):
        assert Booleanizer().fit_transform(array).tolist() == [[1, 0], [0, 1]]
    mixed = np.array([[1, "a"], [2, "b"]], dtype=object)
    booleanizer = Booleanizer().fit(mixed)
    assert booleanizer.get_feature_names_out().tolist() == ["x0 > 1.5", "x1 = a", "x1 = b"]


def test_a_table_of_constants_still_has_a_bit():
    booleanizer = Booleanizer().fit([[7.5, 3.0], [7.5, 3.0]])
    assert booleanizer.get_feature_names_out().tolist() == ["x0 > 7.5"]
    assert booleanizer.transform([[8.0, 0.0], [7.5, 9.0]]).tolist() == [[1], [0]]
    # Any other bit is enough.
    assert Booleanizer().fit([[7.5, "a"]]).get_feature_names_out().tolist() == ["x1 = a"]


@quick
@given(
    np_arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.sampled_from([0.0, 0.0, 1.0, 1.0, np.nan, -2.5, 3.0]),
    )
)
def test_sparse_booleanizer_matches_its_description(X):
    booleanizer = Booleanizer(2).fit(sp.csr_matrix(X))
    only_bits = [set(column[~np.isnan(column)]) <= {0, 1} for column in X.T]
    assert [kind == "bit" for kind in booleanizer.kinds_] == only_bits
    bits = booleanizer.transform(sp.csr_matrix(X))
    assert type(bits) is sp.csr_matrix and bits.shape[1] == booleanizer.n_bits_out_ >= 1
    expected = naive_bits(booleanizer, columns_of(X), X.tolist())
    np.testing.assert_array_equal(bits.toarray(), expected)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("age", "old", "'age' held only numbers in training, but holds the text 'old'.*missing"),
        ("smoker", "yes", "'smoker' held only numbers in training, but holds the text 'yes'"),
        ("city", {}, "'city' holds {} of type dict"),
    ],
)
def test_cells_of_another_kind_are_refused_by_name(column, cell, message):
    frame = pd.DataFrame({"age": [30, 40], "smoker": [0, 1], "city": ["a", "b"]})
    booleanizer = Booleanizer().fit(frame)
    odd = frame.astype(object)
    odd.at[1, column] = cell
    with pytest.raises(ValueError, match=message):
        booleanizer.transform(odd)
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=message):
        booleanizer.transform(odd.to_numpy())


def test_stored_zeros_are_zeros():
    X = sp.csr_matrix((np.array([0.0, 1.0]), np.array([0, 0]), np.array([0, 1, 2])))
    booleanizer = Booleanizer().fit(X)
    assert booleanizer.kinds_ == ["bit"]
    bits = booleanizer.transform(X)
    assert bits.nnz == 1 and bits.toarray().tolist() == [[0], [1]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_other_numbers_in_a_bit_column_are_above_or_below_one_half(form):
    """A rare count may be 0 or 1 in all training rows and 4 later: that is no error."""
    booleanizer = Booleanizer().fit(form([[0, 1], [1, 3]]))
    assert booleanizer.kinds_[0] == "bit"
    bits = booleanizer.transform(form([[4, 1], [0.25, 1], [-3, 1]]))
    assert np.asarray(bits.todense() if sp.issparse(bits) else bits)[:, 0].tolist() == [1, 0, 0]


def test_names_are_checked_in_the_words_of_scikit_learn():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    booleanizer = Booleanizer().fit(frame)
    with pytest.raises(ValueError) as error:
        booleanizer.transform(pl.DataFrame({"a": [1], "b": [1], "d": [1]}))
    assert str(error.value) == (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n- d\n"
        "Feature names seen at fit time, yet now missing:\n- c\n"
    )
    with pytest.raises(ValueError, match=r"yet now missing:\n- c\n$"):
        booleanizer.transform(frame[["a", "b"]])
    with pytest.raises(ValueError, match="must be in the same order"):
        booleanizer.transform(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="- f3\n- f4\n- \\.\\.\\.\n"):
        booleanizer.transform(frame.assign(**{f"f{i}": 0 for i in range(9)}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        bits = booleanizer.transform(frame.to_numpy())
    np.testing.assert_array_equal(bits, booleanizer.transform(frame))
    # Fitting again forgets the names.
    booleanizer.fit(frame.to_numpy())
    assert not hasattr(booleanizer, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        booleanizer.transform(frame)


def test_number_of_columns_is_checked():
    booleanizer = Booleanizer().fit(np.eye(4))
    message = "X has 3 features, but Booleanizer is expecting 4 features as input"
    for X in (np.eye(3), sp.eye(3)):
        with pytest.raises(ValueError, match=message):
            booleanizer.transform(X)


def test_labels_that_are_no_text():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    booleanizer = Booleanizer().fit(frame)
    assert booleanizer.get_feature_names_out().tolist() == ["x0 > 2", "x1 > 3"]
    assert not hasattr(booleanizer, "feature_names_in_")
    frame.columns = ["a", 1]
    with pytest.raises(ValueError, match="all text or all not"):
        Booleanizer().fit(frame)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3), "Expected 2D array, got 1D array"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D array"),
        (pd.Series([1, 2]), "Expected 2D array, got 1D array"),
        (np.zeros((2, 1), dtype=complex), "Complex data not supported"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pl.LazyFrame({"a": [1]}), r"X\.collect\(\)"),
    ],
)
def test_tables_that_are_none(X, message):
    with pytest.raises(ValueError, match=message):
        Booleanizer().fit(X)


def test_no_rows_give_no_bits():
    assert Booleanizer().fit([[1, "a"], [2, "b"]]).transform(np.empty((0, 2))).shape == (0, 3)
    assert Booleanizer().fit(sp.eye(3)).transform(sp.csr_matrix((0, 3))).shape == (0, 3)


def test_input_features():
    named = Booleanizer().fit(pd.DataFrame({"a": [1, 2]}))
    assert named.get_feature_names_out(["a"]).tolist() == ["a > 1.5"]
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        named.get_feature_names_out(["b"])
    unnamed = Booleanizer().fit([[1], [2]])
    assert unnamed.get_feature_names_out(["b"]).tolist() == ["b > 1.5"]
    with pytest.raises(ValueError, match=r"number of features \(1\), got 2"):
        unnamed.get_feature_names_out(["a", "b"])


# Images


def opencv(images, window, constant):
    return np.stack(
        [
            cv2.adaptiveThreshold(
                image, 1, cv2.ADAPTIVE_THRESH_GAUSSIAN_C, cv2.THRESH_BINARY, window, constant
            )
            for image in images
        ]
    )


def noise(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def blobs(shape, seed):
    return np.stack([cv2.GaussianBlur(image, (9, 9), 3) for image in noise(shape, seed) & 0xE0])


def gradients(shape, seed):
    n, height, width = shape
    rows, columns = np.mgrid[:height, :width]
    slopes = np.random.default_rng(seed).uniform(-9, 9, (n, 2, 1, 1))
    return ((slopes[:, 0] * rows + slopes[:, 1] * columns) % 256).astype(np.uint8)


@pytest.mark.parametrize("make", [noise, blobs, gradients])
@pytest.mark.parametrize("window", [3, 5, 7, 9, 11, 13, 21, 51])
@pytest.mark.parametrize("size", [(28, 28), (17, 23), (5, 64), (9, 2)])
def test_adaptive_threshold_equals_opencv(make, window, size):
    images = make((20, *size), seed=window)
    bits = AdaptiveGaussianThreshold(window).fit_transform(images)
    assert bits.dtype == np.uint8 and bits.flags.c_contiguous
    np.testing.assert_array_equal(bits, opencv(images, window, 2))


@pytest.mark.parametrize("constant", [-300, -1.5, -1, -0.5, 0, 0.2, 1, 1.5, 2.0, 7.01, 300])
def test_adaptive_threshold_constants(constant):
    images = np.concatenate([noise((9, 13, 15), 1), noise((9, 13, 15), 2) // 64])
    bits = AdaptiveGaussianThreshold(11, constant).fit_transform(images)
    np.testing.assert_array_equal(bits, opencv(images, 11, constant))


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1), (1, 7)])
def test_adaptive_threshold_on_lines(size):
    images = noise((50, *size), 3)
    bits = AdaptiveGaussianThreshold().fit_transform(images)
    np.testing.assert_array_equal(bits, opencv(images, 11, 2))


OPENCV_VERSION = tuple(map(int, cv2.__version__.split(".")[:2]))


@pytest.mark.skipif("AVX2" not in cv2.getCPUFeaturesLine(), reason="rounds as OpenCV with AVX2")
@pytest.mark.parametrize("size", [(28, 28), (17, 31), (9, 2), (1, 32), (32, 1)])
@pytest.mark.parametrize("window", [3, 11, 13, 51])
def test_means_are_those_of_opencv_to_the_last_digit(size, window):
    # Bits alone show a difference in rounding once in millions.
    if size[1] % 8 and OPENCV_VERSION < (4, 13):
        pytest.skip("older builds round the last columns in another way")
    border = cv2.BORDER_REPLICATE | cv2.BORDER_ISOLATED
    planes = noise((*size, 20), window).astype(np.float32)
    means = blur(planes, gaussian_kernel(window))
    for index in range(planes.shape[2]):
        image = np.ascontiguousarray(planes[..., index])
        expected = cv2.GaussianBlur(image, (window, window), 0, borderType=border)
        np.testing.assert_array_equal(means[..., index], expected.reshape(size))


def test_adaptive_threshold_takes_each_channel_for_itself():
    images = noise((6, 12, 14, 3), 4)
    threshold = AdaptiveGaussianThreshold()
    bits = threshold.fit_transform(images)
    for channel in range(3):
        plane = np.ascontiguousarray(images[..., channel])
        np.testing.assert_array_equal(bits[..., channel], opencv(plane, 11, 2))
    assert threshold.get_feature_names_out().tolist() == [
        f"channel {channel} > local mean - 2" for channel in range(3)
    ]
    assert threshold.describe((12, 14, 3)) == threshold.describe()
    assert threshold.describe()[1] == BitFeature("channel 1", "pixel", 2)
    with pytest.raises(ValueError, match="3 channels"):
        threshold.describe((12, 14))
    with pytest.raises(ValueError, match=r"X has 1 channels.*expecting 3"):
        threshold.transform(images[..., 0])
    assert threshold.transform(images[:0]).shape == (0, 12, 14, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float64])
def test_adaptive_threshold_takes_integers_of_any_type(dtype):
    images = noise((3, 9, 9), 5) // 2
    bits = AdaptiveGaussianThreshold().fit_transform(images.astype(dtype))
    np.testing.assert_array_equal(bits, opencv(images, 11, 2))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.full((1, 3, 3), 256), "from 0 to 255, got 256"),
        (np.full((1, 3, 3), -1), "from 0 to 255, got -1"),
        (np.full((1, 3, 3), 0.5), r"from 0 to 255, got 0.5.*\(255 \* X\)"),
        (np.full((1, 3, 3), np.nan), "from 0 to 255, got nan"),
        (np.full((1, 3, 3), np.inf), "from 0 to 255, got inf"),
        (np.full((1, 3, 3), "a"), "must hold numbers"),
        (np.zeros((3, 3)), r"got \(3, 3\)"),
        (np.zeros((1, 0, 3)), r"got \(1, 0, 3\)"),
        (np.zeros((0, 3, 3)), r"got \(0, 3, 3\)"),
    ],
)
def test_adaptive_threshold_refuses_other_images(images, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveGaussianThreshold().fit(images)


@pytest.mark.parametrize(
    "parameters",
    [
        *({"window": window} for window in (1, 4, -3, 11.0, True, 10_001, "11")),
        *({"constant": constant} for constant in (np.nan, np.inf, "2", None, True)),
    ],
)
def test_adaptive_threshold_checks_parameters(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} must be"):
        AdaptiveGaussianThreshold(**parameters).fit(np.zeros((1, 3, 3)))


@quick
@given(
    np_arrays(
        st.sampled_from([np.float32, np.uint8, np.bool_]),
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
    ).filter(lambda images: np.isfinite(images).all())
)
def test_image_thermometer_is_a_thermometer_of_pixels(images):
    thermometer = ImageThermometer(2).fit(images)
    bits = thermometer.transform(images)
    pixels = images.reshape(-1, images.shape[3])
    twin = Thermometer(2).fit(pixels)
    for ours, theirs in zip(thermometer.thresholds_, twin.thresholds_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert bits.shape == (*images.shape[:3], thermometer.n_bits_out_)
    np.testing.assert_array_equal(bits.reshape(len(pixels), -1), twin.transform(pixels))


def test_image_thermometer_on_many_images():
    images = noise((900, 20, 20), 6)
    thermometer = ImageThermometer().fit(images)
    assert thermometer.thresholds_[0].tolist() == pytest.approx([51, 102, 153, 204], abs=1.5)
    expected = images[..., None] > thermometer.thresholds_[0]
    np.testing.assert_array_equal(thermometer.transform(images), expected)
    assert thermometer.transform(images[:0]).shape == (0, 20, 20, 4)
    texts = [f"pixel > {t:g}" for t in thermometer.thresholds_[0]]
    assert thermometer.get_feature_names_out().tolist() == texts


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_image_thermometer_refuses_what_is_not_finite(value):
    images = np.zeros((3, 2, 2))
    thermometer = ImageThermometer().fit(images)
    images[1, 0, 0] = value
    for method in (thermometer.fit, thermometer.transform):
        with pytest.raises(ValueError, match="Image 1 holds NaN or infinity"):
            method(images)


# scikit-learn


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transformer", [Thermometer(), Categories(), Booleanizer()])
def test_scikit_learn_conventions(transformer):
    # scikit-learn wants a TypeError for a dict in a cell; ours is the ValueError of every cell.
    failing = {"check_dtype_object": "raises ValueError"}
    expected = failing if isinstance(transformer, Thermometer) else {}
    check_estimator(transformer, expected_failed_checks=expected)


def test_in_a_column_transformer():
    frame = pd.DataFrame({"age": [30, 40], "city": ["a", "b"]})
    both = ColumnTransformer([("n", Thermometer(), ["age"]), ("c", Categories(), ["city"])])
    assert both.fit_transform(frame).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert both.get_feature_names_out().tolist() == ["n__age > 35", "c__city = a", "c__city = b"]
    both.set_output(transform="pandas")
    assert both.fit_transform(frame)["n__age > 35"].tolist() == [0, 1]


# State


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
        "images": (ImageThermometer(3).fit(images), images),
    }


FITTED = fitted()


def as_dense(bits):
    return bits.toarray() if sp.issparse(bits) else bits


@pytest.mark.parametrize("name", FITTED)
def test_state_round_trip(name):
    transformer, X = FITTED[name]
    meta, arrays = transformer.to_state()
    assert all(array.dtype.kind in "uif" for array in arrays.values())
    again = booleanizer_from_state(json.loads(json.dumps(meta, allow_nan=False)), arrays)
    assert type(again) is type(transformer)
    assert again.get_params() == transformer.get_params()
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
        ("sparse", lambda m, a: m["params"].update(n_bits=0), "n_bits must be an integer"),
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
        ("adaptive", lambda m, a: m["params"].update(window=4), "window must be"),
        ("adaptive", lambda m, a: m["params"].update(window=10**9 + 1), "window must be"),
        ("adaptive", lambda m, a: m["params"].update(constant=np.nan), "constant must be"),
        ("adaptive", lambda m, a: m.update(n_channels=10**12), "n_channels is out of range"),
        ("adaptive", lambda m, a: a.update(extra=np.zeros(1)), "arrays must have the keys"),
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
        st.sampled_from(["Thermometer", "Categories", "Booleanizer", "ImageThermometer"]),
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
    bits = len(transformer.describe())
    assert bits == transformer.n_bits_out_
    if hasattr(transformer, "n_channels_"):
        image = np.zeros((1, 2, 3, transformer.n_channels_))
        assert transformer.transform(image).shape == (1, 2, 3, bits)
    else:
        names = getattr(transformer, "feature_names_in_", None)
        row = np.full((1, transformer.n_features_in_), np.nan)
        if names is not None:
            row = pd.DataFrame(row, columns=[*names])
        assert transformer.transform(row).shape == (1, bits)
