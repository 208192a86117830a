"""Sequences of any length as hypervectors: a fixed number of bits, of which few are each symbol's.

A hypervector has ``ones`` blocks of equal size. The code of a symbol is one place in every block,
drawn by a hash of the symbol. Codes are bound by adding places within the blocks, which is exact
and keeps one bit for each block; where order counts, the codes of a symbol at different places
of a phrase are unrelated draws. A position in the sequence rotates the code: it adds itself to all
places. An example is the OR of the codes of its phrases.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..core.checks import check_choice, check_flag, check_integer
from ..core.decoding import expect, expect_array, expect_keys
from ..core.limits import MAX_FEATURES
from ..core.randomness import U32, U64, Purpose, hash32, make_key, mix64, step_key
from .described import Description
from .descriptions import BitFeature, number_texts
from .ngrams import MAX_LENGTH
from .sequences import KINDS, SequenceBooleanizer, Sequences, read_state, state_of

#: Symbols that are coded at a time.
_PART = 200_000
#: Phrases that a bit names, of those in most places of the training examples.
_NAMED = 3

Ints = NDArray[np.int64]


class Hypervectors(SequenceBooleanizer):
    """Texts, sequences, sets and series of numbers of any length as bits of a fixed number.

    Every symbol has ``ones`` of the ``n_bits`` bits, drawn by a hash: there is no vocabulary, and
    symbols that were never seen have bits, too. A phrase has the bits that its symbols make
    together, in their order, and an example has those of all its phrases. Numbers are symbols of
    levels, in which near levels share most bits.

    As several symbols share each bit, rules say of a bit which it stood for in training most
    often, and how many others.

    Parameters
    ----------
    kind : {"words", "characters", "symbols", "numbers"}, default="words"
        What an example is: a text, read in lower case as its words or as its characters; a
        sequence or set of symbols, which are numbers or texts; or a series of numbers.
    n_bits : int, default=1024
        Length of the hypervectors, a multiple of ``ones``.
    ones : int, default=4
        Bits of each phrase. More of them are more exact for short examples; for long ones most
        bits would be set.
    shortest, longest : int, default=1
        Number of symbols in a phrase.
    positions : bool, default=False
        Whether where a phrase stands counts: its code is rotated by its place in the example.
        After ``n_bits / ones`` places it is the first one again. For short sequences.
    levels : int, default=16
        Most levels of numbers, at quantiles of the training examples.
    random_state : int, default=0
        The same number gives the same bits to a symbol, everywhere and always.

    Attributes
    ----------
    thresholds_ : ndarray of float64
        Between the levels of numbers.
    n_bits_out_ : int
        Number of output bits.

    Examples
    --------
    >>> texts = ["a good film", "not a good film"]
    >>> bits = Hypervectors(n_bits=64, longest=2).fit_transform(texts)
    >>> bits.shape, bits.sum(axis=1).tolist()
    ((2, 64), [18, 24])
    >>> bool((bits[0] <= bits[1]).all())  # all phrases of the first are in the second
    True
    """

    thresholds_: NDArray[np.float64]
    _kinds = KINDS

    def __init__(
        self,
        kind: str = "words",
        n_bits: int = 1024,
        ones: int = 4,
        shortest: int = 1,
        longest: int = 1,
        positions: bool = False,
        levels: int = 16,
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.n_bits = n_bits
        self.ones = ones
        self.shortest = shortest
        self.longest = longest
        self.positions = positions
        self.levels = levels
        self.random_state = random_state

    def _parameters(self) -> dict[str, Any]:
        n_bits, ones = check_blocks("n_bits", self.n_bits, self.ones)
        return {
            "kind": check_choice("kind", self.kind, self._kinds),
            "n_bits": n_bits,
            "ones": ones,
            "shortest": check_integer("shortest", self.shortest, 1, MAX_LENGTH),
            "longest": check_integer("longest", self.longest, self.shortest, MAX_LENGTH),
            "positions": check_flag("positions", self.positions),
            "levels": check_integer("levels", self.levels, 2, 4096),
            "random_state": check_integer("random_state", self.random_state, 0, 2**64 - 1),
        }

    def fit(self, X: Sequence[Any], y: Any = None) -> Hypervectors:
        """Learn the levels of numbers, and what the bits stand for.

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
        thresholds = np.empty(0)
        sequences = self._read(X)
        if params["kind"] == "numbers":
            thresholds = level_thresholds(sequences.ids, params["levels"])
        codes = Codes(params, thresholds)
        return self._adopt(thresholds, meanings(codes.levelled(sequences), codes))

    def _adopt(self, thresholds: NDArray[np.float64], names: list[str]) -> Hypervectors:
        self.thresholds_ = thresholds
        self.n_bits_out_ = len(names)
        self._names = names
        self._codes = Codes(self._parameters(), thresholds)
        self._description = Description(partial(describe_bits, names))
        return self

    def transform(self, X: Sequence[Any]) -> NDArray[np.uint8]:
        """Turn texts, sequences or series into bits.

        Parameters
        ----------
        X : sequence of str, of sequences or of series

        Returns
        -------
        ndarray of uint8 of shape (n_examples, n_bits_out_)
            It carries what `describe` says, for the rules of a classifier that learns from it.
        """
        check_is_fitted(self)
        sequences = self._codes.levelled(self._read(X))
        bits = np.zeros((len(sequences), self.n_bits_out_), dtype=np.uint8)
        for first, part in sequences.parts(_PART):
            for rows, _, places in self._codes.phrases(part):
                bits[first + rows[:, None], places] = 1
        return self._described(bits)  # type: ignore[no-any-return]

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The fitted transformer as a JSON-serialisable dict and named numeric arrays.

        Returns
        -------
        meta : dict
        arrays : dict of str to ndarray
        """
        check_is_fitted(self)
        return state_of(self, self._names), {"thresholds": self.thresholds_}

    @classmethod
    def _from_state(cls, meta: dict[str, Any], arrays: Any) -> Hypervectors:
        numbers = ("n_bits", "ones", "shortest", "longest", "levels", "random_state")
        types = {"kind": str, **dict.fromkeys(numbers, int), "positions": bool}
        params, names = read_state(meta, types)
        transformer = cls(**params)
        transformer._parameters()
        expect(len(names) == transformer.n_bits, f"it has names of {len(names)} bits")
        return transformer._adopt(read_thresholds(arrays, transformer), names)


def check_blocks(name: str, n_bits: Any, ones: Any) -> tuple[int, int]:
    """Length of a hypervector and bits of a symbol, which must fit together."""
    ones = check_integer("ones", ones, 1, MAX_FEATURES)
    n_bits = check_integer(name, n_bits, ones, MAX_FEATURES)
    if n_bits % ones:
        below = n_bits // ones * ones
        raise ValueError(
            f"{name}={n_bits} must be a multiple of ones={ones}; set it to {below} or "
            f"{below + ones}"
        )
    return n_bits, ones


def read_thresholds(arrays: Any, of: Any) -> NDArray[np.float64]:
    """The thresholds of a state, checked: finite, increasing, and only where numbers are read."""
    expect_keys(arrays, ("thresholds",), "arrays")
    thresholds = expect_array(arrays, "thresholds", np.float64, None)
    expect(
        len(thresholds) < of.levels
        and (of.kind == "numbers" or len(thresholds) == 0)
        and bool(np.isfinite(thresholds).all())
        and bool((np.diff(thresholds) > 0).all()),
        "thresholds must be finite and increase",
    )
    return thresholds


def level_thresholds(values: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    """Thresholds midway between values, at the quantiles, for at most so many levels."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return np.empty(0)
    at = np.arange(1, levels) * len(known) // levels
    above = np.searchsorted(known, known[at], side="left")
    above = above[above > 0]
    middles = known[above - 1] + (known[above] - known[above - 1]) / 2
    return np.unique(middles[(middles >= known[above - 1]) & (middles < known[above])])


class Codes:
    """The bits of symbols and phrases."""

    def __init__(
        self, params: dict[str, Any], thresholds: NDArray[np.float64] | None = None
    ) -> None:
        self.params = params
        self.ones = params["ones"]
        self.block = params["n_bits"] // params["ones"]
        self.thresholds = thresholds if params["kind"] == "numbers" else None
        self._seed = step_key(params["random_state"], 0)

    def levelled(self, sequences: Sequences) -> Sequences:
        """Series of numbers as sequences of levels, -1 where one is missing."""
        if self.thresholds is None:
            return sequences
        levels = np.searchsorted(self.thresholds, sequences.ids, side="left")
        levels = np.where(np.isnan(sequences.ids), -1, levels).astype(np.int64)
        return Sequences(level_names(self.thresholds), levels, sequences.starts)

    def of_symbols(self, symbols: Sequence[str], place: int, length: int) -> Ints:
        """Places in the blocks (symbols, ones), for a symbol at one place of a phrase."""
        key = make_key(self._seed, Purpose.SYMBOL, length, place)
        if self.thresholds is not None:
            return self._of_levels(key, len(symbols))
        with np.errstate(over="ignore"):
            own = mix64(key ^ symbol_keys(symbols))
        return self._drawn(own[:, None], np.arange(self.ones, dtype=U32))

    def _of_levels(self, key: NDArray[np.uint64], count: int) -> Ints:
        """From one level to the next a share of the blocks changes, at least one, in turns."""
        rank = np.argsort(np.argsort(hash32(key, np.arange(self.ones, dtype=U32)), kind="stable"))
        step = max(1, round(self.ones / max(1, count - 1)))
        steps = np.arange(count)[:, None] * step
        changes = np.maximum(steps - rank + self.ones - 1, 0) // self.ones
        with np.errstate(over="ignore"):
            own = mix64(key + changes.astype(U64))
        return self._drawn(own, np.arange(self.ones, dtype=U32))

    def _drawn(self, keys: NDArray[np.uint64], blocks: NDArray[np.uint32]) -> Ints:
        words = hash32(keys, blocks).astype(U64)
        return (words * U64(self.block) >> U64(32)).astype(np.int64)

    def phrases(self, sequences: Sequences) -> Iterator[tuple[Ints, Ints, Ints]]:
        """For each length: rows, what the phrases are (phrases, length + 1), and their bits.

        The last of what a phrase is tells by how much it was rotated.
        """
        rows, ends = sequences.rows(), sequences.starts[1:]
        starts = sequences.starts[:-1]
        offsets = np.arange(self.ones) * self.block
        for length in range(self.params["shortest"], self.params["longest"] + 1):
            at = np.arange(len(rows))
            at = at[at + length <= ends[rows]]
            what = sequences.ids[at[:, None] + np.arange(length)]
            at, what = at[(what >= 0).all(axis=1)], what[(what >= 0).all(axis=1)]
            shift = np.zeros(len(at), dtype=np.int64)
            if self.params["positions"]:
                shift = (at - starts[rows[at]]) % self.block
            places = np.repeat(shift[:, None], self.ones, axis=1)
            for place in range(length):
                places += self.of_symbols(sequences.symbols, place, length)[what[:, place]]
            yield rows[at], np.column_stack([what, shift]), places % self.block + offsets


def symbol_keys(symbols: Sequence[str]) -> NDArray[np.uint64]:
    """A 64-bit number for each symbol, which depends on nothing else."""
    digests = (
        hashlib.blake2b(symbol.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for symbol in symbols
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(U64)


def level_names(thresholds: NDArray[np.float64]) -> list[str]:
    """Levels as intervals."""
    texts = number_texts(thresholds)
    if not texts:
        return ["any"]
    middle = (f"{low} to {high}" for low, high in itertools.pairwise(texts))
    return [f"up to {texts[0]}", *middle, f"above {texts[-1]}"]


def meanings(sequences: Sequences, codes: Codes) -> list[str]:
    """What each bit stood for in training: the phrases in most places, and how many others."""
    n_bits = codes.ones * codes.block
    named: list[list[tuple[int, str]]] = [[] for _ in range(n_bits)]
    others = np.zeros(n_bits, dtype=np.int64)
    symbols = sequences.symbols
    for _, what, places in codes.phrases(sequences):
        if not len(what):
            continue
        if codes.thresholds is not None and what.shape[1] == 2 and not codes.params["positions"]:
            for b, name in enumerate(_intervals(codes)):
                named[b] += [(-len(what), name)] * bool(name)
            others += np.array([len(entries) for entries in named])
            continue
        order = np.lexsort(what.T[::-1])
        ranked = what[order]
        new = np.concatenate([[True], (ranked[1:] != ranked[:-1]).any(axis=1)])
        counts = np.diff(np.append(np.flatnonzero(new), len(new)))
        kinds, bits = ranked[new], places[order[new]]
        others += np.bincount(bits.ravel(), minlength=n_bits)
        best = np.argsort(-counts, kind="stable")
        bit, phrase = bits[best].ravel(), np.repeat(best, codes.ones)
        by_bit = np.argsort(bit, kind="stable")
        bit, phrase = bit[by_bit], phrase[by_bit]
        rank = np.arange(len(bit)) - np.searchsorted(bit, bit, side="left")
        for b, k in zip(bit[rank < _NAMED].tolist(), phrase[rank < _NAMED].tolist(), strict=True):
            name = " ".join(symbols[s] for s in kinds[k, :-1].tolist())
            place = f"@{int(kinds[k, -1])}" if codes.params["positions"] else ""
            named[b].append((-int(counts[k]), name + place))
    texts = []
    for found, count in zip(named, others.tolist(), strict=True):
        kept = [name for _, name in sorted(found)[:_NAMED]]
        rest = [f"{count - len(kept)} more"] if count > len(kept) else []
        texts.append(", ".join(kept + rest))
    return texts


def _intervals(codes: Codes) -> list[str]:
    """The values that set each bit of a single number, exactly."""
    assert codes.thresholds is not None
    texts, count = number_texts(codes.thresholds), len(codes.thresholds) + 1
    places = codes.of_symbols(level_names(codes.thresholds), 0, 1) + (
        np.arange(codes.ones) * codes.block
    )
    names = [""] * (codes.ones * codes.block)
    for bit in np.unique(places).tolist():
        levels = np.flatnonzero((places == bit).any(axis=1))
        runs = np.split(levels, np.flatnonzero(np.diff(levels) > 1) + 1)
        names[bit] = " or ".join(_interval(texts, int(run[0]), int(run[-1]), count) for run in runs)
    return names


def _interval(texts: list[str], first: int, last: int, count: int) -> str:
    if first == 0:
        return "any" if last == count - 1 else f"up to {texts[last]}"
    return f"above {texts[first - 1]}" + ("" if last == count - 1 else f" up to {texts[last]}")


def describe_bits(names: list[str]) -> list[BitFeature]:
    """Bits of hypervectors, by what they stood for."""
    return [
        BitFeature(f"h{k}({name})" if name else f"h{k}", "bit", index=k)
        for k, name in enumerate(names)
    ]
