"""What lies around a pixel, as bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.examples import ChangingExamples, Examples
from ..core.patches import PatchGrid
from ..core.randomness import U64, Purpose, hash32, make_key, step_key
from ..core.sparse_targets import Targets

Int = NDArray[np.int64]


@dataclass(frozen=True)
class WindowBits:
    """How a window becomes bits.

    First those of its pixels, row by row, within a pixel the channels, and within a channel a bit
    for each threshold, 1 above it; beyond the border of the image they are 0. Then a bit for each
    other row of the window, from the top, 1 where it lies outside the image, and likewise one for
    each other column.
    """

    height: int
    width: int
    channels: int
    thresholds: int

    @property
    def n_bits(self) -> int:
        return self.n_pixel_bits + self.height - 1 + self.width - 1

    @property
    def n_pixel_bits(self) -> int:
        return self.height * self.width * self.channels * self.thresholds

    def padded(self, levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Images (N, H, W, C) with what the windows of their outermost pixels have beyond."""
        rows, columns = self.height // 2, self.width // 2
        return np.pad(levels, ((0, 0), (rows, rows), (columns, columns), (0, 0)))

    def of(self, padded: NDArray[np.uint8], image: Int, row: Int, column: Int) -> Examples:
        """The windows around these pixels of padded images, as examples."""
        windows = np.lib.stride_tricks.sliding_window_view(
            padded, (self.height, self.width), axis=(1, 2)
        )  # (N, H, W, C, h, w)
        levels = windows[image, row, column].transpose(0, 2, 3, 1)
        pixels = levels[..., None] > np.arange(self.thresholds)
        bits = [pixels.reshape(len(image), -1)]
        for place, count, length in (
            (row, windows.shape[1], self.height),
            (column, windows.shape[2], self.width),
        ):
            near = place[:, None] + _others(length)
            bits.append((near < 0) | (near >= count))
        rows = np.concatenate(bits, axis=1).view(np.uint8)
        return Examples(rows[:, None, None], PatchGrid.flat(self.n_bits))


def _others(length: int) -> Int:
    """Where the other places of a window lie beside the one in the middle."""
    places = np.arange(length) - length // 2
    return places[places != 0]


class DrawnWindows(ChangingExamples):
    """Windows of images, drawn anew in every pass.

    Row r is a window of image ``r // per_image``, around a pixel that is drawn for it. Its targets
    are the bits of the block of pixels in the place of that pixel in the image to be made: row by
    row, within a pixel the channels, and within a channel a bit for each threshold.
    """

    def __init__(
        self,
        window: WindowBits,
        images: NDArray[np.uint8],
        wanted: NDArray[np.uint8],
        thresholds: int,
        per_image: int,
        seed: int,
    ) -> None:
        self.grid = PatchGrid.flat(window.n_bits)
        self._window = window
        self._padded = window.padded(images)
        self._size = images.shape[1:3]
        self._blocks = blocks_of(wanted, self._size)
        self._thresholds = thresholds
        self._per_image = per_image
        self._seed = seed

    def __len__(self) -> int:
        return len(self._padded) * self._per_image

    def __getitem__(self, rows: Any) -> ChangingExamples:
        raise TypeError("windows are drawn of all images together")

    def unchanged(self) -> Examples:
        raise TypeError("windows are drawn anew in every pass")

    @property
    def n_outputs(self) -> int:
        return int(np.prod(self._blocks.shape[3:])) * self._thresholds

    def targets(self) -> NDArray[np.uint8]:
        """Of the shape that targets have; those of a pass are made when it comes to them."""
        return np.zeros((len(self), self.n_outputs), dtype=np.uint8)

    def of_pass(self, step: int, rows: Int) -> Examples:
        return self._window.of(self._padded, *self.places(step, rows))

    def targets_of_pass(self, step: int, rows: Int, targets: Targets) -> Targets:
        levels = self._blocks[self.places(step, rows)]
        bits = levels[..., None] > np.arange(self._thresholds)
        return bits.reshape(len(rows), -1).view(np.uint8)

    def places(self, step: int, rows: Int) -> tuple[Int, Int, Int]:
        """Image, row and column of the pixels that are drawn."""
        height, width = self._size
        keys = make_key(step_key(self._seed, step), Purpose.PIXEL, 0, rows)
        place = hash32(keys, 0).astype(U64) * U64(height * width) >> U64(32)
        row, column = np.divmod(place.astype(np.int64), width)
        return rows // self._per_image, row, column


def blocks_of(images: NDArray[Any], size: tuple[int, ...]) -> NDArray[Any]:
    """Images (N, rows h, columns w, C) as the block of each of so many pixels: (..., h, w, C)."""
    count, height, width, channels = images.shape
    rows, columns = size
    shape = count, rows, height // rows, columns, width // columns, channels
    return images.reshape(shape).swapaxes(2, 3)


def joined(blocks: NDArray[Any]) -> NDArray[Any]:
    """The images of blocks: what :func:`blocks_of` took apart."""
    count, rows, columns, height, width, *rest = blocks.shape
    return blocks.swapaxes(2, 3).reshape(count, rows * height, columns * width, *rest)
