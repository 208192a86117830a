"""The search for the smallest set of changes: first all single ones, then all pairs, then the best
with one more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.outputs import Votes
from .cells import Candidate
from .columns import Columns, votes_of
from .goals import Goal
from .voters import Voters

#: Changes that are kept to be added to; changes, and bits of them, tried at the same time.
_WIDTH, _BLOCK_ROWS, _BLOCK_BITS = 32, 1 << 13, 1 << 25

#: Numbers of candidates, ascending, each for another column.
Change = tuple[int, ...]


class _Level(NamedTuple):
    """What was found among changes of so many columns."""

    reached: Change | None  # the cheapest that reaches the goal
    nearest: list[Change]  # those that come nearest, if none does


class Search:
    """Tries changes of one row of bits."""

    def __init__(
        self,
        voters: Voters,
        columns: Columns,
        rows: Sequence[NDArray[np.uint8]],
        found: Sequence[Candidate],
        goal: Goal,
        max_tries: int,
    ) -> None:
        self.voters, self.rows, self.goal = voters, rows, goal
        self.max_tries, self.tries = max_tries, 0
        self.column = np.array([candidate.column for candidate in found], dtype=np.int64)
        self.cost = np.array([candidate.cost for candidate in found])
        self.places = [
            [columns.places(k, candidate.column) for candidate in found] for k in range(len(rows))
        ]
        self.bits = [[candidate.bits[k] for candidate in found] for k in range(len(rows))]

    def run(self, max_changes: int) -> tuple[Change | None, bool]:
        """The cheapest change that reaches the goal, and whether no smaller one does."""
        count = len(self.column)
        if not count:
            return None, False
        is_proven = True
        level = self._level(self._by_cost((k,) for k in range(count)))
        for size in range(2, max_changes + 1):
            if level.reached is not None:
                break
            if size == 2 and count * (count - 1) // 2 <= self.max_tries:
                level = self._level(self._by_cost(combinations(range(count), 2)))
                continue
            is_proven = False
            width = max(1, min(_WIDTH, self.max_tries // count))
            grown = {
                tuple(sorted((*change, k)))
                for change in level.nearest[:width]
                for k in range(count)
            }
            level = self._level(self._by_cost(grown))
        if level.reached is None or is_proven:
            return level.reached, is_proven
        return self._pared(level.reached), False

    def _by_cost(self, changes: Iterable[Change]) -> list[Change]:
        """Those of different columns, the cheapest first."""
        numbers = np.array(sorted(changes), dtype=np.int64)
        if not len(numbers):
            return []
        owners = np.sort(self.column[numbers], axis=1)
        numbers = numbers[(np.diff(owners, axis=1) > 0).all(axis=1)]
        order = np.argsort(self.cost[numbers].sum(axis=1), kind="stable")
        return [tuple(change) for change in numbers[order].tolist()]

    def _level(self, changes: Sequence[Change]) -> _Level:
        """Try changes, the cheapest first, until one reaches the goal."""
        bits = sum(row.shape[1] for row in self.rows)
        step = max(1, min(_BLOCK_ROWS, _BLOCK_BITS // bits))
        nearest: list[tuple[int, Change]] = []
        for first in range(0, len(changes), step):
            block = changes[first : first + step]
            votes = self._votes(block)
            reached, distance = self.goal.reached(votes), self.goal.distance(votes)
            if reached.any():
                hits = np.flatnonzero(reached).tolist()
                # Costs are sums of floats; equal ones must not differ by their order.
                best = min(hits, key=lambda k: (round(self._cost(block[k]), 9), int(distance[k])))
                return _Level(block[best], [])
            ahead = np.argsort(distance, kind="stable")[:_WIDTH].tolist()
            nearest += [(int(distance[k]), block[k]) for k in ahead]
            nearest = sorted(nearest, key=lambda entry: entry[0])[:_WIDTH]
        return _Level(None, [change for _, change in nearest])

    def _pared(self, change: Change) -> Change:
        """The change without what it can do without, and each part as cheap as it can be."""
        while True:
            others = [
                tuple(sorted({*change} - {k} | {*instead}))
                for k in change
                for instead in [(), *((c,) for c in self._cheaper(k))]
            ]
            others = [other for other in others if other]
            if not others:
                return change
            reached = np.flatnonzero(self.goal.reached(self._votes(others)))
            if not len(reached):
                return change
            change = min(
                (others[k] for k in reached.tolist()),
                key=lambda other: (len(other), self._cost(other)),
            )

    def _cost(self, change: Change) -> float:
        return float(self.cost[[*change]].sum())

    def _cheaper(self, k: int) -> list[int]:
        """Candidates for the same column that cost less."""
        same = (self.column == self.column[k]) & (self.cost < self.cost[k])
        return [int(other) for other in np.flatnonzero(same)]

    def _votes(self, changes: Sequence[Change]) -> Votes:
        """The votes for the row with each of the changes."""
        self.tries += len(changes)
        tried = []
        for row, places, bits in zip(self.rows, self.places, self.bits, strict=True):
            block = np.repeat(row, len(changes), axis=0)
            for line, change in zip(block, changes, strict=True):
                for k in change:
                    line[places[k]] = bits[k]
            tried.append(block)
        return votes_of(self.voters, tried)
