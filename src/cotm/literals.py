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

#: Bit counts and positions are 32-bit in every backend.
MAX_FEATURES = 2**30


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
    """Checked bits of N examples: a dense (N, H, W, C) array or a CSR matrix (flat only)."""

    bits: NDArray[np.uint8] | scipy.sparse.csr_array
    grid: PatchGrid

    def __len__(self) -> int:
        return int(self.bits.shape[0])

    def __getitem__(self, rows: Any) -> Examples:
        return Examples(self.bits[rows], self.grid)


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
