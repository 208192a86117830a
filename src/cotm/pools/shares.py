"""Shares of the rows: which row is in which, and their bits as they travel and are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..backends.packing import PackedExamples
from ..core.examples import Examples
from ..core.patches import PatchGrid
from ..core.randomness import share_of_rows


class RowBits(PackedExamples):
    """Examples as packed bits, or as a sparse matrix; dense only while a backend reads them."""

    def __init__(self, stored: Any, grid: PatchGrid) -> None:
        self.stored = stored  # uint8 (rows, bytes), or CSR
        self.grid = grid
        self._begin()

    @classmethod
    def of(cls, examples: Examples) -> RowBits:
        bits = examples.on_host().bits
        if not scipy.sparse.issparse(bits):
            bits = np.packbits(bits.reshape(len(bits), -1), axis=1)
        return cls(bits, examples.grid)

    @classmethod
    def join(cls, parts: Sequence[RowBits]) -> RowBits:
        """All rows of the parts, in their order."""
        stored = [part.stored for part in parts]
        if len({scipy.sparse.issparse(rows) for rows in stored}) > 1:
            raise ValueError("some parts of X became sparse bits and others dense; pass one kind")
        if scipy.sparse.issparse(stored[0]):
            return cls(scipy.sparse.csr_array(scipy.sparse.vstack(stored)), parts[0].grid)
        return cls(np.concatenate(stored), parts[0].grid)

    @property
    def is_sparse(self) -> bool:
        """Whether they are a sparse matrix."""
        return bool(scipy.sparse.issparse(self.stored))

    @property
    def examples(self) -> Examples:  # type: ignore[override]
        """The examples, unpacked."""
        if self.is_sparse:
            return Examples(self.stored, self.grid)
        shape = self.grid.image_shape
        bits = np.unpackbits(self.stored, axis=1, count=int(np.prod(shape)))
        return Examples(bits.reshape(len(bits), *shape), self.grid)

    def __len__(self) -> int:
        return int(self.stored.shape[0])

    def __getitem__(self, rows: Any) -> RowBits:
        return RowBits(self.stored[rows], self.grid)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowBits, (self.stored, self.grid)


@dataclass(frozen=True)
class Rows:
    """Rows to learn from: their bits, targets and weights."""

    bits: RowBits
    targets: NDArray[np.uint8]  # packed, (rows, bytes)
    weight: NDArray[np.float64]  # per row, or one for all
    n_outputs: int

    @classmethod
    def of(
        cls, examples: Examples, targets: NDArray[np.uint8], weight: NDArray[np.float64]
    ) -> Rows:
        packed = np.packbits(targets, axis=1)
        return cls(RowBits.of(examples), packed, weight, targets.shape[1])

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of the parts, in their order."""
        first = parts[0]
        for_all = len(first.weight) == 1 and all(len(part.weight) == 1 for part in parts)
        weight = [
            part.weight if len(part.weight) == len(part)
            else np.repeat(part.weight, len(part), axis=0)
            for part in parts
        ]  # fmt: skip
        return cls(
            RowBits.join([part.bits for part in parts]),
            np.concatenate([part.targets for part in parts]),
            first.weight if for_all else np.concatenate(weight),
            first.n_outputs,
        )

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def nbytes(self) -> int:
        """What they take in memory and on the way, as they travel."""
        stored = self.bits.stored
        parts = [stored.indices, stored.indptr] if self.bits.is_sparse else [stored]
        return sum(int(part.nbytes) for part in (*parts, self.targets, self.weight))

    def take(self, rows: Any) -> Rows:
        """Some of them."""
        weight = self.weight if len(self.weight) == 1 else self.weight[rows]
        return Rows(self.bits[rows], self.targets[rows], weight, self.n_outputs)

    def all_targets(self) -> NDArray[np.uint8]:
        """The targets, (rows, outputs)."""
        return np.unpackbits(self.targets, axis=1, count=self.n_outputs)

    def split(self, seed: int, first: int, n_pools: int) -> list[Rows]:
        """The part of each share in these rows, of which the first has this number."""
        share = share_of_rows(seed, first, len(self), n_pools)
        return [self.take(np.flatnonzero(share == number)) for number in range(n_pools)]


def require_rows(share: Rows, n_pools: int, n_rows: int) -> Rows:
    """The share, or a ValueError where no rows fell to it."""
    if not len(share):
        raise ValueError(
            f"n_pools={n_pools} leaves a pool without any of the {n_rows:,} rows; take fewer pools"
        )
    return share
