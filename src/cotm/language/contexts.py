"""What words stand among: for each example several contexts of a word, or of others, as one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..core.examples import ChangingExamples, Examples
from ..core.patches import PatchGrid
from ..core.randomness import U64, Purpose, hash32, make_key, step_key
from ..core.sparse_targets import SparseTargets

Int = NDArray[np.int64]


class Contexts(ChangingExamples):
    """Examples for a machine with an output for each word.

    Row r is about word ``r // per_word``. Of a word's rows every other one, the first of them
    too, asks it with target 1 and brings contexts that the word has; the others ask it with
    target 0 and bring contexts that it does not have. ``accumulation`` contexts are drawn, anew
    in every pass, and the words that are read of them together, without the word itself, are the
    bits: bit k is word ``read[k]``.
    """

    def __init__(
        self, n_words: int, read: Int, per_word: int, accumulation: int, seed: int
    ) -> None:
        self.n_words, self.per_word, self.accumulation = n_words, per_word, accumulation
        self.seed = seed
        self.grid = PatchGrid.flat(len(read))
        # The bit of each word; those that are not read, and -1, share one that is dropped.
        self._bit = np.full(n_words + 1, len(read), dtype=np.int64)
        self._bit[read] = np.arange(len(read))

    def __len__(self) -> int:
        return self.n_words * self.per_word

    def __getitem__(self, rows: Any) -> ChangingExamples:
        raise TypeError("contexts are drawn for all words together")

    def unchanged(self) -> Examples:
        raise TypeError("contexts are drawn anew in every pass")

    def targets(self) -> SparseTargets:
        """Which word each row asks, and its target."""
        rows = np.arange(len(self))
        return SparseTargets(
            np.arange(len(self) + 1, dtype=np.int64),
            (rows // self.per_word).astype(np.int32),
            self._wanted(rows).astype(np.uint8),
            self.n_words,
        )

    def of_pass(self, step: int, rows: NDArray[np.int64]) -> Examples:
        words, wanted = rows // self.per_word, self._wanted(rows)
        keys = make_key(step_key(self.seed, step), Purpose.TEXT, 0, rows)
        draws = hash32(keys[:, None], np.arange(self.accumulation)).astype(U64)
        n_bits = self.grid.n_features
        bits = np.zeros((len(rows), n_bits + 1), dtype=bool)
        begin = np.arange(len(rows)) * bits.shape[1]
        for part in (wanted, ~wanted):
            there = np.flatnonzero(part)
            places, found = self._words_near(words[there], part is wanted, draws[there])
            bits.ravel()[begin[there][places] + self._bit[found]] = True
        bits.ravel()[begin + self._bit[words]] = False
        return Examples(_as_rows(bits, n_bits), self.grid)

    def _wanted(self, rows: Int) -> NDArray[np.bool_]:
        return np.asarray(rows % self.per_word % 2 == 0)

    @abstractmethod
    def _words_near(
        self, words: Int, wanted: bool, draws: NDArray[np.uint64]
    ) -> tuple[Int, NDArray[np.int32]]:
        """The words in contexts of these words, or of any, as drawn: rows, and words or -1."""


def _as_rows(bits: NDArray[np.bool_], n_bits: int) -> scipy.sparse.csr_array:
    """Dense bits as a sparse matrix, without the last column. Some times as fast as SciPy."""
    bits[:, n_bits] = False
    places = np.flatnonzero(bits)
    begin = np.arange(len(bits) + 1) * bits.shape[1]
    starts = np.searchsorted(places, begin)
    columns = (places - np.repeat(begin[:-1], np.diff(starts))).astype(np.int32)
    entries = np.ones(len(columns), dtype=np.uint8), columns, starts
    return scipy.sparse.csr_array(entries, shape=(len(bits), n_bits))


def _drawn(draws: NDArray[np.uint64], counts: Int | int) -> Int:
    """From 32 random bits each a number below a count."""
    return np.asarray(draws * np.asarray(counts, dtype=U64) >> U64(32)).astype(np.int64)


class Documents(Contexts):
    """A word's contexts are the texts that contain it, given as a matrix (texts, words)."""

    def __init__(
        self,
        matrix: scipy.sparse.csr_array,
        read: Int,
        per_word: int,
        accumulation: int,
        seed: int,
    ) -> None:
        super().__init__(matrix.shape[1], read, per_word, accumulation, seed)
        self._texts = matrix
        self._having = matrix.tocsc()
        rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
        self._codes = rows * self.n_words + matrix.indices  # of the entries, ascending

    def _words_near(
        self, words: Int, wanted: bool, draws: NDArray[np.uint64]
    ) -> tuple[Int, NDArray[np.int32]]:
        if wanted:
            first, last = self._having.indptr[words], self._having.indptr[words + 1]
            place = first.astype(np.int64)[:, None] + _drawn(draws, (last - first)[:, None])
            texts = self._having.indices[place]
        else:
            texts = self._without(words, _drawn(draws, self._texts.shape[0]))
        chosen = texts.ravel()
        count = np.diff(self._texts.indptr)[chosen].astype(np.int64)
        begin = self._texts.indptr[chosen] - np.concatenate([[0], np.cumsum(count)[:-1]])
        found = self._texts.indices[np.arange(count.sum()) + np.repeat(begin, count)]
        return np.repeat(np.repeat(np.arange(len(words)), texts.shape[1]), count), found

    def _without(self, words: Int, texts: Int) -> Int:
        """The drawn texts; in the place of one that contains the word the next that does not."""
        n_texts = self._texts.shape[0]
        for _ in range(_TRIES):
            wanted = texts * self.n_words + words[:, None]
            place = np.minimum(np.searchsorted(self._codes, wanted), len(self._codes) - 1)
            has = self._codes[place] == wanted
            if not has.any():
                break
            texts = np.where(has, (texts + 1) % n_texts, texts)
        return texts


#: Texts that are looked at for one without a word. A word that nearly all contain has none.
_TRIES = 20


class Windows(Contexts):
    """A word's contexts are the words around each of its occurrences, so many on either side."""

    def __init__(
        self,
        texts: list[NDArray[np.int32]],
        n_words: int,
        read: Int,
        window: int,
        per_word: int,
        accumulation: int,
        seed: int,
    ) -> None:
        super().__init__(n_words, read, per_word, accumulation, seed)
        border = np.full(window, -1, dtype=np.int32)
        self._symbols = np.concatenate([border, *(part for t in texts for part in (t, border))])
        places = np.flatnonzero(self._symbols >= 0)
        order = np.argsort(self._symbols[places], kind="stable")
        self._places = places[order]  # of all words, the first word's first
        counts = np.bincount(self._symbols[places], minlength=n_words)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._near = np.array([k for k in range(-window, window + 1) if k])

    def _words_near(
        self, words: Int, wanted: bool, draws: NDArray[np.uint64]
    ) -> tuple[Int, NDArray[np.int32]]:
        if wanted:
            first, last = self._starts[words], self._starts[words + 1]
            number = first[:, None] + _drawn(draws, (last - first)[:, None])
        else:
            number = _drawn(draws, len(self._places))
        near = self._symbols[self._places[number][:, :, None] + self._near]
        if not wanted:  # windows with the word, or around it, are left out
            centre = self._symbols[self._places[number]]
            has = (near == words[:, None, None]).any(axis=2) | (centre == words[:, None])
            near = np.where(has[:, :, None], -1, near)
        return np.repeat(np.arange(len(words)), near[0].size), near.ravel()
