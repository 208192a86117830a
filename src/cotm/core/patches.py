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

    Features of the patch at (depth, row, column): a thermometer of its depth (bit t is set iff
    depth > t), one of its row, one of its column, then its bits in (depth, row, column, channel)
    order. An image is a volume of depth 1, and a flat example of ``o`` bits a 1 x 1 image with
    ``o`` channels.

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
    depth: int = 1
    patch_depth: int = 1
    stride_depths: int = 1

    @classmethod
    def flat(cls, n_features: int) -> PatchGrid:
        return cls(height=1, width=1, channels=n_features)

    @property
    def depths(self) -> int:
        return (self.depth - self.patch_depth) // self.stride_depths + 1

    @property
    def rows(self) -> int:
        return (self.height - self.patch_height) // self.stride_rows + 1

    @property
    def columns(self) -> int:
        return (self.width - self.patch_width) // self.stride_columns + 1

    @property
    def n_patches(self) -> int:
        return self.depths * self.rows * self.columns

    @property
    def n_position_features(self) -> int:
        return self.depths - 1 + self.rows - 1 + self.columns - 1

    @property
    def n_features(self) -> int:
        area = self.patch_height * self.patch_width
        return self.n_position_features + self.patch_depth * area * self.channels

    @property
    def n_literals(self) -> int:
        return 2 * self.n_features

    @property
    def is_flat(self) -> bool:
        return self.depth == self.height == self.width == 1

    @property
    def is_whole(self) -> bool:
        """The one patch is the image: as a flat example it has the same features."""
        patch = self.patch_depth, self.patch_height, self.patch_width
        return (self.depth, self.height, self.width) == patch

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """What backends get: a volume as an image, its slices one below the other."""
        return self.depth * self.height, self.width, self.channels

    def place(self, patch: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Depth, row and column of patches by their numbers."""
        depth, rest = np.divmod(patch, self.rows * self.columns)
        return depth, *np.divmod(rest, self.columns)


def patch_features(image: NDArray[np.uint8], grid: PatchGrid) -> NDArray[np.uint8]:
    """The features of every patch of one image, (P, o), patches in the order of their places."""
    volume = image.reshape(grid.depth, grid.height, grid.width, grid.channels)
    windows = np.lib.stride_tricks.sliding_window_view(
        volume, (grid.patch_depth, grid.patch_height, grid.patch_width), axis=(0, 1, 2)
    )[:: grid.stride_depths, :: grid.stride_rows, :: grid.stride_columns]
    content = windows.transpose(0, 1, 2, 4, 5, 6, 3).reshape(grid.n_patches, -1)
    places = grid.place(np.arange(grid.n_patches))
    sizes = grid.depths, grid.rows, grid.columns
    bits = [place[:, None] > np.arange(size - 1) for place, size in zip(places, sizes, strict=True)]
    return np.concatenate([*bits, content], axis=1).astype(np.uint8)


def image_grid(
    shape: tuple[int, ...],
    patch_shape: tuple[int, ...],
    stride: tuple[int, ...],
    made_by: str = "",
) -> PatchGrid:
    """The grid for examples of a shape (without N): (H, W[, C]), or (length[, C]) in 1-D, or
    (D, H, W[, C]) in 3-D.

    ``made_by`` is what made the shape another one than the user's.
    """
    dimensions = len(patch_shape)
    if len(shape) not in (dimensions, dimensions + 1):
        axes = {1: "N, length", 2: "N, H, W", 3: "N, D, H, W"}[dimensions]
        expected = f"({axes}) or ({axes}, C)"
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
    more = (1,) * (3 - dimensions)
    (depth, height, width), (patch_depth, patch_height, patch_width) = (
        (*more, *size),
        (*more, *patch_shape),
    )
    stride_depths, stride_rows, stride_columns = *more, *stride
    return PatchGrid(
        height,
        width,
        channels,
        patch_height,
        patch_width,
        stride_rows,
        stride_columns,
        depth=depth,
        patch_depth=patch_depth,
        stride_depths=stride_depths,
    )
