"""The data of the benchmarks: real ones from the folder ``COTM_DATA``, otherwise generated.

Everything is written as .npy files, which a worker maps into memory and cuts its slice from,
so that its peak memory is not that of data it does not use.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, vstack

N_WORDS = 10_000


def write(kind: str, folder: Path, rows: int, test_rows: int) -> str:
    """Write so many examples of "images" or "text" into the folder, and say what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays, source = {"images": images, "text": text}[kind](rows, test_rows)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    n, n_test = len(arrays["y_train"]), len(arrays["y_test"])
    return f"{source}; {n:,} training and {n_test:,} test examples"


def real(name: str) -> Path | None:
    path = Path(os.environ.get("COTM_DATA", "")) / name
    return path if os.environ.get("COTM_DATA") and path.is_file() else None


def images(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
    path = real("mnist.npz")
    if path is None:
        return made_images(rows, test_rows)
    import cotm

    raw = np.load(path)
    threshold = cotm.AdaptiveGaussianThreshold()
    arrays = {
        "x_train": threshold.fit_transform(raw["x_train"][:rows]),
        "y_train": raw["y_train"][:rows],
        "x_test": threshold.transform(raw["x_test"][:test_rows]),
        "y_test": raw["y_test"][:test_rows],
    }
    return arrays, "MNIST"


def made_images(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
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
    path = real("imdb.npz")
    if path is None:
        train, y_train, test, y_test = made_text(rows, test_rows)
        source = "generated rows of about 127 of 10,000 words, not IMDb"
    else:
        train, y_train, test, y_test = imdb(path, rows, test_rows)
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


def imdb(path: Path, rows: int, test_rows: int):
    from sklearn.feature_extraction.text import CountVectorizer

    raw = np.load(path)
    rng = np.random.default_rng(0)  # the reviews are sorted by class

    def split(name: str, count: int) -> tuple[list[str], np.ndarray]:
        content, ends = raw[f"{name}_text"].tobytes(), raw[f"{name}_end"]
        starts = np.concatenate([[0], ends[:-1]])
        pick = rng.permutation(len(ends))[:count]
        return [content[starts[i] : ends[i]].decode() for i in pick], raw[f"y_{name}"][pick]

    # A few hundred reviews have not 10,000 words, and the rows should keep their shape.
    train_text, y_train = split("train", max(rows, 2500))
    test_text, y_test = split("test", test_rows)
    vectorizer = CountVectorizer(binary=True, max_features=N_WORDS, dtype=np.uint8)
    train = vectorizer.fit_transform(train_text)[:rows]
    test = vectorizer.transform(test_text)
    # green-tsetlin takes rows in any order and learns nothing from unsorted ones.
    train.sort_indices()
    test.sort_indices()
    return train, y_train[:rows], test, y_test


def made_text(rows: int, test_rows: int):
    """Words with frequencies like a natural language's; 300 of them depend on the label."""
    rng = np.random.default_rng(0)
    frequency = np.minimum(0.9, 17.5 / np.arange(1, N_WORDS + 1)).astype(np.float32)
    telling = rng.permutation(np.arange(100, 1100))[:300]
    factor = np.ones((2, N_WORDS), dtype=np.float32)
    factor[0, telling[:150]], factor[1, telling[:150]] = 1.5, 0.5
    factor[0, telling[150:]], factor[1, telling[150:]] = 0.5, 1.5
    y = rng.integers(0, 2, rows + test_rows)
    chunks = [  # a chunk at a time: all draws together would be a gigabyte
        csr_matrix(rng.random((len(part), N_WORDS), np.float32) < frequency * factor[part])
        for part in np.array_split(y, 1 + len(y) // 1000)
    ]
    X = vstack(chunks, format="csr")
    return X[:rows], y[:rows], X[rows:], y[rows:]
