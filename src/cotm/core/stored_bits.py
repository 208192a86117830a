"""Bits of examples that lie in a temporary file, and are read where they are asked for."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .room import taken
from .temporary_files import RowFile, array_in_file

_WHAT = "the bits of the examples"


class StoredBits(ABC):
    """Rows of bits in a file. What is taken by index is read; ``subset`` reads nothing."""

    shape: tuple[int, ...]
    _folder: str | os.PathLike[str] | None
    _rows: NDArray[np.integer[Any]] | None = None  # of the file; None: all of them

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.integer[Any]]) -> Any:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        return self._read(np.asarray(rows) if self._rows is None else self._rows[rows])

    def subset(self, rows: NDArray[np.integer[Any]]) -> StoredBits:
        """Some of the rows, where they lie."""
        some = object.__new__(type(self))
        some.__dict__.update(self.__dict__)
        some._rows = rows if self._rows is None else taken(self._rows, rows, self.room)
        some.shape = (len(rows), *self.shape[1:])
        return some

    def room(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """For what there is to say of each example: see ``room.py``."""
        return array_in_file(shape, dtype, "what is known of each example", self._folder)

    @abstractmethod
    def append(self, bits: Any) -> None:
        """Store the bits of more examples."""

    @abstractmethod
    def _count(self) -> int:
        """Rows of the file."""

    @abstractmethod
    def _read(self, rows: NDArray[np.integer[Any]]) -> Any:
        """Rows of the file."""


class PackedBits(StoredBits):
    """Dense bits, eight to a byte: as an array of uint8 (N, ...) they are read."""

    def __init__(
        self, shape: tuple[int, ...], folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.shape = (0, *shape)  # of one example
        self._width, self._folder = math.prod(shape), folder
        self._file = RowFile((self._width + 7) // 8, _WHAT, folder)

    def append(self, bits: NDArray[np.uint8]) -> None:
        self._file.append(np.packbits(bits.reshape(len(bits), self._width), axis=1))
        self.shape = (self._count(), *self.shape[1:])

    def _count(self) -> int:
        return len(self._file)

    def _read(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
        bits = np.unpackbits(self._file.read(rows), axis=1, count=self._width)
        return bits.reshape(len(rows), *self.shape[1:])


class SetBits(StoredBits):
    """Sparse bits, each example's as the columns that are set: read as a CSR matrix."""

    def __init__(self, n_columns: int, folder: str | os.PathLike[str] | None = None) -> None:
        self.shape, self._folder = (0, n_columns), folder
        self._starts = [np.zeros(1, dtype=np.int64)]  # where rows begin among the columns
        self._columns = RowFile(4, _WHAT, folder)

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where rows begin among the columns that are set."""
        if len(self._starts) > 1:
            self._starts = [np.concatenate(self._starts)]
        return self._starts[0]

    def append(self, bits: Any) -> None:
        columns = np.ascontiguousarray(bits.indices, dtype=np.int32)
        starts = len(self._columns) + np.asarray(bits.indptr[1:], dtype=np.int64)
        self._columns.append(columns.view(np.uint8))
        self._starts.append(starts)
        self.shape = (self.shape[0] + len(starts), self.shape[1])

    def _count(self) -> int:
        return len(self.indptr) - 1

    def _read(self, rows: NDArray[np.integer[Any]]) -> Any:
        rows = rows.astype(np.int64)
        begins, lengths = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], lengths)
        columns = self._columns.read(places).view(np.int32)[:, 0]
        ones = np.ones(len(places), dtype=np.uint8)
        shape = (len(rows), self.shape[1])
        return scipy.sparse.csr_array((ones, columns, starts), shape=shape)
