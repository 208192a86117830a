"""One piece of work: training a candidate on one fold from where it stands to the next rung.

It depends on what it is given and on nothing else, so it may be done anywhere, and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backends.packing import PackedExamples
from ..core.state import Snapshot
from ..estimator.base import TsetlinEstimator
from ..estimator.held_out import HeldOut
from ..estimator.planning import basic_plan
from ..estimator.settings import check_parameters, start
from ..estimator.training import train_epoch
from ..estimator.validation import scorer_on
from ..files.snapshots import decode_snapshot, encode_snapshot
from ..model.augmented import AugmentedImages
from ..model.bounds import within
from ..model.fitted import Fitted, Record, TrainingProgress
from ..model.presets import preset_for
from .folds import Fold, Scorers


@dataclass(frozen=True)
class Work:
    """What is to be done."""

    learner: TsetlinEstimator  # with the parameters of the candidate
    epochs: int  # to be reached
    done: int  # that the state has
    state: Snapshot | None  # None: from the beginning


@dataclass(frozen=True)
class Done:
    """What came of it."""

    scores: dict[str, float]
    state: Snapshot | None
    seconds: float  # of training
    scoring_seconds: float
    error: str | None = None  # why it failed


class StoppedError(Exception):
    """The work was stopped midway, and nothing came of it."""


def advance(
    work: Work, fold: Fold, scorers: Scorers, should_stop: Callable[[], bool] = lambda: False
) -> Done:
    """Train and score. What does not fit together is told in the result, and not raised."""
    began = time.perf_counter()
    try:
        fitted = train(work, fold, should_stop)
        trained = time.perf_counter()
        scores = _scores(work.learner, fitted, fold, scorers)
    except (ValueError, MemoryError) as error:
        nothing = dict.fromkeys(scorers, float("nan"))
        return Done(nothing, None, time.perf_counter() - began, 0.0, f"{error}")
    state = fitted.machine.snapshot()
    return Done(scores, state, trained - began, time.perf_counter() - trained)


def train(work: Work, fold: Fold, should_stop: Callable[[], bool]) -> Fitted:
    """The candidate after so many epochs: what ``fit`` on the same rows comes to, to the bit."""
    learner, task = work.learner, work.learner._task
    check_parameters(learner)
    preset = preset_for(learner, fold.examples)
    weight = task.weights(fold.answers, fold.classes, fold.weight, learner)
    fitted = start(learner, fold.reader, task, fold.answers, fold.classes, preset)
    targets = task.targets(fold.answers, fitted)
    fitted = within(fitted, learner.constraints)
    examples: Any = fold.read
    if not isinstance(examples, PackedExamples):
        assert learner.augment is not None
        seed, changes = fitted.machine.seed_, learner.augment.changes()
        examples = AugmentedImages(examples, fold.reader, changes, seed, learner.n_jobs)
    if work.state is not None and _can_be_of(fitted, work.state):
        fitted = _at(fitted, work.state, work.done)
    training = fitted.machine.prepare(examples, targets, weight)
    fitted = replace(fitted, progress=replace(fitted.progress, until_epoch=work.epochs))
    plan = replace(
        basic_plan(learner, fitted, targets, shuffle=learner.shuffle),
        publish=lambda fitted: None,
        is_published=lambda fitted: True,
    )
    while fitted.progress.epochs < work.epochs:
        fitted = plan.at_epoch(fitted, fitted.progress.epochs + 1)
        after = train_epoch(fitted, training, plan, should_stop, lambda done: None)
        if after is None:
            raise StoppedError
        fitted = after
    return fitted


def _can_be_of(fitted: Fitted, state: Snapshot) -> bool:
    """Whether a training can have come to a state: that of a damaged study may be any."""
    spec, tensors = fitted.machine.spec, encode_snapshot(state, "")
    try:
        decode_snapshot(fitted.machine, spec.grid, spec.m, tensors, "", state.step)
    except (ValueError, TypeError, LookupError):
        return False  # then it is trained from the beginning, to the same bits
    return True


def _at(fitted: Fitted, state: Snapshot, done: int) -> Fitted:
    """A training that has just begun, brought to where another stood after so many epochs."""
    record: Record = {"epoch": done, "train_accuracy": 0.0, "seconds": 0.0}
    progress = TrainingProgress(history=(record,), step=state.step)
    return replace(fitted, machine=fitted.machine.with_state(state), progress=progress)


def _scores(
    learner: TsetlinEstimator, fitted: Fitted, fold: Fold, scorers: Scorers
) -> dict[str, float]:
    targets = learner._task.targets(fold.held_answers, fitted)
    held = HeldOut(fold.held, targets, fold.held_answers, fold.held_X, np.asarray(fold.held_y))
    found = {}
    for name, scorer in scorers.items():
        judged = learner._with(fitted)
        judged.scoring = scorer
        score = scorer_on(judged, fitted, held)
        assert score is not None
        found[name] = score(fitted.machine)
    return found


def default_score(estimator: Any, X: Any, y: Any) -> float:
    """What scikit-learn scores by where nobody says: accuracy, or R²."""
    return float(estimator.score(X, y))
