"""Before a training: everything is checked and brought to the machine, and nothing has changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length

from ..backends import TrainingSet
from ..backends.memory import training_bytes
from ..core.examples import Examples, room_beside
from ..core.room import taken
from ..core.sparse_targets import rows_of_targets
from ..machine import Machine
from ..model.augmented import AugmentedImages
from ..model.bounds import within
from ..model.fitted import Fitted
from ..model.inputs import InputReader
from ..model.labels import split_validation
from ..model.presets import preset_for
from ..model.probabilities import Sample
from ..model.resuming import describe_data
from ..streaming import Stream
from .held_out import HeldOut
from .settings import check_parameters, renewed, start
from .streamed import check_scored, check_streamable, read_stream
from .validation import read_eval_set, rows_of, scoring_title

if TYPE_CHECKING:
    from .base import TsetlinEstimator


class Prepared(NamedTuple):
    """What a call of fit has to work with, before anything has changed."""

    fitted: Fitted
    training: TrainingSet
    held: HeldOut | None
    sample: Sample | None  # of all examples to train on
    data: dict[str, Any] | None  # see resuming.py


def prepare(
    estimator: TsetlinEstimator,
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
    task = estimator._task
    check_scored(estimator, X, eval_set)
    reader, read, answers, sample_weight = _read_all(
        estimator, X, y, sample_weight, before, classes=classes, whole=whole
    )
    check_consistent_length(read, answers.values)
    room = room_beside(read)
    if before is None:
        known = task.first_classes(answers, classes)
    else:
        reader.check_unchanged(estimator)
        known = task.same_classes(answers, before)
    weight = task.weights(answers, known, sample_weight, estimator, room)
    if whole:
        task.check_whole(answers, known, weight)
    if before is None:
        preset = preset_for(estimator, read if isinstance(read, Examples) else None)
        fitted = start(estimator, reader, task, answers, known, preset)
    else:
        fitted = renewed(estimator, before)
    targets = task.targets(answers, fitted, room)
    fitted = within(fitted, estimator.constraints)
    examples = _to_train_on(estimator, reader, read, fitted.machine.seed_)
    held, sample, data = None, None, None
    if whole:
        if eval_set is not None:
            held = read_eval_set(eval_set, task, fitted)
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
            fitted.machine.seed_, targets, estimator.validation_fraction, fitted.judge, room
        )
        held = HeldOut(
            _some(examples, held_rows).unchanged(),
            targets[held_rows],
            answers._replace(values=answers.values[held_rows]),
            None if estimator.scoring is None else rows_of(X, held_rows),
            answers.values[held_rows],
        )
        examples, targets = _some(examples, rows), rows_of_targets(targets, rows, room)
        weight = taken(weight, rows, room) if len(weight) > 1 else weight
    for callback in estimator.callbacks or ():
        if hasattr(callback, "check"):  # what cannot be done is said before the work
            callback.check(estimator._parameters_to_save(), fitted.classes, reader.booleanizer)
    if whole:
        sample = Sample.of(examples, targets, weight)
    training = fitted.machine.prepare(examples, targets, weight)
    return Prepared(fitted, training, held, sample, data)


def _read_all(
    estimator: TsetlinEstimator,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    before: Fitted | None,
    *,
    classes: ArrayLike | None,
    whole: bool,
) -> tuple[InputReader, Examples | NDArray[Any], Any, ArrayLike | None]:
    """The reader, what it read in X, the answers and the weights, from memory or a stream."""
    task, fitting = estimator._task, before is None

    def check_first(answers: Any) -> None:
        if fitting and not whole:
            estimator._check_first_part(answers, classes)

    if isinstance(X, Stream):
        check_streamable(estimator, y, sample_weight)
        reader, verbose = _reader_of(estimator, before), int(estimator.verbose)
        found = read_stream(
            X, task, reader, fitting=fitting, check_first=check_first, verbose=verbose
        )
        return reader, *found
    answers = task.read(y)
    check_first(answers)
    reader = _reader_of(estimator, before)
    read = read_examples(estimator, reader, X, answers.values, fitting=fitting)
    return reader, read, answers, sample_weight


def _reader_of(estimator: TsetlinEstimator, before: Fitted | None) -> InputReader:
    return InputReader.from_parameters(estimator) if before is None else before.reader


def read_examples(
    estimator: TsetlinEstimator, reader: InputReader, X: Any, y: Any, *, fitting: bool
) -> Examples | NDArray[Any]:
    """The examples in X, or the images of which they will be made in every pass."""
    if estimator.augment is None:
        return reader.fit(X, y) if fitting else reader.read(X)
    if reader.patch_shape is None or len(reader.patch_shape) != 2:
        raise ValueError(
            f"augment={estimator.augment!r} changes images, but patch_shape={reader.patch_shape} "
            "does not read X as images; set it to (h, w), for the whole image at once to the "
            "image's shape, or set augment=None"
        )
    return reader.fit_images(X) if fitting else reader.read_images(X)


def _to_train_on(
    estimator: TsetlinEstimator, reader: InputReader, read: Examples | NDArray[Any], seed: int
) -> Examples | AugmentedImages:
    if isinstance(read, Examples):
        return read
    assert estimator.augment is not None
    changes = estimator.augment.changes()
    return AugmentedImages(read, reader, changes, seed, estimator.n_jobs)


def _some(
    examples: Examples | AugmentedImages, rows: NDArray[np.int64]
) -> Examples | AugmentedImages:
    return examples.subset(rows) if isinstance(examples, Examples) else examples[rows]


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
