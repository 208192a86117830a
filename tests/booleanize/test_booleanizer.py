"""The automatic choice of bits for tables of every kind, and scikit-learn's conventions."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from booleanize_helpers import columns_of, finite, naive_bits, pandas_frame, quick
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.compose import ColumnTransformer
from sklearn.utils.estimator_checks import check_estimator

from cotm.booleanize import (
    Booleanizer,
    Categories,
    Thermometer,
    base,
)
from cotm.booleanize.frames import read_table


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


def test_a_frame_is_read_once_to_fit_and_transform(monkeypatch):
    read = []
    monkeypatch.setattr(base, "read_table", lambda X: read.append(X) or read_table(X))
    frame = pandas_frame()
    for transformer in (Booleanizer(), Thermometer().set_output(transform="pandas")):
        X = frame if isinstance(transformer, Booleanizer) else frame[["age", "flag"]]
        read.clear()
        bits = transformer.fit_transform(X)
        assert len(read) == 1
        np.testing.assert_array_equal(bits, transformer.transform(X))
    assert isinstance(bits, pd.DataFrame) and bits.columns[0].startswith("age > ")


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
