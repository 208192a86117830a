"""Where the patches of an image lie, and which features they have.

A machine sees an example as ``P`` patches of ``o`` bits; a flat example is one patch. The
literals of a patch are its bits followed by their negations, ``L = 2 o`` in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    def is_whole(self) -> bool:
        """The one patch is the image: as a flat example it has the same features."""
        return (self.height, self.width) == (self.patch_height, self.patch_width)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return self.height, self.width, self.channels


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


def image_grid(
    shape: tuple[int, ...],
    patch_shape: tuple[int, ...],
    stride: tuple[int, ...],
    made_by: str = "",
) -> PatchGrid:
    """The grid for examples of a shape (without N): (H, W[, C]), or (length[, C]) in 1-D.

    ``made_by`` is what made the shape another one than the user's.
    """
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
            f"patch_shape={patch_shape} is larger than the image, which is {size}"
            f"{made_by and f' as {made_by} makes it'}; use a patch that fits into it"
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
