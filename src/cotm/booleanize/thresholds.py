"""Choosing thresholds, and comparing sparse values with them, for many columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_integer
from .descriptions import number_texts

#: Increasing thresholds of one column.
Thresholds = NDArray[np.float64]

#: Sums are rounded, which must not move a value across a quantile.
SLACK = 1e-6

_DAY = 86400  # seconds

# More seconds than this from 1970, float64 does not tell all microseconds apart.
_MOST_EXACT_SECONDS = 2**33

#: Rounds in which the weights of frequent values approach their share; more change nothing visible.
CAPPING_ROUNDS = 8


def check_n_bits(n_bits: Any) -> int:
    """``n_bits`` as an int, or a ValueError."""
    return check_integer("n_bits", n_bits, 1)


def learn_thresholds(
    groups: list[tuple[NDArray[Any], NDArray[np.intp]]],
    n_bits: int,
    are_numbers: Sequence[bool] | None = None,
) -> list[Thresholds]:
    """Thresholds for each group of (increasing distinct values, how often each occurs).

    ``are_numbers`` says which groups are no seconds of dates or times, whose thresholds are not
    written as digits; without it all are numbers.
    """
    if not groups:
        return []
    values = np.concatenate([values for values, _ in groups]).astype(np.float64)
    weights = np.concatenate([weights for _, weights in groups])
    sizes = np.array([len(values) for values, _ in groups])
    return cut(values, weights, sizes, n_bits, are_numbers)


def whole_days(seconds: NDArray[np.float64]) -> bool:
    """Whether all of these are whole days."""
    return bool((seconds % _DAY == 0).all())


def round_seconds(thresholds: Thresholds, *, days: bool) -> Thresholds:
    """Thresholds of dates, durations or times rounded down, so that short texts are exact.

    They are rounded to whole days if all values are whole ``days``, otherwise to microseconds, the
    precision of values. A threshold does not fall below the next lower value, because that value
    is a whole number of days or microseconds itself.
    """
    if days:
        return np.floor(thresholds / _DAY) * _DAY
    # The largest count of microseconds that is not above the threshold once it is divided by a
    # million again. The product alone does not tell, since it may have been rounded up or down.
    count = np.floor(thresholds * 1e6) + 1
    for _ in range(3):
        count -= count / 1e6 > thresholds
    rounded = count / 1e6
    exact = (rounded <= thresholds) & (np.abs(thresholds) < _MOST_EXACT_SECONDS)
    return np.where(exact, rounded, thresholds)


def learn_sparse_thresholds(matrix: Any, n_bits: int) -> list[Thresholds]:
    """Thresholds for each column of a canonical float64 CSR matrix, where zero sets no bit."""
    n_rows, n_columns = matrix.shape
    known = ~np.isnan(matrix.data)
    # Zero takes part in every column, even in one that stores a value in every row.
    column = np.concatenate([matrix.indices[known], np.arange(n_columns)])
    value = np.concatenate([matrix.data[known], np.zeros(n_columns)])
    unstored = n_rows - np.bincount(matrix.indices, minlength=n_columns)
    weight = np.concatenate([np.ones(known.sum()), np.maximum(unstored, 1)])

    order = np.lexsort((value, column))
    column, value, weight = column[order], value[order], weight[order]
    first = np.ones(len(value), dtype=bool)
    first[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    weight = np.add.reduceat(weight, np.flatnonzero(first))
    sizes = np.bincount(column[first], minlength=n_columns)
    return cut(value[first], weight, sizes, n_bits, cut_at_zero=True)


def cut(
    values: NDArray[np.float64],
    weights: NDArray[Any],
    sizes: NDArray[np.intp],
    n_bits: int,
    are_numbers: Sequence[bool] | None = None,
    *,
    starts: NDArray[np.float64] | None = None,
    cut_at_zero: bool = False,
) -> list[Thresholds]:
    """At most ``n_bits`` thresholds for each group of distinct increasing values.

    ``values`` holds the groups one after another, ``sizes`` how many values each has, ``weights``
    how often each value occurs. A threshold lies in a gap between neighbouring values: in every
    gap of a group that has at most ``n_bits`` of them, otherwise in the first gap at or above each
    of the quantiles 1/(n_bits + 1), 2/(n_bits + 1), ...

    An entry may stand for several values, from that in ``starts`` to that in ``values``; no
    threshold lies between them, and they are too rare to be capped.
    """
    starts = values if starts is None else starts
    group = np.repeat(np.arange(len(sizes)), sizes)
    begin = np.cumsum(sizes) - sizes
    weights = weights.astype(np.float64)
    for _ in range(CAPPING_ROUNDS):
        # A value with more than its share of the rows would take up several quantiles. Its weight
        # is capped at one share, so that the other values still get bits. That makes the shares
        # smaller, so it is done again.
        share = np.bincount(group, weights, len(sizes)) / (n_bits + 1)
        weights = np.minimum(weights, share[group])
    share = np.bincount(group, weights, len(sizes)) / (n_bits + 1)
    running = np.cumsum(weights)
    running -= (running - weights)[begin[group]]
    quantile = np.minimum(np.floor(running / share[group] + SLACK), n_bits)
    below = np.roll(quantile, 1)
    below[begin[sizes > 0]] = 0

    # The last value of a group has no gap above it.
    gap = np.ones(len(values), dtype=bool)
    gap[(begin + sizes - 1)[sizes > 0]] = False
    few = (sizes <= n_bits + 1)[group]
    chosen = np.flatnonzero(gap & (few | (quantile > below)))
    low, high = values[chosen], starts[chosen + 1]
    middle = low / 2 + high / 2
    # Between neighbouring floats the middle rounds to one of them; `high > t` must hold.
    middle = np.where(middle < high, middle, low)
    if cut_at_zero:
        # "x > 0" reads as "x is there at all".
        middle = np.where(low == 0, 0.0, middle)
    counts = np.bincount(group[chosen], minlength=len(sizes))
    parts = (np.split(part, np.cumsum(counts)[:-1]) for part in (middle, low, high))
    return [
        _as_written(*part) if are_numbers is None or are_numbers[place] else part[0]
        for place, part in enumerate(zip(*parts, strict=True))
    ]


def _as_written(
    middle: Thresholds, low: NDArray[np.float64], high: NDArray[np.float64]
) -> Thresholds:
    """Thresholds rounded to what names write for them, so that rules mean what they say.

    They stay between the values that they part: no training value changes its bits.
    """
    for _ in range(4):  # rounded neighbours may leave room for shorter texts
        if bool((middle % 0.5 == 0).all()):  # names write halves as they are
            break
        short = np.array([float(text) for text in number_texts(middle)])
        parts = (low <= short) & (short < high)
        parts &= np.abs(short - middle) <= high / 100 - low / 100
        parts[1:] &= short[1:] > short[:-1]
        rounded = np.where(parts, short, middle)
        if np.array_equal(rounded, middle):
            break
        middle = rounded
    return middle


def compare_sparse(
    matrix: Any, thresholds: list[Thresholds], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Bits of a canonical float64 CSR matrix, as CSR indices, index pointer and width.

    Bits are ``x > t`` for thresholds t >= 0 and ``x <= t`` for t < 0. The bits that a stored value
    sets are neighbours, and columns come in order, so the indices of a row come out sorted.
    """
    column, value = matrix.indices, matrix.data
    counts = np.array([len(t) for t in thresholds])
    flat = np.concatenate(thresholds)
    first_bit = np.concatenate([[0], np.cumsum(counts + missing)])
    first_threshold = np.cumsum(counts) - counts
    # One search serves all columns: complex numbers sort by their real part, here the column, then
    # by their imaginary part, the value. (`1j *` would turn infinities into NaN; there are none.)
    keys = np.repeat(np.arange(len(counts)), counts) + 1j * flat
    absent = np.isnan(value)
    known = np.where(absent, 0, value)
    position = np.searchsorted(keys, column + 1j * known) - first_threshold[column]
    zero = np.searchsorted(keys, np.arange(len(counts)) + 0j) - first_threshold

    start = np.minimum(position, zero[column])
    stop = np.maximum(position, zero[column])
    start = np.where(absent, counts[column], start) + first_bit[column]
    stop = np.where(absent, (counts + missing)[column], stop) + first_bit[column]
    length = stop - start
    ends = np.concatenate([[0], np.cumsum(length)])
    indices = np.arange(ends[-1]) + np.repeat(start - ends[:-1], length)
    return indices, ends[matrix.indptr], int(first_bit[-1])
