"""Texts as bits: bags, phrases, hypervectors and windows, where order decides and on IMDb.

Usage: python benchmarks/sequences.py order
       python benchmarks/sequences.py imdb [--reviews 25000]

``order`` makes texts in which two words stand side by side in one order or the other, and
series of numbers that rise or fall once; ``imdb`` takes the reviews from COTM_DATA.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from cotm import CoTMClassifier, Hypervectors, NGrams, TokenWindows

Data = tuple[list[Any], np.ndarray, list[Any], np.ndarray]


def ordered_words(rng: np.random.Generator, count: int) -> tuple[list[str], np.ndarray]:
    """Texts of 8 to 40 of 200 words; "not good" or "good not" somewhere among them."""
    words, y = [f"w{k}" for k in range(200)], np.arange(count) % 2
    texts = []
    for label in y:
        text = rng.choice(words, rng.integers(6, 39)).tolist()
        at = int(rng.integers(len(text) + 1))
        text[at:at] = ["not", "good"] if label else ["good", "not"]
        texts.append(" ".join(text))
    return texts, y


def ordered_numbers(rng: np.random.Generator, count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Series of 20 to 60 noisy numbers with one step: a spike, then a dip, or the other way."""
    y = np.arange(count) % 2
    series = []
    for label in y:
        values = rng.normal(0, 0.5, rng.integers(20, 61))
        at = int(rng.integers(len(values) - 1))
        values[at : at + 2] = [3, -3] if label else [-3, 3]
        series.append(values)
    return series, y


READERS: dict[str, dict[str, dict[str, Any]]] = {
    "words": {
        "bag of words": {"booleanize": NGrams(n_features=5000)},
        "words and pairs": {"booleanize": NGrams(longest=2, n_features=5000)},
        "hypervectors of pairs, 1,024 bits": {
            "booleanize": Hypervectors(n_bits=1024, shortest=2, longest=2)
        },
        "hypervectors of pairs, 8,192 bits": {
            "booleanize": Hypervectors(n_bits=8192, shortest=2, longest=2)
        },
        "windows of 2 words": {"booleanize": TokenWindows(width=2), "patch_shape": (1,)},
        "words side by side": {"booleanize": TokenWindows(width=1), "patch_shape": (2,)},
        "windows of 2 hypervectors, 128 bits": {
            "booleanize": TokenWindows(width=2, codes="hypervectors", n_features=128),
            "patch_shape": (1,),
        },
    },
    "numbers": {
        "bag of levels": {"booleanize": Hypervectors("numbers", 512, 16)},
        "hypervectors of pairs": {
            "booleanize": Hypervectors("numbers", 2048, 4, 2, 2, levels=5),
        },
        "windows of 2 numbers": {
            "booleanize": TokenWindows("numbers", width=2),
            "patch_shape": (1,),
        },
    },
    "imdb": {
        "bag of words": {"booleanize": NGrams(n_features=5000, select="chi2")},
        "words and pairs": {"booleanize": NGrams(longest=2, n_features=10_000, select="chi2")},
        "words, pairs and triples": {
            "booleanize": NGrams(longest=3, n_features=20_000, select="chi2")
        },
        "characters, 4 to 6": {
            "booleanize": NGrams("characters", 4, 6, 20_000, select="chi2", min_texts=10)
        },
        "hypervectors, 2,048 bits": {"booleanize": Hypervectors(n_bits=2048, ones=1)},
        "hypervectors, 8,192 bits": {"booleanize": Hypervectors(n_bits=8192, ones=1)},
        "hypervectors with pairs, 16,384 bits": {
            "booleanize": Hypervectors(n_bits=16_384, ones=1, longest=2)
        },
    },
}


def measure(readers: dict[str, dict[str, Any]], data: Data, **options: Any) -> None:
    """A line for each reader."""
    X, y, X_test, y_test = data
    for name, reader in readers.items():
        began = time.process_time()
        model = CoTMClassifier(**options, **reader, random_state=0, n_jobs=1).fit(X, y)
        seconds = time.process_time() - began
        bits = model.machine_.spec.grid.n_features
        score = 100 * model.score(X_test, y_test)
        print(f"| {name} | {bits:,} | {score:.1f} % | {seconds:.1f} s |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["order", "imdb"])
    parser.add_argument("--reviews", type=int, default=25_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    if options.task == "order":
        for name, make in (("words", ordered_words), ("numbers", ordered_numbers)):
            data = (*make(rng, 1000), *make(rng, 1000))
            print(f"{name}: 1,000 to learn from, 1,000 to test")
            measure(READERS[name], data, n_clauses=40, T=40, s=5, epochs=30)
        return
    from cotm.datasets import load_imdb

    X, y, X_test, y_test = load_imdb()
    rows = rng.permutation(len(X))[: options.reviews]
    data = ([X[k] for k in rows], y[rows], X_test, y_test)
    readers = {name: r for name, r in READERS["imdb"].items() if options.only in name}
    measure(readers, data, n_clauses=1000, epochs=options.epochs)


if __name__ == "__main__":
    main()
