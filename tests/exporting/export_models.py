"""Models of every kind that exports must give the votes of, and descriptions of odd shapes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
from configurations import random_configuration
from sklearn.datasets import load_digits

import cotm
from cotm import CoTMClassifier, TMClassifier
from cotm.backends.reference import ReferenceBackend
from cotm.core.patches import PatchGrid
from cotm.exporting.describing import clauses_of
from cotm.exporting.description import (
    Column,
    Description,
    ImageInput,
    Member,
    TableInput,
    Test,
    bits_of_channels,
)

HOSTILE = ['a"b', "c\nd", "e */ f", "größe 🎉", "g'h", "<!-- ` ${x} \\", "/* ??/", "--;[0]"]
DIGITS, DIGIT = (part[:400] for part in load_digits(return_X_y=True))
BYTES = (DIGITS * 15).astype(np.uint8).reshape(-1, 8, 8)


def table(rows: int = 400, seed: int = 3) -> pd.DataFrame:
    """A raw table with numbers, texts, dates and missing values, and names that hurt."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(rows, 3)) * [1, 1e-3, 1e6]
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    texts = rng.choice(np.array([*HOSTILE[:5], None], dtype=object), rows)
    whole = rng.integers(0, 4, rows)
    mixed = rng.choice(np.array([1, 2.5, "two", None], dtype=object), rows)
    days = pd.to_datetime("2021-03-05") + pd.to_timedelta(rng.integers(0, 50, rows), unit="D")
    columns = [*numbers.T, texts, whole, mixed, days, whole > 1]
    return pd.DataFrame(dict(zip(HOSTILE, columns, strict=True)))


def _small(kind: Any = CoTMClassifier, **parameters: Any) -> Any:
    few = {"n_clauses": 40, "epochs": 3, "preset": "paper", "random_state": 0}
    return kind(**{**few, **parameters})


def _digits(kind: Any = CoTMClassifier, **parameters: Any) -> tuple[Any, Any]:
    shape = {"image_shape": (8, 8), "patch_shape": (3, 4)}
    return _small(kind, **{**shape, **parameters}).fit(DIGITS, DIGIT), DIGITS


def _gray(**parameters: Any) -> tuple[Any, Any]:
    return _small(patch_shape=(3, 3), **parameters).fit(BYTES, DIGIT), BYTES


def _flat(**parameters: Any) -> tuple[Any, Any]:
    X = (DIGITS > 7).astype(np.uint8)
    return _small(**parameters).fit(X, DIGIT), X


def _table(**parameters: Any) -> tuple[Any, Any]:
    X = table()
    y = np.where(X[HOSTILE[0]].fillna(0) > 0.2, HOSTILE[2], np.array(HOSTILE)[X[HOSTILE[4]]])
    return _small(**parameters).fit(X, y), X


def _labels() -> tuple[Any, Any]:
    X, Y = (DIGITS > 7).astype(np.uint8), np.column_stack([DIGIT > 4, DIGIT % 2, DIGIT % 3 == 0])
    return _small().fit(X, Y.astype(int)), X


def _line() -> tuple[Any, Any]:
    X = (DIGITS > 7).astype(np.uint8).reshape(-1, 32, 2)
    return _small(patch_shape=(5,), stride=2).fit(X, DIGIT), X


def _colour(**parameters: Any) -> tuple[Any, Any]:
    X = np.stack([BYTES, 255 - BYTES // 2, np.roll(BYTES, 1, 1)], axis=-1)
    return _small(patch_shape=(3, 2), stride=(1, 2), **parameters).fit(X, DIGIT), X


def _joined(scale: str) -> tuple[Any, Any]:
    members = {
        "shapes": _digits()[0],
        HOSTILE[2]: _small(booleanize=cotm.Thermometer(3)).fit(DIGITS, DIGIT),
        "own": _small(TMClassifier, average=2).fit(DIGITS, DIGIT),
    }
    return cotm.join(members, DIGITS if scale == "range" else None, scale=scale), DIGITS


def _zero_based() -> tuple[Any, Any]:
    import scipy.sparse

    X = np.where(DIGITS > 9, DIGITS, 0.0) - 3 * (DIGITS == 2)
    return _small().fit(scipy.sparse.csr_matrix(X), DIGIT), X


MODELS = {
    "flat": _flat,
    "table": _table,
    "table, graded": lambda: _table(tolerance=4),
    "numbers": lambda: (_small().fit(DIGITS, DIGIT), DIGITS),
    "sparse": _zero_based,
    "averaged": lambda: _flat(average=3),
    "preset": lambda: _table(preset="auto", n_clauses=10),
    "graded": lambda: _flat(tolerance=5, T=60),
    "own clauses": lambda: _flat(kind=TMClassifier),
    "several labels": _labels,
    "levels": _digits,
    "levels, graded": lambda: _digits(tolerance=3, n_clauses=12),
    "adaptive": _gray,
    "adaptive, narrow": lambda: _gray(booleanize=cotm.AdaptiveGaussianThreshold(3, -4.5)),
    "adaptive, colour": _colour,
    "edges": lambda: _gray(booleanize=cotm.EdgeThermometer(), tolerance=4),
    "edges, colour": lambda: _colour(booleanize=cotm.EdgeThermometer()),
    "gradients": lambda: (
        _small(patch_shape=(2, 2), booleanize=cotm.GradientHistogram()).fit(BYTES, DIGIT),
        BYTES,
    ),
    "gradients, colour": lambda: _colour(
        booleanize=cotm.GradientHistogram(3, 1, directions=5, signed=False, colour="each")
    ),
    "line": _line,
    "joined by range": lambda: _joined("range"),
    "joined by margin": lambda: _joined("margin"),
    "joined as they are": lambda: _joined("none"),
}


@functools.cache
def model(name: str) -> tuple[Any, Any]:
    """A fitted model, and what it reads."""
    return MODELS[name]()  # type: ignore[no-untyped-call]


def odd(
    seed: int, *, largest: int = 10**9, most_weights: int = 10**9
) -> tuple[Description, Any, Any]:
    """A machine of an odd shape over bits, with so many features of patches and weights at most."""
    while True:
        c = random_configuration(seed)
        features = c.spec.grid.n_features * c.spec.grid.n_patches
        if features <= largest and c.spec.n * c.spec.m <= most_weights:
            break
        seed += 1_000_003
    spec, grid = c.spec, c.spec.grid
    source: TableInput | ImageInput
    if grid.is_flat:
        columns = tuple(Column(f"x{k}", "bit") for k in range(grid.channels))
        source = TableInput(columns, tuple(Test(k, ">", 0.5) for k in range(grid.channels)))
    else:
        source = ImageInput(grid.image_shape, bits_of_channels(grid.channels))
    clauses = clauses_of(c.memory >= 0, c.weights, spec.tolerance, grid)
    member = Member("model", source, grid, spec.tolerance, tuple(clauses))
    description = Description(
        (member,), None, tuple(f"c{k}" for k in range(spec.m)), spec.m == 1, spec.T, 2.0
    )
    votes = ReferenceBackend(spec, c.memory, c.weights).votes(c.examples)
    bits = c.examples.bits
    bits = bits if isinstance(bits, np.ndarray) else bits.toarray()
    return description, bits.reshape(len(bits), -1), votes


def cells(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (N, columns), NaN where there is none, and texts, None where there is none."""
    if not isinstance(X, pd.DataFrame):
        numbers = np.asarray(X, dtype=float).reshape(len(X), -1)
        return numbers, np.full(numbers.shape, None, dtype=object)
    numbers, texts = np.full(X.shape, np.nan), np.full(X.shape, None, dtype=object)
    for k, name in enumerate(X):
        values = X[name]
        if values.dtype.kind == "M":
            values = (values - pd.Timestamp(0)) / pd.Timedelta(seconds=1)
        for row, value in enumerate(values.tolist()):
            if isinstance(value, str):
                texts[row, k] = value
            elif value is not None:
                numbers[row, k] = value
    return numbers, texts


def grid_of(shape: tuple[int, int, int], patch: tuple[int, int]) -> PatchGrid:
    return PatchGrid(*shape, *patch)
