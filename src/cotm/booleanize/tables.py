"""Reading tables of every supported kind into plain columns, with no data-frame import."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

Plain = str | int | float | bool | None

# Missing markers of pandas, by name because pandas need not be installed.
_MISSING_TYPES = ("NAType", "NaTType")


@dataclass(frozen=True)
class Column:
    """One column: its values as any NumPy array, and whether it was declared categorical."""

    name: str
    data: np.ndarray
    categorical: bool = False

    def plain(self) -> list[Plain]:
        """The cells as str, int, float or bool; None where missing."""
        if self.data.dtype.kind in "mM":
            raise ValueError(
                f"Column {self.name!r} holds {self.data.dtype}; dates and durations are no "
                "categories. Convert the column to text or to numbers first."
            )
        return [self._plain_cell(cell) for cell in self.data.tolist()]

    def _plain_cell(self, cell: Any) -> Plain:
        kind = type(cell)
        if kind is str or kind is int or kind is bool or cell is None:
            return cell  # type: ignore[no-any-return]
        if kind is float:
            return cell if cell == cell else None
        if kind.__name__ in _MISSING_TYPES:
            return None
        # Not dates: the item of one in nanoseconds is a bare integer.
        if isinstance(cell, np.bool_ | np.number) and not isinstance(cell, np.timedelta64):
            return self._plain_cell(cell.item())
        if isinstance(cell, str):
            return str(cell)
        if isinstance(cell, bytes):
            return cell.decode("utf-8", "backslashreplace")
        if isinstance(cell, numbers.Real | Decimal):
            return self._plain_cell(as_float(cell))
        raise ValueError(
            f"Column {self.name!r} holds {cell!r} of type {kind.__name__}; cells must be "
            "numbers, booleans, text or missing. Convert the column to one of these first."
        )

    def numbers(self) -> np.ndarray | None:
        """The cells as finite float64 with NaN where missing; None when some are no numbers.

        Dates and durations count as seconds.
        """
        kind = self.data.dtype.kind
        if kind in "biuf":
            values = self.data.astype(np.float64)
        elif kind in "mM":
            micro = self.data.astype(f"{kind}8[us]")
            values = np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / 1e6)
        else:
            cells = self.plain()
            if any(isinstance(cell, str) for cell in cells):
                return None
            values = np.array([np.nan if cell is None else as_float(cell) for cell in cells])
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            reject_infinity(self.name, infinite[0], values[infinite[0]])
        return values

    def first_text(self) -> str:
        """The first cell that is text, for messages."""
        return next(cell for cell in self.plain() if isinstance(cell, str))


@dataclass(frozen=True)
class Table:
    """A table: columns, or instead a canonical float64 CSR matrix; names when it has any."""

    names: list[str] | None
    shape: tuple[int, int]
    columns: list[Column]
    matrix: Any = None


def as_float(number: Any) -> float:
    """``float(number)``, where numbers too large for a float become infinite."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def reject_infinity(name: str, row: int, value: float) -> NoReturn:
    """Raise the ValueError for an infinite number."""
    raise ValueError(
        f"Column {name!r} holds {value} in row {row}; infinity has no place among thresholds. "
        "Replace it by a finite number or by NaN (missing)."
    )


def default_names(count: int) -> list[str]:
    """Names of columns that have none."""
    return [f"x{index}" for index in range(count)]


def read_table(X: Any) -> Table:
    """Read a pandas or polars frame, an array, a list of rows or a sparse matrix."""
    if scipy.sparse.issparse(X):
        return _read_sparse(X)
    if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):
        raise ValueError("X is a lazy frame, which holds no data yet. Pass X.collect().")
    if hasattr(X, "get_columns"):
        names = string_names(X.columns)
        series = X.get_columns()
        data = [_from_polars(column) for column in series]
        categorical = [False] * len(data)
    elif hasattr(X, "iloc") and hasattr(X, "columns"):
        names = string_names(X.columns)
        series = [X.iloc[:, index] for index in range(X.shape[1])]
        data = [_from_pandas(column) for column in series]
        # Integer codes declared to be categories are no quantities.
        categorical = [hasattr(column.dtype, "categories") for column in series]
    else:
        X, names, data = _from_array(X)
        categorical = [False] * len(data)
    titles = names or default_names(len(data))
    columns = [Column(*parts) for parts in zip(titles, data, categorical, strict=True)]
    return Table(names, (X.shape[0], len(data)), columns)


def string_names(labels: Sequence[Any]) -> list[str] | None:
    """Columns' names if all of them are text, None if none is."""
    texts = [isinstance(label, str) for label in labels]
    if all(texts):
        return [str(label) for label in labels]
    if any(texts):
        raise ValueError(
            f"Column names must be all text or all not, got {list(labels)!r}. "
            "Convert them with X.columns = X.columns.astype(str)."
        )
    return None


def _objects(cells: Sequence[Any]) -> np.ndarray:
    # np.array(cells, dtype=object) would turn nested lists into a second dimension.
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _from_polars(series: Any) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_temporal() or (dtype.is_numeric() and not series.null_count()):
        return np.asarray(series.to_numpy())
    return _objects(series.to_list())


def _from_pandas(series: Any) -> np.ndarray:
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    if getattr(series.dtype, "kind", "O") == "M":  # with a time zone
        return np.asarray(series.to_numpy(dtype="datetime64[us]"))
    return np.asarray(series.to_numpy(dtype=object))


def _from_array(X: Any) -> tuple[np.ndarray, list[str] | None, list[np.ndarray]]:
    # A list of rows may mix numbers and text, which an array without dtype=object would
    # turn into text.
    array = np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if array.dtype.names is not None and array.ndim == 1:
        return array, list(array.dtype.names), [array[name] for name in array.dtype.names]
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead (shape {array.shape}). "
            "Reshape your data to one row per sample and one column per feature: a single "
            "feature with X.reshape(-1, 1), a single sample with X.reshape(1, -1)."
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported. Pass real and imaginary parts instead.")
    return array, None, list(array.T)


def _read_sparse(X: Any) -> Table:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"A sparse X must be a matrix of real numbers, got {X.ndim} dimension(s) of {X.dtype}."
        )
    matrix = X.tocsr().astype(np.float64)  # a copy, also of a float64 CSR matrix
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    infinite = np.flatnonzero(np.isinf(matrix.data))
    if len(infinite):
        first = infinite[0]
        row = np.searchsorted(matrix.indptr, first, side="right") - 1
        reject_infinity(f"x{matrix.indices[first]}", row, matrix.data[first])
    return Table(None, matrix.shape, [], matrix)
