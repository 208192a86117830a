"""N-gram models with Kneser-Ney smoothing, cut to a size: what a language model begins with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect, expect_array, expect_integer

Int = NDArray[np.int64]
Float = NDArray[np.float64]

#: Bytes of the start of a history's n-grams and of what it leaves, and of a chance: a byte each
#: for the latter two, as steps of a scale.
_HISTORY_BYTES, _CHANCE_BYTES = 4, 1


@dataclass(frozen=True)
class Level:
    """The n-grams of one length: for each history, sorted, the symbols that follow it."""

    histories: Int  # (h,), as numbers to the base of the symbols and one more
    starts: Int  # (h + 1,), of their symbols
    left: NDArray[np.float32]  # (h,), by which the shorter history's chances count for others
    symbols: NDArray[np.int32]
    chances: NDArray[np.float32]  # of each symbol after its history

    @cached_property
    def rows(self) -> Int:
        """Of each n-gram where its history is."""
        return np.repeat(np.arange(len(self.histories)), np.diff(self.starts))

    def grams(self, base: int) -> Int:
        """The n-grams as ascending numbers."""
        return np.asarray(self.histories[self.rows] * base + self.symbols)


_ARRAYS = {
    "histories": np.int64,
    "starts": np.int64,
    "left": np.float32,
    "symbols": np.int32,
    "chances": np.float32,
}


class Counted(NamedTuple):
    """The n-grams of one length in texts."""

    grams: Int  # ascending
    counts: Int  # what they are weighed by
    often: Int  # how often they occur


class NGramModel:
    """Probabilities of the next symbol from the symbols before it.

    Histories are rows of the last ``order - 1`` symbols, the nearest last; before the beginning
    of a text, and where a symbol is unknown, it is ``n_symbols``.
    """

    def __init__(self, levels: tuple[Level, ...], n_symbols: int) -> None:
        self.levels, self.n_symbols = levels, n_symbols  # of n-grams of 1, 2, ... symbols
        self._base = n_symbols + 1
        self._grams = [level.grams(self._base) for level in levels]

    @classmethod
    def of(
        cls,
        histories: NDArray[np.int32],
        symbols: NDArray[np.int32],
        m: int,
        nbytes: int | None = None,
        *,
        continuation: bool = True,
    ) -> NGramModel:
        """Count what follows histories of ``order - 1`` symbols; cut it to so many bytes.

        Shorter n-grams count once for each symbol that comes before them, as Kneser and Ney do,
        or, without ``continuation``, as often as they occur.
        """
        base, longest = m + 1, histories.shape[1]
        if float(base) ** (longest + 1) >= 2**63:
            raise ValueError(
                f"order={longest + 1} is too much for {m} symbols; lower order or n_symbols"
            )
        grams, often = np.unique(_coded(histories, base) * base + symbols, return_counts=True)
        counted = [Counted(grams, often, often)]
        for length in range(longest, 0, -1):  # how many symbols came before each
            grams, place = np.unique(counted[-1].grams % base**length, return_inverse=True)
            often = np.bincount(place, counted[-1].often).astype(np.int64)
            counts = np.bincount(place) if continuation else often
            counted.append(Counted(grams, counts, often))
        model = cls((), m)
        for part in counted[::-1]:
            model = model._with(part)
        if nbytes is None or model.nbytes <= nbytes:
            return model
        return model._cut(nbytes, [part.often for part in counted[::-1]])

    def _with(self, part: Counted) -> NGramModel:
        """With the next longer n-grams: interpolated with what the shorter ones say."""
        histories, first = np.unique(part.grams // self._base, return_index=True)
        starts = np.append(first, len(part.grams)).astype(np.int64)
        rows = np.repeat(np.arange(len(histories)), np.diff(starts))
        discounts = _discounts(part.counts)
        taken = discounts[np.minimum(part.counts, len(discounts)) - 1]
        total = np.add.reduceat(part.counts, first)
        left = np.bincount(rows, taken) / total
        chances = (part.counts - taken) / total[rows] + left[rows] * self._chances(part.grams)
        symbols = (part.grams % self._base).astype(np.int32)
        return self._and(histories, starts, left, symbols, chances)

    def _and(self, histories: Int, starts: Int, left: Float, symbols: Any, p: Float) -> NGramModel:
        level = Level(histories, starts, left.astype(np.float32), symbols, p.astype(np.float32))
        return type(self)((*self.levels, level), self.n_symbols)

    @property
    def order(self) -> int:
        """Symbols of the longest n-grams."""
        return len(self.levels)

    @property
    def nbytes(self) -> int:
        """Bytes of a compact table.

        An n-gram takes its last symbol and a byte for its chance, a history three bytes for where
        its n-grams begin and one for what it leaves.
        """
        return self._nbytes([np.ones(len(grams), bool) for grams in self._grams])

    def _nbytes(self, kept: list[NDArray[np.bool_]]) -> int:
        m = self.n_symbols
        gram = _CHANCE_BYTES + (1 if m <= 256 else 2 if m <= 65536 else 4)
        return sum(
            gram * int(keep.sum()) + _HISTORY_BYTES * len(np.unique(level.rows[keep]))
            for level, keep in zip(self.levels, kept, strict=True)
        )

    def _cut(self, nbytes: int, often: list[Int]) -> NGramModel:
        """Without the n-grams of two symbols and more that tell least, so that it is so small.

        An n-gram stays as long as one that it begins.
        """
        scores = [np.full(len(often[0]), np.inf)]
        scores += [self._lost(length, often[length]) for length in range(1, self.order)]
        for length in range(self.order - 1, 1, -1):
            begins, place = _found(self._grams[length - 1], self._grams[length] // self._base)
            np.maximum.at(scores[length - 1], place[begins], scores[length][begins])
        ranked = np.append(np.unique(np.concatenate(scores[1:])), np.inf)
        low, high = 0, len(ranked) - 1  # the least score that is kept, by its place
        while low < high:
            middle = (low + high) // 2
            small = self._nbytes([score >= ranked[middle] for score in scores]) <= nbytes
            low, high = (low, middle) if small else (middle + 1, high)
        model = type(self)((), self.n_symbols)
        for level, score in zip(self.levels, scores, strict=True):
            keep = score >= ranked[low]
            if keep.any():
                model = model._with_part_of(level, keep)
        return model

    def _lost(self, length: int, often: Int) -> Float:
        """What is lost without each n-gram, after Stolcke: how much less likely texts become."""
        level = self.levels[length]
        p = level.chances.astype(np.float64)
        lower = self._chances(self._grams[length], length)
        kept, below, total = (np.bincount(level.rows, x) for x in (p, lower, often))
        rest, others = np.maximum(1 - kept, 1e-6), np.maximum(1 - below, 1e-6)
        now = rest / others
        then = (rest[level.rows] + p) / (others[level.rows] + lower)
        loss = p * np.log(p / (then * lower))
        loss -= rest[level.rows] * np.log(then / now[level.rows])
        return np.asarray(total[level.rows] * loss)

    def _with_part_of(self, level: Level, keep: NDArray[np.bool_]) -> NGramModel:
        """With some of the next longer n-grams; of others the shorter ones tell."""
        grams, p = level.grams(self._base)[keep], level.chances[keep].astype(np.float64)
        histories, first, rows = np.unique(
            grams // self._base, return_index=True, return_inverse=True
        )
        below = np.bincount(rows, self._chances(grams))
        left = np.maximum(1 - np.bincount(rows, p), 1e-6) / np.maximum(1 - below, 1e-6)
        starts = np.append(first, len(grams)).astype(np.int64)
        return self._and(histories, starts, left, level.symbols[keep], p)

    def probabilities(self, histories: NDArray[np.int32]) -> Float:
        """Of every symbol, (rows, m)."""
        m, rows = self.n_symbols, len(histories)
        found = np.full((rows, m), 1.0 / m)
        for length, level in enumerate(self.levels):
            known, place = _found(level.histories, self._history(histories, length))
            there = np.flatnonzero(known)
            place = place[there]
            found[there] *= level.left[place, None]
            count = np.diff(level.starts)[place]
            entry = np.arange(count.sum()) + np.repeat(
                level.starts[place] - np.concatenate([[0], np.cumsum(count)[:-1]]), count
            )
            found[np.repeat(there, count), level.symbols[entry]] = level.chances[entry]
        return found

    def perplexity(self, histories: NDArray[np.int32], symbols: NDArray[np.int32]) -> float:
        """Of the symbols that came after these histories."""
        found = self._chances(self._history(histories, self.order - 1) * self._base + symbols)
        return float(np.exp(-np.log(found).mean()))

    def _chances(self, grams: Int, order: int | None = None) -> Float:
        """The probability of the last symbol of each n-gram, by n-grams of at most ``order``."""
        found = np.full(len(grams), 1.0 / self.n_symbols)
        for length, level in enumerate(self.levels[:order]):
            part = grams % self._base ** (length + 1)
            known, place = _found(level.histories, part // self._base)
            found[known] *= level.left[place[known]]
            known, place = _found(self._grams[length], part)
            found[known] = level.chances[place[known]]
        return found

    def encoded(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As values that JSON knows, and arrays."""
        arrays = {
            f"{name}.{length}": getattr(level, name)
            for length, level in enumerate(self.levels)
            for name in _ARRAYS
        }
        return {"order": self.order}, arrays

    @classmethod
    def decoded(cls, said: Any, arrays: dict[str, NDArray[Any]], n_symbols: int) -> NGramModel:
        """From a file, which may be hostile."""
        order = expect_integer(said, "order", 1, 6)
        names = {f"{name}.{length}" for name in _ARRAYS for length in range(order)}
        expect(names == arrays.keys(), f"n-grams of {order} symbols have {sorted(arrays)!r:.200}")
        levels = []
        for length in range(order):
            level = Level(
                *(
                    expect_array(arrays, f"{name}.{length}", kind, None)
                    for name, kind in _ARRAYS.items()
                )
            )
            _expect_whole(level, n_symbols, (n_symbols + 1) ** length)
            levels.append(level)
        return cls(tuple(levels), n_symbols)

    @cached_property
    def _sums(self) -> list[Float]:
        """Of each level, summed up, what n-grams have beyond what the shorter history says."""
        found = []
        for length, level in enumerate(self.levels):
            lower = self._chances(self._grams[length], length)
            found.append(np.cumsum(np.maximum(level.chances - level.left[level.rows] * lower, 0)))
        return found

    def draw(self, histories: NDArray[np.int32], draws: NDArray[np.uint32]) -> NDArray[np.int32]:
        """A symbol for each history, by random numbers of 32 bits, (rows, 2 order)."""
        uniform = draws.astype(np.float64) / 2**32
        found = np.full(len(histories), -1, dtype=np.int32)
        open_ = np.arange(len(histories))
        for length in range(self.order - 1, -1, -1):
            level, sums = self.levels[length], self._sums[length]
            known, place = _found(level.histories, self._history(histories[open_], length))
            takes = known & (uniform[open_, 2 * length] >= level.left[place])
            rows, place = open_[takes], place[takes]
            first, last = level.starts[place], level.starts[place + 1]
            below = np.where(first > 0, sums[first - 1], 0.0)
            wanted = below + uniform[rows, 2 * length + 1] * (sums[last - 1] - below)
            entry = np.clip(np.searchsorted(sums, wanted, side="right"), first, last - 1)
            found[rows] = level.symbols[entry]
            open_ = open_[~takes]
        found[open_] = (uniform[open_, 1] * self.n_symbols).astype(np.int32)
        return found

    def _history(self, histories: NDArray[np.int32], length: int) -> Int:
        return _coded(histories[:, histories.shape[1] - length :], self._base)


def _coded(histories: NDArray[np.int32], base: int) -> Int:
    code = np.zeros(len(histories), dtype=np.int64)
    for column in histories.T:
        code = code * base + column
    return code


def _found(codes: Int, wanted: Int) -> tuple[NDArray[np.bool_], Int]:
    """Which of the wanted are among ascending codes, and where."""
    place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return codes[place] == wanted, place


def _discounts(counts: Int) -> Float:
    """What is taken from counts of 1, 2 and more, after Chen and Goodman.

    Where few different counts occur it is the same of all, after Ney, Essen and Kneser.
    """
    one, two, three, four = (int((counts == k).sum()) for k in range(1, 5))
    y = one / (one + 2 * two) if one else 0.5
    found = [y, y, y]
    if min(one, two, three, four):
        found = [1 - 2 * y * two / one, 2 - 3 * y * three / two, 3 - 4 * y * four / three]
    return np.clip(found, 0.05, (1, 2, 3))


def _expect_whole(level: Level, n_symbols: int, n_histories: int) -> None:
    """Refuse a level of a file that does not fit itself."""
    histories, starts, count = level.histories, level.starts, len(level.symbols)
    expect(len(starts) == len(histories) + 1 > 1, "n-grams have no histories")
    expect(starts[0] == 0 and starts[-1] == count, "n-grams do not fit their histories")
    # Differences of numbers that are not negative cannot overflow.
    for name, rising in (("starts", starts), ("histories", histories)):
        rises = bool((rising >= 0).all() and (np.diff(rising) > 0).all())
        expect(rises, f"{name} of n-grams do not rise")
    expect(bool(histories[-1] < n_histories), "histories do not exist")
    symbols = level.symbols
    expect(bool((symbols >= 0).all() and (symbols < n_symbols).all()), "symbols do not exist")
    follow = np.diff(symbols) > 0
    follow[starts[1:-1] - 1] = True  # another history begins
    expect(bool(follow.all()), "the symbols of a history are not sorted")
    for name, values, most, size in (
        ("chances", level.chances, 1.0, count),
        ("what is left", level.left, np.inf, len(histories)),
    ):
        expect(len(values) == size, f"{name} are not as many as what they are of")
        expect(bool((values > 0).all() and (values <= most).all()), f"{name} cannot be so")
    expect(bool(np.isfinite(level.left).all()), "what is left is not finite")
