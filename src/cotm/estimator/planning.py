"""What one call of fit is to do, and how it goes on when a callback changes parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..backends import TrainingSet
from ..core.examples import room_beside
from ..core.sparse_targets import SparseTargets, Targets
from ..core.spec import selection_scale
from ..core.system import format_bytes
from ..machine import Machine
from ..model.bounds import limits_for
from ..model.fitted import Fitted, Record
from ..model.outputs import Judge
from ..model.presets import describe_choice, epochs_of, is_left
from ..model.prior import with_prior
from ..model.probabilities import Sample
from .held_out import HeldOut
from .preparation import Prepared, measure
from .progress import format_seconds
from .settings import FIXED_IN_TRAINING, check_parameters, renewed, scheduled
from .training import FitPlan
from .validation import scorer_on

if TYPE_CHECKING:
    from .base import TsetlinEstimator


def basic_plan(
    estimator: TsetlinEstimator, fitted: Fitted, targets: Targets, *, shuffle: bool
) -> FitPlan:
    """Passes over examples with these targets, and nothing else."""
    limits = limits_for(fitted, fitted.edits.constraints)
    return FitPlan(
        accuracy=partial(fitted.judge.training_accuracy, n_outputs=_asked(targets)),
        publish=partial(setattr, estimator, "_fitted"),
        is_published=lambda fitted: estimator.__dict__.get("_fitted") is fitted,
        shuffle=shuffle,
        at_epoch=_at_epoch(estimator, fitted.preset),
        amend=limits.apply if limits else None,
    )


def _asked(targets: Targets) -> float:
    """How many outputs an example asks, on average."""
    if isinstance(targets, SparseTargets):
        return len(targets.values) / max(1, len(targets))
    return targets.shape[1]


def _at_epoch(estimator: TsetlinEstimator, preset: str) -> Callable[[Fitted, int], Fitted]:
    """See :class:`FitPlan`."""
    if not scheduled(estimator, preset):
        return lambda fitted, epoch: fitted
    return partial(renewed, estimator)


def full_plan(estimator: TsetlinEstimator, fitted: Fitted, prepared: Prepared) -> FitPlan:
    """Passes with validation, callbacks and progress, as the parameters say."""
    held = prepared.held
    plan = replace(
        basic_plan(estimator, fitted, prepared.training.targets, shuffle=estimator.shuffle),
        patience=estimator.patience,
        callbacks=_callbacks(estimator),
        follow=partial(_follow_changes, estimator, estimator.get_params(deep=False))
        if estimator.callbacks
        else None,
        finish=partial(_finished, estimator, held, prepared.sample),
        verbose=int(estimator.verbose),
    )
    if held is not None:
        plan = replace(
            plan,
            validate=partial(_held_accuracy, held, fitted.judge),
            score=scorer_on(estimator, fitted, held),
        )
    if plan.verbose:
        n_examples = len(prepared.training)
        epochs = fitted.progress.until_epoch - fitted.progress.epochs
        cost = measure(fitted.machine, prepared.training, epochs)
        description = (
            f"{fitted.machine.parameters.n_clauses:,} clauses, {n_examples:,} examples, "
            f"{epochs:,} epochs: about {format_seconds(cost['seconds'])} and "
            f"{format_bytes(cost['bytes'])}"
        )
        chosen = describe_choice(estimator, fitted)
        description = f"{chosen}\n{description}" if chosen else description
        plan = replace(plan, description=description)
    return plan


def _finished(
    estimator: TsetlinEstimator, held: HeldOut | None, sample: Sample | None, fitted: Fitted
) -> Fitted:
    """See :class:`FitPlan`."""
    # Who says how many states vote means these and nothing else.
    if held is None and sample is not None and is_left("average", estimator.average):
        found = with_prior(fitted, sample)
        if found is not None:
            return found
    return estimator._task.finished(fitted, held, sample)


def _callbacks(estimator: TsetlinEstimator) -> list[Callable[[Record], Any]]:
    return [partial(callback, estimator) for callback in estimator.callbacks or ()]


def _follow_changes(
    estimator: TsetlinEstimator,
    before: dict[str, Any],
    plan: FitPlan,
    fitted: Fitted,
    training: TrainingSet,
) -> tuple[FitPlan, Fitted, TrainingSet]:
    """Let parameters that callbacks have set take effect from the next epoch on."""
    now = {name: getattr(estimator, name) for name in before}
    changed = [name for name in now if repr(now[name]) != repr(before[name])]
    if not changed:
        return plan, fitted, training
    for name in changed:
        if name in FIXED_IN_TRAINING:
            raise ValueError(
                f"a callback set {name}={now[name]!r}, but training began with "
                f"{before[name]!r}, and it cannot change on the way; set it before fit"
            )
    check_parameters(estimator)
    fitted = renewed(estimator, fitted)
    more, less = (
        epochs_of(value, fitted.preset, len(training))
        for value in (estimator.epochs, before["epochs"])
    )
    until = fitted.progress.until_epoch + more - less
    fitted = replace(fitted, progress=replace(fitted.progress, until_epoch=until))
    plan.publish(fitted)
    plan = replace(
        plan,
        shuffle=estimator.shuffle,
        patience=estimator.patience,
        callbacks=_callbacks(estimator),
        at_epoch=_at_epoch(estimator, fitted.preset),
        follow=partial(_follow_changes, estimator, now),
    )
    room = room_beside(training.data)
    scales = selection_scale(fitted.machine.parameters.e, training.weight, room)
    return plan, fitted, replace(training, scales=scales)


def _held_accuracy(held: HeldOut, judge: Judge, machine: Machine) -> float:
    votes, states = machine.votes_of_states(held.examples)
    return judge.accuracy(votes, held.targets, states)
