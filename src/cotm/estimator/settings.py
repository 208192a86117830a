"""A classifier's parameters: checked, made into a machine's, and renewed when they change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..augmentation import Augmentation
from ..core.checks import check_choice, check_flag, check_integer, check_number
from ..core.parameters import OPTIONS, Choice
from ..machine import Machine
from ..model.constraints import Constraints
from ..model.fitted import Fitted, TrainingProgress
from ..model.inputs import InputReader
from ..model.label_columns import LabelColumns
from ..model.outputs import Judge
from ..model.presets import AUTO, changes_margin, check_preset, is_left, settle
from ..model.probabilities import Sharpness
from ..model.schedules import Schedule, at_epoch
from .tasks import Outputs, Task
from .validation import check_scoring

if TYPE_CHECKING:
    from .base import TsetlinEstimator

#: What training is built on: a callback that changes one of these is told so.
FIXED_IN_TRAINING = (
    "n_clauses",
    "preset",
    "weighted",
    "patch_shape",
    "image_shape",
    "stride",
    "booleanize",
    "augment",
    "constraints",
    "class_weight",
    "early_stopping",
    "scoring",
    "validation_fraction",
    "backend",
    "random_state",
)


def check_parameters(estimator: TsetlinEstimator) -> None:
    """Raise ValueError for what Machine and InputReader do not check themselves."""
    for name, option in OPTIONS.items():
        value = getattr(estimator, name, None)
        if is_left(name, value):
            continue
        if isinstance(value, Schedule):
            value.check(option)
        elif isinstance(value, str) and option.automatic and not isinstance(option.values, Choice):
            check_choice(name, value, (AUTO,))
        elif name in ("n_clauses", "tolerance", "negatives"):  # "auto" is reckoned from them
            option.check(value)
    check_preset(estimator.preset)
    if not is_left("epochs", estimator.epochs):
        if isinstance(estimator.epochs, str):
            check_choice("epochs", estimator.epochs, (AUTO,))
        check_integer("epochs", estimator.epochs, 0)
    if estimator.augment is not None:
        if type(estimator.augment) is not Augmentation:
            raise ValueError(
                f"augment={estimator.augment!r:.200} must be a cotm.Augmentation, such as "
                "cotm.Augmentation(shift=2), or None"
            )
        estimator.augment.changes()
    if estimator.constraints is not None:
        if type(estimator.constraints) is not Constraints:
            raise ValueError(
                f"constraints={estimator.constraints!r:.200} must be a cotm.Constraints, such as "
                "cotm.Constraints(monotone={'age': 1}), or None"
            )
        estimator.constraints.check()
    check_flag("shuffle", estimator.shuffle)
    check_flag("early_stopping", estimator.early_stopping)
    check_number("validation_fraction", estimator.validation_fraction, 0.0, 1.0)
    check_integer("patience", estimator.patience, 1)
    check_scoring(estimator)
    if not isinstance(estimator.verbose, bool):
        check_integer("verbose", estimator.verbose, 0)
    if not isinstance(estimator.callbacks, list | tuple | None):
        raise ValueError(f"callbacks={estimator.callbacks!r} must be a list of callables")
    for callback in estimator.callbacks or ():
        if not callable(callback):
            raise ValueError(f"callbacks holds {callback!r}, which cannot be called")
    if not isinstance(estimator.class_weight, dict | str | None):
        raise ValueError(
            f"class_weight={estimator.class_weight!r} must be a dictionary, 'balanced' or None"
        )


def machine_parameters(
    estimator: TsetlinEstimator,
    preset: str,
    n_outputs: int,
    judge: Judge,
    epoch: int = 1,
) -> dict[str, Any]:
    """What the machine of an epoch is made with: learning options and where it runs."""
    if isinstance(judge, LabelColumns) and estimator.negatives not in ("all", AUTO):
        raise ValueError(
            f"negatives={estimator.negatives!r} draws one of all classes that an example is not "
            "of, whatever their column; with several columns of labels set negatives='all'"
        )
    given = {
        name: at_epoch(option, getattr(estimator, name), epoch)
        for name, option in OPTIONS.items()
        if not option.is_kind
    }
    names = ("patch_shape", "stride", "backend", "n_jobs", "random_state")
    return {
        **settle(given, preset, epoch=epoch, n_outputs=n_outputs, judge=judge),
        **estimator._machine_kind(),
        **{name: getattr(estimator, name) for name in names},
    }


def start(
    estimator: TsetlinEstimator,
    reader: InputReader,
    task: Task,
    answers: Any,
    outputs: Outputs,
    preset: str,
) -> Fitted:
    """An estimator that has learned nothing yet."""
    assert reader.grid is not None
    judge = task.judge(answers, outputs)
    machine = Machine(**machine_parameters(estimator, preset, len(outputs), judge))
    machine.start(reader.grid, len(outputs))
    scaling = task.scaling(answers, machine.parameters.T)
    columns = outputs if isinstance(outputs, LabelColumns) else None
    return Fitted(
        reader,
        outputs.outputs if isinstance(outputs, LabelColumns) else outputs,
        columns is None and bool(getattr(answers, "multilabel", False)),
        machine,
        TrainingProgress(),
        Sharpness(),
        preset,
        scaling,
        columns=columns,
    )


def scheduled(estimator: TsetlinEstimator, preset: str) -> list[str]:
    """The options that change from epoch to epoch; T, if it is "auto", also with the tolerance."""
    names = [name for name in OPTIONS if isinstance(getattr(estimator, name, None), Schedule)]
    if is_left("T", estimator.T) and ("tolerance" in names or changes_margin(preset)):
        return ["T", *names]
    return names


def renewed(estimator: TsetlinEstimator, fitted: Fitted, epoch: int | None = None) -> Fitted:
    """What was fitted, with parameters that changed since training began in effect.

    Those that change from epoch to epoch are as ``epoch`` has them; without it they stay.
    """
    machine = fitted.machine
    spec = machine.spec
    if estimator.preset not in (AUTO, fitted.preset):
        raise ValueError(
            f"preset={estimator.preset!r}, but training began with {fitted.preset!r}; it cannot "
            "change on the way, so set it back or begin anew with warm_start=False"
        )
    preset = fitted.preset
    parameters = machine_parameters(estimator, preset, spec.m, fitted.judge, epoch or 1)
    changing = scheduled(estimator, preset)
    kept = [] if epoch else [*changing]
    # What was left to the preset stays what it was at first, but for e where others give feedback.
    same = parameters["negatives"] == machine.parameters.negatives
    kept += [
        name
        for name in OPTIONS
        if name not in changing
        and (same or name != "e")
        and is_left(name, getattr(estimator, name, None))
    ]
    parameters |= {name: getattr(machine.parameters, name) for name in kept}
    changed = Machine(**{**parameters, "random_state": machine.seed_})
    n_clauses = changed.parameters.n_clauses
    if n_clauses != spec.n:
        raise ValueError(
            f"n_clauses={n_clauses}, but training began with {spec.n}; a pool cannot "
            "grow or shrink, so set warm_start=False to begin anew"
        )
    if changed.is_like(machine):
        return fitted
    changed.load_state(spec.grid, machine.snapshot())
    progress = fitted.progress
    if progress.best is not None:
        progress = replace(progress, best=changed.adapt(progress.best))
    return replace(fitted, machine=changed, progress=progress)
