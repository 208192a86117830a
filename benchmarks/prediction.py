"""Predictions: single rows of tables, and batches of bits, on one core.

Usage: python benchmarks/prediction.py [--rows] [--batches MODEL.cotm ...]

--rows: microseconds per call for one row of scikit-learn's breast cancer data (30 numbers) and of
the same table with two columns of texts, as an array and as frames; the best of a hundred
times 20 calls. --batches: rows per second of flat models of MNIST's pixels above 75, as
``model.save`` wrote them, on 4,096 rows, the best of two seconds. "raw" is ``predict`` on bytes of
0 and 1, "packed" the votes of rows that the core has already packed into words.
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import cotm
from cotm.datasets import load_mnist

METHODS = ("votes", "predict", "predict_proba")


def microseconds(method: Callable[[Any], Any], row: Any) -> float:
    method(row)
    return min(timeit.repeat(lambda: method(row), number=20, repeat=100)) / 20 * 1e6


def rows() -> None:
    import pandas as pd
    import polars as pl

    frame, y = load_breast_cancer(as_frame=True, return_X_y=True)
    mixed = frame.assign(
        size=pd.cut(frame["mean area"], [0, 400, 800, 9999], labels=["s", "m", "l"]).astype(str),
        side=np.where(np.arange(len(frame)) % 3, "left", "right"),
    )
    cases = {
        "array": frame.to_numpy(),
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pandas, texts": mixed,
        "polars, texts": pl.from_pandas(mixed),
        "bits": (frame.to_numpy() > frame.to_numpy().mean(axis=0)).astype(np.uint8),
    }
    for name, X in cases.items():
        model = cotm.CoTMClassifier(200, max_literals=6, epochs=5, preset="paper", random_state=0)
        model.fit(X, y)
        times = (f"{m} {microseconds(getattr(model, m), X[:1]):.1f}" for m in METHODS)
        print(f"{name:14}", *times)


def batch(path: Path) -> None:
    _, _, X, labels = load_mnist()
    X = (X.reshape(len(X), -1) > 75).astype(np.uint8)
    model = cotm.load(path)
    model.n_jobs = 1
    accuracy, X = model.score(X, labels), X[:4096]
    machine = model.machine_._pool()
    examples = model._reader.read(X)
    backend = machine._live.backend
    rows = backend.prepare(examples)

    def rate(call: Callable[[], Any]) -> float:
        taken: list[float] = []
        while sum(taken) < 2:
            taken.append(timeit.timeit(call, number=1))
        return len(X) / min(taken) / 1e6

    raw = rate(lambda: model.predict(X))
    packed = rate(lambda: backend.votes(rows, 1))
    print(
        f"{path.name}: {len(model.memory_)} clauses, accuracy {accuracy:.4f}, "
        f"raw {raw:.2f}, packed {packed:.2f} million rows per second"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--batches", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    if given.rows:
        rows()
    for path in given.batches:
        batch(path)


if __name__ == "__main__":
    main()
