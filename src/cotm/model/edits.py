"""What was changed by hand in a fitted model, and how it was before."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..core.state import EarlierState, Snapshot, voters
from .constraints import Constraints

#: What can be done to a model.
KINDS = ("drop", "add", "votes", "pin", "unpin", "constrain")


@dataclass(frozen=True, eq=False)
class Rows:
    """Literals and weights of some clauses, by their numbers among those of all states."""

    clauses: NDArray[np.int64]
    memory: NDArray[np.int8]  # (clauses, L)
    weights: NDArray[np.int32]  # (clauses, m)

    def mark(self) -> int:
        """A number that tells them from others."""
        parts = (self.clauses.tobytes(), self.memory.tobytes(), self.weights.tobytes())
        return zlib.crc32(b"".join(parts))


@dataclass(frozen=True)
class Edit:
    """One change by hand.

    Attributes
    ----------
    kind : {"drop", "add", "votes", "pin", "unpin", "constrain"}
        What was done.
    text : str
        To what: the rule in words, or the constraints.
    step : int
        Examples that had been presented before it.
    clauses : tuple of int
        Numbers of the clauses that changed, as those of rules.
    """

    kind: str
    text: str
    step: int
    before: Rows = field(repr=False, compare=False)
    mark: int = field(repr=False)  # of the same rows after it
    pinned: tuple[int, ...] = field(repr=False)  # before it
    held: tuple[int, ...] = field(repr=False)
    constraints: Constraints | None = field(default=None, repr=False)

    @property
    def clauses(self) -> tuple[int, ...]:
        return tuple(self.before.clauses.tolist())


@dataclass(frozen=True)
class Edits:
    """All changes by hand, and what they hold fast."""

    log: tuple[Edit, ...] = ()
    pinned: tuple[int, ...] = ()  # clauses of the current state whose literals stay
    held: tuple[int, ...] = ()  # those of them whose weights stay, too
    constraints: Constraints | None = None  # in effect


def rows_of(state: Snapshot, clauses: NDArray[np.int64]) -> Rows:
    """Some clauses of all states that vote."""
    memory, weights = voters(state)
    return Rows(clauses, memory[clauses], weights[clauses])


def with_rows(state: Snapshot, rows: Rows) -> Snapshot:
    """The state with these clauses in the place of its own; all others keep their bits."""
    n = len(state.memory)
    memory, weights, earlier = state.memory, state.weights, [*state.earlier]
    place, number = np.divmod(rows.clauses, n)
    for k in np.unique(place).tolist():
        mine = place == k
        if k == len(earlier):
            memory, weights = memory.copy(), weights.copy()
            memory[number[mine]], weights[number[mine]] = rows.memory[mine], rows.weights[mine]
        else:
            packed, past = earlier[k].included.copy(), earlier[k].weights.copy()
            packed[number[mine]] = np.packbits(rows.memory[mine] >= 0, axis=1)
            past[number[mine]] = rows.weights[mine]
            earlier[k] = EarlierState(packed, past)
    return replace(state, memory=memory, weights=weights, earlier=tuple(earlier))


def changed_rows(before: Snapshot, after: Snapshot) -> NDArray[np.int64]:
    """Numbers of the clauses in which two states differ."""
    (memory, weights), (others, other_weights) = voters(before), voters(after)
    differ = (memory != others).any(axis=1) | (weights != other_weights).any(axis=1)
    return np.flatnonzero(differ).astype(np.int64)
