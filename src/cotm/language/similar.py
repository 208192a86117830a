"""Which words are alike, and the clauses that say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Clauses that are named as reasons.
_REASONS = 3


@dataclass(frozen=True)
class SimilarWord:
    """A word that is like another one.

    ``shared`` are the clauses that speak most for both, as the words that they ask for.
    """

    word: str
    similarity: float
    shared: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        reasons = "; ".join(" & ".join(words) for words in self.shared)
        return f"{self.word} {self.similarity:.2f}" + (f" (near: {reasons})" if reasons else "")


def directions(weights: NDArray[np.int32]) -> NDArray[np.float64]:
    """For each word a vector of length 1, from weights (words, clauses).

    Each clause counts by how far its weight is from its mean over all words, in deviations: what
    it says of every word alike tells none from another.
    """
    centred = weights - weights.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1.0))


def shared_clauses(
    one: NDArray[np.float64], other: NDArray[np.float64], clauses: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Of the clauses that speak for both words those that add most; the same one counts once."""
    both = np.where((one > 0) & (other > 0), one * other, 0.0)
    total: dict[tuple[str, ...], float] = {}
    for number in np.flatnonzero(both):
        if clauses[number]:
            total[clauses[number]] = total.get(clauses[number], 0.0) + float(both[number])
    ranked = sorted(total, key=lambda words: (-total[words], words))
    return tuple(ranked[:_REASONS])
