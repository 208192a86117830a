"""Votes, labels and scores of arrays and frames of Dask, part by part."""

from __future__ import annotations

import math
from typing import Any

import dask
import dask.array
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from ..classifier import CoTMClassifier
from ..model.labels import read_labels
from .collections import known_rows, parts_of


def lazily(model: CoTMClassifier, method: str, X: Any) -> Any:
    """What a method of a fitted model gives for X, as an array of Dask that is not computed yet."""
    none = _of_no_rows(model, method)
    told = delayed(model, traverse=False)
    parts = [
        dask.array.from_delayed(
            delayed(_of_part)(told, method, part.X),
            shape=(rows if math.isnan(rows) else int(rows), *none.shape[1:]),
            dtype=none.dtype,
        )
        for part, rows in zip(parts_of(X), known_rows(X), strict=True)
    ]
    return dask.array.concatenate(parts, allow_unknown_chunksizes=True)


def accuracy(model: CoTMClassifier, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows, or of their weight, for which the label is right."""
    told = delayed(model, traverse=False)
    parts = parts_of(X, y, sample_weight)
    counted = dask.compute(
        *(delayed(_count_right)(told, number, *part) for number, part in enumerate(parts))
    )
    right, total = map(sum, zip(*counted, strict=True))
    if total == 0:
        raise ValueError("X holds no examples, or all of them have the weight 0")
    return float(right / total)


def _of_no_rows(model: CoTMClassifier, method: str) -> NDArray[Any]:
    """What a method gives for no rows: its type and shape."""
    fitted = model._now()
    votes = np.zeros((1, len(fitted.classes)), dtype=np.int64)
    if method == "predict":
        found = fitted.outputs.labels(votes, fitted.classes)
    elif method == "decision_function":
        found = fitted.outputs.scores(votes)
    else:
        found = votes if method == "votes" else votes.astype(np.float64)
    return np.asarray(found)[:0]


def _of_part(model: CoTMClassifier, method: str, X: Any) -> NDArray[Any]:
    if X.shape[0] == 0:
        return _of_no_rows(model, method)
    return np.asarray(getattr(model, method)(X))


def _count_right(
    model: CoTMClassifier, number: int, X: Any, y: Any, sample_weight: Any
) -> tuple[float, float]:
    """The weight of rows that are labelled rightly, and of all, in a part."""
    if len(y) != X.shape[0]:
        raise ValueError(
            f"partition {number} of X has {X.shape[0]:,} rows, but that of y has {len(y):,}"
        )
    if X.shape[0] == 0:
        return 0.0, 0.0
    same = np.equal(model.predict(X), read_labels(y).values).reshape(X.shape[0], -1)
    right = same.all(axis=1)
    weight = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight)
    return float(weight[right].sum()), float(weight.sum())
