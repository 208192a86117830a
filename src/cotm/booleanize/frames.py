"""Reading tables of every kind into plain columns, without importing pandas or polars."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

#: What a cell is once it was read; None where it is missing.
Plain = str | int | float | bool | None

#: What a column of quantities may measure; model files use these words.
MEASURES = ("number", "date", "duration", "time")

# Types of the missing markers of pandas and masked arrays; by name, as pandas may not be installed.
_MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")

_TEMPORAL = {
    "date": (datetime.date, np.datetime64),
    "duration": (datetime.timedelta, np.timedelta64),
    "time": (datetime.time,),
}

#: How many names a message shows.
MOST_NAMES = 5

# Beyond this, float64 cannot represent all integers.
_FIRST_GAP = 2**53


class Quantities(NamedTuple):
    """A column as float64, NaN where missing, and what it measures; None if all are missing."""

    measure: str | None
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One column: its values as any NumPy array, and whether it was declared categorical."""

    name: str
    data: NDArray[Any]
    categorical: bool = False

    def plain(self) -> list[Plain]:
        """The cells as str, int, float or bool; None where missing."""
        if self.data.dtype.kind in "mM":
            if np.isnat(self.data).all():
                return [None] * len(self.data)
            raise ValueError(
                f"column {self.name!r} holds {self.data.dtype}, but dates and durations are no "
                "categories; convert the column to text or to numbers first"
            )
        return [self._plain_cell(row, cell) for row, cell in enumerate(self.data.tolist())]

    def _plain_cell(self, row: int, cell: Any) -> Plain:
        kind = type(cell)
        if kind is str or kind is int or kind is bool or cell is None:
            return cell  # type: ignore[no-any-return]
        if kind is float:
            return cell if cell == cell else None
        if kind.__name__ in _MISSING_TYPES:
            return None
        # Not durations, which NumPy counts among integers: their item may be a bare number.
        if isinstance(cell, np.bool_ | np.number) and not isinstance(cell, np.timedelta64):
            return self._plain_cell(row, cell.item())
        if isinstance(cell, str):
            return str(cell)
        if isinstance(cell, bytes):
            return cell.decode("utf-8", "backslashreplace")
        if isinstance(cell, numbers.Real | Decimal):
            return self._plain_cell(row, as_float(cell))
        raise ValueError(
            f"column {self.name!r} holds {cell!r:.200} of type {kind.__name__} in {row_text(row)}, "
            "but cells must be numbers, booleans, text or missing; convert the column to one of "
            "these first"
        )

    def quantities(self) -> Quantities | None:
        """The cells as finite numbers, NaN where missing; None if some of them are text.

        Dates, durations and times of day count as seconds.
        """
        found = self.temporal()
        if found is None:
            if self.data.dtype.kind in "biuf":
                values = self.data.astype(np.float64)
            else:
                cells = self.plain()
                if any(isinstance(cell, str) for cell in cells):
                    return None
                values = np.array([np.nan if cell is None else as_float(cell) for cell in cells])
            found = Quantities("number", values)
        infinite = np.flatnonzero(np.isinf(found.values))
        if len(infinite):
            reject_infinity(self.name, infinite[0], found.values[infinite[0]])
        return Quantities(None, found.values) if np.isnan(found.values).all() else found

    def temporal(self) -> Quantities | None:
        """A column of dates, durations or times of day in seconds; None for any other column."""
        kind = self.data.dtype.kind
        if kind in "mM":
            return Quantities("date" if kind == "M" else "duration", _seconds(self.data))
        if kind != "O":
            return None
        cells = self.data.tolist()
        # There are few types, however many cells. NaT is left out, because it is a date by type.
        kinds = [kind for kind in {*map(type, cells)} if kind.__name__ not in _MISSING_TYPES]
        measures = {
            measure
            for measure, types in _TEMPORAL.items()
            if any(issubclass(kind, types) for kind in kinds)
        }
        present = [not _is_missing(cell) for cell in cells] if len(measures) == 1 else []
        known = [cell for cell, there in zip(cells, present, strict=False) if there]
        measure = next(iter(measures), "")
        if not known or not all(isinstance(cell, _TEMPORAL[measure]) for cell in known):
            return None
        values = np.full(len(cells), np.nan)
        if measure == "time":
            values[present] = [_time_seconds(cell) for cell in known]
        else:
            dtype = "M8[us]" if measure == "date" else "m8[us]"
            values[present] = _seconds(np.array([*map(_without_zone, known)], dtype=dtype))
        return Quantities(measure, values)

    def rounded_integer(self) -> int | None:
        """The first integer that float64 cannot represent, if there is one."""
        kind, data = self.data.dtype.kind, self.data
        if kind == "O":
            whole = (cell for cell in data.tolist() if isinstance(cell, int | np.integer))
            return next((int(n) for n in whole if as_float(n) != int(n)), None)
        if kind not in "iu" or data.size == 0:
            return None
        if data.max() <= _FIRST_GAP and data.min() >= -_FIRST_GAP:
            return None
        size = np.where(data < 0, -data, data).astype(np.uint64)
        lowest = size & (~size + np.uint64(1))  # the lowest bit that is set
        lost = size // np.maximum(lowest, np.uint64(1)) >= _FIRST_GAP
        return int(data[lost][0]) if lost.any() else None

    def first_text(self) -> tuple[int, str, bool]:
        """Row and text of the first text that is no number, and False.

        If all texts are numbers: row and text of the first text, and True.
        """
        texts = [(row, cell) for row, cell in enumerate(self.plain()) if isinstance(cell, str)]
        odd = next(((row, text) for row, text in texts if not is_number_text(text)), None)
        return (*texts[0], True) if odd is None else (*odd, False)


@dataclass(frozen=True)
class Table:
    """A table as columns, or, if it is sparse, as a canonical float64 CSR matrix.

    ``names`` is None if the columns have no names.
    """

    names: list[str] | None
    shape: tuple[int, int]
    columns: list[Column]
    matrix: Any = None


@dataclass(frozen=True)
class NamedArray:
    """An array whose columns have names: a frame of one type of values, without a library."""

    values: np.ndarray
    columns: list[str]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.values.shape

    def to_numpy(self) -> np.ndarray:
        return self.values


def as_float(number: Any) -> float:
    """``float(number)``, where numbers too large for a float become infinite."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def reject_infinity(name: str, row: int, value: float) -> NoReturn:
    """Raise the ValueError for an infinite number."""
    raise ValueError(
        f"column {name!r} holds {value} in {row_text(row)}, but thresholds need finite numbers; "
        "replace it by a finite number or by NaN (missing)"
    )


def row_text(row: int) -> str:
    """How messages name a row."""
    return f"row {row}, counted from 0"


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return isinstance(cell, float | np.floating) and bool(cell != cell)


def is_number_text(text: str) -> bool:
    """Whether data frames would read a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_000 as a number, data frames do not


def _seconds(times: NDArray[Any]) -> NDArray[np.float64]:
    micro = times.astype(f"{times.dtype.kind}8[us]")
    return np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / 1e6)


def _time_seconds(time: datetime.time) -> float:
    return time.hour * 3600 + time.minute * 60 + time.second + time.microsecond / 1e6


def _without_zone(cell: Any) -> Any:
    """A date with a time zone as one in UTC; NumPy has no zones."""
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        return cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return cell


def default_names(count: int) -> list[str]:
    """Names of columns that have none."""
    return [f"x{index}" for index in range(count)]


def read_table(X: Any) -> Table:
    """Read a pandas or polars frame, an array, a list of rows or a sparse matrix."""
    if scipy.sparse.issparse(X):
        return _read_sparse(X)
    if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):
        raise ValueError("X is a lazy frame, which holds no data yet; pass X.collect()")
    if hasattr(X, "get_columns"):
        names = string_names(X.columns)
        series = X.get_columns()
        data = [_from_polars(column) for column in series]
        categorical = [False] * len(data)
    elif hasattr(X, "iloc") and hasattr(X, "columns"):
        names = string_names(X.columns)
        series = [X.iloc[:, index] for index in range(X.shape[1])]
        data = [_from_pandas(column) for column in series]
        # Categories may be coded as integers, which are no quantities then.
        categorical = [hasattr(column.dtype, "categories") for column in series]
    elif hasattr(X, "plain_columns"):  # a frame of our own
        names, data = X.columns, X.plain_columns()
        categorical = [False] * len(data)
    elif isinstance(X, NamedArray):
        names = X.columns
        data = _from_array(X.values)[2]
        categorical = [False] * len(data)
    else:
        X, names, data = _from_array(X)
        categorical = [False] * len(data)
    titles = names or default_names(len(data))
    columns = [Column(*parts) for parts in zip(titles, data, categorical, strict=True)]
    return Table(names, (X.shape[0], len(data)), columns)


def string_names(labels: Sequence[Any]) -> list[str] | None:
    """The columns' names if all of them are text, None if none is text."""
    texts = [isinstance(label, str) for label in labels]
    if all(texts):
        return [str(label) for label in labels]
    if any(texts):
        raise ValueError(
            f"X.columns={list(labels)!r} must be all text or all not; convert them with "
            "X.columns = X.columns.astype(str)"
        )
    return None


def _objects(cells: Sequence[Any]) -> NDArray[np.object_]:
    # np.array(cells, dtype=object) would turn nested lists into a second dimension.
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _from_polars(series: Any) -> NDArray[Any]:
    dtype = series.dtype
    if dtype.is_temporal() and str(dtype) != "Time":
        return np.asarray(series.to_numpy())
    # NumPy has no integers of 128 bits.
    if dtype.is_numeric() and not series.null_count() and not str(dtype).endswith("128"):
        return np.asarray(series.to_numpy())
    return _objects(series.to_list())


def _from_pandas(series: Any) -> NDArray[Any]:
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy())
    kind = getattr(series.dtype, "kind", "O")
    if kind in "mM":  # dates with a time zone, or dates and durations of pyarrow
        return np.asarray(series.to_numpy(dtype=f"{kind}8[us]"))
    return np.asarray(series.to_numpy(dtype=object))


def unmask(array: Any) -> Any:
    """A masked array as a plain one, with missing values where it was masked.

    Anything else is returned as it is; so are masked records, which are taken apart first.
    """
    if not isinstance(array, np.ma.MaskedArray) or array.dtype.names is not None:
        return array
    data, mask = np.asarray(array.data), np.ma.getmaskarray(array)
    if not mask.any():
        return data
    kind = data.dtype.kind
    if kind in "biu":
        data = data.astype(np.float64)
    elif kind in "fcmM":
        data = data.copy()
    else:
        data = data.astype(object)
    data[mask] = None if data.dtype == object else "NaT" if kind in "mM" else np.nan
    return data


def _from_array(X: Any) -> tuple[NDArray[Any], list[str] | None, list[NDArray[Any]]]:
    """An array or a list of rows as an array, its columns' names if it has any, its columns."""
    X = unmask(X)
    if isinstance(X, np.ma.MaskedArray) and X.ndim == 1:  # masked records
        names = list(X.dtype.names)
        return X, names, [np.asarray(unmask(X[name])) for name in names]
    # A list of rows may mix numbers and text; without dtype=object all of it would become text.
    array = np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if array.dtype.names is not None and array.ndim == 1:
        return array, list(array.dtype.names), [array[name] for name in array.dtype.names]
    if array.ndim != 2:
        # The first words are those of scikit-learn, which its own checks look for.
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead (shape {array.shape}). "
            "Reshape your data to one row per sample and one column per feature: a single "
            "feature with X.reshape(-1, 1), a single sample with X.reshape(1, -1)"
        )
    if array.dtype.kind == "c":
        # The first words are those of scikit-learn, which its own checks look for.
        raise ValueError("Complex data not supported; pass real and imaginary parts instead")
    return array, None, list(array.T)


def _read_sparse(X: Any) -> Table:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"a sparse X must be a matrix of real numbers, but it has {X.ndim} dimension(s) of "
            f"{X.dtype}; pass X.real and X.imag, or one row for each example"
        )
    matrix = X.tocsr().astype(np.float64)  # always a copy, so X stays as it is
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    infinite = np.flatnonzero(np.isinf(matrix.data))
    if len(infinite):
        first = infinite[0]
        row = np.searchsorted(matrix.indptr, first, side="right") - 1
        reject_infinity(f"x{matrix.indices[first]}", row, matrix.data[first])
    return Table(None, matrix.shape, [], matrix)


def names_message(names: list[str], fitted: list[str]) -> str:
    """What is wrong with the names of columns, in the words of scikit-learn."""
    unexpected = sorted({*names} - {*fitted})
    missing = sorted({*fitted} - {*names})
    message = "The feature names should match those that were passed during fit.\n"
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _bullets(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _bullets(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _bullets(names: list[str]) -> str:
    """The first names, one to a line."""
    lines = "".join(f"- {name}\n" for name in names[:MOST_NAMES])
    return lines + ("- ...\n" if len(names) > MOST_NAMES else "")
