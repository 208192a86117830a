"""A booleanizer for texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_integer
from .chi_squared import chi_squared
from .described import Description, with_description
from .descriptions import BitFeature


class SetOfWords(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Which words and phrases a text contains, as a sparse matrix of bits.

    Of all words and phrases that occur in at least ``min_texts`` training texts, the
    ``n_features`` that tell the classes apart best are taken: those with the highest chi-squared
    statistic between containing them and the label. Every class has the same influence on this
    choice, however many texts it has.

    Put it before a classifier in a pipeline; the classifier's rules then name the words.

    Parameters
    ----------
    n_features : int, default=5000
        Most words and phrases, which is the number of bits.
    n_grams : int, default=2
        Most words in a phrase.
    min_texts : int, default=3
        In how many training texts a word or phrase must occur.

    Attributes
    ----------
    names_ : list of str
        The words and phrases, sorted, one for each bit.
    n_bits_out_ : int
        Number of output bits.

    Examples
    --------
    >>> texts, y = ["a good film", "a bad film", "good fun", "bad luck"], [1, 0, 1, 0]
    >>> words = SetOfWords(n_features=2, n_grams=1, min_texts=1).fit(texts, y)
    >>> words.names_
    ['bad', 'good']
    >>> words.transform(["good or bad"]).toarray()
    array([[1, 1]], dtype=uint8)
    """

    names_: list[str]
    n_bits_out_: int

    def __init__(self, n_features: int = 5000, n_grams: int = 2, min_texts: int = 3) -> None:
        self.n_features = n_features
        self.n_grams = n_grams
        self.min_texts = min_texts

    def fit(self, X: Sequence[str], y: Any = None) -> SetOfWords:
        """Learn which words tell the labels apart.

        Parameters
        ----------
        X : sequence of str
            Training texts.
        y : array-like of shape (n_texts,)
            Their labels.

        Returns
        -------
        self
        """
        from sklearn.feature_extraction.text import CountVectorizer

        n_features = check_integer("n_features", self.n_features, 1)
        n_grams = check_integer("n_grams", self.n_grams, 1)
        min_texts = check_integer("min_texts", self.min_texts, 1)
        if y is None:
            raise ValueError("y=None must be the labels of the texts, by which words are chosen")
        labels = np.asarray(y)
        if labels.shape != (len(X),):
            raise ValueError(
                f"y has the shape {labels.shape}, but must have one label for each of the "
                f"{len(X)} texts"
            )
        options = {"binary": True, "ngram_range": (1, n_grams), "dtype": np.uint8}
        counter = CountVectorizer(min_df=min_texts, **options)
        score = chi_squared(counter.fit_transform(X), labels)
        taken = np.sort(np.argsort(-score, kind="stable")[:n_features])
        self.names_ = counter.get_feature_names_out()[taken].tolist()
        self.n_bits_out_ = len(self.names_)
        self._counter = CountVectorizer(vocabulary=self.names_, **options)
        self._description = Description(partial(_describe_words, self.names_))
        return self

    def transform(self, X: Sequence[str]) -> scipy.sparse.csr_array:
        """Turn texts into bits.

        Parameters
        ----------
        X : sequence of str
            Texts.

        Returns
        -------
        CSR array of uint8 of shape (n_texts, n_bits_out_)
            It carries what `describe` says, for the rules of a classifier that learns from it.
        """
        check_is_fitted(self)
        bits = scipy.sparse.csr_array(self._counter.transform(X))
        return with_description(bits, self._description)

    def describe(self) -> list[BitFeature]:
        """What each output bit means, in order.

        Returns
        -------
        list of BitFeature
        """
        check_is_fitted(self)
        return list(self._description.features())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name of each output bit.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        return np.array(self.names_, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _describe_words(names: list[str]) -> list[BitFeature]:
    return [BitFeature(name, "bit", index=index) for index, name in enumerate(names)]
