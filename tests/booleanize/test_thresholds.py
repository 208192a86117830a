"""Thermometers, dense and sparse, against naive twins."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from booleanize_helpers import coarse, columns_of, finite, naive_bits, quick
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays

from cotm.booleanize import (
    Booleanizer,
    ImageThermometer,
    Thermometer,
)
from cotm.booleanize.thresholds import learn_thresholds


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
    # Midway, but for the digits that names do not have.
    assert (below <= thresholds).all() and (thresholds < above).all()
    middle = below / 2 + above / 2
    room = above / 100 - below / 100
    assert (np.abs(thresholds - np.where(middle < above, middle, below)) <= room).all()
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


@pytest.mark.parametrize("n_bits", [0, -1, 2.5, np.nan, "3", None, True])
def test_n_bits_is_checked(n_bits):
    for transformer, X in [
        (Thermometer(n_bits), [[1.0]]),
        (Booleanizer(n_bits), [[1.0]]),
        (ImageThermometer(n_bits), np.zeros((1, 2, 2))),
    ]:
        with pytest.raises(ValueError, match=r"n_bits=.* must be an integer from 1 up"):
            transformer.fit(X)


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


def test_thresholds_are_the_numbers_that_names_write():
    X = np.array([[0.1, 1.27, 5e-7, 1 / 3], [0.3, 1.28, 7e-7, 2 / 3], [0.6, 1.3, 8e-7, 1 / 7]])
    thermometer = Thermometer(2).fit(X)
    assert thermometer.thresholds_[0].tolist() == [0.2, 0.45]
    assert thermometer.thresholds_[1].tolist() == [1.275, 1.29]
    for feature in thermometer.describe():
        assert float(str(feature).split()[-1]) == feature.value
    # Values that only many digits tell apart still are.
    close = np.array([[1.0], [np.nextafter(1.0, 2)]])
    assert Thermometer().fit_transform(close).tolist() == [[0], [1]]
    dates = np.array(["2021-03-05T10:00:00.000001", "2021-03-05T10:00:00.000004"], "M8[us]")
    assert Thermometer().fit_transform(dates[:, None]).tolist() == [[0], [1]]
