"""What both classifiers share: fitting, continuing, predicting, the scikit-learn way."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from . import files
from .backends import TrainCounts
from .inputs import InputReader
from .literals import Examples
from .machine import Machine, TrainingSet
from .parameters import MAX_T, check_choice, check_flag, check_integer, check_number, format_bytes
from .progress import format_seconds
from .rules import Rule, rules
from .states import training_bytes
from .targets import (
    distinct_classes,
    example_weights,
    make_targets,
    read_labels,
    split_validation,
)
from .training import Course, Plan, Record, run

#: Votes are divided by T and multiplied by this before the softmax: with it, predicted
#: probabilities are about as often right as they say (benchmarks/defaults.py measures it).
_PROBABILITY_SCALE = 2.0


class Held(NamedTuple):
    """Examples held out of training."""

    examples: Examples
    targets: NDArray[np.uint8]


class TsetlinClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers; they differ in whether outputs share clauses."""

    _sharing = True

    def __init__(
        self,
        n_clauses: int = 500,
        T: int | str = "auto",
        s: float = 10.0,
        *,
        epochs: int = 30,
        patch_shape: tuple[int, ...] | None = None,
        image_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int = 128,
        e: float | str = "auto",
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int = 1,
        booleanize: Any = "auto",
        class_weight: Any = None,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        callbacks: Any = None,
        backend: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clauses = n_clauses
        self.T = T
        self.s = s
        self.epochs = epochs
        self.patch_shape = patch_shape
        self.image_shape = image_shape
        self.stride = stride
        self.memory_depth = memory_depth
        self.e = e
        self.e_scales = e_scales
        self.boost_true_positive = boost_true_positive
        self.max_literals = max_literals
        self.max_weight = max_weight
        self.average = average
        self.booleanize = booleanize
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # Training ------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, resume: bool = False
    ) -> Any:
        """Learn from examples.

        Ctrl-C keeps the last finished epoch and raises KeyboardInterrupt; calling ``fit``
        again with ``resume=True`` then goes on as if nothing had happened.

        Parameters
        ----------
        X : array, sparse matrix, or pandas or polars frame
            (N, features), or images (N, H, W[, C]) with ``patch_shape``.
        y : array
            (N,) labels of any type, or (N, m) of 0 and 1 for several labels at once.
        sample_weight : array of (N,), optional
            Scales the probability that an example gives feedback, up to 1.
        resume : bool
            Finish the epochs that an interrupted or loaded training has left, on the same
            data, instead of beginning anew.

        Returns
        -------
        self
        """
        if resume and not self._is_started():
            raise ValueError("resume=True, but there is no training to resume; call fit without it")
        goes_on = resume or (check_flag("warm_start", self.warm_start) and self._is_started())
        before = self.__dict__.copy()
        with self._unchanged_on_error():
            training, held = self._prepare(X, y, sample_weight, goes_on=goes_on)
            course = self._course
            if resume:
                course.target = max(course.target, self.epochs)
            else:
                course.target = len(course.history) + self.epochs
                course.patience_from = len(course.history)
            plan = self._plan(training, held)
        try:
            run(self.machine_, training, course, plan, self)
        except BaseException:
            if not goes_on and not course.history:  # not one epoch is finished: nothing was fitted
                self.__dict__.clear()
                self.__dict__.update(before)
            raise
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """One pass over the examples in the given order, from where training stands.

        ``classes`` names every label there will be; the first call needs it. How real data
        becomes bits is learned from the first call's X.
        """
        goes_on = self._is_started()
        with self._unchanged_on_error():
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight={self.class_weight!r} needs all data at once; with partial_fit "
                    "pass a dictionary or sample_weight"
                )
            if not goes_on and classes is None and not read_labels(y).multilabel:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            training, _ = self._prepare(
                X, y, sample_weight, goes_on=goes_on, classes=classes, split=False
            )
        self._course.target = len(self.history_) + 1
        plan = Plan(accuracy=self._accuracy, shuffle=False)
        run(self.machine_, training, self._course, plan, self)
        return self

    def estimate(self, X: Any, y: Any) -> dict[str, float]:
        """How long ``fit`` on these data would take, and how much memory.

        A copy of the estimator learns for a moment and is thrown away. Early epochs are the
        slowest, so the time is rather too long than too short.

        Returns
        -------
        dict with ``seconds``, ``seconds_per_epoch``, ``bytes``
        """
        parameters = {**self.get_params(deep=False), "callbacks": None, "verbose": 0}
        probe = type(self)(**{**parameters, "random_state": 0})
        training, _ = probe._prepare(X, y, None, goes_on=False)
        return probe._measure(training)

    def _measure(self, training: TrainingSet) -> dict[str, float]:
        """Time on a throwaway machine for about a quarter of a second."""
        parameters = self._machine_parameters(self.machine_.spec.m)
        machine = Machine(**{**parameters, "random_state": self.seed_})
        machine.load_state(self.machine_.spec.grid, self.machine_.snapshot())
        began, done = time.perf_counter(), [0]

        def out_of_time() -> bool:
            return time.perf_counter() - began > 0.25

        machine.train_pass(
            training, should_stop=out_of_time, on_progress=lambda count: done.__setitem__(0, count)
        )
        seconds = (time.perf_counter() - began) / max(1, done[0]) * len(training)
        spec = machine.spec
        return {
            "seconds": seconds * check_integer("epochs", self.epochs, 0),
            "seconds_per_epoch": seconds,
            "bytes": float(
                training_bytes(spec, machine.average)
                + len(training) * (np.prod(spec.grid.image_shape) // 8 + spec.m)
            ),
        }

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        goes_on: bool,
        classes: ArrayLike | None = None,
        split: bool = True,
    ) -> tuple[TrainingSet, Held | None]:
        """Check everything, then set what fitting sets, and bring the data to the machine."""
        self._check_parameters()
        labels = read_labels(y)
        reader = self._reader if goes_on else InputReader.from_parameters(self)
        examples = reader.read(self, X) if goes_on else reader.fit(self, X)
        check_consistent_length(examples.bits, labels.values)
        if goes_on:
            reader.check_unchanged(self)
            if labels.multilabel != self._multilabel:
                raise ValueError("y is of another kind (labels or indicator matrix) than before")
            known = self.classes_
            if labels.names is not None and labels.names != known.tolist():
                raise ValueError(
                    f"y has the columns {labels.names}, but training began with {known.tolist()}"
                )
        elif classes is not None and not labels.multilabel:
            known = distinct_classes(np.asarray(classes))
        else:
            known = labels.classes()
        targets = make_targets(labels, known)
        weight = example_weights(labels, known, sample_weight, self.class_weight)
        if goes_on:
            self._renew_machine()
        else:
            self._start(reader, known, labels.multilabel, targets.shape[1])
        held = None
        if split and self.early_stopping:
            rows, held_rows = split_validation(
                self.seed_, targets, self.validation_fraction, labels.multilabel
            )
            held = Held(examples[held_rows], targets[held_rows])
            examples, targets = examples[rows], targets[rows]
            weight = weight[rows] if len(weight) > 1 else weight
        return self.machine_.prepare(examples, targets, weight), held

    def _start(
        self, reader: InputReader, classes: NDArray[Any], multilabel: bool, n_outputs: int
    ) -> None:
        assert reader.grid is not None
        self._multilabel = multilabel
        machine = Machine(**self._machine_parameters(n_outputs))
        machine.start(reader.grid, n_outputs)
        self._reader = reader
        self.classes_ = classes
        self.machine_ = machine
        self.T_ = machine.T
        self._course = Course()

    def _renew_machine(self) -> None:
        """Let parameters that changed since training began take effect."""
        spec = self.machine_.spec
        parameters = self._machine_parameters(spec.m)
        for name in ("T", "e"):  # "auto" stays what it was when training began
            if isinstance(getattr(self, name), str):
                parameters[name] = getattr(self.machine_, name)
        renewed = Machine(**{**parameters, "random_state": self.seed_})
        if renewed.n_clauses != spec.n:
            raise ValueError(
                f"n_clauses={renewed.n_clauses}, but training began with {spec.n}; a pool cannot "
                "grow or shrink, so set warm_start=False to begin anew"
            )
        if renewed.describes(self.machine_):
            return
        renewed.load_state(spec.grid, self.machine_.snapshot())
        if self._course.best is not None:
            self._course.best = renewed.adapt(self._course.best)
        self.machine_ = renewed
        self.T_ = renewed.T

    def _machine_parameters(self, n_outputs: int) -> dict[str, Any]:
        e = self.e
        if isinstance(e, str):
            e = 1.0 if self._multilabel or n_outputs <= 2 else 1.0 / (n_outputs - 1)
        return {
            "n_clauses": self.n_clauses,
            "T": self._resolve_T() if isinstance(self.T, str) else self.T,
            "s": self.s,
            "patch_shape": self.patch_shape,
            "stride": self.stride,
            "memory_depth": self.memory_depth,
            "e": e,
            "e_scales": self.e_scales,
            "boost_true_positive": self.boost_true_positive,
            "max_literals": self.max_literals,
            "max_weight": self.max_weight,
            "average": self.average,
            "sharing": self._sharing,
            "weighted": getattr(self, "weighted", True),
            "backend": self.backend,
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }

    def _resolve_T(self) -> int:
        """The margin for ``T="auto"``: see docs/defaults.md for what it was weighed against."""
        return min(MAX_T, max(1, round(0.4 * self.n_clauses)))

    def _check_parameters(self) -> None:
        """What Machine and InputReader do not check themselves."""
        for name in ("T", "e"):
            if isinstance(getattr(self, name), str):
                check_choice(name, getattr(self, name), ("auto",))
        check_integer("n_clauses", self.n_clauses, 1)
        check_integer("epochs", self.epochs, 0)
        check_flag("shuffle", self.shuffle)
        check_flag("early_stopping", self.early_stopping)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0)
        check_integer("patience", self.patience, 1)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, 0)
        if not isinstance(self.callbacks, list | tuple | None):
            raise ValueError(f"callbacks={self.callbacks!r} must be a list of callables")
        for callback in self.callbacks or ():
            if not callable(callback):
                raise ValueError(f"callbacks holds {callback!r}, which cannot be called")
        if not isinstance(self.class_weight, dict | str | None):
            raise ValueError(
                f"class_weight={self.class_weight!r} must be a dictionary, 'balanced' or None"
            )

    def _plan(self, training: TrainingSet, held: Held | None) -> Plan:
        plan = Plan(
            accuracy=self._accuracy,
            shuffle=self.shuffle,
            patience=self.patience,
            callbacks=tuple(self.callbacks or ()),
            verbose=int(self.verbose),
        )
        if held is not None:
            plan.validate = lambda: self._held_accuracy(held)
        if plan.verbose:
            cost = self._measure(training)
            plan.description = (
                f"{self.n_clauses:,} clauses, {len(training):,} examples, {self.epochs} epochs: "
                f"about {format_seconds(cost['seconds'])} and {format_bytes(cost['bytes'])}"
            )
        return plan

    def _held_accuracy(self, held: Held) -> float:
        votes = self.machine_.votes(held.examples.bits)
        if self._multilabel:
            return float(((votes >= 0) == (held.targets == 1)).mean())
        return float(held.targets[np.arange(len(votes)), votes.argmax(axis=1)].mean())

    def _accuracy(self, counts: TrainCounts, n_examples: int) -> float:
        if self._multilabel:
            return counts.correct / (n_examples * len(self.classes_))
        return counts.hits / n_examples

    # State ---------------------------------------------------------------------------

    def _is_started(self) -> bool:
        return hasattr(self, "machine_")

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    @property
    def memory_(self) -> NDArray[np.int8]:
        """Memory, int8 (n_clauses, L): a literal is included iff its entry is >= 0."""
        check_is_fitted(self, "machine_")
        return self.machine_.memory_

    @property
    def weights_(self) -> NDArray[np.int32]:
        """Weights, int32 (n_clauses, outputs)."""
        check_is_fitted(self, "machine_")
        return self.machine_.weights_

    @property
    def step_(self) -> int:
        """Examples presented so far."""
        check_is_fitted(self, "machine_")
        return self.machine_.step_

    @property
    def seed_(self) -> int:
        """The 64-bit seed that ``random_state`` was resolved to."""
        check_is_fitted(self, "machine_")
        return self.machine_.seed_

    @property
    def history_(self) -> list[Record]:
        """One record per epoch: ``epoch``, ``train_accuracy``, ``seconds`` and, with early
        stopping, ``validation_accuracy``. Training accuracy is of the votes before each update.
        """
        check_is_fitted(self, "machine_")
        return self._course.history

    @property
    def booleanizer_(self) -> Any:
        """The fitted transformer from X to bits, or None where X holds bits already."""
        check_is_fitted(self, "machine_")
        return self._reader.booleanizer

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all; :func:`cotm.load` reads it."""
        check_is_fitted(self, "machine_")
        files.save(self, path)

    # Prediction ----------------------------------------------------------------------

    def _examples(self, X: Any) -> Examples:
        check_is_fitted(self, "machine_")
        with self._unchanged_on_error():
            return self._reader.read(self, X)

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Vote sums per output, integers (N, m), unclipped."""
        examples = self._examples(X)
        return self.machine_.votes(examples, n_jobs=self.n_jobs)

    def clause_outputs(self, X: Any) -> NDArray[np.bool_]:
        """Which clauses fire on each example, (N, n_clauses)."""
        examples = self._examples(X)
        return self.machine_.clause_outputs(examples, n_jobs=self.n_jobs)

    def rules(
        self,
        label: Any = None,
        top: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> list[Rule]:
        """The clauses that can vote as rules, strongest first.

        Parameters
        ----------
        label : optional
            Rank by the votes for this class only, and leave out clauses that vote against it.
        top : int, optional
            How many at the most.
        feature_names : sequence of str, optional
            What to call the bits of X where the model has not seen names, as with the sparse
            matrix of a vectorizer.
        """
        check_is_fitted(self, "machine_")
        return rules(self, label, top, feature_names)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, (N,); with several labels an indicator matrix (N, m)."""
        votes = self.votes(X)
        if self._multilabel:
            return (votes >= 0).astype(np.int64)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Confidence: votes (N, m); with two classes their difference (N,).

        With several labels ``votes + 0.5``, whose sign is the prediction.
        """
        votes = self.votes(X).astype(np.float64)
        if self._multilabel:
            return votes + 0.5
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, (N, m): a squashed ranking of the votes.

        The softmax of votes in units of the margin T (with several labels, the logistic
        function of each), scaled by a constant that makes them roughly calibrated. They
        rank like the votes. For probabilities to bet on, wrap the classifier in
        :class:`sklearn.calibration.CalibratedClassifierCV`.
        """
        votes = self.votes(X)
        scale = _PROBABILITY_SCALE / (self.T_ * self.machine_.n_states_)
        if self._multilabel:
            return np.asarray(expit((votes + 0.5) * scale))
        return np.asarray(softmax(votes * scale, axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags
