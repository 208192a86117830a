"""Answers that come in batches, kept in files: the same that y as a whole becomes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.room import pieces
from ..core.temporary_files import RowFile, array_in_file
from .labels import Labels, read_labels
from .quantities import Quantities

_Folder = str | os.PathLike[str] | None
_WHAT = "the answers"


class StoredLabels:
    """Labels of one batch after the other.

    Of one label for each row its place among those that have been seen is kept, of an indicator
    matrix its bytes. Columns of labels stay in memory.
    """

    def __init__(self, folder: _Folder) -> None:
        self._folder = folder
        self._first: Labels | None = None
        self._file: RowFile | None = None
        self._kinds: set[str] = set()  # "text", "objects" or "others"
        self._known: list[NDArray[Any]] = []  # in the order in which they were seen
        self._places: dict[Any, int] = {}
        self._columns: list[Labels | int] = []  # or how many rows of an indicator matrix

    def append(self, part: Labels) -> None:
        """Labels of more rows; a ValueError if they are of another kind."""
        first = self._first = self._first or part
        if (part.multilabel or part.several, part.names) != (
            first.multilabel or first.several,
            first.names,
        ):
            raise ValueError(
                "y is of another kind (labels or indicator matrix), or has other columns, in some "
                "batches than in the first"
            )
        if part.several:
            self._columns.append(part)
        elif part.multilabel:
            self._columns.append(len(part.values))
            self._store(part.values)
        else:
            self._store(self._coded(part.values)[:, None].view(np.uint8))

    def whole(self) -> Labels:
        """Those of all rows."""
        first = self._first
        assert first is not None
        if any(isinstance(part, Labels) for part in self._columns):
            return self._of_columns()
        assert self._file is not None
        if first.multilabel:
            return first._replace(values=self._file.array(np.uint8))
        try:
            known = np.concatenate(self._known)
        except TypeError as error:
            raise ValueError(f"y holds labels of several types in its batches ({error})") from error
        if known.dtype == object:  # not looked at together so far
            read_labels(np.tile(known, 3))  # so often that no one takes them for quantities
        return Labels(self._file.array(np.uint32)[:, 0], False, known=known)

    def _store(self, rows: NDArray[np.uint8]) -> None:
        if self._file is None:
            self._file = RowFile(rows.shape[1], _WHAT, self._folder)
        elif self._file.row_bytes != rows.shape[1]:
            raise ValueError("y has more columns in some batches than in others")
        self._file.append(rows)

    def _coded(self, values: NDArray[Any]) -> NDArray[np.uint32]:
        """The place of each label; new ones get the next."""
        kind = values.dtype.kind
        self._kinds.add("objects" if kind == "O" else "text" if kind in "SU" else "others")
        if {"text", "others"} <= self._kinds and "objects" not in self._kinds:
            raise ValueError(
                "y holds text in some batches and numbers in others; convert it to one type"
            )
        if kind == "O":  # which need not have an order
            cells = values.tolist()
            keys = [(type(cell), cell) for cell in cells]
            numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
            distinct = np.empty(len(numbers), dtype=object)
            distinct[:] = [cell for _, cell in numbers]
            place = np.array([numbers[key] for key in keys])
            labels: list[Any] = [*numbers]
        else:
            distinct, place = np.unique(values, return_inverse=True)
            labels = [(values.dtype.str, cell) for cell in distinct.tolist()]
        before = len(self._places)
        found = np.array([self._places.setdefault(key, len(self._places)) for key in labels])
        self._known.append(distinct[found >= before])
        return np.asarray(found.astype(np.uint32)[place.reshape(-1)])

    def _of_columns(self) -> Labels:
        """Columns of labels, some batches of which held nothing but 0 and 1."""
        parts: list[Labels] = []
        row = 0
        for part in self._columns:
            if isinstance(part, Labels):
                parts.append(part)
                continue
            assert self._file is not None and self._first is not None
            values = self._file.array(np.uint8)[row : row + part]
            parts.append(Labels(values, True, self._first.names).as_columns())
            row += part
        return parts[0]._replace(values=np.concatenate([part.values for part in parts]))


class StoredQuantities:
    """Quantities of one batch after the other."""

    def __init__(self, folder: _Folder) -> None:
        self._folder = folder
        self._first: Quantities | None = None
        self._by_columns = True  # as batches lay in memory: sums depend on it in their last bit
        self._file: RowFile | None = None

    def append(self, part: Quantities) -> None:
        """Quantities of more rows; a ValueError if they are other columns."""
        rows = np.ascontiguousarray(part.values).view(np.uint8)
        self._by_columns &= not part.values.flags.c_contiguous
        if self._first is None:
            self._first, self._file = part, RowFile(rows.shape[1], _WHAT, self._folder)
        assert self._file is not None
        if rows.shape[1] != self._file.row_bytes or part[1:] != self._first[1:]:
            raise ValueError("y has other columns in some batches than in the first")
        self._file.append(rows)

    def whole(self) -> Quantities:
        """Those of all rows."""
        assert self._first is not None and self._file is not None
        values = self._file.array(np.float64)
        if self._by_columns:
            columns = array_in_file(values.shape[::-1], np.float64, _WHAT, self._folder)
            for rows in pieces(len(values)):
                columns[:, rows] = values[rows].T
            values = columns.T
        return self._first._replace(values=values)
