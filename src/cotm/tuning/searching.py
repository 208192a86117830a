"""The search itself: asks for candidates, has them trained, and decides who goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .dimensions import Code, Dimension, values_of
from .folds import Folds
from .halving import Halving, rank
from .places import Places
from .sampling import Sampler, Seen
from .spaces import plain_copy
from .study import Study
from .work import StoppedError, Work

#: Seconds between two looks whether to stop.
_LOOK = 0.1

Place = tuple[int, int, int]  # candidate, rung, fold


@dataclass(frozen=True)
class Problem:
    """What is searched, and how it is judged."""

    folds: Folds
    space: dict[str, Dimension]
    settled: dict[str, Any]  # see values_of
    halving: Halving
    sampler: Sampler
    metric: str  # the name of the scorer that decides
    error_score: float | str
    seed: int  # of all trainings

    def values(self, codes: dict[str, Code] | None) -> dict[str, Any]:
        """The parameters of a candidate; none where it is the estimator as it was given."""
        return values_of(self.space, codes, self.settled) if codes else {}


class Search:
    """One call of ``fit``."""

    def __init__(
        self, problem: Problem, study: Study, tell: Callable[[Search, int, int], None]
    ) -> None:
        self.problem, self.study, self._tell = problem, study, tell
        self.scores: dict[tuple[int, int], float] = {}  # of the metric, means of the folds
        self.trained = 0  # candidates that came to a rung in this call
        self._ended = 0  # of the batches, the first ones
        for place in sorted(study.results):
            self._note(place)
        for candidate, rung, fold in study.stored():  # of a search that was killed
            goes_on = problem.halving.goes_on(candidate, rung, self.scores)
            if goes_on is False or (candidate, rung + 1, fold) in study.results:
                study.forget_state((candidate, rung, fold))

    @property
    def _begun(self) -> int:
        batch = self.problem.halving.batch
        full = len(self.study.candidates) // batch
        # One that was cut short, because no more were wanted, is filled up first.
        last = len(self.problem.halving.members(full))
        return full + (0 < last == len(self.study.candidates) - full * batch)

    def run(self, places: Places, should_stop: Callable[[], bool]) -> None:
        """Search until all is done, or it is to stop."""
        free = list(range(len(places.slots)))
        running: dict[Place, int] = {}
        try:
            while not should_stop():
                self._ask()
                due = [place for place in self._due() if place not in running]
                while free and due:
                    number = free.pop(0)
                    slot = places.slots[number]
                    place = slot.choose(due, lambda one: self.problem.halving.rungs[one[1]])
                    due.remove(place)
                    running[place] = number
                    work, fold = self._work(place, slot.backend)
                    places.begin(place, slot, work, fold)
                if not running:
                    return
                while (ended := places.wait(_LOOK)) is None:
                    if should_stop():
                        return
                place, result = ended
                free.append(running.pop(place))
                free.sort()
                self._take(place, result)
        finally:
            places.stop()

    # Candidates ----------------------------------------------------------------------

    def _ask(self) -> None:
        """Begin all batches for which everything is known."""
        halving, study = self.problem.halving, self.study
        while self._ended < self._begun and halving.has_ended(self._ended, self.scores):
            self._ended += 1
        while halving.may_begin(batch := self._begun, self._ended, self.scores):
            members = halving.members(batch)
            known: list[dict[str, Code] | None] = []
            first = [None] if batch == 0 else known  # the estimator as it was given
            asked = self.problem.sampler.ask(batch, len(members) - len(first), self._seen(batch))
            candidates = [*first, *asked]
            study.add_candidates(candidates[len(study.candidates) - members.start :])

    def _seen(self, batch: int) -> list[Seen]:
        halving = self.problem.halving
        by_candidate: dict[int, dict[int, float]] = {}
        for (one, rung), score in halving.seen(batch, self.scores).items():
            if not math.isnan(score):
                by_candidate.setdefault(one, {})[halving.rungs[rung]] = score
        last = halving.rungs[-1]
        return [
            Seen(codes, scores, last in scores)
            for one, scores in sorted(by_candidate.items())
            if (codes := self.study.candidates[one]) is not None
        ]

    # Work ----------------------------------------------------------------------------

    def _due(self) -> list[Place]:
        due = self.problem.halving.due(self._ended, self._begun, self.scores)
        return [
            (one, rung, fold)
            for one, rung in due
            for fold in range(len(self.problem.folds))
            if (one, rung, fold) not in self.study.results
        ]

    def _work(self, place: Place, backend: str) -> tuple[Work, Callable[[], Any]]:
        candidate, rung, fold = place
        problem, rungs = self.problem, self.problem.halving.rungs
        recipe, codes = problem.folds.recipe, self.study.candidates[candidate]
        values = problem.values(codes)
        reading = {name: value for name, value in values.items() if recipe.reads(name)}
        key = ", ".join(f"{name}={(codes or {})[name]!r}" for name in sorted(reading))
        own = {
            name.removeprefix(recipe.prefix): value
            for name, value in values.items()
            if name.startswith(recipe.prefix)
        }
        learner = plain_copy(
            recipe.learner,
            **own,
            backend=backend, n_jobs=1, verbose=0, callbacks=None, random_state=problem.seed,
            epochs=rungs[rung],
        )  # fmt: skip
        before = self.study.state((candidate, rung - 1, fold)) if rung else None
        work = Work(learner, rungs[rung], 0 if before is None else rungs[rung - 1], before)
        return work, partial(problem.folds.fold, fold, reading, key)

    def _take(self, place: Place, result: Callable[[], Any]) -> None:
        try:
            done = result()
        except StoppedError:
            return
        candidate, rung, _ = place
        if done.error is not None and self.problem.error_score == "raise":
            values = self.problem.values(self.study.candidates[candidate])
            raise ValueError(f"{values} failed: {done.error}; leave it out, or set error_score")
        halving = self.problem.halving
        keep = halving.goes_on(candidate, rung, self.scores) is not False
        self.study.add_result(place, done, keep=keep)
        if rung:
            before = (candidate, rung - 1, place[2])
            if before in self.study.results:
                self.study.forget_state(before)
        self._note(place)
        if (candidate, rung) in self.scores:
            self.trained += 1
            self._drop_states(candidate // halving.batch, rung)
            self._tell(self, candidate, rung)

    def _drop_states(self, batch: int, rung: int) -> None:
        """Of those who will not go on."""
        for one in self.problem.halving.members(batch):
            if self.problem.halving.goes_on(one, rung, self.scores) is False:
                for fold in range(len(self.problem.folds)):
                    self.study.forget_state((one, rung, fold))

    def _note(self, place: Place) -> None:
        """Work out the mean of a candidate's folds when they are all there."""
        candidate, rung, _ = place
        scores = self.scores_of(candidate, rung, self.problem.metric)
        if all(score is not None for score in scores):
            self.scores[candidate, rung] = math.fsum(s for s in scores if s is not None) / len(
                scores
            )

    def scores_of(self, candidate: int, rung: int, metric: str) -> list[float | None]:
        """Of each fold; None where it is not there yet."""
        found: list[float | None] = []
        for fold in range(len(self.problem.folds)):
            done = self.study.results.get((candidate, rung, fold))
            if done is None:
                found.append(None)
            elif done.error is None:
                found.append(done.scores[metric])
            else:
                wrong = self.problem.error_score
                found.append(float("nan") if isinstance(wrong, str) else float(wrong))
        return found

    # Results -------------------------------------------------------------------------

    def rows(self) -> list[tuple[int, int]]:
        """All (candidate, rung) that have a score and count."""
        return sorted(self.problem.halving.counting(self._begun, self.scores))

    def best(self) -> tuple[int, int] | None:
        """The candidate with the best score and the rung at which it had it; of equals the one
        of fewer epochs. None where nothing came of anything."""
        ranked = min(
            self.rows(), key=lambda row: rank(self.scores[row], row[1], row[0]), default=None
        )
        return None if ranked is None or math.isnan(self.scores[ranked]) else ranked

    def failures(self) -> list[str]:
        """What went wrong, each once."""
        errors = [done.error for done in self.study.results.values() if done.error is not None]
        return list(dict.fromkeys(errors))
