"""Texts as numbers of words or characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TAG = re.compile(r"<[a-zA-Z/][^<>]*>")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")


def check_texts(X: Any) -> Sequence[str]:
    """A sequence of texts, or a ValueError that says what it is."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"X is a {type(X).__name__}; pass a sequence of texts, for example [text, text]"
        )
    texts = list(X)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"row {row} of X holds {text!r:.50}, which is no text")
    if not texts:
        raise ValueError("X holds no texts")
    return texts


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and without tags of HTML.

    >>> words_of("It's a <br />GREAT film!")
    ["it's", 'a', 'great', 'film']
    """
    return _WORD.findall(_TAG.sub(" ", text).lower())


def tokens_of(text: str) -> list[str]:
    """The words of a text and its punctuation marks.

    >>> tokens_of("It's great!")
    ["it's", 'great', '!']
    """
    return _TOKEN.findall(_TAG.sub(" ", text).lower())


def characters_of(text: str) -> list[str]:
    """The characters of a text in lower case, any white space as one blank.

    >>> "".join(characters_of("A  b<br />C"))
    'a b c'
    """
    return list(" ".join(_TAG.sub(" ", text).lower().split()))


def most_frequent(texts: Iterable[Sequence[str]], most: int, fewest: int) -> list[str]:
    """Symbols that occur in at least ``fewest`` texts: those in the most texts, sorted."""
    counts: Counter[str] = Counter()
    for symbols in texts:
        counts.update(set(symbols))
    ranked = sorted((-count, symbol) for symbol, count in counts.items() if count >= fewest)
    return sorted(symbol for _, symbol in ranked[: int(most)])


def numbered(texts: Iterable[Sequence[str]], vocabulary: Sequence[str]) -> list[NDArray[np.int32]]:
    """Each text as numbers of its symbols; -1 stands for one that is not in the vocabulary."""
    number = {symbol: index for index, symbol in enumerate(vocabulary)}
    return [
        np.array([number.get(symbol, -1) for symbol in symbols], dtype=np.int32)
        for symbols in texts
    ]
