"""One row of X of any kind, and the same with other cells."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from ..booleanize.frames import NamedArray
from ..core.gpu_arrays import to_host


def one_row(x: Any) -> Any:
    """X of a single example; a plain list or array may also be the row itself."""
    if isinstance(x, Mapping) and not hasattr(x, "shape"):
        raise ValueError(
            "x is a dictionary with what each member reads; counterfactual changes one row that "
            "all members read"
        )
    if not hasattr(x, "shape"):
        x = x if x and isinstance(x[0], list | tuple | np.ndarray) else [x]
        count = len(x)
    else:
        x = to_host(x)
        x = x.reshape(1, -1) if isinstance(x, np.ndarray) and x.ndim == 1 else x
        count = x.shape[0]
    if count != 1 or (hasattr(x, "ndim") and x.ndim < 2):
        raise ValueError(f"x holds {count} examples; pass one, as in X[:1]")
    return x


def changed_row(x: Any, cells: Mapping[int, Any]) -> Any:
    """A copy of the row with other cells, by the numbers of their columns."""
    if hasattr(x, "get_columns"):
        names = x.columns
        series = [type(x.get_column(names[k]))(names[k], [cell]) for k, cell in cells.items()]
        return x.with_columns(series)
    if hasattr(x, "isetitem"):
        row = x.copy()
        for k, cell in cells.items():
            row.isetitem(k, _like(x.iloc[:, k], cell))
        return row
    if scipy.sparse.issparse(x):
        return type(x)(changed_row(x.toarray(), cells))
    if isinstance(x, NamedArray):
        return NamedArray(changed_row(x.values, cells), x.columns)
    if not hasattr(x, "shape"):
        return [[cells.get(k, cell) for k, cell in enumerate(x[0])]]
    row = np.array(x, copy=True)
    for cell in cells.values():
        missing = cell is None and row.dtype.kind in "biuf"
        held = np.nan if missing else cell
        if row.dtype != object and not (row.dtype.kind == "b" and held in (0, 1)):
            row = row.astype(np.result_type(row.dtype, np.min_scalar_type(held)))
    flat = row.reshape(-1)
    for k, cell in cells.items():
        flat[k] = np.nan if cell is None and row.dtype.kind == "f" else cell
    return flat.reshape(x.shape)


def _like(series: Any, cell: Any) -> Any:
    """A pandas series of one cell, of the other's type where the cell allows."""
    if getattr(series.dtype, "tz", None) is not None and isinstance(cell, datetime.datetime):
        cell = cell.replace(tzinfo=datetime.timezone.utc)
    try:
        return type(series)([cell], index=series.index, dtype=series.dtype)
    except (TypeError, ValueError):
        return type(series)([cell], index=series.index)
