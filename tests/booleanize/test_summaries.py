"""Codes learned from tables in parts, against those of the table as a whole."""

import datetime as dt
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from booleanize_helpers import pandas_frame, quick
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cotm.booleanize import Booleanizer, Categories, Thermometer
from cotm.booleanize.summaries import counts
from cotm.booleanize.summaries.counts import Counts, Entries, numbers_of, sort_keys


def same_codes(one, other):
    """Whether two fitted booleanizers are the same to the last bit."""
    (meta, arrays), (other_meta, other_arrays) = one.to_state(), other.to_state()
    assert repr(meta) == repr(other_meta)
    for name, array in arrays.items():
        assert array.tobytes() == other_arrays[name].tobytes(), name
    return True


def parts_of(X, borders):
    """X in parts that begin at the borders; rows of frames, arrays and matrices."""
    rows = X.shape[0]
    edges = [0, *sorted({border % (rows + 1) for border in borders}), rows]
    take = X.iloc.__getitem__ if isinstance(X, pd.DataFrame) else X.__getitem__
    return [take(slice(*edge)) for edge in itertools.pairwise(edges)]


@pytest.fixture(autouse=True, scope="module")
def little_room():
    """So little that a few hundred rows need several passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_MOST_ROOM", 8)
        patch.setattr(counts, "_LEAST_ROOM", 8)
        patch.setattr(counts, "_FOR_EACH_BIT", 2)
        yield


@pytest.fixture
def usual_room(monkeypatch):
    for name, value in zip(("_MOST_ROOM", "_LEAST_ROOM", "_FOR_EACH_BIT"), USUAL, strict=True):
        monkeypatch.setattr(counts, name, value)


USUAL = counts._MOST_ROOM, counts._LEAST_ROOM, counts._FOR_EACH_BIT


def drawn_numbers(seed, rows):
    """Columns of many kinds: heavy values, clusters, both signs, gaps, missing cells."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(size=rows),
        np.where(rng.random(rows) < rng.random(), 0.0, rng.lognormal(sigma=5, size=rows)),
        rng.integers(-3, 4, rows) / 3,
        rng.integers(0, 10 ** rng.integers(1, 9), rows).astype(float),
        1 + rng.integers(0, 50, rows) * np.finfo(float).eps,
        rng.choice([0.0, -0.0, 5e-324, -1e300, 1e300, 7], rows),
        np.where(rng.random(rows) < 0.4, rng.random(rows), rng.choice([0.1, 0.2, 0.3], rows)),
        rng.integers(0, 2, rows).astype(float),
        rng.zipf(1.3, rows).astype(float),
    ]
    table = np.column_stack(columns)[:, rng.permutation(len(columns))]
    table[rng.random(table.shape) < 0.05 * (rng.random(table.shape[1]) < 0.4)] = np.nan
    return table


borders = st.lists(st.integers(0, 10_000), max_size=5)


@quick
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 20), borders)
def test_numbers_in_parts_are_cut_as_on_the_whole(seed, rows, n_bits, borders):
    X = drawn_numbers(seed, rows)
    for kind in (Thermometer, Booleanizer):
        whole = kind(n_bits).fit(X)
        assert same_codes(kind(n_bits).fit_batches(parts_of(X, borders)), whole)


@quick
@example(0, 135, 3, [1])  # its first part stores no number
@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 20), borders)
def test_sparse_numbers_in_parts_are_cut_as_on_the_whole(seed, rows, n_bits, borders):
    X = drawn_numbers(seed, rows)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < rng.random(X.shape[1])] = 0
    X = sp.csr_matrix(X)
    for kind in (Thermometer, Booleanizer):
        whole = kind(n_bits).fit(X)
        assert same_codes(kind(n_bits).fit_batches(parts_of(X, borders)), whole)


@quick
@given(st.integers(0, 2**32), st.integers(1, 300), borders, st.randoms())
def test_summaries_are_the_same_whatever_the_order_of_merging(seed, rows, borders, random):
    X = drawn_numbers(seed, rows)
    booleanizer = Booleanizer(5)

    def summarised(parts, start):
        trees = [pickle.loads(pickle.dumps(start())).update(part) for part in parts]
        while len(trees) > 1:
            one = trees.pop(random.randrange(len(trees)))
            trees[random.randrange(len(trees))].merge(pickle.loads(pickle.dumps(one)))
        return trees[0]

    summary = summarised(parts_of(X, borders), booleanizer.summary)
    other = booleanizer.summary().update(X)
    while True:
        for mine, its in zip(summary._entries(), other._entries(), strict=True):
            np.testing.assert_array_equal(mine, its)
        if summary.is_exact:
            break
        summary.refine(summarised(parts_of(X, [*borders, 7]), summary.recount))
        other.refine(other.recount().update(X))
    assert same_codes(Booleanizer(5).fit_summary(summary), Booleanizer(5).fit(X))


@quick
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 20))
def test_one_pass_is_off_by_no_more_than_it_says(seed, rows, n_bits):
    X = drawn_numbers(seed, rows)
    summary = Thermometer(n_bits).summary().update(X)
    found = Thermometer(n_bits).fit_summary(summary).thresholds_
    exact = Thermometer(n_bits).fit(X).thresholds_
    for column, near, right, error in zip(X.T, found, exact, summary.rank_errors(), strict=True):
        known = np.sort(column[~np.isnan(column)])
        # A quantile above which there is no value has no threshold: its place is the end.
        places = np.append(np.searchsorted(known, right, side="right"), len(known))
        for place in np.searchsorted(known, near, side="right"):
            assert np.abs(places - place).min() <= error * len(known) + 1e-6
        if error == 0:
            np.testing.assert_array_equal(near, right)


def test_one_pass_is_near_on_usual_data(usual_room):
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=200_000), rng.lognormal(size=200_000), rng.random(200_000)):
        summary = Thermometer().summary().update(values[:, None])
        assert 0 < summary.rank_errors()[0] < 1e-3


def test_a_generator_is_read_once(usual_room):
    X = np.random.default_rng(0).normal(size=(50_000, 1))
    with pytest.raises(ValueError, match=r"can be read once only.*'x0' may be off by 0.0"):
        Thermometer().fit_batches(iter([X]))
    near = Thermometer().fit_batches((part for part in [X]), rank_error=0.01)
    exact = Thermometer().fit_batches(lambda: iter([X]))
    assert same_codes(exact, Thermometer().fit(X))
    np.testing.assert_allclose(near.thresholds_[0], exact.thresholds_[0], atol=0.01)
    few = np.arange(100.0)[:, None]
    assert same_codes(Thermometer().fit_batches(iter([few])), Thermometer().fit(few))


def frame(rows, seed):
    rng = np.random.default_rng(seed)
    mixed = np.empty(rows, dtype=object)
    mixed[:] = [[1, 1.0, True, "a", None, 2.5, 2][k] for k in rng.integers(0, 7, rows)]
    when = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="s")
    dates = [dt.date(2020, 1, 1) + dt.timedelta(int(k)) for k in rng.integers(0, 900, rows)]
    return pd.DataFrame(
        {
            "number": rng.normal(size=rows),
            "big": rng.integers(2**53, 2**60, rows) if seed % 2 else rng.integers(0, 9, rows),
            "text": rng.choice(["a", "b", "ü", None], rows),
            "mixed": mixed,
            "when": when.where(rng.random(rows) < 0.9),
            "day": pd.Series(dates, dtype=object),
            "wait": pd.to_timedelta(rng.integers(0, 10**6, rows), unit="ms"),
            "kind": pd.Categorical(rng.choice([3, 7, 11], rows)),
            "flag": rng.random(rows) < 0.5,
            "none": np.full(rows, None, dtype=object),
            "nan": np.full(rows, np.nan),
            "one": np.ones(rows),
        }
    )


@settings(quick, max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 100), borders)
@pytest.mark.filterwarnings("ignore:column 'big'")
def test_columns_of_every_type_are_read_as_on_the_whole(seed, rows, borders):
    X = frame(rows, seed)
    for kind in (Booleanizer(), Booleanizer(2)):
        made = type(kind)(kind.n_bits).fit_batches(parts_of(X, borders))
        assert same_codes(made, kind.fit(X))
    some = X[["text", "mixed", "flag", "number", "kind", "none", "nan"]]
    assert same_codes(Categories().fit_batches(parts_of(some, borders)), Categories().fit(some))
    times = X[["number", "when", "day", "wait", "none", "nan"]]
    assert same_codes(
        Thermometer(3).fit_batches(parts_of(times, borders)), Thermometer(3).fit(times)
    )


def test_other_tables_in_parts():
    X = pandas_frame()
    assert same_codes(Booleanizer().fit_batches([X[:1], X[1:]]), Booleanizer().fit(X))
    polars = pl.DataFrame({"a": [1, None, 3], "b": ["x", "y", None], "c": [None, None, None]})
    parts = [polars[:1], polars[1:2], polars[2:]]
    assert same_codes(Booleanizer().fit_batches(parts), Booleanizer().fit(polars))
    for constant in ([[2.0]] * 3, [[-0.0]] * 3):
        whole = Booleanizer().fit(np.array(constant))
        assert same_codes(Booleanizer().fit_batches([np.array(constant)] * 2), whole)


@pytest.mark.parametrize(
    "parts, message",
    [
        (
            [[1.0], [np.datetime64("2020-01-01")]],
            "'x0' holds dates in one part.*numbers in another",
        ),
        ([["a"], [np.datetime64("2020-01-01")]], "'x0' holds dates in one part.*text in another"),
        ([np.arange(9000.0), ["odd"]], "'x0' holds more than 4,096 .*the text 'odd'"),
        ([["odd"], np.arange(9000.0)], "'x0' holds more than 4,096 .*the text 'odd'"),
        ([[f"{k}" for k in range(70_000)]], "'x0' holds more than 65,536 different categories"),
        ([[1.0], [np.inf]], "'x0' holds inf in row 0"),
    ],
)
def test_what_is_no_column_is_refused(parts, message):
    tables = [np.array(part, dtype=None if np.ndim(part) else object)[:, None] for part in parts]
    summary = Booleanizer().summary()
    with pytest.raises(ValueError, match=message):
        for table in tables:
            summary.update(table)
    if len(tables) == 2:  # what was refused has left no traces, and merging refuses it too
        assert summary.n_rows == len(tables[0])
        summary.update(tables[0])
    if len(tables) == 2 and "inf" not in message:
        with pytest.raises(ValueError, match=message):
            summary.merge(Booleanizer().summary().update(tables[1]))


def test_parts_must_be_of_one_table():
    one = pd.DataFrame({"a": [1.0]})
    summary = Booleanizer().summary().update(one)
    for other, message in [
        (pd.DataFrame({"b": [1.0]}), "feature names"),
        (np.ones((1, 1)), "feature names"),
    ]:
        with pytest.raises(ValueError, match=message):
            summary.update(other)
        with pytest.raises(ValueError, match=message):
            summary.merge(Booleanizer().summary().update(other))
    plain = Booleanizer().summary().update(np.ones((1, 2)))
    with pytest.raises(ValueError, match="has 3 columns, but others have 2"):
        plain.update(np.ones((1, 3)))
    with pytest.raises(ValueError, match="sparse"):
        plain.update(sp.csr_matrix(np.ones((1, 2))))
    with pytest.raises(ValueError, match="other parameters"):
        plain.merge(Booleanizer(3).summary())
    with pytest.raises(ValueError, match="0 sample"):
        Booleanizer().fit_batches([])
    with pytest.raises(ValueError, match="sparse"):
        Categories().summary().update(sp.csr_matrix(np.ones((1, 2))))


def test_a_table_that_changes_between_passes_is_refused():
    passes = [[np.arange(100.0)[:, None]], [np.arange(0.0, 300, 3)[:, None]]]
    with pytest.raises(ValueError, match=r"changed between two passes"):
        Thermometer(3).fit_batches(lambda: passes.pop(0))
    passes = [[np.arange(100.0)[:, None]], [np.arange(99.0)[:, None]]]
    with pytest.raises(ValueError, match=r"changed between two passes.*100 rows.*99, or"):
        Thermometer(3).fit_batches(lambda: passes.pop(0))


def test_the_integer_of_two_equal_numbers_counts():
    for cells in ([1, 1.0, "a"], [1.0, 1, "a"]):
        assert repr(Categories().fit([[cell] for cell in cells]).categories_) == "[(1, 'a')]"
        parts = [[[cell]] for cell in cells]
        assert repr(Categories().fit_batches(parts).categories_) == "[(1, 'a')]"


def test_a_summary_warns_as_the_whole_does():
    texts = np.array([f"{k}" for k in range(1100)], dtype=object)[:, None]
    with pytest.warns(UserWarning, match=r"'x0' \(1,100\)"):
        Booleanizer().fit_batches([texts[:500], texts[500:]])
    odd = np.array([*range(30), "odd"], dtype=object)[:, None]
    with pytest.warns(UserWarning, match="30 different numbers and the text 'odd', so all"):
        Booleanizer().fit_batches([odd[:20], odd[20:]])
    with pytest.warns(UserWarning, match="beyond 2\\*\\*53"):
        Booleanizer().fit_batches([np.array([[2**53 + 1], [3]])])


def test_a_summary_stays_small(usual_room):
    rng = np.random.default_rng(0)
    summary = Booleanizer().summary()
    sizes = []
    for _ in range(6):
        summary.update(rng.normal(size=(40_000, 2)))
        sizes.append(len(pickle.dumps(summary)))
    assert max(sizes) < 2 * 2**15 * 32 + 10_000


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_keys_are_in_the_order_of_numbers(values):
    array = np.array(values) + 0.0
    keys = sort_keys(array)
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(array, kind="stable"))
    np.testing.assert_array_equal(numbers_of(keys), array)


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.integers(2, 9))
def test_counts_keep_as_much_as_there_is_room_for(values, room):
    kept = Counts(1, room)
    for value in values:
        kept.update(0, np.array([value]))
    entries = kept.entries()
    assert len(entries.cells) <= room
    assert entries.cells.sum() == len(values)
    ordered = np.sort(np.array(values) + 0.0)
    for low, high, count in zip(*(part.tolist() for part in entries[1:]), strict=True):
        first, last = numbers_of(np.array([low, high], dtype=np.uint64))
        inside = ordered[(ordered >= first) & (ordered <= last)]
        assert (len(inside), inside[0], inside[-1]) == (count, first, last)
    if len(np.unique(ordered)) <= room:
        assert entries.single.all()
    assert isinstance(entries, Entries)
