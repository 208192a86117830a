"""A machine's state at one step, and earlier states whose votes count with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .spec import WEIGHT_LIMIT


@dataclass(frozen=True)
class PastState:
    """What of a state votes: which literals its clauses include, as bits, and the weights."""

    included: NDArray[np.uint8]  # (n, ceil(L / 8)), packed
    weights: NDArray[np.int32]


@dataclass(frozen=True)
class Snapshot:
    """A machine's state at one step."""

    memory: NDArray[np.int8]
    weights: NDArray[np.int32]
    step: int
    earlier: tuple[PastState, ...] = ()  # with ``average``, states that vote too, oldest first

    def past(self) -> PastState:
        """What of this state votes once training has gone on."""
        return PastState(np.packbits(self.memory >= 0, axis=1), self.weights)


def voters(state: Snapshot) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Memory and weights of one pool whose votes are the sum of all states' votes.

    States one epoch apart have many clauses in common; those become one with the sum of
    their weights. Clauses that include nothing, or weigh nothing, never vote and go.
    """
    states = [*state.earlier, state.past()]
    included = np.concatenate([past.included for past in states])
    weights = np.concatenate([past.weights for past in states]).astype(np.int64)
    rows = included.view(np.dtype((np.void, included.shape[1]))).ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    summed = np.zeros((len(first), weights.shape[1]), dtype=np.int64)
    np.add.at(summed, group, weights)
    if np.abs(summed).max() <= WEIGHT_LIMIT:  # else the sums are left to the votes
        included, weights = included[first], summed
    heard = np.flatnonzero(included.any(axis=1) & weights.any(axis=1))
    if len(heard) == 0:
        heard = np.array([0])  # a pool needs a clause, and this one is silent
    bits = np.unpackbits(included[heard], axis=1, count=state.memory.shape[1])
    return bits.view(np.int8) - np.int8(1), weights[heard].astype(np.int32)
