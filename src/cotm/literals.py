"""Bits to literals, images to patches.

A machine sees an example as ``P`` patches of ``o`` bits; a flat example is one patch. The
literals of a patch are its bits followed by their negations, ``L = 2 o`` in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .gpu_arrays import as_gpu_array, beside, on_gpu, to_host

#: The native backend keeps 16 words for each, and their places have 32 bits.
MAX_FEATURES = 2**28


@dataclass(frozen=True)
class PatchGrid:
    """Where the patches of an image lie, and which features a patch has.

    Features of the patch at (row, column): a thermometer of its row (bit t is set iff
    row > t), a thermometer of its column, then its bits in (row, column, channel) order.
    A flat example of ``o`` bits is a 1 x 1 image with ``o`` channels.

    >>> grid = PatchGrid(height=28, width=28, channels=1, patch_height=10, patch_width=10)
    >>> grid.n_patches, grid.n_features, grid.n_literals
    (361, 136, 272)
    """

    height: int
    width: int
    channels: int
    patch_height: int = 1
    patch_width: int = 1
    stride_rows: int = 1
    stride_columns: int = 1

    @classmethod
    def flat(cls, n_features: int) -> PatchGrid:
        return cls(height=1, width=1, channels=n_features)

    @property
    def rows(self) -> int:
        return (self.height - self.patch_height) // self.stride_rows + 1

    @property
    def columns(self) -> int:
        return (self.width - self.patch_width) // self.stride_columns + 1

    @property
    def n_patches(self) -> int:
        return self.rows * self.columns

    @property
    def n_position_features(self) -> int:
        return self.rows - 1 + self.columns - 1

    @property
    def n_features(self) -> int:
        return self.n_position_features + self.patch_height * self.patch_width * self.channels

    @property
    def n_literals(self) -> int:
        return 2 * self.n_features

    @property
    def is_flat(self) -> bool:
        return self.height == 1 and self.width == 1

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return self.height, self.width, self.channels


@dataclass(frozen=True)
class Examples:
    """Checked bits of N examples: a dense (N, H, W, C) array, of NumPy or on a GPU, or a CSR
    matrix (flat only)."""

    bits: Any
    grid: PatchGrid

    def __len__(self) -> int:
        return int(self.bits.shape[0])

    def __getitem__(self, rows: Any) -> Examples:
        return Examples(self.bits[rows], self.grid)

    def on_host(self) -> Examples:
        """The same examples in the computer's memory."""
        return Examples(to_host(self.bits), self.grid)


def patch_features(image: NDArray[np.uint8], grid: PatchGrid) -> NDArray[np.uint8]:
    """The features of every patch of one image, (P, o), patches in row-major order."""
    windows = np.lib.stride_tricks.sliding_window_view(
        image, (grid.patch_height, grid.patch_width), axis=(0, 1)
    )[:: grid.stride_rows, :: grid.stride_columns]
    content = windows.transpose(0, 1, 3, 4, 2).reshape(grid.n_patches, -1)
    row, column = np.divmod(np.arange(grid.n_patches), grid.columns)
    row_bits = row[:, None] > np.arange(grid.rows - 1)
    column_bits = column[:, None] > np.arange(grid.columns - 1)
    return np.concatenate([row_bits, column_bits, content], axis=1).astype(np.uint8)


def patch_literals(examples: Examples, index: int) -> NDArray[np.uint8]:
    """The literals of every patch of one example, (P, L)."""
    if isinstance(examples.bits, np.ndarray):
        image = examples.bits[index]
    else:
        image = np.asarray(examples.bits[[index]].toarray(), dtype=np.uint8)[0]
        image = image.reshape(examples.grid.image_shape)
    features = patch_features(image, examples.grid)
    return np.concatenate([features, 1 - features], axis=1)


def image_grid(
    shape: tuple[int, ...], patch_shape: tuple[int, ...], stride: tuple[int, ...]
) -> PatchGrid:
    """The grid for examples of a shape (without N): (H, W[, C]), or (length[, C]) in 1-D."""
    dimensions = len(patch_shape)
    if len(shape) not in (dimensions, dimensions + 1):
        expected = (
            "(N, H, W) or (N, H, W, C)" if dimensions == 2 else "(N, length) or (N, length, C)"
        )
        raise ValueError(
            f"X has {len(shape) + 1} dimensions; with patch_shape={patch_shape} "
            f"it must be {expected}"
        )
    size = shape[:dimensions]
    channels = shape[dimensions] if len(shape) > dimensions else 1
    if any(p > s for p, s in zip(patch_shape, size, strict=True)):
        raise ValueError(
            f"patch_shape={patch_shape} is larger than the image, which is {size}; "
            "use a patch that fits into it"
        )
    if min(shape, default=0) < 1:
        raise ValueError(f"X has images of shape {shape}, which hold no pixels")
    stride = stride * dimensions if len(stride) == 1 else stride
    if len(stride) != dimensions:
        raise ValueError(f"stride={stride} must be one number or {dimensions}, one per dimension")
    # A longer stride than the image only takes memory.
    stride = tuple(min(step, length) for step, length in zip(stride, size, strict=True))
    if dimensions == 1:
        size, patch_shape, stride = (1, *size), (1, *patch_shape), (1, *stride)
    (height, width), (patch_height, patch_width) = size, patch_shape
    return PatchGrid(height, width, channels, patch_height, patch_width, *stride)


def as_examples(X: Any, grid: PatchGrid) -> Examples:
    """Check that X holds bits of the grid's shape, and bring it to the backends' form.

    The error for anything else names the value, and changes nothing.
    """
    if isinstance(X, Examples) and X.grid == grid:
        return X
    if scipy.sparse.issparse(X):
        return _sparse_examples(X, grid)
    bits = as_gpu_array(X) if on_gpu(X) else np.asarray(X)
    with beside(bits):
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
    height, width, channels = grid.image_shape
    shapes: list[tuple[int, ...]] = [(height, width, channels)]
    if grid.is_flat:
        shapes.append((channels,))
    if channels == 1:
        shapes.append((height, width))
    if height == 1:
        shapes += [(width, channels)] + [(width,)] * (channels == 1)
    return shapes


def _shape_text(grid: PatchGrid) -> str:
    if grid.is_flat:
        return f"{grid.n_features} bits"
    return f"images of {grid.height} x {grid.width} x {grid.channels}"
