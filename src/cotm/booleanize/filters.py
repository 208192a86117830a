"""Planes of bits from images by integer filters: the definition, in NumPy.

Pixels, kernels and responses are integers, and so are quantiles, in parts of `PARTS`. No float
takes part, so every machine gives the same bits. The native core computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Quantiles are whole numbers of so many parts.
PARTS = 10_000

#: Width of the widest filter; narrower kernels are filled up with zeros to it.
WIDEST = 7

_SOBEL = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
_DIAGONAL = [
    [0, 1, 2, 3, 4],
    [-1, 0, 2, 3, 3],
    [-2, -2, 0, 2, 2],
    [-3, -3, -2, 0, 1],
    [-4, -3, -2, -1, 0],
]
_BROAD = [
    [-3, -2, -1, 0, 1, 2, 3],
    [-4, -3, -2, 0, 2, 3, 4],
    [-5, -4, -3, 0, 3, 4, 5],
    [-6, -5, -4, 0, 4, 5, 6],
    [-5, -4, -3, 0, 3, 4, 5],
    [-4, -3, -2, 0, 2, 3, 4],
    [-3, -2, -1, 0, 1, 2, 3],
]
_LINE = [[-1, -1, -1], [2, 2, 2], [-1, -1, -1]]


def _padded(kernel: NDArray[np.int64]) -> NDArray[np.int8]:
    return np.pad(kernel, (WIDEST - len(kernel)) // 2).astype(np.int8)


#: Kernels by name. A response is the sum of the pixels around, each times the entry above it.
#: Edges along x are positive where it is brighter to the right, along y where it is brighter
#: below; lines are positive on a bright line along x or y.
FILTERS: dict[str, NDArray[np.int8]] = {
    name: _padded(np.array(kernel))
    for name, kernel in {
        "edge x 3 px": _SOBEL,
        "edge y 3 px": np.transpose(_SOBEL),
        "edge up-right 5 px": _DIAGONAL,
        "edge down-right 5 px": np.flipud(_DIAGONAL),
        "edge x 7 px": _BROAD,
        "edge y 7 px": np.transpose(_BROAD),
        "line x 3 px": _LINE,
        "line y 3 px": np.transpose(_LINE),
    }.items()
}


def kernels_of(names: Sequence[str]) -> NDArray[np.int8]:
    """The kernels with these names, one after the other."""
    kernels = np.zeros((len(names), WIDEST, WIDEST), dtype=np.int8)
    for place, name in enumerate(names):
        kernels[place] = FILTERS[name]
    return kernels


def response(plane: NDArray[np.uint8], kernel: NDArray[np.int8]) -> NDArray[np.int32]:
    """What a kernel gives on one channel of an image, which zeros surround."""
    height, width = plane.shape
    padded = np.pad(plane.astype(np.int32), WIDEST // 2)
    total = np.zeros((height, width), dtype=np.int32)
    for y, x in np.argwhere(kernel):
        total += int(kernel[y, x]) * padded[y : y + height, x : x + width]
    return total


def exceeds(values: NDArray[np.int32], quantiles: Sequence[int]) -> list[NDArray[np.bool_]]:
    """For each quantile the places whose value is above that quantile of the positive values.

    Of n positive values in ascending order, counted from 0, a quantile of q parts is the one with
    the number q (n - 1) / PARTS, rounded down. Quantile 0 stands for zero: it is exceeded by all
    positive values. Where no value is positive, nothing exceeds anything.
    """
    positive = np.sort(values[values > 0])
    planes = []
    for quantile in quantiles:
        threshold = 0
        if quantile and len(positive):
            threshold = int(positive[quantile * (len(positive) - 1) // PARTS])
        planes.append(values > threshold)
    return planes


def image_planes(
    images: NDArray[np.uint8],
    kernels: NDArray[np.int8],
    levels: Sequence[int],
    positive: Sequence[int],
    negative: Sequence[int],
) -> NDArray[np.uint8]:
    """Bits of images of shape (N, H, W, C), as (N, H, W, planes).

    For each channel first the levels, then for each kernel the quantiles that its positive
    responses exceed, and those that its negative responses exceed, taken without their sign.
    """
    n_planes = len(levels) + len(kernels) * (len(positive) + len(negative))
    bits = np.empty((*images.shape[:3], images.shape[3] * n_planes), dtype=np.uint8)
    for n, image in enumerate(images):
        planes: list[NDArray[np.bool_]] = []
        for channel in range(images.shape[3]):
            plane = image[..., channel]
            planes += exceeds(plane.astype(np.int32), levels)
            for kernel in kernels:
                values = response(plane, kernel)
                planes += exceeds(values, positive) + exceeds(-values, negative)
        bits[n] = np.stack(planes, axis=-1)
    return bits
