"""N-gram models with interpolated Kneser-Ney smoothing: what a language model begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect, expect_array, expect_integer

Int = NDArray[np.int64]
Float = NDArray[np.float64]


_ARRAYS = {"histories": np.int64, "starts": np.int64, "symbols": np.int32, "counts": np.int32}


@dataclass(frozen=True)
class Level:
    """The n-grams of one length: for each history, sorted, the symbols that follow it."""

    histories: Int  # (h,), as numbers to the base of the symbols and one more
    starts: Int  # (h + 1,), of their symbols
    symbols: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, grams: Int, counts: Int, base: int) -> Level:
        """From n-grams as ascending numbers."""
        history, symbols = grams // base, grams % base
        histories, first = np.unique(history, return_index=True)
        starts = np.append(first, len(grams)).astype(np.int64)
        return cls(histories, starts, symbols.astype(np.int32), counts.astype(np.int32))

    @property
    def discount(self) -> float:
        """What is taken from each count, after Ney, Essen and Kneser."""
        once, twice = (self.counts == 1).sum(), (self.counts == 2).sum()
        return float(once / (once + 2 * twice)) if once else 0.5

    def places(self, histories: Int) -> tuple[NDArray[np.bool_], Int]:
        """Which histories are known, and where."""
        place = np.minimum(np.searchsorted(self.histories, histories), len(self.histories) - 1)
        return self.histories[place] == histories, place

    def left(self) -> Float:
        """What each history leaves to shorter ones, (h,)."""
        total = np.add.reduceat(self.counts.astype(np.int64), self.starts[:-1])
        return np.asarray(self.discount * np.diff(self.starts) / total)


class NGrams:
    """Probabilities of the next symbol from the symbols before it.

    Histories are rows of the last ``order - 1`` symbols, the nearest last; before the beginning
    of a text, and where a symbol is unknown, it is ``n_symbols``.
    """

    def __init__(self, levels: tuple[Level, ...], n_symbols: int) -> None:
        self.levels, self.n_symbols = levels, n_symbols  # of n-grams of 1, 2, ... symbols
        self._left = [level.left() for level in levels]
        self._sums = [np.cumsum(level.counts - level.discount) for level in levels]

    @classmethod
    def of(cls, histories: NDArray[np.int32], symbols: NDArray[np.int32], m: int) -> NGrams:
        """Count what follows histories of ``order - 1`` symbols."""
        base = m + 1
        if float(base) ** (histories.shape[1] + 1) >= 2**63:
            raise ValueError(f"n-grams of {histories.shape[1] + 1} of {m} symbols are too many")
        grams, counts = np.unique(_coded(histories, base) * base + symbols, return_counts=True)
        levels = [Level.of(grams, counts, base)]
        for length in range(histories.shape[1], 0, -1):  # how many symbols came before each
            grams, counts = np.unique(grams % base**length, return_counts=True)
            levels.append(Level.of(grams, counts, base))
        return cls(tuple(levels[::-1]), m)

    @property
    def order(self) -> int:
        """Symbols of the longest n-grams."""
        return len(self.levels)

    @property
    def nbytes(self) -> int:
        """Bytes of a plain table: per n-gram the last symbol and the count, per history 4 more."""
        symbol = 1 if self.n_symbols < 256 else 2 if self.n_symbols < 65536 else 4
        return sum(
            (symbol + (2 if level.counts.max() < 65536 else 4)) * len(level.symbols)
            + 4 * len(level.histories)
            for level in self.levels
        )

    def probabilities(self, histories: NDArray[np.int32]) -> Float:
        """Of every symbol, (rows, m)."""
        m, rows = self.n_symbols, len(histories)
        found = np.full((rows, m), 1.0 / m)
        for length, level in enumerate(self.levels):
            known, place = level.places(self._history(histories, length))
            there = np.flatnonzero(known)
            place = place[there]
            found[there] *= self._left[length][place, None]
            count = np.diff(level.starts)[place]
            entry = np.arange(count.sum()) + np.repeat(
                level.starts[place] - np.concatenate([[0], np.cumsum(count)[:-1]]), count
            )
            total = np.add.reduceat(level.counts.astype(np.int64), level.starts[:-1])[place]
            share = (level.counts[entry] - level.discount) / np.repeat(total, count)
            found[np.repeat(there, count), level.symbols[entry]] += share
        return found

    def perplexity(self, histories: NDArray[np.int32], symbols: NDArray[np.int32]) -> float:
        """Of the symbols that came after these histories."""
        total, step = 0.0, max(1, 4_000_000 // self.n_symbols)
        for first in range(0, len(symbols), step):
            rows = slice(first, first + step)
            found = self.probabilities(histories[rows])
            total -= float(np.log(found[np.arange(len(found)), symbols[rows]]).sum())
        return float(np.exp(total / len(symbols)))

    def encoded(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As values that JSON knows, and arrays."""
        arrays = {
            f"{name}.{length}": getattr(level, name)
            for length, level in enumerate(self.levels)
            for name in _ARRAYS
        }
        return {"order": self.order}, arrays

    @classmethod
    def decoded(cls, said: Any, arrays: dict[str, NDArray[Any]], n_symbols: int) -> NGrams:
        """From a file, which may be hostile."""
        order = expect_integer(said, "order", 1, 6)
        levels = []
        for length in range(order):
            level = Level(
                *(
                    expect_array(arrays, f"{name}.{length}", kind, None)
                    for name, kind in _ARRAYS.items()
                )
            )
            starts, count = level.starts, len(level.symbols)
            expect(len(starts) == len(level.histories) + 1 > 1, "n-grams have no histories")
            expect(starts[0] == 0 and starts[-1] == count, "n-grams do not fit their histories")
            # Differences of numbers that are not negative cannot overflow.
            for name, rising in (("starts", starts), ("histories", level.histories)):
                rises = bool((rising >= 0).all() and (np.diff(rising) > 0).all())
                expect(rises, f"{name} of n-grams do not rise")
            expect(len(level.counts) == count, "n-grams have no counts")
            expect(bool((level.counts > 0).all()), "counts are not positive")
            expect(
                bool((level.symbols >= 0).all() and (level.symbols < n_symbols).all()),
                "n-grams name symbols that do not exist",
            )
            levels.append(level)
        return cls(tuple(levels), n_symbols)

    def draw(self, histories: NDArray[np.int32], draws: NDArray[np.uint32]) -> NDArray[np.int32]:
        """A symbol for each history, by random numbers of 32 bits, (rows, 2 order)."""
        uniform = draws.astype(np.float64) / 2**32
        found = np.full(len(histories), -1, dtype=np.int32)
        open_ = np.arange(len(histories))
        for length in range(self.order - 1, -1, -1):
            level, sums = self.levels[length], self._sums[length]
            known, place = level.places(self._history(histories[open_], length))
            takes = known & (uniform[open_, 2 * length] >= self._left[length][place])
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
        return _coded(histories[:, histories.shape[1] - length :], self.n_symbols + 1)


def _coded(histories: NDArray[np.int32], base: int) -> Int:
    code = np.zeros(len(histories), dtype=np.int64)
    for column in histories.T:
        code = code * base + column
    return code
