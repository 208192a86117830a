"""The paper's three sets of gray images as bits, and its settings for each column of their tables.

A column of the paper's tables stands for a number of clauses per class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..booleanize import AdaptiveGaussianThreshold
from ..datasets import load_fashion_mnist, load_kmnist, load_mnist
from . import paper
from .runs import Data, Options

N_CLASSES = 10
PATCH_SHAPE = (10, 10)
#: The kinds of machine that the paper compares on images.
KINDS = ("coalesced", "weighted")
TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "kmnist": "Kuzushiji-MNIST"}

_LOADERS = {"mnist": load_mnist, "fashion-mnist": load_fashion_mnist, "kmnist": load_kmnist}


def load_bits(data_set: str, level: int | None = None) -> Data:
    """A data set as bits: pixels from a gray level on, or else by adaptive Gaussian thresholds.

    These have window 11 and constant 2.
    """
    x_train, y_train, x_test, y_test = _LOADERS[data_set]()
    if level is not None:
        x_train, x_test = ((x >= level).astype(np.uint8) for x in (x_train, x_test))
        return x_train, y_train, x_test, y_test
    threshold = AdaptiveGaussianThreshold()
    return threshold.fit_transform(x_train), y_train, threshold.transform(x_test), y_test


def n_clauses(column: int) -> int:
    """The clauses of all classes together, which is what our classifiers take."""
    return N_CLASSES * column


def parameters(data_set: str, column: int) -> dict[str, Any]:
    """The paper's settings for one column."""
    table = paper.CLAUSES[data_set]
    k = paper.COLUMNS.index(column)
    return {
        "n_clauses": n_clauses(column),
        "T": int(table["T"][k]),
        "s": float(table["s"][k]),
        "patch_shape": PATCH_SHAPE,
    }


def chosen_columns(options: Options, default: tuple[int, ...]) -> tuple[int, ...]:
    """The columns given by ``--clauses``, checked, or the default ones."""
    chosen = options.clauses or default
    for column in chosen:
        if column not in paper.COLUMNS:
            columns = ", ".join(map(str, paper.COLUMNS))
            raise ValueError(f"--clauses {column} is no column of the table; it has {columns}")
    return chosen


def chosen_column(name: str, options: Options, default: int) -> int:
    """The same for an experiment, called ``name``, that takes one column only."""
    chosen = chosen_columns(options, (default,))
    if len(chosen) > 1:
        raise ValueError(f"{name} takes one --clauses, not {len(chosen)}")
    return chosen[0]
