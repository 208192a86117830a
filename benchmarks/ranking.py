"""Ranking with what there is: a regressor on relevance, or one output for each grade of it.

Queries and documents are generated: relevance from 0 to 4 by interactions of a document's columns,
some of which only say something together with the query's kind, and noise. NDCG at 10 of queries
that were not learned from, beside boosting; several seeds.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from common import commit
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import ndcg_score

import cotm
from cotm.experiments.report import processor_name

_GRADES = 4


def queries(count: int, documents: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """X (queries * documents, columns), and how relevant each document is, from 0 to 4."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(rng.integers(0, 3, count), documents)
    X = rng.uniform(size=(count * documents, 10))
    fit = 2.0 * X[:, 0] + (X[:, 1] > 0.6) * (X[:, 2] > 0.4) + X[np.arange(len(X)), 3 + kind]
    fit += rng.normal(0, 0.4, len(X))
    relevance = np.searchsorted(np.quantile(fit, [0.5, 0.75, 0.9, 0.97]), fit)
    return np.column_stack([X, kind]), relevance


def by_grade(X: NDArray[Any], relevance: NDArray[Any], seed: int) -> Callable[[Any], Any]:
    """A classifier whose labels are "at least so relevant", and the sum of its votes."""
    Y = (relevance[:, None] > np.arange(_GRADES)).astype(int)
    return cotm.CoTMClassifier(random_state=seed, n_jobs=1).fit(X, Y).votes


def methods(seed: int) -> dict[str, Callable[[Any, Any], Callable[[Any], Any]]]:
    def ranker(X: Any, relevance: Any) -> Callable[[Any], Any]:
        votes = by_grade(X, relevance, seed)
        return lambda rows: votes(rows).sum(axis=1)

    return {
        "CoTMRegressor": lambda X, y: (
            cotm.CoTMRegressor(random_state=seed, n_jobs=1).fit(X, y).predict
        ),
        "CoTMClassifier, a label for each grade": ranker,
        "boosting": lambda X, y: HistGradientBoostingRegressor(random_state=seed).fit(X, y).predict,
        "ridge": lambda X, y: Ridge().fit(X, y).predict,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"{processor_name()}, Python {platform.python_version()}, ", end="")
    print(f"scikit-learn {sklearn.__version__}, cotm {commit()}, {options.seeds} seeds")
    print("| method | NDCG at 10 | seconds to fit |\n| --- | --- | --- |")
    for name in methods(0):
        found, seconds = [], 0.0
        for seed in range(options.seeds):
            X, y = queries(options.queries, options.documents, 2 * seed)
            held, truth = queries(options.queries, options.documents, 2 * seed + 1)
            began = time.process_time()
            score = methods(seed)[name](X, y)
            seconds += time.process_time() - began
            shape = options.queries, options.documents
            found.append(ndcg_score(truth.reshape(shape), score(held).reshape(shape), k=10))
        print(f"| {name} | {np.mean(found):.3f} | {seconds / options.seeds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
