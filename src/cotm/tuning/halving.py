"""Successive halving over epochs, in batches: who trains how far, by scores alone.

Candidates come in batches of a fixed size. All of a batch train to the first rung, the best of
them go on to the next, and so on. The next batch is asked for when all of this one have come to
the first rung and no more than three others have not ended: so there is work while the last few of
a batch train, and what a batch is asked for with does not depend on who was quick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

#: Batches that are under way at the same time. The last of a batch train longest, and alone.
_UNDER_WAY = 4

#: Mean scores by candidate and rung; nan where a training failed.
Scores = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Halving:
    """The rules of one search."""

    rungs: tuple[int, ...]  # epochs, ascending
    factor: int
    batch: int  # candidates in each batch
    candidates: int  # in all
    through: frozenset[int] = frozenset()  # candidates that go to the last rung in any case

    @classmethod
    def of(
        cls,
        *,
        max_epochs: int,
        min_epochs: int | None,
        factor: int,
        batch: int,
        candidates: int,
        through: Sequence[int] = (),
    ) -> Halving:
        """With rungs that are ``factor`` apart, from the last one down."""
        rungs = [max_epochs]
        widths = batch
        lowest = 1 if min_epochs is None else min(min_epochs, max_epochs)
        while widths >= factor and rungs[0] // factor >= lowest:
            rungs.insert(0, rungs[0] // factor)
            widths //= factor
        return cls(tuple(rungs), factor, batch, candidates, frozenset(through))

    def with_candidates(self, candidates: int) -> Halving:
        """The same for more candidates."""
        return replace(self, candidates=candidates)

    def members(self, batch: int) -> range:
        """The candidates of a batch."""
        return range(batch * self.batch, min((batch + 1) * self.batch, self.candidates))

    @property
    def batches(self) -> int:
        return -(-self.candidates // self.batch)

    def climbing(self, batch: int, rung: int, scores: Scores) -> list[int] | None:
        """Who of a batch trains to a rung; None as long as it is not known."""
        if rung == 0:
            return list(self.members(batch))
        before = self.climbing(batch, rung - 1, scores)
        if before is None or any((one, rung - 1) not in scores for one in before):
            return None
        width = max(1, len(self.members(batch)) // self.factor**rung)
        ranked = sorted(before, key=lambda one: rank(scores[one, rung - 1], one))
        ranked = [one for one in ranked if not math.isnan(scores[one, rung - 1])]
        free = [one for one in ranked if one in self.through]
        return sorted({*ranked[:width], *free})

    def has_reached(self, batch: int, rung: int, scores: Scores) -> bool:
        """Whether all of a batch that train to a rung are there."""
        climbing = self.climbing(batch, rung, scores)
        return climbing is not None and all((one, rung) in scores for one in climbing)

    def has_ended(self, batch: int, scores: Scores) -> bool:
        """Whether nobody of a batch has anything left to do."""
        return self.has_reached(batch, len(self.rungs) - 1, scores)

    def may_begin(self, batch: int, ended: int, scores: Scores) -> bool:
        """Whether all is known that a batch is asked for with; the first ``ended`` have ended."""
        if batch >= min(self.batches, ended + _UNDER_WAY):
            return False
        return batch == 0 or self.has_reached(batch - 1, 0, scores)

    def counting(self, batches: int, scores: Scores) -> dict[tuple[int, int], float]:
        """The scores of the first batches, but for those of candidates that should not have gone
        so far: a search that was made longer has promoted others."""
        return {
            (one, rung): scores[one, rung]
            for batch in range(batches)
            for rung in range(len(self.rungs))
            for one in self.climbing(batch, rung, scores) or ()
            if (one, rung) in scores
        }

    def seen(self, batch: int, scores: Scores) -> dict[tuple[int, int], float]:
        """The scores that a batch is asked for with: of those before that may not have ended, the
        ones at the first rung."""
        first = (batch + 1 - _UNDER_WAY) * self.batch
        return {
            (one, rung): score
            for (one, rung), score in self.counting(batch, scores).items()
            if one < first or rung == 0
        }

    def due(self, ended: int, begun: int, scores: Scores) -> list[tuple[int, int]]:
        """What can be trained now, of batches that have begun and not ended: (candidate, rung),
        the most urgent first."""
        found = []
        for batch in range(ended, begun):
            for rung in range(len(self.rungs)):
                climbing = self.climbing(batch, rung, scores)
                if climbing is None:
                    break
                found += [(one, rung) for one in climbing if (one, rung) not in scores]
        return found

    def goes_on(self, candidate: int, rung: int, scores: Scores) -> bool | None:
        """Whether a candidate is promoted from a rung; None as long as it is not known."""
        if rung + 1 >= len(self.rungs):
            return False
        climbing = self.climbing(candidate // self.batch, rung + 1, scores)
        return None if climbing is None else candidate in climbing


def rank(score: float, *rest: int) -> tuple[float, ...]:
    """For sorting: the best first, failures last, and of equals the one with the lower numbers."""
    return (math.inf if math.isnan(score) else -score, *rest)
