"""How long explanations take: processor seconds of one thread, the best of three.

Usage: OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/explaining.py [NAME ...]

Models learn from few examples, of sizes as usual; 100 examples are explained against 100 others,
one as exact fractions, and counterfactuals are looked for of ten. Data are scikit-learn's and the
paper's, from COTM_DATA, the cache or the net.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import cotm
from cotm import CoTMClassifier
from cotm.booleanize import SetOfWords
from cotm.datasets import load_fashion_mnist, load_imdb, load_mnist


def reviews(**parameters: Any) -> tuple[Any, Any]:
    texts, y, *_ = load_imdb()
    chosen = np.random.default_rng(0).permutation(len(texts))[:5000]
    texts, y = [texts[k] for k in chosen], np.asarray(y)[chosen]
    X = SetOfWords(5000).fit_transform(texts, y)
    return CoTMClassifier(random_state=0, n_jobs=1, **parameters).fit(X, y), X


def cancer(**parameters: Any) -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return CoTMClassifier(random_state=0, n_jobs=1, **parameters).fit(X, y), X


def images(load: Callable[[], Any], **parameters: Any) -> tuple[Any, Any]:
    X, y, *_ = load()
    X, y = X[:3000], y[:3000]
    return CoTMClassifier(random_state=0, n_jobs=1, **parameters).fit(X, y), X


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "IMDb, 5,000 words, 500 strict clauses": lambda: reviews(preset="paper"),
    "IMDb, 5,000 words, defaults (graded)": reviews,
    "breast cancer, 500 strict clauses": lambda: cancer(preset="paper"),
    "breast cancer, defaults": cancer,
    "MNIST, 10 × 10, 500 clauses": lambda: images(
        load_mnist, preset="paper", patch_shape=(10, 10), epochs=5
    ),
    "MNIST, 10 × 10, defaults": lambda: images(load_mnist, patch_shape=(10, 10), epochs=10),
    "Fashion-MNIST, edges, 200 graded clauses": lambda: images(
        load_fashion_mnist,
        patch_shape=(5, 5),
        booleanize=cotm.EdgeThermometer(),
        n_clauses=200,
        tolerance=10,
        preset="paper",
        epochs=5,
    ),
}


def best_of(count: int, call: Callable[[], Any]) -> float:
    taken = []
    for _ in range(count):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def measure(name: str, model: Any, X: Any) -> str:
    rows, others = X[:100], X[100:200]
    why = model.explain(rows, others)
    total = why.base + why.contributions.sum(axis=1)
    error = float(np.abs(total - why.votes).max() / max(1, np.abs(why.votes).max()))
    explained = best_of(3, lambda: model.explain(rows, others))
    exact, changed = "—", "—"
    if why.image_shape is None:
        exact = f"{best_of(1, lambda: why.exact(0)):.1f} s"

        def change() -> None:
            for k in range(10):
                model.counterfactual(X[k : k + 1])

        changed = f"{best_of(1, change) / 10:.2f} s"
    literals = int((model.memory_ >= 0).sum())
    clauses = int((model.memory_ >= 0).any(axis=1).sum())
    return (
        f"| {name} | {clauses:,} | {literals / max(1, clauses):.0f} | {explained:.2f} s | {exact} "
        f"| {changed} | {error:.0e} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of models; all, if none")
    names = parser.parse_args().names
    header = ["model", "clauses", "literals", "explained", "exact", "counterfactual", "error"]
    print("|", " | ".join(header), "|\n" + "| --- " * len(header) + "|")
    for name, make in MODELS.items():
        if not names or any(part in name for part in names):
            print(measure(name, *make()), flush=True)


if __name__ == "__main__":
    main()
