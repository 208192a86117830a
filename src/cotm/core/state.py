"""A machine's state: at the start, at one step, and earlier ones whose votes count with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .randomness import U32, Purpose, hash32, make_key, step_key
from .spec import Spec


@dataclass(frozen=True)
class EarlierState:
    """The part of an earlier state that votes: which literals are included, and the weights."""

    included: NDArray[np.uint8]  # (n, ceil(L / 8)), packed
    weights: NDArray[np.int32]

    def __post_init__(self) -> None:
        _make_read_only(self, "included", "weights")

    def __reduce__(self) -> tuple[Any, ...]:
        return EarlierState, (self.included, self.weights)

    def has_from(self, literal: int) -> bool:
        """Whether a clause includes a literal from this one on."""
        return bool(np.unpackbits(self.included, axis=1)[:, literal:].any())

    def most_literals(self) -> int:
        """How many the longest clause includes."""
        return int(np.unpackbits(self.included, axis=1).sum(axis=1, dtype=np.int64).max())


@dataclass(frozen=True)
class Snapshot:
    """A machine's state at one step; its arrays are read-only."""

    memory: NDArray[np.int8]
    weights: NDArray[np.int32]
    step: int
    earlier: tuple[EarlierState, ...] = ()  # with ``average``, states that vote too, oldest first

    def __post_init__(self) -> None:
        _make_read_only(self, "memory", "weights")

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot, (self.memory, self.weights, self.step, self.earlier)

    def as_earlier(self) -> EarlierState:
        """The part of this state that votes once training has gone on."""
        return EarlierState(np.packbits(self.memory >= 0, axis=1), self.weights)


def _make_read_only(state: object, *names: str) -> None:
    """Replace a state's arrays by read-only views, so that nobody changes what votes."""
    for name in names:
        view = getattr(state, name).view()
        view.flags.writeable = False
        object.__setattr__(state, name, view)


def voters(state: Snapshot) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Memory and weights of one pool whose votes are the sum of all states' votes.

    Earlier states come first. Of them only what is included is known: their entries are 0 and -1.
    """
    memory = np.empty((len(state.earlier) + 1, *state.memory.shape), dtype=np.int8)
    for entries, past in zip(memory, state.earlier, strict=False):
        bits = np.unpackbits(past.included, axis=1, count=state.memory.shape[1])
        np.subtract(bits.view(np.int8), np.int8(1), out=entries)
    memory[-1] = state.memory
    weights = [*(past.weights for past in state.earlier), state.weights]
    return memory.reshape(-1, state.memory.shape[1]), np.concatenate(weights)


def start_state(spec: Spec) -> Snapshot:
    """Where training begins: all literals excluded, on the edge, and weights of +-1."""
    memory = np.full((spec.n, spec.grid.n_literals), -1, dtype=np.int8)
    return Snapshot(memory, start_weights(spec), 0)


def start_weights(spec: Spec) -> NDArray[np.int32]:
    """The first weights: +-1 at random, or with sharing off by turns for the owner only."""
    if spec.sharing:
        keys = make_key(step_key(spec.seed, 0), Purpose.START, np.arange(spec.m))
        bits = hash32(keys, np.arange(spec.n, dtype=U32)[:, None]) >> U32(31)
        return np.where(bits == 1, 1, -1).astype(np.int32)
    owners = spec.owners()
    first = np.searchsorted(owners, owners)
    weights = np.zeros((spec.n, spec.m), dtype=np.int32)
    weights[np.arange(spec.n), owners] = np.where((np.arange(spec.n) - first) % 2 == 0, 1, -1)
    return weights


def within_limits(spec: Spec, state: Snapshot, average: int = 1) -> Snapshot:
    """A state made to fit a machine: clipped, and without surplus literals.

    A clause with too many literals keeps those with the highest entries. Of earlier states the
    entries are not known; those in which a clause has too many literals are dropped.
    """
    memory = np.clip(state.memory, -spec.N, spec.top)
    if not spec.negations:
        negated = memory[:, spec.grid.n_features :]
        np.minimum(negated, -1, out=negated)
    weights = spec.clip_weights(state.weights)
    earlier = state.earlier[max(0, len(state.earlier) + 1 - average) :]
    if spec.max_literals:
        for j in np.flatnonzero((memory >= 0).sum(axis=1) > spec.max_literals):
            included = np.flatnonzero(memory[j] >= 0)
            weakest = included[np.argsort(-memory[j, included].astype(int), kind="stable")]
            memory[j, weakest[spec.max_literals :]] = -1
        earlier = tuple(p for p in earlier if p.most_literals() <= spec.max_literals)
    if not spec.negations:
        earlier = tuple(p for p in earlier if not p.has_from(spec.grid.n_features))
    earlier = tuple(EarlierState(p.included, spec.clip_weights(p.weights)) for p in earlier)
    return Snapshot(memory, weights, state.step, earlier)
