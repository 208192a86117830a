"""Columns of tables: their types, how they are written, and what is said of bad ones."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cotm import Booleanizer, Categories, CoTMClassifier, Thermometer
from cotm.booleanize import booleanizer_from_state
from cotm.booleanize.frames import read_table, unmask
from cotm.booleanize.thresholds import round_seconds

DAYS = pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"])
COLUMNS = {
    "number": [1, 5, 9],
    "bit": [0, 1, 1],
    "text": ["a", "b", "c"],
    "date": DAYS,
    "duration": pd.to_timedelta([1, 2, 9], unit="h"),
    "time": [dt.time(1), dt.time(2), dt.time(14, 30)],
    "code": pd.Categorical([3, 7, 9]),
}


def frame(**columns):
    return pd.DataFrame({name: columns.get(name, values) for name, values in COLUMNS.items()})


@pytest.fixture(scope="module")
def booleanizer():
    return Booleanizer().fit(frame())


def reloaded(transformer):
    return booleanizer_from_state(*transformer.to_state())


def same_bits(transformer, X, expected):
    bits = transformer.transform(X)
    np.testing.assert_array_equal(bits, transformer.transform(expected))
    np.testing.assert_array_equal(bits, reloaded(transformer).transform(X))


# Types


@pytest.mark.parametrize(
    ("column", "values", "was", "now"),
    [
        ("date", DAYS.astype("int64"), "dates", "numbers"),
        ("date", [1.5, None, 3.0], "dates", "numbers"),
        ("date", COLUMNS["duration"], "dates", "durations"),
        ("date", COLUMNS["time"], "dates", "times of day"),
        ("number", DAYS, "only numbers", "dates"),
        ("number", DAYS.tz_localize("UTC"), "only numbers", "dates"),
        ("number", [dt.date(2020, 1, 1), None, dt.datetime(2020, 1, 2)], "only numbers", "dates"),
        ("number", COLUMNS["duration"], "only numbers", "durations"),
        ("bit", DAYS, "only numbers", "dates"),
        ("duration", [1, 2, 3], "durations", "numbers"),
        ("duration", DAYS, "durations", "dates"),
        ("time", [1, 2, 3], "times of day", "numbers"),
        ("text", [1, 2, 3], "text", "numbers now, such as 1 in row 0, counted from 0"),
        ("text", [None, 2.5, 3.0], "text", "numbers now, such as 2.5 in row 1, counted from 0"),
        ("text", DAYS, "text", "dates"),
        ("text", COLUMNS["time"], "text", "times of day"),
        ("code", ["3", "7", "9"], "only numbers", "text now, such as '3' in row 0"),
    ],
)
def test_another_type_is_refused(booleanizer, column, values, was, now):
    X = frame(**{column: values})
    message = rf"column '{column}' held {was} in training, but holds {now}.*convert it to .*fit ag"
    for each in (booleanizer, reloaded(booleanizer)):
        with pytest.raises(ValueError, match=message):
            each.transform(X)


@pytest.mark.parametrize(
    ("column", "values", "meant"),
    [
        ("number", [1.0, 5.0, 9.0], COLUMNS["number"]),
        ("number", pd.array([1, 5, 9], dtype="Int8"), COLUMNS["number"]),
        ("number", pd.Series([1, 5, 9], dtype="int64[pyarrow]"), COLUMNS["number"]),
        ("number", pd.Series([1, Decimal(5), 9.0], dtype=object), COLUMNS["number"]),
        ("number", [True, False, True], [1, 0, 1]),
        ("bit", [False, True, True], COLUMNS["bit"]),
        ("bit", pd.array([False, True, True], dtype="boolean"), COLUMNS["bit"]),
        ("bit", [0.0, 1.0, 1.0], COLUMNS["bit"]),
        ("date", DAYS.tz_localize("UTC"), DAYS),
        ("date", [day.date() for day in DAYS], DAYS),
        ("date", pd.Series(DAYS.to_pydatetime(), dtype=object), DAYS),
        ("date", pd.Series(DAYS, dtype="timestamp[us][pyarrow]"), DAYS),
        ("duration", pd.Series(COLUMNS["duration"].astype("m8[s]")), COLUMNS["duration"]),
        ("duration", pd.Series(COLUMNS["duration"], dtype="duration[us][pyarrow]"), None),
        ("text", pd.Categorical(["a", "b", "c"]), COLUMNS["text"]),
        ("text", ["a", 1, None], ["a", "unknown", None]),
        ("code", [3, 7, 9], COLUMNS["code"]),
        ("code", [3.0, 7.0, 9.0], COLUMNS["code"]),
        ("code", pd.array([3, 7, None], dtype="Int64"), [3, 7, None]),
        ("code", [3, "x", 9], [3, 100, 9]),
    ],
)
def test_the_same_type_in_other_words_is_taken(booleanizer, column, values, meant):
    expected = frame() if meant is None else frame(**{column: meant})
    same_bits(booleanizer, frame(**{column: values}), expected)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "nothing",
    [
        [None] * 3,
        [np.nan] * 3,
        pd.to_datetime([None] * 3),
        pd.to_timedelta([None] * 3),
        pd.array([None] * 3, dtype="Int64"),
        pd.array([None] * 3, dtype="string"),
        pd.Series([pd.NaT, None, np.nan], dtype=object),
    ],
    ids=["None", "NaN", "NaT", "no duration", "NA", "no text", "mixed"],
)
def test_a_column_without_values_is_of_every_type(booleanizer, column, nothing):
    X = frame(**{column: nothing})
    bits = booleanizer.transform(X)
    own = [feature.column == column for feature in booleanizer.describe()]
    assert not bits[:, own].any()
    # And so it is in training: whatever comes later, there is nothing to misread.
    later = Booleanizer().fit(X)
    if column != "text" or later.kinds_[2] == "category":
        assert later.transform(frame()).shape == (3, later.n_bits_out_)


def test_frames_of_both_kinds_agree_about_types(booleanizer):
    same = pl.DataFrame({name: pl.Series([*frame()[name]]) for name in COLUMNS})
    np.testing.assert_array_equal(booleanizer.transform(same), booleanizer.transform(frame()))
    other = same.with_columns(pl.col("date").dt.epoch("s"))
    with pytest.raises(ValueError, match="'date' held dates in training, but holds numbers"):
        booleanizer.transform(other)


def test_booleans_are_numbers_unless_training_saw_both():
    declared = pd.DataFrame({"a": pd.Categorical([True, False])})
    categories = Booleanizer().fit(declared)
    assert categories.transform(pd.DataFrame({"a": [1, 0]})).tolist() == [[0, 1], [1, 0]]
    both = Categories().fit([[True], [1]])
    assert both.transform([[1], [True]]).tolist() == [[0, 1], [1, 0]]


def test_mixed_categories_take_either():
    categories = Categories().fit([["a"], [1]])
    for cell in ("a", 1, "b", 2.5):
        assert categories.transform([[cell]]).sum() == (cell in ("a", 1))


def test_files_without_types_are_not_checked(booleanizer):
    meta, arrays = booleanizer.to_state()
    assert meta["types"] == ["number", "bit", "category", "date", "duration", "time", "category"]
    del meta["types"]
    old = booleanizer_from_state(meta, arrays)
    bits = old.transform(frame())
    np.testing.assert_array_equal(bits, booleanizer.transform(frame()))
    assert old.transform(frame(date=[1, 2, 3], text=[1, 2, 3])).shape == bits.shape
    # What is not known is not written either.
    assert old.to_state()[0]["types"] == [None] * 7


def test_a_sparse_fit_refuses_dates_too():
    import scipy.sparse as sp

    thermometer = Thermometer().fit(sp.csr_matrix([[1.0, 0.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="'x1' held only numbers in training, but holds dates"):
        reloaded(thermometer).transform(pd.DataFrame({0: [1, 2], 1: DAYS[:2]}))


def test_the_classifier_says_it():
    X = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=40)})
    model = CoTMClassifier(10, epochs=2, random_state=0).fit(X, np.arange(40) > 20)
    with pytest.raises(ValueError, match="'when' held dates in training, but holds numbers now"):
        model.predict(X.astype("int64"))


# Masks


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_, object, "M8[s]", "m8[D]", "U3"])
def test_a_mask_means_missing(dtype):
    data = np.array([[0], [1], [1]]).astype(dtype if dtype != "U3" else int).astype(dtype)
    masked = np.ma.array(data, mask=[[False], [False], [True]])
    booleanizer = Booleanizer().fit(masked)
    assert booleanizer.missing_.tolist() == [True]
    bits = booleanizer.transform(masked)
    assert bits[:, -1].tolist() == [0, 0, 1] and not bits[2, :-1].any()
    # Without a mask nothing changes.
    assert not Booleanizer().fit(np.ma.array(data)).missing_[0]


def test_masked_records_and_cells():
    records = np.ma.array([(1, "a"), (2, "b")], dtype=[("n", int), ("t", "U1")])
    records["n"].mask = [False, True]
    booleanizer = Booleanizer().fit(records)
    assert booleanizer.missing_.tolist() == [True, False]
    assert unmask([1, 2]) == [1, 2]
    assert Booleanizer().fit(np.array([[1], [np.ma.masked]], dtype=object)).missing_[0]


def test_the_classifier_sees_masks():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (60, 3))
    masked = np.ma.array(bits, mask=np.zeros((60, 3)))
    masked.mask[::4, 1] = True
    model = CoTMClassifier(10, epochs=2, random_state=0).fit(masked, bits[:, 0])
    assert model.booleanizer_.missing_.tolist() == [False, True, False]
    hidden = np.where(masked.mask, np.nan, bits)
    np.testing.assert_array_equal(model.votes(masked), model.votes(hidden))
    whole = np.ma.array(bits)
    plain = CoTMClassifier(10, epochs=2, random_state=0).fit(bits, bits[:, 0])
    again = CoTMClassifier(10, epochs=2, random_state=0).fit(whole, bits[:, 0])
    np.testing.assert_array_equal(plain.memory_, again.memory_)


# Dates, durations, times


def texts(values, n_bits=10):
    column = pd.DataFrame({"t": values})
    return [str(f).removeprefix("t > ") for f in Thermometer(n_bits).fit(column).describe()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.to_datetime(["2021-03-05", "2021-03-06"]), ["2021-03-05"]),
        (pd.to_datetime(["2021-03-05 14:00", "2021-03-05 15:00"]), ["2021-03-05 14:30"]),
        (pd.to_datetime(["2021-03-05 14:00:01", "2021-03-05 14:00:02"]), ["2021-03-05 14:00:01.5"]),
        (pd.to_datetime(["2021-03-04 23:59", "2021-03-05 00:01"]), ["2021-03-05"]),
        (pd.to_datetime(["1815-12-10", "1969-12-31"]), ["1892-12-19"]),
        ([dt.date(1, 1, 1), dt.date(9999, 12, 31)], ["5000-07-02"]),
        (pd.to_timedelta(["1 days", "2 days"]), ["1 day"]),
        (pd.to_timedelta(["2 days", "2 days 06:00:00"]), ["2 days 03:00:00"]),
        (pd.to_timedelta(["0 s", "1 s"]), ["00:00:00.5"]),
        (pd.to_timedelta(["-4 h", "-2 h"]), ["-03:00:00"]),
        (pd.to_timedelta(["-5 days", "-2 days"]), ["-4 days"]),
        (pd.to_timedelta(["-3 days", "-60 h"]), ["-66:00:00"]),
        ([dt.time(14, 0), dt.time(15, 0)], ["14:30:00"]),
        ([dt.time(0, 0, 0), dt.time(0, 0, 0, 1)], ["00:00:00"]),
        ([dt.time(0, 0, 0, 1), dt.time(0, 0, 0, 2)], ["00:00:00.000001"]),
    ],
)
def test_moments_are_written_as_such(values, expected):
    assert texts(values) == expected


def test_rules_write_dates_and_values_stay_numbers():
    X = pd.DataFrame({"when": pd.date_range("2021-01-01", periods=60)})
    model = CoTMClassifier(10, epochs=20, random_state=0).fit(X, X["when"] > "2021-02-01")
    rule = model.rules(label=True, top=1)[0]
    assert str(rule).startswith("if when > 2021-0")
    condition = rule.conditions[0]
    assert isinstance(condition.feature.value, float) and condition.feature.value > 1.6e9


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(["M8[us]", "m8[us]"]),
    st.lists(st.integers(-(2**52), 2**52), min_size=2, max_size=12, unique=True),
    st.sampled_from([1, 1000, 10**6, 3600 * 10**6, 86400 * 10**6]),
)
def test_texts_of_moments_are_exact(dtype, counts, unit):
    counts = sorted({count // unit * unit for count in counts})
    values = np.array(counts, dtype=np.int64).view(dtype)
    column = pd.DataFrame({"t": values})
    thermometer = Thermometer(20).fit(column)
    bits = thermometer.transform(column)
    # Every threshold still lies in the gap it was put into.
    assert bits.sum(axis=1).tolist() == list(range(len(counts)))
    features = thermometer.describe()
    if dtype == "M8[us]":
        read = [np.datetime64(f.text.replace(" ", "T"), "us") for f in features]
    else:
        read = [pd.Timedelta(f.text).to_numpy().astype("m8[us]") for f in features]
    for moment, feature, column_bits in zip(read, features, bits.T, strict=True):
        assert moment.astype(np.int64) / 1e6 == feature.value
        assert (values > moment).tolist() == column_bits.astype(bool).tolist()


def test_far_moments_keep_their_gaps():
    values = np.array([-(2**62), -(2**53) - 7, 2**54, 2**54 + 64, 2**62]) / 1e6
    middle = values[:-1] / 2 + values[1:] / 2
    rounded = round_seconds(middle, days=False)
    assert ((values[:-1] <= rounded) & (rounded < values[1:])).all()


def test_times_of_polars_are_numbers():
    times = [dt.time(8), dt.time(9), None, dt.time(14, 30)]
    thermometer = Thermometer().fit(pl.DataFrame({"at": times}))
    names = ["at > 08:30:00", "at > 11:45:00", "at is missing"]
    assert thermometer.get_feature_names_out().tolist() == names
    bits = thermometer.transform(pl.DataFrame({"at": times}))
    assert bits.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_array_equal(thermometer.transform(pd.DataFrame({"at": times})), bits)


# Large numbers

HUGE = [2**70, -(2**70), 3 * 2**70, 5]


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"n": pl.Series(HUGE, dtype=pl.Int128)}),
        pl.DataFrame({"n": pl.Series(HUGE, dtype=pl.Int128).cast(pl.String).cast(pl.Int128)}),
        pd.DataFrame({"n": HUGE}),
        pd.DataFrame({"n": [Decimal(value) for value in HUGE]}),
        pl.DataFrame({"n": pl.Series(HUGE, dtype=pl.Int128).cast(pl.Decimal(38, 0))}),
    ],
    ids=["polars", "text", "objects", "Decimal", "polars Decimal"],
)
def test_integers_of_128_bits_are_numbers(X):
    booleanizer = Booleanizer().fit(X)
    assert booleanizer.kinds_ == ["number"]
    expected = np.array(HUGE, dtype=float)[:, None] > booleanizer.codes_[0].thresholds
    np.testing.assert_array_equal(booleanizer.transform(X), expected)


def test_integers_of_128_bits_may_be_missing_and_unsigned():
    if not hasattr(pl, "UInt128"):
        pytest.skip("this polars has no UInt128")
    X = pl.DataFrame({"n": pl.Series([2**127, None, 1], dtype=pl.UInt128)})
    assert Booleanizer().fit_transform(X).tolist() == [[1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (np.array([1, 2**53 + 1, 2]), 2**53 + 1),
        (np.array([1, -(2**62) - 1]), -(2**62) - 1),
        (np.array([1, 2**64 - 1], dtype=np.uint64), 2**64 - 1),
        (np.array([1, None, 2**70 + 1], dtype=object), 2**70 + 1),
        (np.array([0, 2**53, 2**53 + 2, -(2**63), 3 * 2**60]), None),
        (np.array([0, 2**63], dtype=np.uint64), None),
        (np.array([2.0**60, 1e300]), None),
        (np.array([2**70, 5], dtype=object), None),
    ],
)
def test_integers_that_are_rounded_are_named(values, named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Booleanizer().fit(pd.DataFrame({"n": values}))
    messages = [str(warning.message) for warning in caught]
    if named is None:
        assert messages == []
    else:
        assert len(messages) == 1
        assert f"column 'n' holds integers beyond 2**53 such as {named}, " in messages[0]
        assert "subtract an offset" in messages[0]


def test_large_codes_are_exact_categories():
    codes = pd.DataFrame({"id": pd.Categorical([2**53, 2**53 + 1])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Booleanizer().fit_transform(codes).tolist() == [[1, 0], [0, 1]]


# Bad cells


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["18.0", "19", "abc", 4],
            r"'age' must hold only numbers for Thermometer, but holds the text 'abc' in row 2, "
            r"counted from 0; convert it to numbers.*missing",
        ),
        (
            [4, "18.0", " 1e3 "],
            r"but holds numbers written as text, such as '18.0' in row 1, counted from 0; "
            r"convert the column to numbers, for example with pandas\.to_numeric",
        ),
        ([1, "1_000"], "holds the text '1_000' in row 1"),
        ([1, 2, {}], r"'age' holds {} of type dict in row 2, counted from 0, but cells must be"),
        ([1, np.inf], "'age' holds inf in row 1, counted from 0, but thresholds need finite"),
    ],
)
def test_a_bad_cell_is_named(cells, message):
    X = pd.DataFrame({"age": pd.Series(cells, dtype=object)})
    with pytest.raises(ValueError, match=message):
        Thermometer().fit(X)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("number", "'number' held only numbers in training, but holds the text 'x' in row 1"),
        ("date", r"'date' held dates in training, but holds the text 'x' in row 1.*to_datetime"),
    ],
)
def test_a_bad_cell_is_named_after_training(booleanizer, column, message):
    with pytest.raises(ValueError, match=message):
        booleanizer.transform(frame(**{column: ["1", "x", "2"]}))


# Many texts


def test_many_texts_warn_once():
    ids = [f"id{n}" for n in range(1001)]
    X = pd.DataFrame({"id": ids, "name": ids[::-1], "few": ["a"] * 1001, "code": range(1001)})
    X["code"] = X["code"].astype("category")
    with pytest.warns(UserWarning, match="more than 1,000 different values") as caught:
        Booleanizer().fit(X)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "'id' (1,001), 'name' (1,001); drop" in message and "CountVectorizer" in message
    with pytest.warns(UserWarning, match="more than 1,000 different values"):
        Categories().fit(X[["id"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Booleanizer().fit(X[1:])
        Categories().fit(X[["code"]])


def test_read_table_leaves_data_alone():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[True, False], [False, False]])
    assert read_table(masked).columns[1].data.tolist() == [2, 4]
    assert masked.data.tolist() == [[1, 2], [3, 4]]


def test_a_text_among_numbers_is_named_when_fitting():
    cells = [*np.arange(50.0), "oops", *np.arange(20.0)]
    with pytest.warns(UserWarning, match=r"'a' holds 50 .* the text 'oops' \(row 50"):
        Booleanizer().fit(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
