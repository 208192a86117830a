"""y with several columns of labels, cell by cell: labels of any type, some of them missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from ..core.gpu_arrays import to_host
from .label_columns import LabelColumns


def label_cells(y: Any) -> NDArray[np.object_] | None:
    """The cells (N, columns), None where a label is missing; or None where y is no table of
    several columns, or one of 0 and 1 only, which are several labels at once."""
    table = _table(y)
    if table is None:
        return None
    known = [column[[cell is not None for cell in column]] for column in table.T]
    if all(_is_bit(cell) for column in known for cell in column):
        if sum(map(len, known)) < table.size:
            raise ValueError(
                "y holds 0, 1 and missing labels only; as several labels at once none may be "
                "missing, so fill them in, and as columns of labels write them as text, such as "
                "'no' and 'yes'"
            )
        return None
    return table


def _table(y: Any) -> NDArray[np.object_] | None:
    if scipy.sparse.issparse(y):
        return None
    if hasattr(y, "columns"):
        if len(y.columns) < 2:
            return None
        columns = [_cells(y[name]) for name in y.columns]
    else:
        try:
            array = np.asarray(to_host(y))
        except ValueError:  # rows of different lengths
            return None
        if array.ndim != 2 or array.shape[1] < 2:
            return None
        if array.dtype.kind == "U" and not isinstance(y, np.ndarray):
            array = np.array(y, dtype=object)  # where numbers are not texts yet
        columns = [_cells(column) for column in array.T]
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for number, cells in enumerate(columns):
        table[:, number] = [None if _is_missing(cell) else cell for cell in cells]
    return table


def _cells(column: Any) -> list[Any]:
    """The cells of a column as values of Python, dates as NumPy's."""
    if hasattr(column, "to_list"):  # of pandas and polars; what is missing stays what it is
        return [
            cell.to_datetime64() if hasattr(cell, "to_datetime64") else cell
            for cell in column.to_list()
        ]
    return [*column] if column.dtype.kind in "mM" else list(column.tolist())


def _is_missing(cell: Any) -> bool:
    return (
        cell is None
        or (isinstance(cell, float) and cell != cell)
        or (isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isnat(cell)))
        or type(cell).__name__ in ("NAType", "NaTType")
    )


def _is_bit(cell: Any) -> bool:
    return isinstance(cell, int | float | np.number | np.bool_) and cell in (0, 1)


def column_classes(cells: NDArray[np.object_], names: Sequence[str] | None) -> LabelColumns:
    """The columns and the distinct labels of each; a ValueError names a column that will not do."""
    found = []
    for number, column in enumerate(cells.T):
        called = f"column {(names[number] if names else number)!r} of y"
        found.append(classes_of([cell for cell in column if cell is not None], called))
    return LabelColumns.of(names, found)


def classes_of(labels: Sequence[Any], called: str) -> NDArray[Any]:
    """The distinct ones among labels, sorted."""
    texts = [isinstance(label, str) for label in labels]
    values = np.array(labels)
    if labels and (
        any(texts) != all(texts) or values.ndim != 1 or values.dtype.kind not in "iufbUmM"
    ):
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"{called} holds labels of the types {', '.join(kinds)}; convert them all to text or "
            "all to numbers"
        )
    if len(values) and values.dtype.kind == "f" and type_of_target(values) == "continuous":
        raise ValueError(
            f"{called} holds quantities such as {values[values % 1 != 0][0]}, but a classifier "
            "predicts classes; cut them into ranges first, or use a regressor"
        )
    classes = np.unique(values)
    if len(classes) < 2:
        raise ValueError(
            f"{called} has {len(classes)} class{'es' * (len(classes) != 1)} only "
            f"({classes.tolist()!r:.200}); a classifier needs two or more in every column"
        )
    return classes


def places(cells: NDArray[np.object_], columns: LabelColumns) -> NDArray[np.int64]:
    """Which class of its column each cell holds, (N, columns); -1 where it is missing."""
    if cells.shape[1] != len(columns.classes):
        raise ValueError(
            f"y has {cells.shape[1]} columns, but training began with {len(columns.classes)}"
        )
    found = np.full(cells.shape, -1, dtype=np.int64)
    for number, (column, classes) in enumerate(zip(cells.T, columns.classes, strict=True)):
        labels = [*classes] if classes.dtype.kind in "mM" else classes.tolist()
        known = {label: place for place, label in enumerate(labels)}
        for row, cell in enumerate(column.tolist()):
            if cell is not None:
                if cell not in known:
                    raise ValueError(
                        f"column {columns.names[number]!r} of y holds the label {cell!r:.200}, "
                        f"which is not among its classes {labels!r:.200}; with partial_fit pass "
                        "every label of every column as classes= in the first call"
                    )
                found[row, number] = known[cell]
    return found


def row_accuracy(columns: LabelColumns, votes: NDArray[Any], y: Any, sample_weight: Any) -> float:
    """The share of rows of which all known labels are predicted right."""
    cells = label_cells(y)
    table = np.asarray(to_host(y), dtype=object) if cells is None else cells
    predicted = columns.labels(votes, columns.outputs)
    if table.shape != predicted.shape:
        raise ValueError(
            f"y has the shape {table.shape}, but {predicted.shape} is predicted; pass one column "
            f"of labels for each of {', '.join(columns.names)}"
        )
    missing = np.array([[cell is None for cell in row] for row in table.tolist()])
    if missing.all(axis=1).any():
        row = int(missing.all(axis=1).argmax())
        raise ValueError(f"y has no label at all in row {row}, counted from 0; leave it out")
    right = (np.asarray(table == predicted.astype(object), dtype=bool) | missing).all(axis=1)
    return float(np.average(right, weights=sample_weight))
