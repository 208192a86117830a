"""Gaussian blur, rounded the way OpenCV rounds it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Planes = NDArray[np.float32]

# Kernels that OpenCV uses for small windows instead of computing them.
_SMALL_KERNELS = {
    3: (0.25, 0.5, 0.25),
    5: (0.0625, 0.25, 0.375, 0.25, 0.0625),
    7: (0.03125, 0.109375, 0.21875, 0.28125, 0.21875, 0.109375, 0.03125),
    9: tuple(weight / 256 for weight in (4, 13, 30, 51, 60, 51, 30, 13, 4)),
}


def gaussian_kernel(window: int) -> NDArray[np.float32]:
    """The kernel that OpenCV uses for a window if no sigma is given."""
    if window in _SMALL_KERNELS:
        return np.array(_SMALL_KERNELS[window], dtype=np.float32)
    sigma = 0.3 * ((window - 1) * 0.5 - 1) + 0.8
    distance = np.arange(window) - window // 2
    weights = np.exp(-(distance**2) / (2 * sigma**2))
    kernel: NDArray[np.float32] = (weights / weights.sum()).astype(np.float32)
    return kernel


def blur(planes: Planes, kernel: NDArray[np.float32]) -> Planes:
    """Gaussian blur of (H, W, N) float32 planes in the float32 steps of OpenCV.

    OpenCV adds up the taps of a row from left to right, then those of a column from the
    middle outwards in pairs. Most columns go through vector registers, where multiplying and
    adding is one operation with one rounding ("fused"). What is left at the right edge, fewer
    pixels than fill a register (4 for rows, 8 for columns), goes through plain code.
    """
    height, width, _ = planes.shape
    taps = len(kernel)
    half = taps // 2
    if width > 1:  # OpenCV does not blur along an axis of length one
        padded = planes[:, np.clip(np.arange(-half, width + half), 0, width - 1)]
        vector = width // 4 * 4
        terms = [padded[:, tap : tap + width] for tap in range(taps)]
        planes = np.concatenate(
            [
                _weighted_sum([term[:, :vector] for term in terms], kernel, 1),
                # The compiler unrolled the plain code by four taps and fused what remains.
                _weighted_sum([term[:, vector:] for term in terms], kernel, taps // 4 * 4 + 1),
            ],
            axis=1,
        )
    if height > 1:
        padded = planes[np.clip(np.arange(-half, height + half), 0, height - 1)]
        vector = width // 8 * 8
        shifted = [padded[tap : tap + height] for tap in range(taps)]
        terms = [shifted[half]] + [
            shifted[half + tap] + shifted[half - tap] for tap in range(1, half + 1)
        ]
        planes = np.concatenate(
            [
                _weighted_sum([term[:, :vector] for term in terms], kernel[half:], 1),
                _weighted_sum([term[:, vector:] for term in terms], kernel[half:], taps),
            ],
            axis=1,
        )
    return planes


def _weighted_sum(terms: list[Planes], weights: NDArray[np.float32], fused_from: int) -> Planes:
    """Sum of weighted float32 terms, in order; from one index on with fused multiply-adds."""
    total: Planes = terms[0] * weights[0]
    for index in range(1, len(terms)):
        if index >= fused_from:
            # A product of two float32 is exact in float64, so rounding happens in the sum only.
            product = np.multiply(terms[index], weights[index], dtype=np.float64)
            total = (product + total).astype(np.float32)
        else:
            total = total + terms[index] * weights[index]
    return total
