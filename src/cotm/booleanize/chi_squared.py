"""Which bits tell classes apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def chi_squared(bits: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Chi-squared statistic of each column and the class, per text, for classes of equal size."""
    shares = np.stack([np.asarray(bits[y == label].mean(axis=0)).ravel() for label in np.unique(y)])
    mean = shares.mean(axis=0)
    spread = mean * (1 - mean)  # 0 where all texts have the word: it tells nothing
    return np.asarray(((shares - mean) ** 2).mean(axis=0) / np.where(spread > 0, spread, 1.0))
