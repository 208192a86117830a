"""Targets of a few of the outputs: each example asks those that it says something about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .room import Room, taken


@dataclass(frozen=True)
class SparseTargets:
    """The outputs that each example asks, and its target for each of them.

    Row i asks ``outputs[starts[i]:starts[i + 1]]``, in ascending order, each once.
    """

    starts: NDArray[np.int64]  # (rows + 1,)
    outputs: NDArray[np.int32]
    values: NDArray[np.uint8 | np.int32]  # 0 or 1, of quantities votes
    n_outputs: int

    @classmethod
    def of(cls, matrix: Any, kind: type[np.generic] = np.uint8) -> SparseTargets:
        """What is stored in a sparse matrix (rows, outputs), zeros too."""
        rows = scipy.sparse.csr_array(matrix)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the caller's matrix stays as it is
            rows.sum_duplicates()
        if rows.nnz != matrix.nnz:
            raise ValueError("Y stores an output of an example twice; each has one target")
        return cls(
            np.ascontiguousarray(rows.indptr, dtype=np.int64),
            np.ascontiguousarray(rows.indices, dtype=np.int32),
            np.ascontiguousarray(rows.data, dtype=kind),
            int(rows.shape[1]),
        )

    @classmethod
    def where(cls, asked: NDArray[np.bool_], values: NDArray[Any]) -> SparseTargets:
        """Of a dense matrix what is asked."""
        starts = np.concatenate([[0], np.cumsum(asked.sum(axis=1, dtype=np.int64))])
        outputs = np.nonzero(asked)[1].astype(np.int32)
        return cls(starts.astype(np.int64), outputs, values[asked], asked.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and outputs."""
        return len(self), self.n_outputs

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: NDArray[np.int64]) -> SparseTargets:
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        taken = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], counts)
        return SparseTargets(starts, self.outputs[taken], self.values[taken], self.n_outputs)

    def dense(self) -> NDArray[Any]:
        """The targets (rows, m), 0 where an output is not asked."""
        return self.both()[0]

    def both(self) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """The targets (rows, m), 0 where an output is not asked, and 1 for what is asked."""
        places = np.repeat(np.arange(len(self)), np.diff(self.starts)), self.outputs
        found = np.zeros(self.shape, dtype=self.values.dtype)
        asked = np.zeros(self.shape, dtype=np.uint8)
        found[places], asked[places] = self.values, 1
        return found, asked

    def row(self, index: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Which outputs an example asks, and the targets, 0 where it does not, each (m,)."""
        first, last = self.starts[index : index + 2]
        asked = np.zeros(self.n_outputs, dtype=bool)
        target = np.zeros(self.n_outputs, dtype=self.values.dtype)
        asked[self.outputs[first:last]] = True
        target[self.outputs[first:last]] = self.values[first:last]
        return asked, target


#: Targets (rows, m) of all outputs, or of those that are asked.
Targets = NDArray[np.uint8 | np.int32] | SparseTargets


def target_row(targets: Targets, index: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which outputs an example asks, and their targets, each (m,)."""
    if isinstance(targets, SparseTargets):
        return targets.row(index)
    return np.ones(targets.shape[1], dtype=bool), targets[index]


def rows_of_targets(targets: Targets, rows: NDArray[np.int64], room: Room) -> Targets:
    """Those of some examples."""
    if isinstance(targets, SparseTargets):
        return targets[rows]
    some: NDArray[Any] = taken(targets, rows, room)
    return some
