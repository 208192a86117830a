"""Windows over texts and series: what stands side by side, for convolution over tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_choice, check_integer
from ..core.decoding import expect, expect_array, expect_keys
from ..core.limits import MAX_FEATURES, MAX_SIZE
from .described import Description
from .descriptions import BitFeature, number_texts
from .hypervectors import (
    Codes,
    Hypervectors,
    check_blocks,
    describe_bits,
    level_thresholds,
    meanings,
    read_thresholds,
)
from .ngrams import common_phrases
from .sequences import KINDS, SequenceBooleanizer, Sequences, read_state, shown, state_of

_CODES = ("vocabulary", "hypervectors")
#: Begins what a rule calls a place of a window.
PLACE = "at"
#: Examples whose bits are made at a time.
_ROWS = 256
_UNITS = {"words": "word", "characters": "character", "symbols": "symbol", "numbers": "value"}


class TokenWindows(SequenceBooleanizer):
    """The windows of a text, sequence or series, in their order, each token with bits of its own.

    For a classifier with ``patch_shape=(1,)``, whose clauses then look at one window after the
    other, and at where it is: a clause fires if some window of the example satisfies it.

    Examples of any length become arrays (windows, bits of a window). A shorter one than the longest
    ends with its last window repeated; a longer one is cut. So every window is one of the
    example, and what is not there makes no clause fire: ``column > 8`` of an example that has
    ended before says what its last window holds. In an example with fewer tokens than a window,
    the places that are left have no bits, and ``not at(2) word`` says so.

    Parameters
    ----------
    kind : {"words", "characters", "symbols", "numbers"}, default="words"
        What an example is: a text, read in lower case as its words or as its characters; a
        sequence of symbols, which are numbers or texts; or a series of numbers.
    width : int, default=3
        Tokens of a window. With 1, a classifier may look at windows itself, with
        ``patch_shape=(3,)``, which takes a third of the memory, but also looks at windows that
        reach into the last token's repetition.
    length : int, default=None
        Most windows, None for those of the longest training example.
    codes : {"vocabulary", "hypervectors"}, default="vocabulary"
        Bits of a token: one for each symbol that is in enough training examples, and none for the
        others; or a few of a fixed number, drawn by a hash (see `Hypervectors`). Numbers have a
        bit for each threshold.
    n_features : int, default=500
        Most symbols of the vocabulary, those in most training examples; of hypervectors the bits.
    min_texts : int, default=3
        In how many training examples a symbol of the vocabulary must occur.
    ones : int, default=4
        Bits of a symbol in a hypervector.
    levels : int, default=16
        Most levels of numbers, at quantiles of the training examples.
    random_state : int, default=0
        The same number gives the same hypervectors.

    Attributes
    ----------
    names_ : list of str
        The vocabulary, or what each bit of hypervectors stood for most often.
    thresholds_ : ndarray of float64
        Between the levels of numbers.
    length_ : int
        Windows of an example.
    n_bits_out_ : int
        Bits of a window.

    Examples
    --------
    >>> texts = ["not good but bad", "not bad but good"]
    >>> windows = TokenWindows(width=2, min_texts=1).fit(texts)
    >>> windows.names_
    ['bad', 'but', 'good', 'not']
    >>> windows.transform(texts).shape  # 3 windows of 2 words, each a word and one of 4
    (2, 3, 10)

    Which of two words comes first, no bag of words tells; clauses over windows do:

    >>> import numpy as np
    >>> from cotm import CoTMClassifier
    >>> rng = np.random.default_rng(0)
    >>> fill = np.array(["so", "it", "was"])
    >>> def text(pair):
    ...     return " ".join([*rng.choice(fill, rng.integers(9)), *pair, *rng.choice(fill, 3)])
    >>> y = np.arange(400) % 2
    >>> X = [text(["not", "good"] if label else ["good", "not"]) for label in y]
    >>> model = CoTMClassifier(
    ...     20, T=20, s=5, epochs=15, booleanize=TokenWindows(width=2), patch_shape=(1,),
    ...     random_state=0,
    ... ).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:])
    1.0
    """

    names_: list[str]
    thresholds_: NDArray[np.float64]
    length_: int
    _kinds = KINDS

    def __init__(
        self,
        kind: str = "words",
        width: int = 3,
        length: int | None = None,
        codes: str = "vocabulary",
        n_features: int = 500,
        min_texts: int = 3,
        ones: int = 4,
        levels: int = 16,
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.width = width
        self.length = length
        self.codes = codes
        self.n_features = n_features
        self.min_texts = min_texts
        self.ones = ones
        self.levels = levels
        self.random_state = random_state

    def _parameters(self) -> dict[str, Any]:
        length = self.length
        return {
            "kind": check_choice("kind", self.kind, self._kinds),
            "width": check_integer("width", self.width, 1, MAX_FEATURES),
            "length": None if length is None else check_integer("length", length, 1, MAX_SIZE),
            "codes": check_choice("codes", self.codes, _CODES),
            "n_features": self._most(),
            "min_texts": check_integer("min_texts", self.min_texts, 1),
            "ones": check_integer("ones", self.ones, 1, MAX_FEATURES),
            "levels": check_integer("levels", self.levels, 2, 4096),
            "random_state": check_integer("random_state", self.random_state, 0, 2**64 - 1),
        }

    def _most(self) -> int:
        if self.codes == "hypervectors" and self.kind != "numbers":
            return check_blocks("n_features", self.n_features, self.ones)[0]
        return check_integer("n_features", self.n_features, 1, MAX_FEATURES)

    def _hypervectors(self) -> Codes:
        whole = Hypervectors(self.kind, self.n_features, self.ones, random_state=self.random_state)
        return Codes(whole._parameters())

    def fit(self, X: Sequence[Any], y: Any = None) -> TokenWindows:
        """Learn the vocabulary, or the levels of numbers, and the length.

        Parameters
        ----------
        X : sequence of str, of sequences or of series
            Training examples.
        y : ignored

        Returns
        -------
        self
        """
        params = self._parameters()
        sequences = self._read(X)
        length = params["length"] or max(1, int(sequences.lengths.max()) - params["width"] + 1)
        names: list[str] = []
        thresholds = np.empty(0)
        if params["kind"] == "numbers":
            thresholds = level_thresholds(sequences.ids, params["levels"])
            if not len(thresholds):
                raise ValueError("all numbers of X are the same, or missing; there are no levels")
        elif params["codes"] == "hypervectors":
            names = meanings(sequences, self._hypervectors())
        else:
            names = self._vocabulary(sequences, params)
        return self._adopt(names, thresholds, length)

    def _vocabulary(self, sequences: Sequences, params: dict[str, Any]) -> list[str]:
        phrases = common_phrases(sequences, 1, params["min_texts"])[0]
        names = [sequences.symbols[k] for k in phrases.symbols[:, 0].tolist()]
        if not names:
            raise ValueError(
                f"no symbol is in min_texts={params['min_texts']} of the {len(sequences)} "
                "examples; set a lower one"
            )
        order = np.argsort(np.array(names, dtype=object), kind="stable")  # for ties
        best = order[np.argsort(-phrases.counts[order], kind="stable")[: params["n_features"]]]
        return sorted(names[k] for k in best)

    def _adopt(
        self, names: list[str], thresholds: NDArray[np.float64], length: int
    ) -> TokenWindows:
        self.names_ = names
        self.thresholds_ = thresholds
        self.length_ = length
        self._features = self._of_token()
        self.n_bits_out_ = self.width * len(self._features)
        self._description = Description(partial(_describe, self._features, self.width))
        return self

    def _of_token(self) -> list[BitFeature]:
        """What the bits of one token mean."""
        unit = _UNITS[self.kind]
        there = BitFeature(unit, "bit")
        if self.kind == "numbers":
            texts = number_texts(self.thresholds_)
            pairs = zip(self.thresholds_.tolist(), texts, strict=True)
            return [there, *(BitFeature(unit, ">", value, text) for value, text in pairs)]
        if self.codes == "hypervectors":
            return [there, *(replace(f, index=None) for f in describe_bits(self.names_))]
        return [
            there,
            *(BitFeature(unit, "=", name, shown(name, self.kind)) for name in self.names_),
        ]

    def bits_shape(self, shape: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The shape of the bits of one example.

        Parameters
        ----------
        shape : ignored

        Returns
        -------
        tuple of int
        """
        return self.length_, self.n_bits_out_

    def transform(self, X: Sequence[Any]) -> NDArray[np.uint8]:
        """Turn texts, sequences or series into the bits of their windows.

        Parameters
        ----------
        X : sequence of str, of sequences or of series

        Returns
        -------
        ndarray of uint8 of shape (n_examples, length_, n_bits_out_)
            It carries what `describe` says, for the rules of a classifier that learns from it.
        """
        check_is_fitted(self)
        sequences = self._read(X)
        table, tokens = self._bits_of_tokens(sequences)
        nowhere = len(tokens) - 1
        bits = np.empty((len(sequences), self.length_, self.width, table.shape[1]), dtype=np.uint8)
        for first in range(0, len(bits), _ROWS):
            rows = slice(first, first + _ROWS)
            bits[rows] = table[tokens[self._places(sequences, rows, nowhere)]]
        return self._described(bits.reshape(len(bits), *self.bits_shape()))  # type: ignore[no-any-return]

    def texts(self, X: Sequence[Any]) -> NDArray[np.object_]:
        """The tokens of each window as a text; None of a window where there is none.

        Parameters
        ----------
        X : sequence of str, of sequences or of series

        Returns
        -------
        ndarray of object of shape (n_examples, length_)
        """
        check_is_fitted(self)
        sequences = self._read(X)
        if self.kind == "numbers":
            tokens = [f"{value:.6g}" for value in sequences.ids.tolist()]
        else:
            tokens = [sequences.symbols[k] for k in sequences.ids.tolist()]
        joint = "" if self.kind == "characters" else " "
        places = self._places(sequences, slice(None), -1)
        found = np.empty(places.shape[:2], dtype=object)
        for example, windows in enumerate(places.tolist()):
            for k, window in enumerate(windows):
                found[example, k] = joint.join(tokens[at] for at in window if at >= 0) or None
        return found

    def _places(self, sequences: Sequences, rows: slice, nowhere: int) -> NDArray[np.int64]:
        """Which of all tokens each window has, (rows, length_, width)."""
        starts, lengths = sequences.starts[:-1, None, None], sequences.lengths[:, None, None]
        last = np.maximum(lengths[rows] - self.width, 0)
        window = np.minimum(np.arange(self.length_)[:, None], last)
        place = window + np.arange(self.width)
        return np.where(place < lengths[rows], place + starts[rows], nowhere)

    def _bits_of_tokens(self, sequences: Sequences) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Rows of bits, and the row of each token; the last of both is of no token."""
        ids = sequences.ids
        if self.kind == "numbers":
            with np.errstate(invalid="ignore"):
                own = ids[:, None] > self.thresholds_
            bits = np.column_stack([~np.isnan(ids), own]).astype(np.uint8)
            none = np.zeros((1, bits.shape[1]), dtype=np.uint8)
            return np.vstack([bits, none]), np.arange(len(ids) + 1)
        table = np.zeros((len(sequences.symbols) + 1, len(self._features)), dtype=np.uint8)
        table[:-1, 0] = 1
        if self.codes == "hypervectors":
            codes = self._hypervectors()
            offsets = 1 + np.arange(codes.ones) * codes.block
            places = codes.of_symbols(sequences.symbols, 0, 1) + offsets
            table[np.arange(len(places))[:, None], places] = 1
        else:
            numbers = {name: k for k, name in enumerate(self.names_, start=1)}
            own = np.array([numbers.get(symbol, 0) for symbol in sequences.symbols], dtype=np.int64)
            table[np.flatnonzero(own), own[own > 0]] = 1
        return table, np.append(ids, len(sequences.symbols))

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        length = np.array([self.length_], dtype=np.int64)
        return state_of(self, self.names_), {"thresholds": self.thresholds_, "length": length}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> TokenWindows:
        numbers = ("width", "n_features", "min_texts", "ones", "levels", "random_state")
        types: dict[str, Any] = {"kind": str, "codes": str, **dict.fromkeys(numbers, int)}
        params, names = read_state(meta, {**types, "length": (int, type(None))})
        transformer = cls(**params)
        transformer._parameters()
        expect_keys(arrays, ("thresholds", "length"), "arrays")
        thresholds = read_thresholds({"thresholds": arrays["thresholds"]}, transformer)
        (length,) = expect_array(arrays, "length", np.int64, 1).tolist()
        expect(1 <= length <= MAX_SIZE, f"its length is {length}")
        expect(transformer.length in (None, length), f"its length is {length}")
        few = {"numbers": 0}.get(transformer.kind, 1)
        most = transformer.n_features if few else 0
        exact = few and transformer.codes == "hypervectors"
        expect(
            (most if exact else few) <= len(names) <= most and (few == 1 or len(thresholds) > 0),
            f"it has {len(names)} names and {len(thresholds)} thresholds",
        )
        expect(exact or len(set(names)) == len(names), "a symbol is in the vocabulary twice")
        return transformer._adopt(names, thresholds, length)


def _describe(features: list[BitFeature], width: int) -> list[BitFeature]:
    """The bits of a window; where it is one token, a classifier says at which place."""
    if width == 1:
        return features
    return [
        replace(feature, column=f"{PLACE}({place}) {feature.column}")
        for place in range(width)
        for feature in features
    ]
