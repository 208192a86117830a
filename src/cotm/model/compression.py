"""Fewer and shorter clauses, and weights of few bits, that predict the same examples as well.

Everything is measured on examples: a step is kept if as many of them as agreed are still right.
Clauses and literals go in the order of the damage they leave, which is counted in votes of margin
that are missing then; all in whole numbers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.parameters import OPTIONS
from ..core.state import Snapshot
from ..core.system import available_memory, format_bytes
from ..machine import Machine
from .judging import Judge
from .outputs import Votes

#: Shares of the loss that may be spent after each round; the rest is left for the weights.
_SHARES = (0.25, 0.5, 0.75)
#: Literals that a clause may lose in a step, of those it has, and steps in a round.
_PART, _STEPS = 4, 4
#: Examples on which the damage of single literals is estimated, and clauses that are tried at once.
_SAMPLE, _TOGETHER = 4000, 2048
#: Examples whose outputs are computed at a time.
_ROWS = 1 << 14
#: Bits of weights, from the fewest that are tried.
_BITS = range(3, 17)


class Compression:
    """A pool of clauses that becomes smaller.

    ``included`` (n, L) and ``weights`` (n, m) are what is left, ``sources`` the clauses of the
    pool at first that it was made of.
    """

    def __init__(
        self, machine: Machine, included: Any, weights: Any, examples: Examples | None
    ) -> None:
        self._machine = machine
        self.examples = examples
        self.scale = Fraction(1)  # of the votes
        self.included = np.asarray(included, dtype=bool)
        self.weights = np.asarray(weights, dtype=np.int64)
        self.sources = np.arange(len(self.weights))
        sharing, learns = machine.spec.sharing, machine.spec.learn_weights
        self._owned = np.ones(self.weights.shape, dtype=bool) if sharing else self.weights != 0
        self._may_weigh, self._may_merge = learns, learns
        self._outputs: NDArray[Any] = np.empty((0, 0))
        self._votes: Votes = np.empty((0, 0), dtype=np.int64)
        self._judge = Judge(np.empty(0, dtype=np.int64), 0)
        self._right: NDArray[np.bool_] = np.empty(0, dtype=bool)
        self._doubt: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._most_missing = 0

    # Without loss --------------------------------------------------------------------

    def merge(self, voting: Any) -> None:
        """Make equal clauses one, and drop those that ``voting`` says can never vote."""
        keep = np.asarray(voting) & self.weights.any(axis=1)
        first: dict[bytes, int] = {}
        sums = self.weights.copy()
        packed = np.packbits(self.included, axis=1)
        for j in np.flatnonzero(keep):
            # Without sharing each output has clauses of its own.
            key = packed[j].tobytes() + self._owned[j].tobytes()
            into = first.setdefault(key, int(j)) if self._may_merge else int(j)
            if into != j:
                sums[into] += self.weights[j]
                keep[j] = False
        self.weights = sums
        self._keep(keep & sums.any(axis=1))

    def _keep(self, keep: Any) -> None:
        self.included, self.weights = self.included[keep], self.weights[keep]
        self.sources, self._owned = self.sources[keep], self._owned[keep]
        if len(self._outputs):
            self._outputs = self._outputs[keep]

    @property
    def _all(self) -> Examples:
        assert self.examples is not None
        return self.examples

    # On examples ---------------------------------------------------------------------

    def measure(self, judge: Judge) -> int:
        """Compute what all clauses say of the examples; how many are right."""
        _require_memory(len(self.weights), len(self._all))
        self._judge = judge
        self._outputs = self._say(self.included, self._all)
        self._count()
        return int(self._right.sum())

    def shrink(self, least: int, most: int, *, scale: bool = True) -> None:
        """Drop and shorten, with at least ``least`` examples right; ``most`` are at first.

        As many more of the votes of margin may be missing in all, in proportion. ``scale`` is
        whether the votes may become fewer, all in proportion.
        """
        rows, missing = len(self._all), int(self._doubt.sum())
        self._most_missing = missing * (rows - least + 1) // (rows - most + 1)
        for share in _SHARES:
            floor = most - int((most - least) * share)
            self._shorten(floor)
            self._drop(floor)
        if self._may_weigh and scale:
            self._round(least)
        self._drop(least)
        self.merge(np.ones(len(self.weights), dtype=bool))

    @property
    def n_right(self) -> int:
        """How many examples are right."""
        return int(self._right.sum())

    @property
    def votes(self) -> Votes:
        """Of the examples."""
        return self._votes

    def _say(self, included: NDArray[np.bool_], examples: Examples) -> NDArray[Any]:
        """What clauses say of examples, (n, N)."""
        parameters = self._machine.parameters
        options = {
            name: getattr(parameters, name)
            for name, option in OPTIONS.items()
            if option.pooled is None and not option.is_kind
        }
        backend, n_jobs = self._machine.backend, self._machine.n_jobs
        machine = Machine(len(included), parameters.T, **options, backend=backend, n_jobs=n_jobs)
        memory = np.where(included, 0, -1).astype(np.int8)
        weights = np.zeros((len(included), 1), dtype=np.int32)
        machine.load_state(examples.grid, Snapshot(memory, weights, 0))
        small = np.uint8 if parameters.tolerance < 256 else np.uint16
        said = np.empty((len(included), len(examples)), dtype=small)
        for first in range(0, len(examples), _ROWS):
            part = machine.clause_outputs(examples[first : first + _ROWS])
            said[:, first : first + len(part)] = part.T
        return said

    def _count(self) -> None:
        self._votes = _votes(self._outputs, self.weights)
        self._right, self._doubt = self._judge(self._votes)

    def _after(self, rows: Any, more: Votes) -> tuple[int, int, Any, Any]:
        """How many more are right, and how much more is missing, with other votes on some rows."""
        right, doubt = self._judge(self._votes[rows] + more, rows)
        gained = int(right.sum()) - int(self._right[rows].sum())
        return gained, int(doubt.sum()) - int(self._doubt[rows].sum()), right, doubt

    def _try(self, rows: Any, more: Votes, floor: int) -> bool:
        """Take other votes on some rows, if enough are right and not too much is missing."""
        gained, damage, right, doubt = self._after(rows, more)
        if int(self._right.sum()) + gained < floor:
            return False
        if damage > 0 and int(self._doubt.sum()) + damage > self._most_missing:
            return False
        self._votes[rows] += more
        self._right[rows], self._doubt[rows] = right, doubt
        return True

    def _without(self, j: int) -> tuple[Any, Votes]:
        """Rows on which a clause fires, and what of votes is lost there without it."""
        rows = np.flatnonzero(self._outputs[j])
        return rows, -self._outputs[j, rows, None].astype(np.int64) * self.weights[j]

    def _drop(self, floor: int) -> None:
        """Drop clauses, those first that do the least damage."""
        keep = np.ones(len(self.weights), dtype=bool)
        queue = [(self._after(*self._without(j))[1], j) for j in range(len(keep))]
        heapq.heapify(queue)
        while queue and keep.sum() > 1:
            _, j = heapq.heappop(queue)
            rows, more = self._without(j)
            damage = self._after(rows, more)[1]
            if queue and damage > queue[0][0]:  # it has grown since it was measured
                heapq.heappush(queue, (damage, j))
            elif self._try(rows, more, floor):
                keep[j] = False
        self._keep(keep)

    def _shorten(self, floor: int) -> None:
        """Drop literals, some of each clause in a step."""
        for _ in range(_STEPS):
            chosen = self._harmless()
            while chosen and not self._leave_out(chosen, floor):
                chosen = chosen[: len(chosen) // 2]
            if len(chosen) <= self.included.sum() // 200:
                return

    def _harmless(self) -> list[tuple[int, int]]:
        """The literals of each clause that it misses least, as (clause, literal), in this order."""
        rows = np.unique(np.linspace(0, len(self._all) - 1, _SAMPLE).astype(np.int64))
        examples, chosen = self._all[rows], []
        for clauses, literals in self._literals():
            shorter = self.included[clauses]
            shorter[np.arange(len(clauses)), literals] = False
            said = self._say(shorter, examples)
            for j, literal, now in zip(clauses.tolist(), literals.tolist(), said, strict=True):
                more = now.astype(np.int64) - self._outputs[j, rows]
                moved = np.flatnonzero(more)
                gained, damage, *_ = self._after(rows[moved], more[moved, None] * self.weights[j])
                chosen.append((max(0, -gained), damage, j, literal))
        chosen.sort()
        lengths, best = self.included.sum(axis=1), []
        taken: dict[int, int] = {}
        for *_, j, literal in chosen:
            taken[j] = taken.get(j, 0) + 1
            if taken[j] <= max(1, lengths[j] // _PART):
                best.append((j, literal))
        return best

    def _literals(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """All literals of clauses that have several, as many at a time as are tried at once."""
        clauses, literals = np.nonzero(self.included & (self.included.sum(axis=1) > 1)[:, None])
        for first in range(0, len(clauses), _TOGETHER):
            yield clauses[first : first + _TOGETHER], literals[first : first + _TOGETHER]

    def _leave_out(self, chosen: list[tuple[int, int]], floor: int) -> bool:
        """Leave out literals, if enough examples are right without them."""
        clauses = np.unique([j for j, _ in chosen])
        included = self.included.copy()
        included[tuple(zip(*chosen, strict=True))] = False
        said = self._say(included[clauses], self._all)
        more = _votes(said, self.weights[clauses])
        more -= _votes(self._outputs[clauses], self.weights[clauses])
        rows = np.flatnonzero(more.any(axis=1))
        if not self._try(rows, more[rows], floor):
            return False
        self.included = included
        self._outputs[clauses] = said
        return True

    def _round(self, least: int) -> None:
        """Bring weights to the fewest bits with which enough examples are right."""
        largest = int(np.abs(self.weights).max(initial=0))
        before = self.weights, self._votes, self._right, self._doubt, self._judge
        most_missing = self._most_missing
        for bits in _BITS:
            top = (1 << (bits - 1)) - 1
            if top >= largest:
                break
            self.weights = (2 * before[0] * top + largest) // (2 * largest)
            self._judge = before[4].scaled(top, largest)
            self._most_missing = most_missing * top // largest
            self._count()
            enough = int(self._right.sum()) >= least
            if enough and int(self._doubt.sum()) <= self._most_missing:
                self.scale = Fraction(top, largest)
                self._keep(self.weights.any(axis=1))
                return
        self.weights, self._votes, self._right, self._doubt, self._judge = before
        self._most_missing = most_missing


def _votes(outputs: NDArray[Any], weights: NDArray[np.int64]) -> Votes:
    """Sums of outputs (n, N) times weights (n, m), exactly: (N, m)."""
    votes = np.zeros((outputs.shape[1], weights.shape[1]), dtype=np.int64)
    for first in range(0, len(weights), 64):
        part = weights[first : first + 64]
        exact = np.float64 if np.abs(part).max(initial=0) < 2**31 else object
        votes += (outputs[first : first + 64].T.astype(exact) @ part.astype(exact)).astype(np.int64)
    return votes


def _require_memory(clauses: int, rows: int) -> None:
    free, wanted = available_memory(), 3 * clauses * rows
    if free is not None and wanted > free:
        raise MemoryError(
            f"what {clauses:,} clauses say of {rows:,} examples takes {format_bytes(wanted)}, but "
            f"{format_bytes(free)} are free; pass fewer examples"
        )
