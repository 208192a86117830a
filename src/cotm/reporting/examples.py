"""Some examples of X as plain data, as the evaluator in the page reads them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..booleanize.frames import MEASURES, Column, NamedArray, read_table
from ..core.gpu_arrays import to_host
from ..exporting.description import ImageInput, TableInput

#: Rows with at least this share of zeros are written without them.
_MANY_ZEROS = 0.5


def chosen_rows(count: int, most: int, wrong: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """Which of so many rows stand for all: evenly apart, and up to half of those that are wrong."""
    if count <= most:
        return np.arange(count)
    odd = np.flatnonzero(wrong) if wrong is not None else np.empty(0, dtype=np.intp)
    odd = odd[_evenly(len(odd), most // 2)]
    others = np.setdiff1d(np.arange(count), odd)
    return np.sort(np.concatenate([odd, others[_evenly(len(others), most - len(odd))]]))


def _evenly(count: int, most: int) -> NDArray[np.intp]:
    return np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.intp)


def take(X: Any, rows: NDArray[np.intp]) -> Any:
    """Rows of a frame, an array, a sparse matrix or a list."""
    if isinstance(X, NamedArray):
        return NamedArray(X.values[rows], X.columns)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.tocsr()[rows] if scipy.sparse.issparse(X) else X[rows]


def as_data(X: Any, source: TableInput | ImageInput) -> dict[str, Any]:
    """Examples as lists of values; with ``zeros``, of the places and values of those not 0."""
    if isinstance(source, ImageInput):
        values = to_host(X.to_numpy() if hasattr(X, "to_numpy") else X)
        return _with_zeros(np.asarray(values).reshape(len(values), -1))
    table = read_table(X)
    if table.matrix is not None:
        return _without_zeros(table.matrix)
    columns = [
        _cells(column, kind.type)
        for column, kind in zip(table.columns, source.columns, strict=True)
    ]
    if all(column.type in MEASURES or column.type == "bit" for column in source.columns):
        numbers = np.array(columns, dtype=np.float64).T  # None becomes NaN
        return _with_zeros(numbers)
    return {"zeros": False, "rows": [[*map(_plain, row)] for row in zip(*columns, strict=True)]}


def _cells(column: Column, kind: str) -> list[Any]:
    if kind in MEASURES or kind == "bit":
        found = column.quantities()
        if found is not None:
            return found.values.tolist()
    return [*column.plain()]


def _plain(value: Any) -> Any:
    """A cell as JSON has it: None where it is missing, whole numbers without a point."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _with_zeros(values: NDArray[Any]) -> dict[str, Any]:
    if values.size and (values == 0).mean() >= _MANY_ZEROS:
        return _without_zeros(scipy.sparse.csr_matrix(values.astype(np.float64)))
    return {"zeros": False, "rows": [[*map(_plain, row)] for row in values.tolist()]}


def _without_zeros(matrix: Any) -> dict[str, Any]:
    rows = []
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        values = [*map(_plain, matrix.data[start:end].tolist())]
        rows.append([matrix.indices[start:end].tolist(), values])
    return {"zeros": True, "rows": rows}
