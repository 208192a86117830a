"""How often each number occurs in each column: exactly, or in intervals as narrow as room allows.

Numbers are sorted by 64 bits each, and counted together where they agree in the first ``depth`` of
these. A column's depth is the largest at which it has no more than ``room`` entries. So what is
kept is a function of all numbers seen, whatever their order and however they came in parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BITS = 64
_SIGN = np.uint64(1 << 63)

#: Entries that all columns have together, at most, unless there are very many columns.
_ALL_ROOM = 1 << 18
#: What a column has at most, and at least: so many, and so many for each of its bits.
_MOST_ROOM, _LEAST_ROOM, _FOR_EACH_BIT = 1 << 15, 256, 8


def sort_keys(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Numbers as integers of the same order; there must be no NaN among them."""
    bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def numbers_of(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The numbers whose keys these are."""
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)


def room_for(n_columns: int, n_bits: int) -> int:
    """Entries that each of so many columns may have."""
    return max(
        _LEAST_ROOM, _FOR_EACH_BIT * (n_bits + 1), min(_MOST_ROOM, _ALL_ROOM // max(1, n_columns))
    )


class Entries(NamedTuple):
    """Intervals of numbers that occur, in the order of columns and numbers.

    ``low`` and ``high`` are the keys of the least and the largest number in each; where they are
    equal, it is one number.
    """

    column: NDArray[np.int64]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    cells: NDArray[np.int64]  # that hold one of them

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which of them are one number."""
        return self.low == self.high

    def take(self, chosen: NDArray[np.bool_]) -> Entries:
        """Some of them."""
        return Entries(self.column[chosen], self.low[chosen], self.high[chosen], self.cells[chosen])


def no_entries() -> Entries:
    """No entries."""
    key = np.empty(0, dtype=np.uint64)
    return Entries(np.empty(0, dtype=np.int64), key, key, np.empty(0, dtype=np.int64))


def joined(*parts: Entries) -> Entries:
    """The entries of all, in order; equal ones are not added up."""
    column, low, high, count = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = np.lexsort((low, column))
    return Entries(column[order], low[order], high[order], count[order])


class Counts:
    """Counts of the numbers of several columns; those ``within`` intervals, if there are any."""

    def __init__(self, n_columns: int, room: int, within: Entries | None = None) -> None:
        self.n_columns = n_columns
        self.room = room
        self._intervals = within
        self._depth = np.full(n_columns, _BITS)
        self._entries = no_entries()
        self._added: list[Entries] = []
        self._n_added = 0

    def update(self, index: int, values: NDArray[np.float64]) -> None:
        """Count numbers of one column."""
        keys, count = np.unique(self._within(index, sort_keys(values)), return_counts=True)
        if keys.size:
            column = np.full(len(keys), index)
            self._add(self._fitting(Entries(column, keys, keys, count.astype(np.int64))))

    def update_sparse(self, column: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Count numbers, each of some column."""
        if not values.size:
            return
        keys = sort_keys(values)
        if self._intervals is not None:
            order = np.argsort(column, kind="stable")
            column, keys = column[order], keys[order]
            indices, first = np.unique(column, return_index=True)
            parts = zip(indices.tolist(), np.split(keys, first[1:]), strict=True)
            kept = {index: self._within(index, part) for index, part in parts if part.size}
            sizes = [len(part) for part in kept.values()]
            column = np.repeat(np.array([*kept], dtype=np.int64), sizes)
            keys = np.concatenate([*kept.values(), np.empty(0, dtype=np.uint64)])
        ones = np.ones(len(keys), dtype=np.int64)
        entries = joined(Entries(column.astype(np.int64), keys, keys, ones))
        self._add(_grouped(entries, entries.low))

    def merge(self, other: Counts) -> None:
        """Count what the other has counted."""
        self._depth = np.minimum(self._depth, other._depth)
        self._add(other.entries())

    def entries(self) -> Entries:
        """What has been counted."""
        if self._added:
            self._compact()
        return self._entries

    def replace(self, entries: Entries) -> None:
        """Have these entries, which may be more than there is room for."""
        self._entries, self._added, self._n_added = entries, [], 0

    def __getstate__(self) -> dict[str, object]:
        self.entries()
        return dict(self.__dict__)

    def _within(self, index: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The numbers of a column that are in one of the intervals."""
        if self._intervals is None:
            return keys
        first, last = np.searchsorted(self._intervals.column, [index, index + 1])
        if first == last:
            return keys[:0]
        low, high = self._intervals.low[first:last], self._intervals.high[first:last]
        place = np.searchsorted(low, keys, side="right") - 1
        return keys[(place >= 0) & (keys <= high[np.maximum(place, 0)])]

    def _add(self, entries: Entries) -> None:
        self._added.append(entries)
        self._n_added += len(entries.cells)
        # As much again as there is: so every entry is sorted a few times only.
        if self._n_added > max(len(self._entries.cells), self.room * min(self.n_columns, 64)):
            self._compact()

    def _compact(self) -> None:
        self._entries = self._fitting(joined(self._entries, *self._added))
        self._added, self._n_added = [], 0

    def _fitting(self, entries: Entries) -> Entries:
        """Entries as many as there is room for; columns that have too many become less deep."""
        entries = _grouped(entries, self._prefixes(entries))
        per_column = np.bincount(entries.column, minlength=self.n_columns)
        full = np.flatnonzero(per_column > self.room)
        for index in full.tolist():
            first, last = np.searchsorted(entries.column, [index, index + 1])
            self._depth[index] = _deepest(entries.low[first:last], self.room)
        return _grouped(entries, self._prefixes(entries)) if full.size else entries

    def _prefixes(self, entries: Entries) -> NDArray[np.uint64]:
        rest = (_BITS - self._depth).astype(np.uint64)[entries.column]
        # A shift by all 64 bits is undefined.
        return np.where(rest < _BITS, entries.low >> np.minimum(rest, np.uint64(63)), np.uint64(0))


def _grouped(entries: Entries, prefix: NDArray[np.uint64]) -> Entries:
    """Neighbours of the same column and prefix as one."""
    first = np.ones(len(prefix), dtype=bool)
    first[1:] = (entries.column[1:] != entries.column[:-1]) | (prefix[1:] != prefix[:-1])
    start = np.flatnonzero(first)
    if len(start) == len(prefix):
        return entries
    return Entries(
        entries.column[start],
        entries.low[start],
        np.maximum.reduceat(entries.high, start),
        np.add.reduceat(entries.cells, start),
    )


def _deepest(keys: NDArray[np.uint64], room: int) -> int:
    """The most leading bits in which increasing keys have no more than ``room`` values."""
    differing = keys[1:] ^ keys[:-1]
    upper = (differing >> np.uint64(32)).astype(np.float64)
    lower = (differing & np.uint64(0xFFFFFFFF)).astype(np.float64)
    length = np.where(upper > 0, np.frexp(upper)[1] + 32, np.frexp(lower)[1])
    common = np.bincount(_BITS - length, minlength=_BITS + 1)
    # With d bits, neighbours are told apart that have fewer than d in common.
    groups = 1 + np.concatenate([[0], np.cumsum(common)[:_BITS]])
    return int(np.flatnonzero(groups <= room)[-1])
