"""Small models of every kind that reports show, and examples for them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.datasets import load_digits

import cotm
from cotm import CoTMClassifier, TMClassifier

#: Names that would do harm if any of them were taken for markup, or for more than text.
HOSTILE = [
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "a\"b'c&amp;d",
    "größe 🎉 \u202e \u2028",
    "when",
]
ROWS = 150
DIGITS, DIGIT = (part[:400] for part in load_digits(return_X_y=True))
BYTES = (DIGITS * 15).astype(np.uint8).reshape(-1, 8, 8)
BITS = (DIGITS > 7).astype(np.uint8)
WORDS = [f"word{k}" for k in range(60)] + [HOSTILE[0]]


def table(rows: int = 400, seed: int = 5) -> pd.DataFrame:
    """Numbers, texts, whole numbers, booleans and dates, some of them missing."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=rows)
    numbers[rng.random(rows) < 0.15] = np.nan
    texts = rng.choice(np.array([*HOSTILE[:3], None], dtype=object), rows)
    days = pd.to_datetime("2021-03-05") + pd.to_timedelta(rng.integers(0, 50, rows), unit="D")
    columns = [numbers, texts, rng.integers(0, 9, rows), rng.random(rows) > 0.5, days]
    return pd.DataFrame(dict(zip(HOSTILE, columns, strict=True)))


def table_labels(X: pd.DataFrame) -> np.ndarray:
    """Of three classes, by number and text."""
    first, second = X[HOSTILE[0]].fillna(0) > 0.2, X[HOSTILE[1]] == HOSTILE[0]
    return np.array(HOSTILE[:3])[np.where(first, 0, np.where(second, 1, 2))]


def _small(kind: Any = CoTMClassifier, **parameters: Any) -> Any:
    few = {"n_clauses": 40, "epochs": 3, "preset": "paper", "random_state": 0}
    return kind(**{**few, **parameters})


def _table(**parameters: Any) -> tuple[Any, Any, Any]:
    X = table()
    return _small(**parameters).fit(X, table_labels(X)), X, table_labels(X)


def _images(**parameters: Any) -> tuple[Any, Any, Any]:
    return _small(patch_shape=(3, 3), **parameters).fit(BYTES, DIGIT), BYTES, DIGIT


def _labels() -> tuple[Any, Any, Any]:
    Y = np.column_stack([DIGIT > 4, DIGIT % 2, DIGIT % 3 == 0]).astype(int)
    return _small().fit(BITS, Y), BITS, Y


def _words() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    dense = (rng.random((400, len(WORDS))) < 0.1).astype(np.uint8)
    X = scipy.sparse.csr_matrix(dense)
    y = np.where(dense[:, 3] | dense[:, 60], "yes", "no")
    return _small(tolerance=3).fit(X, y), X, y


def _joined() -> tuple[Any, Any, Any]:
    members = {
        "shapes": _small(image_shape=(8, 8), patch_shape=(3, 4)).fit(DIGITS, DIGIT),
        HOSTILE[0]: _small(booleanize=cotm.Thermometer(3)).fit(DIGITS, DIGIT),
        "own": _small(TMClassifier, average=2).fit(DIGITS, DIGIT),
    }
    return cotm.join(members, DIGITS, scale="range"), DIGITS, DIGIT


MODELS = {
    "table": _table,
    "table, graded": lambda: _table(tolerance=4),
    "averaged": lambda: _table(preset="auto", n_clauses=10),
    "images": _images,
    "images, graded": lambda: _images(tolerance=3),
    "labels": _labels,
    "words": _words,
    "joined": _joined,
}


@functools.cache
def model(name: str) -> tuple[Any, Any, Any]:
    """A fitted model, what it reads, and the labels."""
    return MODELS[name]()  # type: ignore[no-untyped-call]


def options(name: str) -> dict[str, Any]:
    """What the report of a model is made with, beside its examples."""
    return {"feature_names": WORDS} if name == "words" else {"title": f"{HOSTILE[0]} & co"}


def head(X: Any, count: int) -> Any:
    """The first rows."""
    return X.iloc[:count] if hasattr(X, "iloc") else X[:count]
