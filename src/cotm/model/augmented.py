"""Images that are changed anew in every pass, and become bits then."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..augmentation import Changes, as_pixels
from ..core.examples import ChangingExamples, Examples
from .inputs import InputReader


class AugmentedImages(ChangingExamples):
    """Training images, from which each pass makes bits of its own.

    The change of an image depends on its row in X, whichever others are held out.
    """

    def __init__(
        self,
        images: NDArray[Any],
        reader: InputReader,
        changes: Changes,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        assert reader.grid is not None
        self.grid = reader.grid
        self.changes = changes
        self.pixels = as_pixels(images)
        self._type = images.dtype  # what the booleanizer knows
        self._rows = np.arange(len(images))  # of the pixels
        self._reader = reader
        self._seed = seed
        self._n_jobs = n_jobs

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> AugmentedImages:
        some = copy.copy(self)
        some._rows = self._rows[rows]
        return some

    def unchanged(self) -> Examples:
        """All of them, as they are outside training."""
        return self._bits(self.pixels[self._rows])

    def of_pass(self, step: int, rows: NDArray[np.int64]) -> Examples:
        """The bits of these rows, changed as in the pass that began at a step."""
        rows = self._rows[rows]
        maps = self.changes.maps(self._seed, step, rows)
        return self._bits(self.changes.of(self.pixels[rows], maps, self._n_jobs))

    def _bits(self, pixels: NDArray[Any]) -> Examples:
        return self._reader.bits_of(pixels.astype(self._type, copy=False))
