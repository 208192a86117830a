"""Before a training: everything is checked and brought to the machine, and nothing has changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from ..backends import TrainingSet
from ..backends.memory import training_bytes
from ..core.examples import Examples
from ..files import check_class_names
from ..machine import Machine
from ..model.augmented import AugmentedImages
from ..model.fitted import Fitted
from ..model.inputs import InputReader
from ..model.labels import (
    Labels,
    distinct_classes,
    example_weights,
    make_targets,
    read_labels,
    require_some_weight,
    split_validation,
    warn_about_quantities,
)
from ..model.presets import preset_for
from ..model.probabilities import Sample
from ..model.resuming import describe_data
from .settings import check_parameters, renewed, start
from .validation import HeldOut, read_eval_set, rows_of, scoring_title

if TYPE_CHECKING:
    from .base import TsetlinClassifier


class Prepared(NamedTuple):
    """What a call of fit has to work with, before anything has changed."""

    fitted: Fitted
    training: TrainingSet
    held: HeldOut | None
    sample: Sample | None  # of all examples to train on
    data: dict[str, Any] | None  # see resuming.py


def prepare(
    estimator: TsetlinClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    before: Fitted | None,
    *,
    classes: ArrayLike | None = None,
    eval_set: Any = None,
    whole: bool = True,
) -> Prepared:
    """Check everything and bring the data to the machine, which nobody sees before it learns.

    ``whole``: these are all the data there are, some of which may be held out if there is no
    ``eval_set``.
    """
    check_parameters(estimator)
    labels = read_labels(y)
    reader = InputReader.from_parameters(estimator) if before is None else before.reader
    read = _read(estimator, reader, X, fitting=before is None)
    check_consistent_length(read, labels.values)
    if before is None:
        known = _first_classes(labels, classes)
    else:
        reader.check_unchanged(estimator)
        known = _same_classes(labels, before)
    targets = make_targets(labels, known)
    weight = example_weights(labels, known, sample_weight, estimator.class_weight)
    if whole:
        require_some_weight(weight)
        warn_about_quantities(labels, known)
    if before is None:
        preset = preset_for(estimator, read if isinstance(read, Examples) else None)
        fitted = start(estimator, reader, known, labels.multilabel, preset)
    else:
        fitted = renewed(estimator, before)
    examples = _to_train_on(estimator, reader, read, fitted.machine.seed_)
    held, sample, data = None, None, None
    if whole:
        if eval_set is not None:
            held = read_eval_set(eval_set, reader, known, labels.multilabel)
        holds_out = held is None and estimator.early_stopping
        judged = held is not None or holds_out
        data = describe_data(
            examples,
            targets,
            weight,
            shuffle=estimator.shuffle,
            held_out=estimator.validation_fraction if holds_out else 0.0,
            eval_set=None if held is None else (held.examples, held.targets),
            scoring=scoring_title(estimator.scoring if judged else None),
            like=None if before is None else before.progress.data,
        )
    if whole and holds_out:
        rows, held_rows = split_validation(
            fitted.machine.seed_, targets, estimator.validation_fraction, fitted.outputs
        )
        held = HeldOut(
            examples[held_rows].unchanged(),
            targets[held_rows],
            None if estimator.scoring is None else rows_of(X, held_rows),
            labels.values[held_rows],
        )
        examples, targets = examples[rows], targets[rows]
        weight = weight[rows] if len(weight) > 1 else weight
    for callback in estimator.callbacks or ():
        if hasattr(callback, "check"):  # what cannot be done is said before the work
            callback.check(estimator.get_params(deep=False), known, reader.booleanizer)
    if whole:
        sample = Sample.of(examples, targets, weight)
    training = fitted.machine.prepare(examples, targets, weight)
    return Prepared(fitted, training, held, sample, data)


def _read(
    estimator: TsetlinClassifier, reader: InputReader, X: Any, *, fitting: bool
) -> Examples | NDArray[Any]:
    """The examples in X, or the images of which they will be made in every pass."""
    if estimator.augment is None:
        return reader.fit(X) if fitting else reader.read(X)
    if reader.patch_shape is None or len(reader.patch_shape) != 2:
        raise ValueError(
            f"augment={estimator.augment!r} changes images, but patch_shape={reader.patch_shape} "
            "does not read X as images; set it to (h, w), for the whole image at once to the "
            "image's shape, or set augment=None"
        )
    return reader.fit_images(X) if fitting else reader.read_images(X)


def _to_train_on(
    estimator: TsetlinClassifier, reader: InputReader, read: Examples | NDArray[Any], seed: int
) -> Examples | AugmentedImages:
    if isinstance(read, Examples):
        return read
    assert estimator.augment is not None
    changes = estimator.augment.changes()
    return AugmentedImages(read, reader, changes, seed, estimator.n_jobs)


def _first_classes(labels: Labels, classes: ArrayLike | None) -> NDArray[Any]:
    if classes is not None and not labels.multilabel:
        known = distinct_classes(np.asarray(classes))
    else:
        known = labels.classes()
    check_class_names(known)
    return known


def _same_classes(labels: Labels, before: Fitted) -> NDArray[Any]:
    if labels.multilabel != before.multilabel:
        raise ValueError("y is of another kind (labels or indicator matrix) than before")
    known = before.classes
    if labels.names is not None and labels.names != known.tolist():
        raise ValueError(
            f"y has the columns {labels.names}, but training began with {known.tolist()}"
        )
    return known


def measure(machine: Machine, training: TrainingSet, epochs: int) -> dict[str, float]:
    """Time and memory of so many epochs: a throwaway machine trains for a quarter of a second."""
    probe = machine.with_state(machine.snapshot())
    began, done = time.perf_counter(), 0

    def out_of_time() -> bool:
        return time.perf_counter() - began > 0.25

    def note(count: int) -> None:
        nonlocal done
        done = count

    probe.train_pass(training, should_stop=out_of_time, on_progress=note)
    seconds = (time.perf_counter() - began) / max(1, done) * len(training)
    spec = probe.spec
    return {
        "seconds": seconds * epochs,
        "seconds_per_epoch": seconds,
        "bytes": float(
            training_bytes(spec, probe.parameters.average, probe.n_jobs)
            + len(training) * (np.prod(spec.grid.image_shape) // 8 + spec.m)
        ),
    }
