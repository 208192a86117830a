"""Histograms of gradients in integers: the definition, in NumPy.

The gradient of a pixel is how much brighter it is on its right than on its left, and above it
than below it; beyond the border an image is as at its border. Its strength is the sum of both
without their signs. A cell is a rectangle of pixels; for each direction it adds up the strengths
of the pixels whose gradients have about that direction. The native core computes the same.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.angles import TURN, cosine, sine
from .filters import exceeds

#: The largest difference of two pixels.
BRIGHTEST = 255


@functools.lru_cache(maxsize=16)
def direction_table(count: int, signed: bool) -> NDArray[np.uint8]:
    """The number of the direction that gradients (up, right) have, at ``[up + 255, right + 255]``.

    Direction k is at k / ``count`` of a turn, counterclockwise from the right, or of half a turn
    where opposite directions are one. Halfway between two is a border, rounded to a whole part of
    a TURN; what lies on it has the direction that follows.
    """
    span = TURN if signed else TURN // 2
    borders = ((2 * np.arange(-1, count) + 1) * span + count) // (2 * count)
    up, right = np.mgrid[-BRIGHTEST : BRIGHTEST + 1, -BRIGHTEST : BRIGHTEST + 1]
    # Positive where the gradient points to the left of the border.
    sides = [
        up * int(along) - right * int(across)
        for along, across in zip(cosine(borders), sine(borders), strict=True)
    ]
    table = np.zeros(up.shape, dtype=np.uint8)
    for k in range(count):
        table[(sides[k] >= 0) & (sides[k + 1] < 0)] = k
        if not signed:
            table[(sides[k] <= 0) & (sides[k + 1] > 0)] = k
    table.flags.writeable = False
    return table


def gradients(image: NDArray[np.uint8], each: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Gradients (up, right) of an image (H, W, C): of each channel, or of the one that has the
    strongest at the pixel, the first of equals, as (H, W, 1)."""
    padded = np.pad(image.astype(np.int64), ((1, 1), (1, 1), (0, 0)), mode="edge")
    up = padded[:-2, 1:-1] - padded[2:, 1:-1]
    right = padded[1:-1, 2:] - padded[1:-1, :-2]
    if each:
        return up, right
    strongest = np.argmax(abs(up) + abs(right), axis=2)[..., None]
    return tuple(np.take_along_axis(part, strongest, axis=2) for part in (up, right))  # type: ignore[return-value]


def cell_sums(
    values: NDArray[np.int64], cell: tuple[int, int], step: tuple[int, int]
) -> NDArray[np.int64]:
    """Sums over cells of (H, W) pixels, those that are whole, each ``step`` from the next."""
    windows = np.lib.stride_tricks.sliding_window_view(values, cell)
    sums: NDArray[np.int64] = windows[:: step[0], :: step[1]].sum(axis=(2, 3))
    return sums


def gradient_planes(
    images: NDArray[np.uint8],
    table: NDArray[np.uint8],
    count: int,
    cell: tuple[int, int],
    step: tuple[int, int],
    quantiles: Sequence[int],
    each: bool,
) -> NDArray[np.uint8]:
    """Bits of images of shape (N, H, W, C), as (N, rows of cells, columns of cells, planes).

    For each channel, or for the strongest, and each direction: the quantiles that the cell's sum
    exceeds, of all positive sums of the channel and image.
    """
    bits = []
    for image in images:
        up, right = gradients(image, each)
        strength, direction = abs(up) + abs(right), table[up + BRIGHTEST, right + BRIGHTEST]
        planes = []
        for channel in range(up.shape[2]):
            of_channel, where = strength[..., channel], direction[..., channel]
            sums = [cell_sums(of_channel * (where == k), cell, step) for k in range(count)]
            planes += [np.stack(exceeds(np.stack(sums, axis=-1), quantiles), axis=-1)]
        bits.append(np.stack(planes, axis=2).reshape(*planes[0].shape[:2], -1))
    return np.array(bits, dtype=np.uint8)
