"""The epoch loop: passes, validation, callbacks, early stopping, interruption."""

from __future__ import annotations

import logging
import numbers
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..backends import TrainCounts, TrainingSet
from ..core.interrupts import InterruptFlag
from ..core.state import Snapshot
from ..machine import Machine
from ..model.fitted import Fitted, Record, TrainingProgress
from .progress import make_reporter

_logger = logging.getLogger(__name__)

#: What ``callbacks`` holds: called with the estimator and the epoch's record; True ends training.
Callback = Callable[[Any, Record], bool | None]


@dataclass(frozen=True)
class FitPlan:
    """What one call of fit is to do."""

    accuracy: Callable[[TrainCounts, int], float]  # of a pass over so many examples
    publish: Callable[[Fitted], None]  # lets everybody see a finished epoch, at once
    is_published: Callable[[Fitted | None], bool]
    shuffle: bool = True
    validate: Callable[[Machine], float] | None = None  # accuracy on held-out examples
    score: Callable[[Machine], float] | None = None  # on them, where it is not the accuracy
    patience: int = 0
    callbacks: Iterable[Callable[[Record], Any]] = ()
    #: What callbacks have changed: the plan, the model and the examples for the epochs to come.
    follow: Callable[[FitPlan, Fitted, TrainingSet], tuple[FitPlan, Fitted, TrainingSet]] | None = (
        None
    )
    #: The model with the options that an epoch has, where they change from epoch to epoch.
    at_epoch: Callable[[Fitted, int], Fitted] = lambda fitted, epoch: fitted
    #: The state that a pass came to, brought within constraints, from the one before.
    amend: Callable[[Snapshot, Snapshot], Snapshot] | None = None
    finish: Callable[[Fitted], Fitted] = lambda fitted: fitted
    verbose: int = 0
    description: str = ""

    def has_lost_patience(self, progress: TrainingProgress) -> bool:
        return self.validate is not None and progress.epochs_without_improvement() >= self.patience


def run(fitted: Fitted, training: TrainingSet, plan: FitPlan) -> None:
    """Train until the plan is met, a callback returns True, or patience ends.

    Ctrl-C ends it after the last finished epoch, and is raised again on leaving; an epoch
    counts whole or not at all, whatever is raised, so a resumed training ends where an
    uninterrupted one does.
    """
    fitted = _with_best(fitted, plan)
    finished = plan.has_lost_patience(fitted.progress)  # it stays ended
    reporter = make_reporter(
        plan.verbose, fitted.progress.until_epoch, len(training), plan.description
    )
    _log_begin(fitted, training)
    with InterruptFlag() as interrupted, reporter:
        while not finished and fitted.progress.epochs < fitted.progress.until_epoch:
            fitted = plan.at_epoch(fitted, fitted.progress.epochs + 1)
            after = train_epoch(fitted, training, plan, interrupted, reporter.examples_done)
            if after is None:
                epochs = fitted.progress.epochs
                _logger.warning("interrupted: the model is as after epoch %d", epochs)
                return
            fitted = after
            record = fitted.progress.history[-1]
            reporter.epoch_done(record)
            _log_epoch(fitted.progress)
            # Every callback sees every epoch, whatever the others say.
            stops = [_says_stop(callback(record)) for callback in plan.callbacks]
            if plan.follow is not None:
                plan, fitted, training = plan.follow(plan, fitted, training)
            finished = plan.has_lost_patience(fitted.progress) or any(stops)
        if finished:
            _log_stop(fitted.progress, plan)
        fitted = _at_best(fitted, plan)
        plan.publish(plan.finish(fitted))


def _log_begin(fitted: Fitted, training: TrainingSet) -> None:
    going, machine = fitted.progress, fitted.machine
    _logger.info(
        "training epochs %d to %d: %d examples, %d clauses, backend %s",
        going.epochs + 1,
        going.until_epoch,
        len(training),
        machine.parameters.n_clauses,
        training.backend,
    )


def _log_epoch(progress: TrainingProgress) -> None:
    if _logger.isEnabledFor(logging.INFO):
        record = dict(progress.history[-1])
        said = ", ".join(f"{name} {value:.6g}" for name, value in record.items() if name != "epoch")
        of = f"epoch {progress.epochs} of {progress.until_epoch}"
        _logger.info("%s: %s", of, said, extra=record)


def _log_stop(progress: TrainingProgress, plan: FitPlan) -> None:
    if plan.has_lost_patience(progress):
        said = f"no better for {plan.patience} epochs; back to epoch {progress.best_epoch}"
    else:
        said = "a callback ended the training"
    _logger.info("stopped after epoch %d: %s", progress.epochs, said)


def train_epoch(
    fitted: Fitted,
    training: TrainingSet,
    plan: FitPlan,
    should_stop: Callable[[], bool],
    on_progress: Callable[[int], None],
) -> Fitted | None:
    """One epoch, published; None if it was stopped midway, with nothing changed."""
    machine, progress = fitted.machine, fitted.progress
    step, began = machine.step_, time.perf_counter()
    after: Fitted | None = None
    try:
        counts = machine.train_pass(
            training,
            shuffle=plan.shuffle,
            should_stop=should_stop,
            on_progress=on_progress,
            amend=plan.amend,
        )
        if counts is None:
            return None
        validated = {}
        if plan.validate is not None:
            accuracy = plan.validate(machine)
            score = accuracy if plan.score is None else plan.score(machine)
            validated = {"validation_accuracy": accuracy, "validation_score": score}
        record = cast(
            Record,
            {
                "epoch": progress.epochs + 1,
                "train_accuracy": plan.accuracy(counts, len(training)),
                **validated,
                "seconds": time.perf_counter() - began,
            },
        )
        progress = progress.with_epoch(record, machine.step_)
        if plan.validate is not None and progress.improved():
            progress = replace(progress, best=machine.snapshot())
        after = replace(fitted, progress=progress)
        plan.publish(after)
        return after
    except BaseException:
        if machine.step_ != step and not plan.is_published(after):
            machine.undo_pass()
        raise


def _with_best(fitted: Fitted, plan: FitPlan) -> Fitted:
    """With the state that early stopping has to beat, or none where it does not stop."""
    progress = fitted.progress
    if plan.validate is None:
        progress = replace(progress, best=None)  # what is learned from here on counts
    elif progress.best is None and progress.scored():
        progress = replace(progress, best=fitted.machine.snapshot())  # where it left the machine
    return replace(fitted, progress=progress)


def _at_best(fitted: Fitted, plan: FitPlan) -> Fitted:
    """Back at the best epoch. The step goes on counting: later epochs are new ones."""
    if fitted.progress.best is None:
        return fitted
    fitted = plan.at_epoch(fitted, fitted.progress.best_epoch)
    best, progress = fitted.progress.best, fitted.progress
    assert best is not None
    state = Snapshot(best.memory, best.weights, progress.step, best.earlier)
    return replace(
        fitted, machine=fitted.machine.with_state(state), progress=replace(progress, best=None)
    )


def _says_stop(answer: Any) -> bool:
    """Whether a callback returned True, or what equals it: 1, NumPy's True."""
    return isinstance(answer, bool | np.bool_ | numbers.Integral) and bool(answer == 1)
