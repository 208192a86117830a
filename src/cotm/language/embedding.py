"""Words by the clauses that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from ..core.checks import check_integer, check_number
from ..core.decoding import expect, expect_array
from ..estimator.machine_model import FittedMachine, digest
from ..files.machine_models import SavedMachineModel
from .base import TextModel
from .contexts import Contexts, Documents, Windows
from .similar import SimilarWord, directions, shared_clauses
from .symbols import check_texts, most_frequent, numbered, words_of


class CoTMEmbedding(TransformerMixin, TextModel, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Word embeddings whose dimensions are clauses that can be read.

    The auto-encoder of arXiv 2301.00709 on one pool of clauses: every word is an output. For a
    word, several contexts that it stands in, or that it does not, become one bag of words
    without the word itself, and its output alone is asked, with target 1 or 0. The weights that
    a word gives to the clauses are its vector, so two words are alike where they give weight to
    the same clauses, and the clauses say in words why.

    Parameters
    ----------
    n_words : int, default=10000
        Most words; those in the most texts are taken.
    n_clauses : int, default=600
        Clauses, which is the length of a word's vector.
    T : int or None, default=None
        Voting margin; None: as many as clauses.
    s : float, default=50.0
        Specificity.
    window : int or None, default=5
        A word's contexts are so many words on either side of it; None: whole texts, as in the
        paper.
    accumulation : int, default=25
        How many contexts become one bag of words.
    examples : int, default=60
        Bags for each word in an epoch, half of them of contexts without it.
    epochs : int, default=3
        Passes over all words, each with bags that are drawn anew.
    max_literals : int or None, default=3
        Most words that a clause asks for.
    max_share : float, default=0.1
        Words in more than this share of the texts are not read, since nearly every bag has them;
        they have vectors all the same.
    min_texts : int, default=5
        In how many texts a word must occur.
    vocabulary : sequence of str or None, default=None
        The words of the columns, where X is a matrix; None: the columns' numbers.
    backend, n_jobs, verbose, random_state
        As for :class:`cotm.CoTMClassifier`.

    Attributes
    ----------
    vocabulary_ : list of str
        The words.
    embedding_ : ndarray of int of shape (n_words, n_clauses)
        The weight that each word gives to each clause.
    clauses_ : list of tuple of str
        The words that each clause asks for.

    Examples
    --------
    >>> texts = ["a cat drinks milk", "a dog drinks water", "the cat likes milk"] * 9
    >>> model = CoTMEmbedding(n_clauses=20, min_texts=1, max_share=1.0, random_state=0)
    >>> model.fit(texts).embedding_.shape
    (8, 20)
    """

    _kind: ClassVar[str] = "CoTMEmbedding"

    def __init__(
        self,
        n_words: int = 10_000,
        n_clauses: int = 600,
        T: int | None = None,
        s: float = 50.0,
        *,
        window: int | None = 5,
        accumulation: int = 25,
        examples: int = 60,
        epochs: int = 3,
        max_literals: int | None = 3,
        max_share: float = 0.1,
        min_texts: int = 5,
        vocabulary: Sequence[str] | None = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.window = window
        self.accumulation = accumulation
        self.examples = examples
        self.epochs = epochs
        self.max_literals = max_literals
        self.max_share = max_share
        self.min_texts = min_texts
        self.vocabulary = vocabulary
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # Training ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, resume: bool = False) -> CoTMEmbedding:
        """Learn vectors of words.

        Parameters
        ----------
        X : sequence of str, or sparse matrix of shape (n_texts, n_words)
            Texts; or which texts contain which words, for ``window=None``.
        y : ignored
        resume : bool, default=False
            Go on with the training that there is until it has ``epochs`` epochs, on the same
            texts: the result is that of a training without a break.

        Returns
        -------
        self
        """
        self._check()
        if scipy.sparse.issparse(X):
            vocabulary, texts, matrix = self._read_matrix(X)
        else:
            vocabulary, texts, matrix = self._read_texts(check_texts(X))
        parts = texts if texts is not None else [matrix.indptr, matrix.indices]
        settings = (vocabulary, self.window, self.accumulation, self.examples, self.max_share)
        data = digest(parts, *settings, [len(part) for part in parts])
        share = np.bincount(matrix.indices, minlength=len(vocabulary)) / matrix.shape[0]
        read = np.flatnonzero(share <= self.max_share)
        if not len(read):
            raise ValueError(
                f"max_share={self.max_share}, but every word is in more of the texts than that; "
                "raise it, for example to 1.0"
            )
        if resume:
            fitted = self._to_resume(data)
        else:
            machine = self._start(len(read), len(vocabulary))
            fitted = FittedMachine(machine, data, extra=read, vocabulary=vocabulary)
        contexts = self._contexts(texts, matrix, read, fitted.machine.seed_)
        training = fitted.machine.prepare(contexts, contexts.targets(), np.ones(1))
        self._train(fitted, training)
        return self

    def _check(self) -> None:
        check_integer("n_words", self.n_words, 2)
        check_integer("n_clauses", self.n_clauses, 1)
        if self.window is not None:
            check_integer("window", self.window, 1, 1000)
        check_integer("accumulation", self.accumulation, 1, 10_000)
        check_integer("examples", self.examples, 2, 1_000_000)
        check_integer("epochs", self.epochs, 1)
        check_integer("min_texts", self.min_texts, 1)
        check_number("max_share", self.max_share, 0.0, 1.0)

    def _read_texts(
        self, texts: Sequence[str]
    ) -> tuple[tuple[str, ...], list[NDArray[np.int32]], scipy.sparse.csr_array]:
        words = [words_of(text) for text in texts]
        vocabulary = most_frequent(words, self.n_words, self.min_texts)
        if len(vocabulary) < 2:
            raise ValueError(
                f"X has {len(vocabulary)} words in {self.min_texts} texts or more; an embedding "
                "needs two, so pass more texts or lower min_texts"
            )
        numbers = numbered(words, vocabulary)
        return tuple(vocabulary), numbers, bag_of(numbers, len(vocabulary))

    def _read_matrix(self, X: Any) -> tuple[tuple[str, ...], None, scipy.sparse.csr_array]:
        if self.window is not None:
            raise ValueError(
                f"X is a matrix and window={self.window}, but only texts have an order of words; "
                "set window=None, so that whole texts are the contexts"
            )
        matrix = scipy.sparse.csr_array(X) != 0
        matrix.sort_indices()
        names = range(matrix.shape[1]) if self.vocabulary is None else self.vocabulary
        vocabulary = tuple(map(str, names))
        if len(vocabulary) != matrix.shape[1] or len(set(vocabulary)) != len(vocabulary):
            raise ValueError(
                f"vocabulary has {len(set(vocabulary))} different words, but X has "
                f"{matrix.shape[1]} columns"
            )
        missing = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) == 0)
        if len(missing):
            raise ValueError(
                f"no text contains the word {vocabulary[missing[0]]!r} (column {missing[0]}); "
                "leave out columns that are empty"
            )
        return vocabulary, None, matrix

    def _contexts(
        self,
        texts: list[NDArray[np.int32]] | None,
        matrix: scipy.sparse.csr_array,
        read: NDArray[np.int64],
        seed: int,
    ) -> Contexts:
        n_words, options = matrix.shape[1], (self.examples, self.accumulation, seed)
        if texts is None or self.window is None:
            return Documents(matrix, read, *options)
        return Windows(texts, n_words, read, self.window, *options)

    # What was learned ------------------------------------------------------------------

    @property
    def embedding_(self) -> NDArray[np.int32]:
        return np.ascontiguousarray(self.machine_.weights_.T)

    @property
    def clauses_(self) -> list[tuple[str, ...]]:
        fitted = self._learned()
        included = fitted.machine.memory_[:, : len(fitted.extra)] >= 0
        words = [fitted.vocabulary[k] for k in fitted.extra]
        return [tuple(words[k] for k in np.flatnonzero(row)) for row in included]

    def similar(self, word: str, n: int = 10) -> list[SimilarWord]:
        """The words that are most like a word, and the clauses that they share with it.

        Parameters
        ----------
        word : str
            A word of the vocabulary.
        n : int, default=10
            How many.

        Returns
        -------
        list of SimilarWord
            The most similar first. Similarity is the cosine of the words' vectors, in which each
            clause counts by how far its weight is from its mean, in deviations.
        """
        fitted, number = self._learned(), self._number(word)
        vectors, clauses = directions(self.embedding_), self.clauses_
        found = vectors @ vectors[number]
        order = [int(k) for k in np.argsort(-found, kind="stable") if k != number]
        return [
            SimilarWord(
                fitted.vocabulary[k],
                float(found[k]),
                shared_clauses(vectors[number], vectors[k], clauses),
            )
            for k in order[: check_integer("n", n, 0)]
        ]

    def similarity(self, one: str, other: str) -> float:
        """How much alike two words are, from -1 to 1; see :meth:`similar`.

        Parameters
        ----------
        one, other : str
            Words of the vocabulary.

        Returns
        -------
        float
        """
        vectors = directions(self.embedding_)
        return float(vectors[self._number(one)] @ vectors[self._number(other)])

    def _number(self, word: str) -> int:
        vocabulary = self._learned().vocabulary
        numbers = {known: number for number, known in enumerate(vocabulary)}
        if word not in numbers:
            raise ValueError(
                f"{word!r} is not in the vocabulary of {len(numbers)} words; words are in lower "
                "case, and those in few texts are left out (min_texts, n_words)"
            )
        return numbers[word]

    def transform(self, X: Any) -> scipy.sparse.csr_array:
        """Which clauses find their words in each text.

        Parameters
        ----------
        X : sequence of str, or sparse matrix of shape (n_texts, n_words)
            Texts, in the form that ``fit`` had or the other one.

        Returns
        -------
        CSR array of uint8 of shape (n_texts, n_clauses)
        """
        fitted = self._learned()
        if scipy.sparse.issparse(X):
            bits = scipy.sparse.csr_array(X) != 0
        else:
            numbers = numbered(map(words_of, check_texts(X)), fitted.vocabulary)
            bits = bag_of(numbers, len(fitted.vocabulary))
        if bits.shape[1] != len(fitted.vocabulary):
            raise ValueError(
                f"X has {bits.shape[1]} columns, but there are {len(fitted.vocabulary)} words"
            )
        found = fitted.machine.clause_outputs(bits[:, fitted.extra].astype(np.uint8))
        return scipy.sparse.csr_array(found.astype(np.uint8))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """What each clause asks for.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        return np.array([" & ".join(words) for words in self.clauses_], dtype=object)

    def _encode_extra(self, extra: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {"read": extra}

    @classmethod
    def _decode_extra(cls, saved: SavedMachineModel) -> Any:
        n_bits, n_words = saved.machine.spec.grid.n_features, len(saved.vocabulary)
        read = expect_array(saved.arrays, "read", np.int64, n_bits)
        # Differences of numbers that are not negative cannot overflow.
        expect(bool((read >= 0).all() and (np.diff(read) > 0).all()), "read words are not sorted")
        expect(bool(read[-1] < n_words), "words that are read do not exist")
        expect(saved.machine.spec.m == n_words, "there are not as many outputs as words")
        return read

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def bag_of(texts: list[NDArray[np.int32]], n_words: int) -> scipy.sparse.csr_array:
    """Which words each text contains, (texts, words)."""
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    words = np.concatenate([*texts, np.zeros(0, np.int32)])
    known = words >= 0
    codes = np.unique(rows[known] * np.int64(n_words) + words[known])
    shape = len(texts), n_words
    entries = np.ones(len(codes), dtype=np.uint8), (codes // n_words, codes % n_words)
    return scipy.sparse.csr_array(entries, shape=shape)
