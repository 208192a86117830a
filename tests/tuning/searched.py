"""Searches and data that tests of tuning share."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from cotm import CoTMClassifier, CoTMSearchCV

LISTS = {"s": [2.0, 4.0, 8.0], "T": [20, 40, 80], "max_literals": [None, 3]}


@functools.cache
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def search(**options: Any) -> CoTMSearchCV:
    """A search that takes a quarter of a second."""
    plain: dict[str, Any] = {
        "estimator": CoTMClassifier(24, backend="native"),
        "param_distributions": LISTS,
        "n_trials": 11,
        "max_epochs": 9,
        "cv": 2,
        "sampler": "random",
        "random_state": 3,
    }
    plain |= options
    return CoTMSearchCV(**plain)


def without_times(results: dict[str, Any]) -> dict[str, Any]:
    """What two searches must have alike."""
    return {
        name: np.ma.getdata(values).tolist() if hasattr(values, "tolist") else values
        for name, values in results.items()
        if not name.endswith("_time")
    }


def same_search(one: CoTMSearchCV, other: CoTMSearchCV) -> bool:
    a, b = without_times(one.cv_results_), without_times(other.cv_results_)
    return repr(a) == repr(b) and same_model(one.best_estimator_, other.best_estimator_)


def same_model(one: Any, other: Any) -> bool:
    return np.array_equal(one.memory_, other.memory_) and np.array_equal(
        one.weights_, other.weights_
    )
