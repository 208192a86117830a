"""The data of the benchmarks: real ones from the folder ``COTM_DATA``, otherwise generated.

Everything is written as .npy files. A worker maps them into memory and takes its slice from them,
so that data it does not use do not count in its peak memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, vstack

import cotm
from cotm.datasets import load_imdb, load_mnist
from cotm.datasets.archives import find_archive

N_WORDS = 10_000


def write(kind: str, folder: Path, rows: int, test_rows: int) -> str:
    """Write so many examples of "images" or "text" into the folder, and say what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays, source = {"images": images, "text": text}[kind](rows, test_rows)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    n, n_test = len(arrays["y_train"]), len(arrays["y_test"])
    return f"{source}; {n:,} training and {n_test:,} test examples"


def images(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
    """MNIST as bits, as the paper makes them, or generated images."""
    if find_archive("mnist.npz") is None:
        return made_images(rows, test_rows)
    x_train, y_train, x_test, y_test = load_mnist()
    threshold = cotm.AdaptiveGaussianThreshold()
    arrays = {
        "x_train": threshold.fit_transform(x_train[:rows]),
        "y_train": y_train[:rows],
        "x_test": threshold.transform(x_test[:test_rows]),
        "y_test": y_test[:test_rows],
    }
    return arrays, "MNIST"


def made_images(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
    """scikit-learn's digits of 8 x 8 pixels, enlarged to 28 x 28, with noise."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    small, labels = load_digits(return_X_y=True)
    large = np.kron(small.reshape(-1, 8, 8) > 7, np.ones((3, 3), dtype=bool))
    large = np.pad(large, ((0, 0), (2, 2), (2, 2)))
    pick = rng.integers(0, len(labels), rows + test_rows)
    bits = (large[pick] ^ (rng.random((len(pick), 28, 28), np.float32) < 0.05)).astype(np.uint8)
    y = labels[pick]
    arrays = {
        "x_train": bits[:rows],
        "y_train": y[:rows],
        "x_test": bits[rows:],
        "y_test": y[rows:],
    }
    return arrays, "generated from scikit-learn's digits with 5 % noise, not MNIST"


def text(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
    """IMDb's reviews as sets of words, or generated ones."""
    if find_archive("imdb.npz") is None:
        train, y_train, test, y_test = made_text(rows, test_rows)
        source = "generated rows of about 127 of 10,000 words, not IMDb"
    else:
        train, y_train, test, y_test = imdb(rows, test_rows)
        source = "IMDb, the 10,000 most frequent words"
    arrays = {
        "train_indptr": train.indptr,
        "train_indices": train.indices,
        "y_train": y_train,
        "test_indptr": test.indptr,
        "test_indices": test.indices,
        "y_test": y_test,
    }
    return arrays, source


def imdb(rows: int, test_rows: int):
    """Random reviews, since they are sorted by class, as bits of the most frequent words."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts, y_train, test_texts, y_test = load_imdb()
    rng = np.random.default_rng(0)

    def pick(texts: list[str], labels: np.ndarray, count: int) -> tuple[list[str], np.ndarray]:
        chosen = rng.permutation(len(texts))[:count]
        return [texts[i] for i in chosen], labels[chosen]

    # A few hundred reviews do not have 10,000 words, so words are chosen from more of them: then
    # rows have the same shape however few are asked for.
    train_text, y_train = pick(texts, y_train, max(rows, 2500))
    test_text, y_test = pick(test_texts, y_test, test_rows)
    vectorizer = CountVectorizer(binary=True, max_features=N_WORDS, dtype=np.uint8)
    train = vectorizer.fit_transform(train_text)[:rows]
    test = vectorizer.transform(test_text)
    # green-tsetlin accepts unsorted rows, but learns nothing from them.
    train.sort_indices()
    test.sort_indices()
    return train, y_train[:rows], test, y_test


def made_text(rows: int, test_rows: int):
    """Words as frequent as in a natural language, 300 of which depend on the label."""
    rng = np.random.default_rng(0)
    frequency = np.minimum(0.9, 17.5 / np.arange(1, N_WORDS + 1)).astype(np.float32)
    telling = rng.permutation(np.arange(100, 1100))[:300]
    factor = np.ones((2, N_WORDS), dtype=np.float32)
    factor[0, telling[:150]], factor[1, telling[:150]] = 1.5, 0.5
    factor[0, telling[150:]], factor[1, telling[150:]] = 0.5, 1.5
    y = rng.integers(0, 2, rows + test_rows)
    chunks = [  # of rows, because all draws together would take a gigabyte
        csr_matrix(rng.random((len(part), N_WORDS), np.float32) < frequency * factor[part])
        for part in np.array_split(y, 1 + len(y) // 1000)
    ]
    X = vstack(chunks, format="csr")
    return X[:rows], y[:rows], X[rows:], y[rows:]
