"""Rows that are made up of a table: what real rows are told from.

Every cell is a function of the seed, the copy, the column and the row, see ``core/randomness.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..booleanize.frames import Column, Table
from ..core.randomness import Purpose, hash32, make_key, split_order, step_key

#: How much of the range of its column a made-up number may lie beyond either end.
_BEYOND = 0.25

#: What rows are called that are not made up.
REAL = "real"


class _Cells(NamedTuple):
    """A column: the cells that real rows have, and those that may be anywhere in it."""

    data: NDArray[Any]
    values: NDArray[np.float64] | None  # of a column of numbers; NaN where they are missing
    distinct: NDArray[np.intp]  # rows in which each cell stands first

    @classmethod
    def of(cls, column: Column) -> _Cells:
        first: dict[Any, int] = {}
        for row, cell in enumerate(column.data.tolist()):
            first.setdefault(None if cell != cell else cell, row)
        distinct = np.array(sorted(first.values()), dtype=np.intp)
        found = None if column.categorical else column.quantities()
        is_number = found is not None and found.measure == "number" and len(distinct) > 2
        if found is None or not is_number or column.data.dtype.kind == "b":
            return cls(column.data, None, distinct)
        return cls(found.values, found.values, distinct)

    def shuffled(self, key: NDArray[np.uint64]) -> NDArray[Any]:
        """The cells of other rows, each once."""
        return np.asarray(self.data[split_order(int(key), len(self.data))])

    def uniform(self, key: NDArray[np.uint64]) -> NDArray[Any]:
        """Numbers anywhere in the range and a little beyond, and any other cell as often as each
        other; as many are missing as are."""
        draws = hash32(key, np.arange(len(self.data), dtype=np.uint32)) / 2.0**32
        if self.values is None:
            return np.asarray(self.data[self.distinct[(draws * len(self.distinct)).astype(int)]])
        known = self.values[~np.isnan(self.values)]
        low, high = float(known.min()), float(known.max())
        beyond = _BEYOND * (high - low)
        made = low - beyond + draws * (high - low + 2 * beyond)
        made = np.rint(made) if (known == np.rint(known)).all() else made
        return np.where(np.isnan(self.shuffled(key)), np.nan, made)

    def mixed(self, key: NDArray[np.uint64]) -> NDArray[Any]:
        """Cells of either kind, one half of each."""
        heads = hash32(key + np.uint64(1), np.arange(len(self.data), dtype=np.uint32)) >> 31 == 1
        return np.where(heads, self.shuffled(key), self.uniform(key))


#: How rows are made up: what each is called, and the cells it has.
KINDS: dict[str, Callable[[_Cells, NDArray[np.uint64]], NDArray[Any]]] = {
    "shuffled": _Cells.shuffled,
    "uniform": _Cells.uniform,
    "mixed": _Cells.mixed,
}


def with_made_up(X: Any, table: Table, copies: int, seed: int) -> tuple[Any, NDArray[np.str_]]:
    """X so many times, and as often rows of each kind that are made up of it, in the form of X;
    and what each row is."""
    columns = []
    for number, column in enumerate(table.columns):
        cells = _Cells.of(column)
        parts = [cells.data] * copies
        for kind, make in enumerate(KINDS.values()):
            for copy in range(copies):
                key = make_key(step_key(seed, copy), Purpose.MADE_UP, number, kind)
                parts.append(make(cells, key))
        columns.append(np.concatenate(parts))
    y = np.repeat([REAL, *KINDS], copies * table.shape[0])
    return _in_form(X, columns), y


def _in_form(X: Any, columns: list[NDArray[Any]]) -> Any:
    """Columns as a frame like X, or an array."""
    if hasattr(X, "get_columns"):  # polars
        lists = [column.tolist() if column.dtype == object else column for column in columns]
        return type(X)(dict(zip(X.columns, lists, strict=True)), strict=False)
    if hasattr(X, "iloc"):
        frame = type(X)(dict(enumerate(columns)))
        frame = frame.astype(
            {k: dtype for k, dtype in enumerate(X.dtypes) if hasattr(dtype, "categories")}
        )
        frame.columns = X.columns
        return frame
    if any(column.dtype == object for column in columns):
        array = np.empty((len(columns[0]), len(columns)), dtype=object)
        for number, column in enumerate(columns):
            array[:, number] = column
        return array
    return np.column_stack(columns)
