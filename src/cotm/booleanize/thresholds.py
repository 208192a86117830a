"""Choosing thresholds, and comparing sparse values with them, for many columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np

# Rounding of running sums must not move a value across a quantile.
_SLACK = 1e-6

# In seconds.
_DAY = 86400


def check_n_bits(n_bits: object) -> int:
    """``n_bits`` as an int, or a ValueError."""
    if isinstance(n_bits, bool) or not isinstance(n_bits, (int, np.integer)) or n_bits < 1:
        raise ValueError(f"n_bits must be an integer of at least 1, got {n_bits!r}.")
    return int(n_bits)


def learn_thresholds(groups: list[tuple[np.ndarray, np.ndarray]], n_bits: int) -> list[np.ndarray]:
    """Thresholds for each group of (increasing distinct values, how often each occurs)."""
    if not groups:
        return []
    values = np.concatenate([values for values, _ in groups]).astype(np.float64)
    weights = np.concatenate([weights for _, weights in groups])
    sizes = np.array([len(values) for values, _ in groups])
    return _cut(values, weights, sizes, n_bits, cut_at_zero=False)


def round_seconds(thresholds: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Thresholds of dates, durations or times rounded down, so that short texts are exact.

    To whole days where all ``values`` are, else to microseconds, which is what values have.  A
    threshold stays between the same two values: the lower of them is no less round.
    """
    if bool((values % _DAY == 0).all()):
        return np.floor(thresholds / _DAY) * _DAY
    # The last count of microseconds whose quotient is not above the threshold: the product
    # with a million may have been rounded up or down.
    count = np.floor(thresholds * 1e6) + 1
    for _ in range(3):
        count -= count / 1e6 > thresholds
    rounded = count / 1e6
    # Centuries from 1970, a float64 has no room for microseconds.
    return np.where((rounded <= thresholds) & (np.abs(thresholds) < 2**33), rounded, thresholds)


def learn_sparse_thresholds(matrix: Any, n_bits: int) -> list[np.ndarray]:
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
    return _cut(value[first], weight, sizes, n_bits, cut_at_zero=True)


def _cut(
    values: np.ndarray, weights: np.ndarray, sizes: np.ndarray, n_bits: int, *, cut_at_zero: bool
) -> list[np.ndarray]:
    """At most ``n_bits`` thresholds per group, from the groups' distinct values end to end.

    Every gap between neighbouring values is cut where there are few of them; otherwise the
    first gap at or above each of the quantiles 1/(n_bits + 1), 2/(n_bits + 1), ...
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    begin = np.cumsum(sizes) - sizes
    weights = weights.astype(np.float64)
    for _ in range(8):
        # A value with more than its share of the rows would swallow several quantiles.  It
        # gets one share, so that the other values still get bits; each round brings the
        # capped weights closer to the share that is left after capping.
        share = np.bincount(group, weights, len(sizes)) / (n_bits + 1)
        weights = np.minimum(weights, share[group])
    share = np.bincount(group, weights, len(sizes)) / (n_bits + 1)
    running = np.cumsum(weights)
    running -= (running - weights)[begin[group]]
    quantile = np.minimum(np.floor(running / share[group] + _SLACK), n_bits)
    below = np.roll(quantile, 1)
    below[begin[sizes > 0]] = 0

    # The last value of a group has no gap above it.
    gap = np.ones(len(values), dtype=bool)
    gap[(begin + sizes - 1)[sizes > 0]] = False
    few = (sizes <= n_bits + 1)[group]
    chosen = np.flatnonzero(gap & (few | (quantile > below)))
    low, high = values[chosen], values[chosen + 1]
    middle = low / 2 + high / 2
    # Between neighbouring floats the middle rounds to one of them; `high > t` must hold.
    middle = np.where(middle < high, middle, low)
    if cut_at_zero:
        # "x > 0" reads as "x is there at all".
        middle = np.where(low == 0, 0.0, middle)
    counts = np.bincount(group[chosen], minlength=len(sizes))
    return np.split(middle, np.cumsum(counts)[:-1])


def compare_sparse(
    matrix: Any, thresholds: list[np.ndarray], missing: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Bits of a canonical float64 CSR matrix, as CSR indices, index pointer and width.

    A stored value sets ``x > t`` for thresholds t >= 0 and ``x <= t`` for t < 0: one run of
    neighbouring bits, in the order of the columns, so rows come out sorted.
    """
    column, value = matrix.indices, matrix.data
    counts = np.array([len(t) for t in thresholds])
    flat = np.concatenate(thresholds)
    first_bit = np.concatenate([[0], np.cumsum(counts + missing)])
    first_threshold = np.cumsum(counts) - counts
    # Complex numbers sort by real part, then imaginary part: by column, then value.  One
    # search then serves all columns.  (`+ 1j *` would turn infinities into NaN; there are none.)
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
