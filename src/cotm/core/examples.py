"""Checked bits of examples, in the form every backend takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .gpu_arrays import as_gpu_array, on_device_of, on_gpu, to_host
from .patches import PatchGrid, patch_features
from .room import Room
from .sparse_targets import Targets
from .stored_bits import StoredBits


@dataclass(frozen=True)
class Examples:
    """Checked bits of N examples: a dense (N, rows, W, C) array, of NumPy or on a GPU, or a CSR
    matrix (flat only); or such in a file, of which parts are in memory."""

    bits: Any
    grid: PatchGrid

    def __len__(self) -> int:
        return int(self.bits.shape[0])

    def __getitem__(self, rows: Any) -> Examples:
        return Examples(self.bits[rows], self.grid)

    @property
    def are_stored(self) -> bool:
        """Whether they lie in a file."""
        return isinstance(self.bits, StoredBits)

    def subset(self, rows: NDArray[np.int64]) -> Examples:
        """Some of them, in the file if they lie there."""
        bits = self.bits.subset(rows) if isinstance(self.bits, StoredBits) else self.bits[rows]
        return Examples(bits, self.grid)

    def unchanged(self) -> Examples:
        """The same examples: these never change."""
        return self

    def on_host(self) -> Examples:
        """The same examples in the computer's memory."""
        return Examples(to_host(self.bits), self.grid)


def room_beside(examples: Any) -> Room:
    """Where arrays are made that have an entry for each of these: in a file if they lie there."""
    is_stored = isinstance(examples, Examples) and examples.are_stored
    return examples.bits.room if is_stored else np.empty


class ChangingExamples(ABC):
    """Examples that change with every pass."""

    grid: PatchGrid

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> ChangingExamples: ...

    @abstractmethod
    def unchanged(self) -> Examples:
        """All of them, as they are outside training."""

    @abstractmethod
    def of_pass(self, step: int, rows: NDArray[np.int64]) -> Examples:
        """These rows, as they are in the pass that began at a step. Called from any thread."""

    def targets_of_pass(self, step: int, rows: NDArray[np.int64], targets: Targets) -> Targets:
        """The targets of these rows in that pass; mostly those that there are once and for all."""
        return targets[rows]


def patch_literals(examples: Examples, index: int) -> NDArray[np.uint8]:
    """The literals of every patch of one example, (P, L)."""
    if isinstance(examples.bits, np.ndarray):
        image = examples.bits[index]
    else:
        image = np.asarray(examples.bits[[index]].toarray(), dtype=np.uint8)[0]
        image = image.reshape(examples.grid.image_shape)
    features = patch_features(image, examples.grid)
    return np.concatenate([features, 1 - features], axis=1)


def as_examples(X: Any, grid: PatchGrid) -> Examples:
    """Check that X holds bits of the grid's shape, and bring it to the backends' form.

    The error for anything else names the value, and changes nothing.
    """
    if isinstance(X, Examples) and X.grid == grid:
        return X
    if scipy.sparse.issparse(X):
        return _sparse_examples(X, grid)
    bits = as_gpu_array(X) if on_gpu(X) else np.asarray(X)
    with on_device_of(bits):
        if bits.dtype != np.bool_ and bits.dtype != np.uint8:
            if bits.dtype.kind not in "biuf":
                raise ValueError(f"X has values of type {bits.dtype}; bits must be 0 or 1")
            _require_bits(bits)
            bits = bits.astype(np.uint8)
        elif bits.dtype == np.uint8 and bits.size and bits.max() > 1:
            _require_bits(bits)
    bits = bits.view(np.uint8)
    if bits.ndim < 2 or bits.shape[1:] not in _accepted_shapes(grid):
        raise ValueError(
            f"X has examples of shape {bits.shape[1:]}, but the machine was trained on "
            f"{_shape_text(grid)}"
        )
    return Examples(bits.reshape(len(bits), *grid.image_shape), grid)


def _sparse_examples(X: Any, grid: PatchGrid) -> Examples:
    if not grid.is_flat:
        raise ValueError("X is sparse, but patches need dense images; pass X.toarray() reshaped")
    matrix = scipy.sparse.csr_array(X)
    if matrix.shape[1] != grid.n_features:
        raise ValueError(
            f"X has {matrix.shape[1]} columns, but the machine was trained on {grid.n_features}"
        )
    if not matrix.has_canonical_format or (matrix.data == 0).any():
        matrix = matrix.copy()  # the caller's matrix stays as it is
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    _require_bits(matrix.data)
    return Examples(matrix, grid)


def _require_bits(values: NDArray[Any]) -> None:
    wrong = ~((values == 0) | (values == 1))
    if wrong.any():
        value = values[wrong][0]
        raise ValueError(
            f"X holds the value {value}, but bits must be 0 or 1; turn numbers and categories "
            "into bits first, for example with booleanize='auto' or cotm.Booleanizer"
        )


def _accepted_shapes(grid: PatchGrid) -> list[tuple[int, ...]]:
    """Shapes an example may have: dimensions of size 1 at the ends can be left out."""
    rows, width, channels = grid.image_shape
    depth, height = grid.depth, grid.height
    shapes: list[tuple[int, ...]] = [(rows, width, channels), (depth, height, width, channels)]
    if grid.is_flat:
        shapes.append((channels,))
    if channels == 1:
        shapes += [(rows, width), (depth, height, width)]
    if rows == 1:
        shapes += [(width, channels)] + [(width,)] * (channels == 1)
    return shapes


def _shape_text(grid: PatchGrid) -> str:
    if grid.is_flat:
        return f"{grid.n_features} bits"
    if grid.depth > 1:
        return f"volumes of {grid.depth} x {grid.height} x {grid.width} x {grid.channels}"
    return f"images of {grid.height} x {grid.width} x {grid.channels}"
