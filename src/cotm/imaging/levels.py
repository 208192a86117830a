"""Values of pixels as levels, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Levels:
    """The thresholds between levels: a value is on the level of as many as it is above.

    >>> levels = Levels.of(np.array([0, 100, 200, 255]), most=3, name="X")
    >>> levels.thresholds, levels.numbers(np.array([0, 85, 86, 255]))
    (array([ 85., 170.]), array([0, 0, 1, 2], dtype=uint8))
    """

    thresholds: NDArray[np.float64]  # ascending, each once
    values: NDArray[np.float64]  # what each level stands for, one more than thresholds
    dtype: np.dtype[Any]  # of the images

    @classmethod
    def of(cls, images: NDArray[Any], most: int, name: str) -> Levels:
        """Each value that occurs, or ``most`` levels of equal height from lowest to highest."""
        values, counts = np.unique(images, return_counts=True)
        if len(values) < 2:
            raise ValueError(
                f"all pixels of {name} are {values[0].item()}, so there is nothing to learn; pass "
                "images of at least two values"
            )
        numbers = values.astype(np.float64)
        if len(values) <= most:
            return cls((numbers[:-1] + numbers[1:]) / 2, numbers, images.dtype)
        borders = np.linspace(numbers[0], numbers[-1], most + 1)
        if images.dtype.kind != "f":
            borders[1:-1] = np.floor(borders[1:-1])  # what is above one is above the other
        levels = np.searchsorted(borders[1:-1], numbers, side="left")
        weight = np.bincount(levels, counts, minlength=most)
        sums = np.bincount(levels, counts * numbers, minlength=most)
        middle = (borders[:-1] + borders[1:]) / 2
        means = np.where(weight > 0, sums / np.maximum(weight, 1), middle)
        return cls(borders[1:-1], means, images.dtype)

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self, images: NDArray[Any]) -> NDArray[np.uint8]:
        """The level of each value."""
        found = np.searchsorted(self.thresholds, images.ravel(), side="left")
        return found.astype(np.uint8).reshape(images.shape)

    def of_numbers(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """What levels stand for, in the type of the images."""
        exact = self.dtype.kind == "f"
        values = self.values if exact else np.rint(self.values)
        return np.asarray(values.astype(self.dtype)[numbers])
