"""Images moved, turned and zoomed by integer maps: the definition, in NumPy.

A map says where the pixels of a changed image come from. It takes distances from the middle of
the image, in half pixels so that those of images of even width are whole too, to distances from
the middle, in `UNIT` parts of half a pixel. No float takes part, so every machine gives the same
pixels. The native core computes the same for bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Maps count in so many parts: of a half pixel, and of one in their factors.
UNIT = 1 << 16

#: Pixels are interpolated in so many steps from one to the next.
STEPS = 256

#: The map that changes nothing. A map has first the factors from rows and columns to rows, then
#: those to columns, then what is added to rows and to columns.
UNCHANGED = (UNIT, 0, 0, UNIT, 0, 0)

# Pixels per block of work, which limits the memory that maps of places take.
_BLOCK = 1_000_000


def sources(
    maps: NDArray[np.int64], height: int, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each map the rows and columns that pixels come from, (N, H, W), in `STEPS` of a pixel."""
    y = 2 * np.arange(height, dtype=np.int64)[:, None] - (height - 1)
    x = 2 * np.arange(width, dtype=np.int64)[None, :] - (width - 1)
    yy, yx, xy, xx, y0, x0 = maps.T[:, :, None, None]
    # In half pixels it is twice the distance; the last bits round to whole steps.
    drop = 2 * UNIT // STEPS
    row = (yy * y + yx * x + y0 + (height - 1) * UNIT + drop // 2) // drop
    column = (xy * y + xx * x + x0 + (width - 1) * UNIT + drop // 2) // drop
    return row, column


def resample(
    images: NDArray[Any], maps: NDArray[np.int64], *, repeat_edge: bool, nearest: bool = False
) -> NDArray[Any]:
    """Images of shape (N, H, W, C), each changed by its map.

    Pixels of bytes are interpolated between the four around the place they come from, rounded
    with the half up; with ``nearest`` they are those of the nearest place, which works for any
    type. Beyond an image are its outermost pixels again, or with ``repeat_edge=False`` zeros.
    """
    out = np.empty_like(images)
    height, width = images.shape[1:3]
    step = max(1, _BLOCK // (height * width))
    for first in range(0, len(images), step):
        block = slice(first, first + step)
        row, column = sources(maps[block], height, width)
        if nearest:
            y, x = (row + STEPS // 2) // STEPS, (column + STEPS // 2) // STEPS
            out[block] = _pixels(images[block], y, x, repeat_edge)
            continue
        y, x = row // STEPS, column // STEPS
        below, right = (row % STEPS)[..., None], (column % STEPS)[..., None]
        total = np.zeros((*row.shape, images.shape[3]), dtype=np.int64)
        for down, share in ((0, STEPS - below), (1, below)):
            for aside, part in ((0, STEPS - right), (1, right)):
                pixels = _pixels(images[block], y + down, x + aside, repeat_edge)
                total += share * part * pixels
        out[block] = (total + STEPS * STEPS // 2) // (STEPS * STEPS)
    return out


def _pixels(
    images: NDArray[Any], y: NDArray[np.int64], x: NDArray[np.int64], repeat_edge: bool
) -> NDArray[Any]:
    """The pixels at these places, and what is beyond the images."""
    height, width = images.shape[1:3]
    inside_y, inside_x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    found: NDArray[Any] = images[np.arange(len(images))[:, None, None], inside_y, inside_x]
    if not repeat_edge:
        found[(inside_y != y) | (inside_x != x)] = 0
    return found
