"""The default settings on whole sets of images and reviews, beside the paper's.

    python benchmarks/defaults.py mnist fashion-mnist imdb --presets auto paper

The data come from the folder COTM_DATA, from the cache, or from the net. Reviews are the most
frequent words and pairs of words in training reviews. tables.py has the defaults on tables.
"""

from __future__ import annotations

import argparse
import platform
import time
from typing import Any

import numpy as np

import cotm
from cotm.datasets import load_fashion_mnist, load_imdb, load_mnist
from cotm.experiments.report import processor_name
from cotm.model.presets import PRESETS

Data = tuple[Any, np.ndarray, Any, np.ndarray]


def imdb(n_words: int) -> Data:
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels, test_texts, test_labels = load_imdb()
    words = CountVectorizer(
        binary=True, ngram_range=(1, 2), max_features=n_words, dtype=np.uint8
    )  # fmt: skip
    return words.fit_transform(texts), labels, words.transform(test_texts), test_labels


def measure(name: str, data: Data, preset: str, seed: int) -> None:
    X, y, X_test, y_test = data
    patches = {} if name == "imdb" else {"patch_shape": (10, 10)}
    model = cotm.CoTMClassifier(**patches, preset=preset, random_state=seed, n_jobs=1)
    began = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    accuracy = model.score(X_test, y_test)
    tested = time.process_time()
    print(
        f"| {name} | {model.preset_} | {seed} | {100 * accuracy:.2f} | {fitted - began:.1f} "
        f"| {tested - fitted:.2f} | {model.epochs_} | {model.T_} | {model.s_:g} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    loaders = {"mnist": load_mnist, "fashion-mnist": load_fashion_mnist, "imdb": imdb}
    parser.add_argument("data", nargs="*", choices=[*loaders, []])
    parser.add_argument("--presets", nargs="+", choices=["auto", *PRESETS], default=["auto"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--words", type=int, default=5000, help="of reviews")
    options = parser.parse_args()
    print(f"cotm {cotm.__version__}, Python {platform.python_version()}, {processor_name()}\n")
    print("| data | preset | seed | test % | fit, s | predict, s | epochs | T | s |")
    print("| --- |" + " --- |" * 8)
    for name in options.data or loaders:
        data = imdb(options.words) if name == "imdb" else loaders[name]()
        for preset in options.presets:
            for seed in options.seeds:
                measure(name, data, preset, seed)


if __name__ == "__main__":
    main()
