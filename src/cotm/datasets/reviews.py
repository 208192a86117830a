"""IMDb's reviews, and the words in them as bits."""

from __future__ import annotations

import tarfile
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .fetch import DataError, RemoteFile, fetch, find_archive

_IMDB = RemoteFile(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "7c2ac02c03563afcf9b574c7e56c153a",
)

#: texts and labels (1 is positive) of the training and the test reviews
Reviews = tuple[list[str], NDArray[np.uint8], list[str], NDArray[np.uint8]]


def load_imdb() -> Reviews:
    """IMDb: 25,000 training and 25,000 test reviews as text, and whether they are positive.

    The reviews are sorted by class: shuffle what you take a part of. See :class:`SetOfWords`.
    """
    path = find_archive("imdb.npz")
    if path is None:
        return _read_tar(fetch(_IMDB, "imdb"))
    found: list[Any] = []
    with np.load(path, allow_pickle=False) as archive:
        for split in ("train", "test"):
            content, ends = archive[f"{split}_text"].tobytes(), archive[f"{split}_end"].tolist()
            starts = [0, *ends[:-1]]
            texts = [content[a:b].decode() for a, b in zip(starts, ends, strict=True)]
            found += [texts, archive[f"y_{split}"]]
    return found[0], found[1], found[2], found[3]


def _read_tar(path: Any) -> Reviews:
    texts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            parts = member.name.split("/")  # aclImdb/train/pos/123_7.txt
            if member.isfile() and len(parts) == 4 and parts[2] in ("pos", "neg"):
                file: Any = archive.extractfile(member)
                content = file.read().decode("utf-8")
                texts.setdefault((parts[1], parts[2]), []).append((parts[3], content))
    found: list[Any] = []
    for split in ("train", "test"):
        negative, positive = (sorted(texts.get((split, kind), [])) for kind in ("neg", "pos"))
        if not negative or not positive:
            raise DataError(f"{path} does not hold IMDb's reviews")
        found.append([text for _, text in negative + positive])
        found.append(np.repeat(np.array([0, 1], np.uint8), [len(negative), len(positive)]))
    return found[0], found[1], found[2], found[3]


class SetOfWords:
    """Which words and phrases a text has, as a sparse matrix of bits.

    Of all words and n-grams that at least ``min_texts`` training texts have, the ``n_features``
    that tell the classes apart best are taken: those with the highest chi-squared statistic
    between having them and the label, every class counting alike however many texts it has.

    Examples
    --------
    >>> texts, y = ["a good film", "a bad film", "good fun", "bad luck"], [1, 0, 1, 0]
    >>> words = SetOfWords(n_features=2, n_grams=1, min_texts=1).fit(texts, y)
    >>> words.names_
    ['bad', 'good']
    >>> words.transform(["good or bad"]).toarray()
    array([[1, 1]], dtype=uint8)
    """

    def __init__(self, n_features: int = 5000, n_grams: int = 2, min_texts: int = 3) -> None:
        self.n_features = n_features
        self.n_grams = n_grams
        self.min_texts = min_texts

    def fit(self, texts: list[str], y: Any) -> SetOfWords:
        """Learn which words tell the labels apart."""
        from sklearn.feature_extraction.text import CountVectorizer

        options = {"binary": True, "ngram_range": (1, self.n_grams), "dtype": np.uint8}
        counter = CountVectorizer(min_df=self.min_texts, **options)
        bits = counter.fit_transform(texts)
        score = _chi_squared(bits, np.asarray(y))
        taken = np.sort(np.argsort(-score, kind="stable")[: self.n_features])
        self.names_ = counter.get_feature_names_out()[taken].tolist()
        self._counter = CountVectorizer(vocabulary=self.names_, **options)
        return self

    def transform(self, texts: list[str]) -> scipy.sparse.csr_array:
        """Bits of the words learned, (texts, words)."""
        return scipy.sparse.csr_array(self._counter.transform(texts))


def _chi_squared(bits: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Association of each column with the class, per text, as if classes had equally many."""
    shares = np.stack([np.asarray(bits[y == label].mean(axis=0)).ravel() for label in np.unique(y)])
    mean = shares.mean(axis=0)
    spread = mean * (1 - mean)  # 0 where all texts have the word: it tells nothing
    return np.asarray(((shares - mean) ** 2).mean(axis=0) / np.where(spread > 0, spread, 1.0))
