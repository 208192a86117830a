"""Words, characters and symbols, and phrases of them, as bits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_choice, check_integer
from ..core.decoding import expect, expect_keys
from .chi_squared import chi_squared
from .described import Description
from .descriptions import BitFeature
from .sequences import (
    SequenceBooleanizer,
    Sequences,
    phrase_name,
    phrase_parts,
    read_state,
    shown,
    state_of,
)

#: Longer phrases occur once.
MAX_LENGTH = 16

Ints = NDArray[np.int64]


class NGrams(SequenceBooleanizer):
    """Which words, characters or symbols, and which phrases of them, an example contains.

    Of all phrases of ``shortest`` to ``longest`` symbols that occur in at least ``min_texts``
    training examples, ``n_features`` are taken: those in most examples, or those that tell the
    classes apart best. The bits are sparse.

    A classifier with ``booleanize=NGrams()`` takes texts, and its file holds all of it.

    Parameters
    ----------
    kind : {"words", "characters", "symbols"}, default="words"
        What an example is: a text, read in lower case as its words or as its characters, or a
        sequence of symbols, which are numbers or texts. The order of a set is no order: its
        symbols are sorted.
    shortest, longest : int, default=1
        Number of symbols in a phrase.
    n_features : int, default=5000
        Most phrases, which is the number of bits.
    min_texts : int, default=3
        In how many training examples a phrase must occur.
    select : {"count", "chi2"}, default="count"
        ``"chi2"`` takes those with the highest chi-squared statistic between containing them and
        the label, in which every class has the same influence; it needs labels, one for each
        example. Held-out examples have a say in it, too.

    Attributes
    ----------
    names_ : list of str
        The phrases, sorted, one for each bit.
    n_bits_out_ : int
        Number of output bits.

    Examples
    --------
    >>> texts = ["not good", "good, not bad", "bad"]
    >>> phrases = NGrams(longest=2, min_texts=1).fit(texts)
    >>> phrases.names_
    ['bad', 'good', 'good not', 'not', 'not bad', 'not good']
    >>> phrases.transform(["Bad, not good!"]).toarray()
    array([[1, 1, 0, 1, 0, 1]], dtype=uint8)
    >>> NGrams("characters", 2, 2, min_texts=2).fit(texts).names_
    ['ad', 'ba', 'go', 'no', 'od', 'oo', 'ot', 't ']
    """

    names_: list[str]

    def __init__(
        self,
        kind: str = "words",
        shortest: int = 1,
        longest: int = 1,
        n_features: int = 5000,
        min_texts: int = 3,
        select: str = "count",
    ) -> None:
        self.kind = kind
        self.shortest = shortest
        self.longest = longest
        self.n_features = n_features
        self.min_texts = min_texts
        self.select = select

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": check_choice("kind", self.kind, self._kinds),
            "shortest": check_integer("shortest", self.shortest, 1, MAX_LENGTH),
            "longest": check_integer("longest", self.longest, self.shortest, MAX_LENGTH),
            "n_features": check_integer("n_features", self.n_features, 1),
            "min_texts": check_integer("min_texts", self.min_texts, 1),
            "select": check_choice("select", self.select, ("count", "chi2")),
        }

    def fit(self, X: Sequence[Any], y: Any = None) -> NGrams:
        """Learn which phrases there are.

        Parameters
        ----------
        X : sequence of str, or of sequences
            Training examples.
        y : array-like of shape (n_examples,), optional
            Their labels, for ``select="chi2"``.

        Returns
        -------
        self
        """
        params = self._parameters()
        sequences = self._read(X)
        labels = self._labels(y, len(sequences)) if params["select"] == "chi2" else None
        found = [
            phrases
            for phrases in common_phrases(sequences, params["longest"], params["min_texts"])
            if phrases.length >= params["shortest"]
        ]
        names = [
            phrase_name([sequences.symbols[k] for k in phrase], params["kind"])
            for phrases in found
            for phrase in phrases.symbols.tolist()
        ]
        if not names:
            raise ValueError(
                f"no phrase of {params['shortest']} to {params['longest']} {params['kind']} is in "
                f"min_texts={params['min_texts']} of the {len(sequences)} examples; set a lower one"
            )
        order = np.argsort(np.array(names, dtype=object), kind="stable")  # for ties
        if labels is None:
            score = np.concatenate([phrases.counts for phrases in found]).astype(np.float64)
        else:
            bits = _matrix([phrases.places for phrases in found], len(sequences), len(names))
            score = chi_squared(bits, labels)
        best = order[np.argsort(-score[order], kind="stable")[: params["n_features"]]]
        return self._adopt(sorted(names[k] for k in best))

    def _labels(self, y: Any, count: int) -> NDArray[Any]:
        if y is None:
            raise ValueError("select='chi2' needs y, the labels; without them set select='count'")
        labels = np.asarray(y)
        if labels.shape != (count,):
            raise ValueError(
                f"y has the shape {labels.shape}, but select='chi2' needs one label for each of "
                f"the {count} examples; set select='count'"
            )
        return labels

    def _adopt(self, names: list[str]) -> NGrams:
        self.names_ = names
        self.n_bits_out_ = len(names)
        self._tree = PhraseTree([phrase_parts(name, self.kind) for name in names])
        self._description = Description(partial(_describe_phrases, names, self.kind))
        return self

    def transform(self, X: Sequence[Any]) -> scipy.sparse.csr_array:
        """Turn texts or sequences into bits.

        Parameters
        ----------
        X : sequence of str, or of sequences

        Returns
        -------
        CSR array of uint8 of shape (n_examples, n_bits_out_)
            It carries what `describe` says, for the rules of a classifier that learns from it.
        """
        check_is_fitted(self)
        sequences = self._read(X)
        places = self._tree.find(sequences, self.shortest)
        return self._described(_matrix(places, len(sequences), self.n_bits_out_))  # type: ignore[no-any-return]

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        return state_of(self, self.names_), {}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> NGrams:
        numbers = dict.fromkeys(("shortest", "longest", "n_features", "min_texts"), int)
        params, names = read_state(meta, {"kind": str, **numbers, "select": str})
        expect_keys(arrays, (), "arrays")
        transformer = cls(**params)
        transformer._parameters()
        expect(
            1 <= len(names) <= transformer.n_features and len(set(names)) == len(names),
            f"it has {len(names)} names for {transformer.n_features} phrases",
        )
        low, high = transformer.shortest, transformer.longest
        for name in names:
            length = len(phrase_parts(name, transformer.kind))
            expect(low <= length <= high, f"the phrase {name!r:.100} has {length} symbols")
        return transformer._adopt(names)


def _describe_phrases(names: list[str], kind: str) -> list[BitFeature]:
    return [BitFeature(shown(name, kind), "bit", index=k) for k, name in enumerate(names)]


def _matrix(places: list[tuple[Ints, Ints]], rows: int, columns: int) -> scipy.sparse.csr_array:
    """Bits at these (rows, columns), which may be named more than once; columns go on."""
    row = np.concatenate([part[0] for part in places])
    column = np.concatenate([part[1] for part in places])
    keys = np.unique(row * columns + column)
    row, column = np.divmod(keys, columns)
    starts = np.searchsorted(row, np.arange(rows + 1))
    ones = np.ones(len(keys), dtype=np.uint8)
    return scipy.sparse.csr_array((ones, column, starts), shape=(rows, columns))


class Phrases:
    """The phrases of one length in some sequences: which, in how many, and where."""

    def __init__(self, symbols: Ints, counts: Ints, places: tuple[Ints, Ints]) -> None:
        self.symbols = symbols  # (phrases, length)
        self.counts = counts  # in how many examples
        self.places = places  # rows, and phrases in them

    @property
    def length(self) -> int:
        return int(self.symbols.shape[1])


def common_phrases(sequences: Sequences, longest: int, least: int) -> list[Phrases]:
    """All phrases of up to so many symbols that are in ``least`` examples or more.

    A phrase is in no more examples than its beginning, so that few candidates are counted.
    """
    found: list[Phrases] = []
    rows, ends = sequences.rows(), sequences.starts[1:]
    at, known = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
    symbols = np.empty((1, 0), dtype=np.int64)
    first = 0
    for length in range(1, longest + 1):
        inside = at + length <= ends[rows[at]]
        at, known = at[inside], known[inside]
        keys = known * max(1, len(sequences.symbols)) + sequences.ids[at + length - 1]
        keys, inverse = np.unique(keys, return_inverse=True)
        begins, last = np.divmod(keys, max(1, len(sequences.symbols)))
        pairs = np.unique(rows[at] * len(keys) + inverse) if len(keys) else inverse
        counts = np.bincount(pairs % max(1, len(keys)), minlength=len(keys))
        keep = counts >= least
        numbers = np.where(keep, np.cumsum(keep) - 1, -1)
        symbols = np.column_stack([symbols[begins], last])[keep]
        known = numbers[inverse]
        at, known = at[known >= 0], known[known >= 0]
        found.append(Phrases(symbols, counts[keep], (rows[at], known + first)))
        first += len(symbols)
        if not len(symbols):
            break
    return found


class PhraseTree:
    """Phrases with their beginnings, to find them in sequences all at once."""

    def __init__(self, phrases: list[list[str]]) -> None:
        self.numbers: dict[str, int] = {}
        for phrase in phrases:
            for symbol in phrase:
                self.numbers.setdefault(symbol, len(self.numbers))
        self.levels: list[tuple[Ints, Ints]] = []  # keys of (beginning, symbol); the phrase or -1
        count = max(1, len(self.numbers))
        coded = [[self.numbers[symbol] for symbol in phrase] for phrase in phrases]
        nodes = dict.fromkeys(range(len(phrases)), 0)  # of the phrases that go on
        for length in range(1, max(map(len, phrases), default=0) + 1):
            nodes = {k: node for k, node in nodes.items() if len(coded[k]) >= length}
            keys = [node * count + coded[k][length - 1] for k, node in nodes.items()]
            known, inverse = np.unique(np.array(keys, dtype=np.int64), return_inverse=True)
            ends = np.full(len(known), -1, dtype=np.int64)
            for (k, _), node in zip([*nodes.items()], inverse.tolist(), strict=True):
                nodes[k] = node
                if len(coded[k]) == length:
                    ends[node] = k
            self.levels.append((known, ends))

    def find(self, sequences: Sequences, shortest: int) -> list[tuple[Ints, Ints]]:
        """Rows, and the phrases that are in them, for each length."""
        own = np.array([self.numbers.get(s, -1) for s in sequences.symbols] or [-1])
        ids = own[sequences.ids]
        rows, ends = sequences.rows(), sequences.starts[1:]
        at, node = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for length, (known, phrase) in enumerate(self.levels, start=1):
            inside = at + length <= ends[rows[at]]
            at, node = at[inside], node[inside]
            symbol = ids[at + length - 1]
            keys = node * max(1, len(self.numbers)) + symbol
            place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            there = (symbol >= 0) & (known[place] == keys)
            at, node = at[there], place[there]
            ending = phrase[node] >= 0
            if length >= shortest:
                found.append((rows[at[ending]], phrase[node[ending]]))
        return found
