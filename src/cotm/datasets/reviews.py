"""IMDb's film reviews as text."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archives import find_archive, read_parts
from .fetch import DataError, RemoteFile, fetch

_IMDB = RemoteFile(
    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    "7c2ac02c03563afcf9b574c7e56c153a",
)

#: Texts and labels (1 is positive) of the training reviews, then of the test reviews.
Reviews = tuple[list[str], NDArray[np.uint8], list[str], NDArray[np.uint8]]


def load_imdb() -> Reviews:
    """IMDb: 25,000 training and 25,000 test reviews as text, and whether they are positive.

    The reviews are sorted by class, so shuffle them before you take a part. As bits for a
    classifier: :class:`cotm.booleanize.SetOfWords`.
    """
    path = find_archive("imdb.npz")
    if path is None:
        return _read_tar(fetch(_IMDB, "imdb"))
    with np.load(path, allow_pickle=False) as archive:
        train, test = (
            [text.decode() for text in read_parts(archive, split, "text")]
            for split in ("train", "test")
        )
        return train, archive["y_train"], test, archive["y_test"]


def _read_tar(path: Path) -> Reviews:
    """The archive as its makers publish it: a file for each review."""
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
