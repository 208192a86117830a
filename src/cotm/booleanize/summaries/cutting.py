"""From counts to thresholds, and what must be known more exactly before that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..thresholds import CAPPING_ROUNDS, SLACK, Thresholds, cut
from .counts import Entries, numbers_of

#: Bounds are widened by so much of themselves, because sums are rounded; and what is derived from
#: several of them by this.
_ROUNDING, _WIDENING = 1e-9, 1e-7


def thresholds_of(
    entries: Entries,
    n_columns: int,
    n_bits: int,
    are_numbers: Sequence[bool] | None = None,
    *,
    cut_at_zero: bool = False,
) -> list[Thresholds]:
    """The thresholds of each column: exact where nothing is :func:`unresolved`."""
    return cut(
        numbers_of(entries.high),
        entries.cells,
        np.bincount(entries.column, minlength=n_columns),
        n_bits,
        are_numbers,
        starts=numbers_of(entries.low),
        cut_at_zero=cut_at_zero,
    )


def unresolved(entries: Entries, n_columns: int, n_bits: int) -> NDArray[np.bool_]:
    """Which entries must be counted more finely before thresholds are exact.

    Those of several numbers, of which one may be so frequent that its weight is capped, and those
    in which a quantile lies.
    """
    several = ~entries.single
    wanted = np.zeros(len(several), dtype=bool)
    if not several.any():
        return wanted
    bounds = _Bounds(entries, n_columns, n_bits)
    wanted |= several & (entries.cells > bounds.cap[entries.column])
    for running, share in ((bounds.fewest, bounds.least), (bounds.most, bounds.largest)):
        wanted |= several & bounds.is_crossed(running, share)
    return wanted


def rank_errors(entries: Entries, n_columns: int, n_bits: int) -> NDArray[np.float64]:
    """By how much of all its known cells a column's thresholds may be in the wrong place, at most.

    That is, each of them lies where the exact one lies, or so many cells are between the two.
    """
    errors = np.zeros(n_columns)
    if entries.single.all():
        return errors
    bounds = _Bounds(entries, n_columns, n_bits)
    for index in np.unique(entries.column[~entries.single]).tolist():
        first, last = np.searchsorted(entries.column, [index, index + 1])
        # The ranks of a column rise; the quantile k is reached between the earliest entry, if all
        # is as it would have to be for that, and the latest.
        earliest = bounds.most[first:last] / bounds.least[index] + SLACK + _WIDENING * n_bits
        latest = bounds.fewest[first:last] / bounds.largest[index] + SLACK - _WIDENING * n_bits
        quantiles = np.arange(1, n_bits + 1)
        begin = np.searchsorted(earliest, quantiles)
        end = np.minimum(np.searchsorted(latest, quantiles), last - first - 1)
        begin = np.minimum(begin, end)
        count = entries.cells[first:last]
        ranks = np.concatenate([[0], np.cumsum(count)])
        # Between two borders of an entry of one number there is no other place to lie.
        one = (begin == end) & entries.single[first:last][end]
        errors[index] = np.where(one, 0, ranks[end + 1] - ranks[begin]).max() / ranks[-1]
    return errors


class _Bounds:
    """What holds of weights and shares, however the numbers within entries are distributed.

    ``fewest`` and ``most``: running weights at least and at most; ``least`` and ``largest``: the
    share of each column; ``cap``: no rarer number is capped.
    """

    def __init__(self, entries: Entries, n_columns: int, n_bits: int) -> None:
        self._n_bits = n_bits
        column, count = entries.column, entries.cells.astype(np.float64)
        # At least, an entry is one number, which may be capped; at most, none of its numbers is.
        fewest, most = count, count
        for rounds in range(CAPPING_ROUNDS + 1):
            least = np.bincount(column, fewest, n_columns) / (n_bits + 1) * (1 - _ROUNDING)
            largest = np.bincount(column, most, n_columns) / (n_bits + 1) * (1 + _ROUNDING)
            if rounds < CAPPING_ROUNDS:
                self.cap = least
                fewest = np.minimum(count, least[column])
                most = np.where(entries.single, np.minimum(count, largest[column]), count)
        first = np.ones(len(column), dtype=bool)
        first[1:] = column[1:] != column[:-1]
        self._first = first
        self.least, self.largest = least, largest
        self.fewest, self.most = self._running(fewest), self._running(most)
        self._share = np.stack([least, largest])
        self._column = column

    def _running(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        running = np.cumsum(weights)
        start = np.flatnonzero(self._first)
        before = (running - weights)[start]
        return running - np.repeat(before, np.diff([*start, len(weights)]))

    def is_crossed(
        self, running: NDArray[np.float64], share: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """In which entries a quantile would be reached with these weights, or nearly."""
        place = running / share[self._column] + SLACK
        early = np.minimum(np.floor(place + _WIDENING * self._n_bits), self._n_bits)
        late = np.minimum(np.floor(place - _WIDENING * self._n_bits), self._n_bits)
        below = np.roll(late, 1)
        below[self._first] = 0
        return np.asarray(early > below)
