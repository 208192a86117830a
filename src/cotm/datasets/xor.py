"""2D Noisy XOR, a data set that is generated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import new_seed


def make_noisy_xor_2d(
    n_train: int = 2500,
    n_test: int = 10_000,
    noise: float = 0.4,
    random_state: int | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """The paper's 2D Noisy XOR: 4 x 4 random bits whose upper right 2 x 2 tells the class.

    A diagonal line there is class 1, a horizontal or vertical one class 0. A share
    ``noise`` of the training labels is inverted; the test labels are clean.

    Returns
    -------
    X_train (n_train, 4, 4), y_train, X_test (n_test, 4, 4), y_test

    Examples
    --------
    >>> X, y, X_test, y_test = make_noisy_xor_2d(random_state=0)
    >>> X.shape, X_test.shape
    ((2500, 4, 4), (10000, 4, 4))
    """
    rng = np.random.default_rng(new_seed(random_state))
    n = n_train + n_test
    X = rng.integers(0, 2, (n, 4, 4), dtype=np.uint8)
    y = rng.integers(0, 2, n)
    # The upper left pixel of the 2 x 2. A diagonal line is then (first, 1 - first) above
    # (1 - first, first); an upright line is a set column beside an empty one, a horizontal line a
    # set row above or below an empty one.
    first = rng.integers(0, 2, n, dtype=np.uint8)
    upright = rng.integers(0, 2, n).astype(bool)  # of class 0: vertical instead of horizontal
    second = np.where((y == 1) | upright, 1 - first, first).astype(np.uint8)
    X[:, 0, 2], X[:, 0, 3] = first, second
    X[:, 1, 2] = np.where((y == 1) | ~upright, 1 - first, first)
    X[:, 1, 3] = np.where(y == 1, first, np.where(upright, second, 1 - first))
    y_train = y[:n_train].copy()
    y_train[rng.permutation(n_train)[: round(noise * n_train)]] ^= 1
    return X[:n_train], y_train, X[n_train:], y[n_train:]
