"""Clauses over windows in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .windows import WindowBits

Bools = NDArray[np.bool_]


def level_bounds(included: Bools, window: WindowBits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The lowest and the highest level that each clause wants of each pixel, (n, h, w, C)."""
    n, count = len(included), window.thresholds
    shape = n, window.height, window.width, window.channels, count
    above = included[:, : window.n_pixel_bits].reshape(shape)
    negated = included[:, window.n_bits :][:, : window.n_pixel_bits].reshape(shape)
    low = np.where(above, np.arange(1, count + 1), 0).max(axis=-1)
    high = np.where(negated, np.arange(count), count).min(axis=-1)
    return low, high


def in_words(included: Bools, window: WindowBits, thresholds: NDArray[np.float64]) -> list[str]:
    """What each clause asks for."""
    low, high = level_bounds(included, window)
    texts = [_number(threshold) for threshold in thresholds.tolist()]
    pixels = [*np.ndindex(low.shape[1:])]
    outside = [
        (window.n_pixel_bits + place, f"{name} {offset:+d} outside")
        for place, (name, offset) in enumerate(
            [("row", k) for k in _offsets(window.height)]
            + [("column", k) for k in _offsets(window.width)]
        )
    ]
    words = []
    for clause, row in enumerate(included):
        asked = (low[clause] > 0) | (high[clause] < window.thresholds)
        said = [
            _pixel(window, pixel, low[clause][pixel], high[clause][pixel], texts)
            for pixel in pixels
            if asked[pixel]
        ]
        said += [name for bit, name in outside if row[bit]]
        said += [f"not {name}" for bit, name in outside if row[window.n_bits + bit]]
        words.append(" and ".join(said))
    return words


def _number(value: float) -> str:
    """A threshold, to the last digit."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _offsets(length: int) -> list[int]:
    return [k for k in range(-(length // 2), length // 2 + 1) if k]


def _pixel(
    window: WindowBits, pixel: tuple[int, ...], low: int, high: int, texts: list[str]
) -> str:
    row, column, channel = pixel
    name = f"pixel({row - window.height // 2},{column - window.width // 2})"
    if window.channels > 1:
        name += f" channel {channel}"
    if texts == ["0.5"] and low <= high:  # bits
        return name if low else f"not {name}"
    if low and high < len(texts):
        return f"{texts[low - 1]} < {name} <= {texts[high]}"
    return f"{name} > {texts[low - 1]}" if low else f"{name} <= {texts[high]}"
