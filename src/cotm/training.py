"""The epoch loop: passes, validation, callbacks, early stopping, interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .backends import TrainCounts
from .interrupts import InterruptFlag
from .machine import Machine, TrainingSet
from .progress import make_reporter
from .states import Snapshot

#: One epoch's line in the learning curve.
Record = dict[str, Any]


@dataclass
class Course:
    """How far a training has come: what a checkpoint keeps beside the machine."""

    history: list[Record] = field(default_factory=list)
    best: Snapshot | None = None  # state of the best epoch on the held-out examples
    target: int = 0  # epochs to be reached, counted from the beginning of the history
    patience_from: int = 0  # the epoch from which early stopping counts

    def scores(self) -> list[float]:
        return [r["validation_accuracy"] for r in self.history if "validation_accuracy" in r]

    def improved(self) -> bool:
        """Whether the last epoch is the best so far, or as good."""
        scores = self.scores()
        return bool(scores) and scores.index(max(scores)) == len(scores) - 1

    def epochs_without_improvement(self) -> int:
        """Since the best epoch, or since this training began if that was before."""
        scores = self.scores()
        if not scores:
            return 0
        best_epoch = scores.index(max(scores)) + 1
        return len(scores) - max(best_epoch, self.patience_from)


@dataclass
class Plan:
    """What one call of fit is to do."""

    accuracy: Callable[[TrainCounts, int], float]  # of a pass over so many examples
    shuffle: bool = True
    validate: Callable[[], float] | None = None  # accuracy on held-out examples
    patience: int = 0
    callbacks: Iterable[Callable[[Any, Record], Any]] = ()
    verbose: int = 0
    description: str = ""


def run(
    machine: Machine, training: TrainingSet, course: Course, plan: Plan, estimator: Any
) -> None:
    """Train until the plan is met, a callback returns True, or patience ends.

    Ctrl-C ends it after the last finished epoch, and is raised again on leaving; an epoch
    counts whole or not at all, so a resumed training ends where an uninterrupted one does.
    """
    # A training that ended by patience stays ended.
    finished = plan.validate is not None and course.epochs_without_improvement() >= plan.patience
    if plan.validate is None:
        course.best = None  # what is learned from here on counts, not an earlier best
    elif course.scores() and course.best is None:
        course.best = machine.snapshot()  # where early stopping left the machine
    reporter = make_reporter(plan.verbose, course.target, len(training), plan.description)
    with InterruptFlag() as interrupted, reporter:
        while not finished and len(course.history) < course.target:
            began = time.perf_counter()
            counts = machine.train_pass(
                training,
                shuffle=plan.shuffle,
                should_stop=interrupted,
                on_progress=reporter.examples_done,
            )
            if counts is None:
                return
            record: Record = {
                "epoch": len(course.history) + 1,
                "train_accuracy": plan.accuracy(counts, len(training)),
            }
            if plan.validate is not None:
                record["validation_accuracy"] = plan.validate()
            record["seconds"] = time.perf_counter() - began
            course.history.append(record)
            if plan.validate is not None:
                if course.improved():
                    course.best = machine.snapshot()
                finished = course.epochs_without_improvement() >= plan.patience
            reporter.epoch_done(record)
            # Every callback sees every epoch, whatever the others say.
            stops = [callback(estimator, record) for callback in plan.callbacks]
            finished = finished or any(stop is True for stop in stops)
    if course.best is not None:
        machine.restore(course.best)
        course.best = None
