"""What must be known of a table that comes in parts before its columns become bits.

A booleanizer learns the same from a summary as from the table as a whole::

    summary = booleanizer.summary()          # an empty one
    for part in parts:
        summary.update(part)                 # or summaries of parts, put together by merge()
    while not summary.is_exact:
        recount = summary.recount()          # an empty one that looks more closely
        for part in parts:
            recount.update(part)             # or empty recounts, put together by merge()
        summary.refine(recount)
    booleanizer.fit_summary(summary)

It takes so much memory, however long the table is; what it holds depends neither on the borders of
the parts nor on the order in which they are added or merged; and it can be pickled. Without the
loop its thresholds are exact for columns with few different values, and nearly so for others:
:meth:`TableSummary.rank_errors` says how nearly.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encodings import ColumnCode, NumberCode, category_code_of, require_quantities
from ..frames import Column, Table, default_names, names_message, read_table
from ..thresholds import round_seconds
from .counts import Counts, Entries, joined, no_entries, numbers_of, room_for, sort_keys
from .cutting import rank_errors, thresholds_of, unresolved
from .seen import Seen

if TYPE_CHECKING:
    from typing_extensions import Self


class TableSummary:
    """What has been seen of a table: see the module. Booleanizers make empty ones.

    Parameters
    ----------
    takes : {"any", "numbers", "categories"}
        What the booleanizer makes of columns.
    n_bits : int
        Most thresholds per column.
    """

    def __init__(self, takes: str, n_bits: int) -> None:
        self.takes = takes
        self.n_bits = n_bits
        self.n_rows = 0
        self.names: list[str] | None = None  # None where columns have none
        self.sparse = False
        self.columns: list[Seen] = []  # of dense data
        self._counts: Counts | None = None  # None before the first part
        self._stored = np.empty(0, dtype=np.int64)  # of sparse data, cells that are stored
        self._missing = np.empty(0, dtype=bool)  # which columns have missing ones
        self._only_bits = np.empty(0, dtype=bool)  # which have no others than ones

    def update(self, X: Any) -> Self:
        """Look at rows of the table: a frame, array or sparse matrix, as for ``fit``."""
        return self.update_table(read_table(X))

    def update_table(self, table: Table) -> Self:
        """Look at rows that have been read."""
        if table.shape[0] == 0:
            return self
        if self._counts is None:
            self._begin(table.names, table.shape[1], sparse=table.matrix is not None)
        self._check_same(table.names, table.shape[1], sparse=table.matrix is not None)
        if table.matrix is None:
            self._update_dense(table.columns)
        else:
            self._update_sparse(table.matrix)
        self.n_rows += table.shape[0]
        return self

    def merge(self, other: TableSummary) -> Self:
        """Add what the other has seen, of other rows of the same table."""
        if (self.takes, self.n_bits) != (other.takes, other.n_bits):
            raise ValueError("summaries of booleanizers with other parameters cannot be merged")
        if other._counts is None:
            return self
        if self._counts is None:
            self._begin(other.names, other.n_columns, sparse=other.sparse)
        self._check_same(other.names, other.n_columns, sparse=other.sparse)
        assert self._counts is not None
        for seen, more in zip(self.columns, other.columns, strict=True):
            seen.merge(more)
        self._counts.merge(other._counts)
        self._stored = self._stored + other._stored
        self._missing = self._missing | other._missing
        self._only_bits = self._only_bits & other._only_bits
        self.n_rows += other.n_rows
        return self

    # What is exact -------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """How many columns the table has."""
        return 0 if self._counts is None else self._counts.n_columns

    @property
    def is_exact(self) -> bool:
        """Whether codes learned from this are those of the whole table."""
        return not self._unresolved().any()

    def rank_errors(self) -> NDArray[np.float64]:
        """How far thresholds may be from where they belong, at most, for each column.

        It is a share of the known cells of the column: so many may lie between a threshold and
        the one that the whole table would give. 0: it is exact.
        """
        return rank_errors(self._numbers(), self.n_columns, self.n_bits)

    def recount(self) -> Recount:
        """An empty summary for another pass over the same rows, which looks more closely."""
        assert self._counts is not None, "an empty summary is exact"
        within = self._numbers().take(self._unresolved())
        most = int(np.bincount(within.column, minlength=1).max())
        room = max(self._counts.room, 4 * most)  # every interval is halved at least
        return Recount(self.n_columns, room, within, sparse=self.sparse)

    def refine(self, recount: Recount) -> Self:
        """Take over what another pass over the same rows has found."""
        assert self._counts is not None
        found, within = recount.counts.entries(), recount.within
        if recount.n_rows != self.n_rows or not _accounts_for(found, within):
            raise ValueError(
                f"the table has changed between two passes: it had {self.n_rows:,} rows, and now "
                f"it has {recount.n_rows:,}, or other values; nothing may change it while it is "
                "read"
            )
        entries = self._counts.entries()
        refined = _among(entries, within)
        self._counts.replace(joined(entries.take(~refined), found))
        return self

    def _unresolved(self) -> NDArray[np.bool_]:
        numbers = self._numbers()
        return unresolved(numbers, self.n_columns, self.n_bits)

    # What codes are learned from -----------------------------------------------------

    def column_names(self) -> list[str]:
        """The names of columns, also where they have none."""
        return default_names(self.n_columns) if self.names is None else self.names

    def number_codes(self) -> list[NumberCode | None]:
        """Codes of columns of quantities; None for others."""
        if self.sparse:
            learned = thresholds_of(
                self._with_zeros(), self.n_columns, self.n_bits, cut_at_zero=True
            )
            return [
                NumberCode(missing=gone, type="number", thresholds=thresholds)
                for gone, thresholds in zip(self._missing.tolist(), learned, strict=True)
            ]
        are_numbers = [seen.measure in (None, "number") for seen in self.columns]
        learned = thresholds_of(self._numbers(), self.n_columns, self.n_bits, are_numbers)
        return [
            None
            if self._is_category(seen)
            else NumberCode(
                missing=seen.missing,
                type=seen.measure,
                thresholds=thresholds if is_number else round_seconds(thresholds, days=seen.days),
            )
            for seen, thresholds, is_number in zip(self.columns, learned, are_numbers, strict=True)
        ]

    def category_code(self, index: int) -> ColumnCode:
        """The code of a column of categories."""
        seen = self.columns[index]
        assert seen.values is not None
        return category_code_of(seen.values.values(), seen.missing)

    def is_bit(self, index: int) -> bool:
        """Whether a column of numbers holds only 0 and 1."""
        if self.sparse:
            return bool(self._only_bits[index])
        return self.columns[index].measure == "number" and bool(
            np.isin(self.distinct(index), (0, 1)).all()
        )

    def distinct(self, index: int) -> NDArray[np.float64]:
        """Numbers of a column: all of them, if they are few."""
        entries = self._entries()
        first, last = np.searchsorted(entries.column, [index, index + 1])
        return numbers_of(np.unique([entries.low[first:last], entries.high[first:last]]))

    # Parts ---------------------------------------------------------------------------

    def _begin(self, names: list[str] | None, n_columns: int, *, sparse: bool) -> None:
        self.names, self.sparse = names, sparse
        self._counts = Counts(n_columns, room_for(n_columns, self.n_bits))
        if sparse:
            self._stored = np.zeros(n_columns, dtype=np.int64)
            self._missing = np.zeros(n_columns, dtype=bool)
            self._only_bits = np.ones(n_columns, dtype=bool)
        else:
            self.columns = [Seen(name) for name in self.column_names()]

    def _check_same(self, names: list[str] | None, n_columns: int, *, sparse: bool) -> None:
        if names != self.names:
            raise ValueError(names_message(names or [], self.names or []))
        if n_columns != self.n_columns:
            raise ValueError(
                f"a part of the data has {n_columns} columns, but others have {self.n_columns}"
            )
        if sparse != self.sparse:
            raise ValueError("some parts of the data are sparse and others dense; pass one kind")

    def _update_dense(self, columns: list[Column]) -> None:
        assert self._counts is not None
        # All or nothing: a part that is refused leaves no traces.
        seen = [copy.copy(known) for known in self.columns]
        found = [known.add(column, self.takes) for known, column in zip(seen, columns, strict=True)]
        self.columns = seen
        for index, quantities in enumerate(found):
            if quantities is not None:
                values = quantities.values
                self._counts.update(index, values[~np.isnan(values)])

    def _update_sparse(self, matrix: Any) -> None:
        assert self._counts is not None
        if self.takes == "categories":
            raise ValueError(
                "X is sparse, but Categories takes no sparse data, since zero would be a category "
                "like any other; pass X.toarray(), or use Thermometer or Booleanizer"
            )
        known = ~np.isnan(matrix.data)
        self._stored += np.bincount(matrix.indices, minlength=self.n_columns)
        self._missing[matrix.indices[~known]] = True
        self._only_bits[matrix.indices[known & (matrix.data != 1)]] = False
        self._counts.update_sparse(matrix.indices[known].astype(np.int64), matrix.data[known])

    def _entries(self) -> Entries:
        return no_entries() if self._counts is None else self._counts.entries()

    def _numbers(self) -> Entries:
        """What is counted of columns of quantities."""
        entries = self._with_zeros() if self.sparse else self._entries()
        categories = [index for index, seen in enumerate(self.columns) if self._is_category(seen)]
        return entries.take(~np.isin(entries.column, categories)) if categories else entries

    def _is_category(self, seen: Seen) -> bool:
        return seen.is_category if self.takes == "any" else self.takes == "categories"

    def _with_zeros(self) -> Entries:
        """Of sparse data, with zero, which takes part in every column."""
        zero = np.full(self.n_columns, sort_keys(np.zeros(1))[0])
        weight = np.maximum(self.n_rows - self._stored, 1)
        return joined(self._entries(), Entries(np.arange(self.n_columns), zero, zero, weight))


class Recount:
    """Counts of those numbers that decide on thresholds, for another pass over the same rows."""

    def __init__(self, n_columns: int, room: int, within: Entries, *, sparse: bool) -> None:
        self.n_rows = 0
        self.within = within
        self.counts = Counts(n_columns, room, within)
        self._sparse = sparse
        self._columns = np.unique(within.column).tolist()

    def update(self, X: Any) -> Self:
        """Look at rows of the table once more."""
        return self.update_table(read_table(X))

    def update_table(self, table: Table) -> Self:
        """Look at rows that have been read."""
        if table.shape[0] == 0:
            return self
        if table.shape[1] != self.counts.n_columns or (table.matrix is not None) != self._sparse:
            raise ValueError("the table has other columns than in the pass before")
        if table.matrix is None:
            for index in self._columns:
                claim = "held only numbers in the pass before"
                values = require_quantities(table.columns[index], claim).values
                self.counts.update(index, values[~np.isnan(values)])
        else:
            known = ~np.isnan(table.matrix.data) & np.isin(table.matrix.indices, self._columns)
            column = table.matrix.indices[known].astype(np.int64)
            self.counts.update_sparse(column, table.matrix.data[known])
        self.n_rows += table.shape[0]
        return self

    def merge(self, other: Recount) -> Self:
        """Add what the other has counted, of other rows of the same table."""
        self.counts.merge(other.counts)
        self.n_rows += other.n_rows
        return self


def _holders(found: Entries, within: Entries) -> NDArray[np.intp]:
    """For each entry the number of the last one of ``within`` that does not begin after it."""
    is_found = np.repeat([False, True], [len(within.cells), len(found.cells)])
    column = np.concatenate([within.column, found.column])
    order = np.lexsort((is_found, np.concatenate([within.low, found.low]), column))
    begun = np.cumsum(~is_found[order]) - 1
    return begun[is_found[order]]


def _accounts_for(found: Entries, within: Entries) -> bool:
    """Whether so many numbers were found within each interval as had been counted there."""
    counted = np.zeros(len(within.cells) + 1, dtype=np.int64)
    np.add.at(counted, _holders(found, within), found.cells)
    return np.array_equal(counted[:-1], within.cells)


def _among(entries: Entries, chosen: Entries) -> NDArray[np.bool_]:
    """Which entries are among chosen ones of them."""
    if not len(chosen.cells):
        return np.zeros(len(entries.cells), dtype=bool)
    holder = _holders(entries, chosen)
    same = (chosen.column[holder] == entries.column) & (chosen.low[holder] == entries.low)
    return np.asarray(same & (holder >= 0))
