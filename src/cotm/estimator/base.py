"""What both classifiers share: fitting, continuing, predicting, the scikit-learn way."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_consistent_length

from ..backends import TrainCounts
from ..core.examples import Examples
from ..core.forks import Lock
from ..core.parameters import (
    MAX_CLAUSES,
    MAX_T,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    format_bytes,
)
from ..core.spec import selection_scale
from ..core.state import Snapshot, training_bytes
from ..files import model_files as files
from ..machine import Machine, TrainingSet
from ..model.fitted import Fitted, Record, TrainingProgress
from ..model.inputs import InputReader
from ..model.labels import (
    distinct_classes,
    example_weights,
    make_targets,
    read_labels,
    require_some_weight,
    split_validation,
    warn_about_quantities,
)
from ..model.probabilities import Sample, Sharpness, in_margins, judged, probabilities
from ..model.resuming import check_same_data, check_same_seed, describe_data
from ..rules import Rule, rules
from .progress import format_seconds
from .training import FitPlan, run

#: What training is built on: a callback that changes one of these is told so.
_FIXED_IN_TRAINING = (
    "n_clauses",
    "weighted",
    "patch_shape",
    "image_shape",
    "stride",
    "booleanize",
    "class_weight",
    "early_stopping",
    "validation_fraction",
    "backend",
    "random_state",
)

#: By the estimators' ids, and not among their attributes: a call that is refused changes none.
_locks: dict[int, Lock] = {}
_locks_lock = Lock()


class HeldOut(NamedTuple):
    """Examples held out of training."""

    examples: Examples
    targets: NDArray[np.uint8]


class Prepared(NamedTuple):
    """What a call of fit has to work with, before anything has changed."""

    fitted: Fitted
    training: TrainingSet
    held: HeldOut | None
    sample: Sample | None  # of all examples to train on
    data: dict[str, Any] | None  # see resuming.py


class TsetlinClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers; they differ in whether outputs share clauses."""

    _sharing = True

    # Parameters; see CoTMClassifier.
    n_clauses: int
    T: int | str
    s: float
    epochs: int
    patch_shape: tuple[int, ...] | None
    image_shape: tuple[int, ...] | None
    stride: int | tuple[int, ...]
    memory_depth: int
    e: float | str
    e_scales: str
    boost_true_positive: bool
    max_literals: int | None
    max_weight: int | None
    average: int
    booleanize: Any
    class_weight: Any
    shuffle: bool
    early_stopping: bool
    validation_fraction: float
    patience: int
    warm_start: bool
    callbacks: Any
    backend: str
    n_jobs: int | None
    verbose: int
    random_state: Any

    @property
    def _learns_weights(self) -> bool:
        return True

    # Training ------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, resume: bool = False
    ) -> Any:
        """Learn from examples.

        Ctrl-C keeps the last finished epoch and raises KeyboardInterrupt; calling ``fit``
        again with ``resume=True`` then goes on as if nothing had happened. Other threads see
        the model as it was until the first epoch is finished.

        Parameters
        ----------
        X : array, sparse matrix, or pandas or polars frame
            (N, features), or images (N, H, W[, C]) with ``patch_shape``.
        y : array
            (N,) labels of any type, or (N, m) of 0 and 1 for several labels at once.
        sample_weight : array of (N,), optional
            Multiplies the probability that an example gives feedback, up to certainty. An
            example far from its margin gives feedback with probability 1/2 or more, so
            weights above 2 count most for examples that are nearly learned.
        resume : bool
            Finish the epochs that an interrupted or loaded training has left, on the same
            data, instead of beginning anew. Other data are refused.

        Returns
        -------
        self
        """
        with self._alone():
            before = self._fitted_or_none()
            if resume and before is None:
                raise ValueError(
                    "resume=True, but there is no training to resume; call fit without it"
                )
            if not resume and not check_flag("warm_start", self.warm_start):
                before = None
            prepared = self._prepare(X, y, sample_weight, before)
            progress, data = prepared.fitted.progress, prepared.data
            epochs = check_integer("epochs", self.epochs, 0)
            if resume:
                check_same_seed(self.random_state, prepared.fitted.machine.seed_)
                if progress.data is not None and data is not None:
                    check_same_data(progress.data, data)
                progress = replace(
                    progress, until_epoch=max(progress.until_epoch, epochs), data=data
                )
            else:
                progress = replace(
                    progress,
                    until_epoch=progress.epochs + epochs,
                    patience_from=progress.epochs,
                    scored_from=progress.scored_from
                    if progress.compares(data)
                    else progress.epochs,
                    data=data,
                )
            fitted = replace(prepared.fitted, progress=progress)
            run(fitted, prepared.training, self._plan(fitted, prepared))
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
        with self._alone():
            before = self._fitted_or_none()
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight={self.class_weight!r} needs all data at once; with partial_fit "
                    "pass a dictionary or sample_weight"
                )
            if before is None and classes is None and not read_labels(y).multilabel:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            prepared = self._prepare(X, y, sample_weight, before, classes=classes, whole=False)
            fitted = prepared.fitted
            progress = replace(fitted.progress, until_epoch=fitted.progress.epochs + 1, data=None)
            plan = self._basic_plan(fitted, shuffle=False)
            run(replace(fitted, progress=progress), prepared.training, plan)
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
        prepared = probe._prepare(X, y, None, None)
        return probe._measure(prepared.fitted.machine, prepared.training)

    def _measure(self, machine: Machine, training: TrainingSet) -> dict[str, float]:
        """Time on a throwaway machine for about a quarter of a second."""
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
            "seconds": seconds * check_integer("epochs", self.epochs, 0),
            "seconds_per_epoch": seconds,
            "bytes": float(
                training_bytes(spec, probe.average, probe.n_jobs)
                + len(training) * (np.prod(spec.grid.image_shape) // 8 + spec.m)
            ),
        }

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        before: Fitted | None,
        *,
        classes: ArrayLike | None = None,
        whole: bool = True,
    ) -> Prepared:
        """Check everything and bring the data to the machine, which nobody sees before it learns.

        ``whole``: these are all the data there are, some of which may be held out.
        """
        self._check_parameters()
        labels = read_labels(y)
        reader = InputReader.from_parameters(self) if before is None else before.reader
        examples = reader.fit(X) if before is None else reader.read(X)
        check_consistent_length(examples.bits, labels.values)
        if before is not None:
            reader.check_unchanged(self)
            if labels.multilabel != before.multilabel:
                raise ValueError("y is of another kind (labels or indicator matrix) than before")
            known = before.classes
            if labels.names is not None and labels.names != known.tolist():
                raise ValueError(
                    f"y has the columns {labels.names}, but training began with {known.tolist()}"
                )
        elif classes is not None and not labels.multilabel:
            known = distinct_classes(np.asarray(classes))
        else:
            known = labels.classes()
        if before is None:
            files.check_class_names(known)
        targets = make_targets(labels, known)
        weight = example_weights(labels, known, sample_weight, self.class_weight)
        if whole:
            require_some_weight(weight)
            warn_about_quantities(labels, known)
        if before is None:
            fitted = self._start(reader, known, labels.multilabel)
        else:
            fitted = self._renewed(before)
        held, data = None, None
        if whole:
            data = describe_data(
                examples,
                targets,
                weight,
                shuffle=self.shuffle,
                held_out=self.validation_fraction if self.early_stopping else 0.0,
                like=None if before is None else before.progress.data,
            )
        if whole and self.early_stopping:
            rows, held_rows = split_validation(
                fitted.machine.seed_, targets, self.validation_fraction, labels.multilabel
            )
            held = HeldOut(examples[held_rows], targets[held_rows])
            examples, targets = examples[rows], targets[rows]
            weight = weight[rows] if len(weight) > 1 else weight
        for callback in self.callbacks or ():
            if hasattr(callback, "check"):  # what cannot be done is said before the work
                callback.check(self.get_params(deep=False), known, reader.booleanizer)
        sample = Sample.of(examples, targets, weight) if whole else None
        training = fitted.machine.prepare(examples, targets, weight)
        return Prepared(fitted, training, held, sample, data)

    def _start(self, reader: InputReader, classes: NDArray[Any], multilabel: bool) -> Fitted:
        assert reader.grid is not None
        machine = Machine(**self._machine_parameters(len(classes), multilabel))
        machine.start(reader.grid, len(classes))
        return Fitted(reader, classes, multilabel, machine, TrainingProgress(), Sharpness())

    def _renewed(self, fitted: Fitted) -> Fitted:
        """What was fitted, with parameters that changed since training began in effect."""
        machine = fitted.machine
        spec = machine.spec
        parameters = self._machine_parameters(spec.m, fitted.multilabel)
        for name in ("T", "e"):  # "auto" stays what it was when training began
            if isinstance(getattr(self, name), str):
                parameters[name] = getattr(machine, name)
        renewed = Machine(**{**parameters, "random_state": machine.seed_})
        if renewed.n_clauses != spec.n:
            raise ValueError(
                f"n_clauses={renewed.n_clauses}, but training began with {spec.n}; a pool cannot "
                "grow or shrink, so set warm_start=False to begin anew"
            )
        if renewed.describes(machine):
            return fitted
        renewed.load_state(spec.grid, machine.snapshot())
        progress = fitted.progress
        if progress.best is not None:
            progress = replace(progress, best=renewed.adapt(progress.best))
        return replace(fitted, machine=renewed, progress=progress)

    def _machine_parameters(self, n_outputs: int, multilabel: bool) -> dict[str, Any]:
        e = self.e
        if isinstance(e, str):
            e = 1.0 if multilabel or n_outputs <= 2 else 1.0 / (n_outputs - 1)
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
            "weighted": self._learns_weights,
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
        check_integer("n_clauses", self.n_clauses, 1, MAX_CLAUSES)
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

    def _plan(self, fitted: Fitted, prepared: Prepared) -> FitPlan:
        """What ``fit`` is to do."""
        held = prepared.held
        plan = replace(
            self._basic_plan(fitted, shuffle=self.shuffle),
            patience=self.patience,
            callbacks=[partial(callback, self) for callback in self.callbacks or ()],
            follow=partial(self._follow_changes, self.get_params(deep=False))
            if self.callbacks
            else None,
            finish=partial(_with_sharpness, held, prepared.sample),
            verbose=int(self.verbose),
        )
        if held is not None:
            plan = replace(plan, validate=partial(_held_accuracy, held, fitted.multilabel))
        if plan.verbose:
            cost = self._measure(fitted.machine, prepared.training)
            description = (
                f"{fitted.machine.n_clauses:,} clauses, {len(prepared.training):,} examples, "
                f"{self.epochs:g} epochs: about {format_seconds(cost['seconds'])} and "
                f"{format_bytes(cost['bytes'])}"
            )
            plan = replace(plan, description=description)
        return plan

    def _basic_plan(self, fitted: Fitted, *, shuffle: bool) -> FitPlan:
        """Passes, and nothing else."""
        return FitPlan(
            accuracy=partial(_accuracy, fitted.multilabel, len(fitted.classes)),
            publish=partial(setattr, self, "_fitted"),
            is_published=lambda fitted: self.__dict__.get("_fitted") is fitted,
            shuffle=shuffle,
        )

    def _follow_changes(
        self, before: dict[str, Any], plan: FitPlan, fitted: Fitted, training: TrainingSet
    ) -> tuple[FitPlan, Fitted, TrainingSet]:
        """Let parameters that callbacks have set take effect from the next epoch on."""
        now = {name: getattr(self, name) for name in before}
        changed = [name for name in now if repr(now[name]) != repr(before[name])]
        if not changed:
            return plan, fitted, training
        for name in changed:
            if name in _FIXED_IN_TRAINING:
                raise ValueError(
                    f"a callback set {name}={now[name]!r}, but training began with "
                    f"{before[name]!r}, and it cannot change on the way; set it before fit"
                )
        self._check_parameters()
        fitted = self._renewed(fitted)
        target = fitted.progress.until_epoch + int(self.epochs) - int(before["epochs"])
        fitted = replace(fitted, progress=replace(fitted.progress, until_epoch=target))
        plan.publish(fitted)
        plan = replace(
            plan,
            shuffle=self.shuffle,
            patience=self.patience,
            callbacks=[partial(callback, self) for callback in self.callbacks or ()],
            follow=partial(self._follow_changes, now),
        )
        scales = selection_scale(fitted.machine.e, training.weight)
        return plan, fitted, replace(training, scales=scales)

    # State ---------------------------------------------------------------------------

    def _training_lock(self) -> Lock:
        """One training of this estimator at a time; predictions do not wait for it."""
        with _locks_lock:
            if id(self) not in _locks:
                _locks[id(self)] = Lock()
                weakref.finalize(self, _locks.pop, id(self), None)
            return _locks[id(self)]

    def _alone(self) -> Lock:
        """The lock of a training that is about to begin."""
        lock = self._training_lock()
        if lock.is_mine():
            raise RuntimeError(
                f"this {type(self).__name__} is in training, and a callback of it cannot train it "
                "too; train a copy, or wait until fit has ended"
            )
        return lock

    def _fitted_or_none(self) -> Fitted | None:
        return self.__dict__.get("_fitted")

    def _now(self) -> Fitted:
        """What has been learned: to be asked for once per call, so that its parts fit."""
        fitted = self._fitted_or_none()
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_or_none() is not None

    def _still(self) -> Any:
        """This estimator as it is now, whatever other threads do: state and epochs fit."""
        lock = self._training_lock()
        while True:
            if lock.take(blocking=False):  # nobody trains, or this thread does, between epochs
                fitted = self._now()
                state: Snapshot | None = fitted.machine.snapshot()
                lock.leave()
            else:
                fitted = self._now()
                state = fitted.machine.snapshot_at(fitted.progress.step)
            if state is not None:
                break
            time.sleep(1e-4)  # an epoch is just being recorded
        fitted = replace(fitted, progress=replace(fitted.progress, step=state.step))
        still = object.__new__(type(self))
        still.__dict__.update(self.__dict__)
        still._fitted = replace(fitted, machine=fitted.machine.with_state(state))
        return still

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._fitted_or_none() is not None:
            state["_fitted"] = self._still()._fitted
        return state

    @property
    def machine_(self) -> Machine:
        """The machine at work."""
        return self._now().machine

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the outputs."""
        return self._now().classes

    @property
    def n_features_in_(self) -> int:
        """Columns of X, or values of an image."""
        return self._now().reader.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns; there is no such attribute where they were no text."""
        names = self._now().reader.names
        if names is None:
            raise AttributeError(f"this {type(self).__name__} was fitted without feature names")
        return np.array(names, dtype=object)

    @property
    def memory_(self) -> NDArray[np.int8]:
        """Memory, int8 (n_clauses, L): a literal is included iff its entry is >= 0.

        With ``average`` of all states that vote, one below the other, the current one last.
        """
        return self._now().machine.memory_

    @property
    def weights_(self) -> NDArray[np.int32]:
        """Weights, int32 (n_clauses, outputs); with ``average`` as :attr:`memory_`."""
        return self._now().machine.weights_

    @property
    def T_(self) -> int:
        """The margin in use."""
        return self._now().machine.T

    @property
    def step_(self) -> int:
        """Examples presented so far."""
        return self._now().machine.step_

    @property
    def seed_(self) -> int:
        """The 64-bit seed that ``random_state`` was resolved to."""
        return self._now().machine.seed_

    @property
    def history_(self) -> list[Record]:
        """One record for each of the last 10,000 epochs: ``epoch``, ``train_accuracy``,
        ``seconds`` and, with early stopping, ``validation_accuracy``. Training accuracy is of
        the votes before each update.
        """
        return list(self._now().progress.history)

    @property
    def booleanizer_(self) -> Any:
        """The fitted transformer from X to bits, or None where X holds bits already."""
        return self._now().reader.booleanizer

    @property
    def _multilabel(self) -> bool:
        return self._now().multilabel

    @property
    def _progress(self) -> TrainingProgress:
        return self._now().progress

    @property
    def _reader(self) -> InputReader:
        return self._now().reader

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all; :func:`cotm.load` reads it."""
        files.save(self._still(), path)

    # Prediction ----------------------------------------------------------------------

    def _votes(self, fitted: Fitted, X: Any) -> NDArray[np.int64]:
        return fitted.machine.votes(fitted.reader.read(X), n_jobs=self.n_jobs)

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Vote sums per output, integers (N, m), unclipped."""
        return self._votes(self._now(), X)

    def clause_outputs(self, X: Any) -> NDArray[np.bool_]:
        """Which clauses fire on each example, (N, n_clauses).

        With ``average`` the clauses of all states that vote, as in :attr:`weights_`; the product
        of the two is :meth:`votes`.
        """
        fitted = self._now()
        return fitted.machine.clause_outputs(fitted.reader.read(X), n_jobs=self.n_jobs)

    def rules(
        self,
        label: Any = None,
        top: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> list[Rule]:
        """The clauses that can vote as rules, strongest first.

        With ``average`` those of all states that vote; equal ones are one rule with the sum of
        their votes.

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
        still = self._still()
        return rules(still, label, top, feature_names, merge=still.machine_.n_states_ > 1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, (N,); with several labels an indicator matrix (N, m)."""
        fitted = self._now()
        votes = self._votes(fitted, X)
        if fitted.multilabel:
            return (votes >= 0).astype(np.int64)
        return np.asarray(fitted.classes[votes.argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Confidence: votes (N, m); with two classes their difference (N,).

        With several labels ``votes + 0.5``, whose sign is the prediction.
        """
        fitted = self._now()
        votes = self._votes(fitted, X).astype(np.float64)
        if fitted.multilabel:
            return votes + 0.5
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, (N, m): a squashed ranking of the votes.

        The softmax of votes in units of the margin T (with several labels, the logistic
        function of each), times a sharpness that makes them about as often right as they say.
        Early stopping learns it from the examples held out; otherwise a second, smaller machine
        learns it from a sample of the training examples, the first time it is needed. That takes
        a fraction of what fitting took, or with few examples about as long. ``partial_fit`` alone
        leaves it at a usual value.
        """
        fitted = self._now()
        votes, states = fitted.machine.votes_of_states(fitted.reader.read(X), n_jobs=self.n_jobs)
        margins = in_margins(votes, fitted.machine.T * states, fitted.multilabel)
        return probabilities(margins, fitted.sharpness, fitted.multilabel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags


def _held_accuracy(held: HeldOut, multilabel: bool, machine: Machine) -> float:
    votes = machine.votes(held.examples)
    if multilabel:
        return float(((votes >= 0) == (held.targets == 1)).mean())
    return float(held.targets[np.arange(len(votes)), votes.argmax(axis=1)].mean())


def _accuracy(multilabel: bool, n_outputs: int, counts: TrainCounts, n_examples: int) -> float:
    return counts.correct / (n_examples * n_outputs) if multilabel else counts.hits / n_examples


def _with_sharpness(held: HeldOut | None, sample: Sample | None, fitted: Fitted) -> Fitted:
    """With probabilities for these votes: as held-out examples tell, or a sample will."""
    machine, multilabel = fitted.machine, fitted.multilabel
    if held is not None:
        sharpness = judged(machine, held.examples, held.targets, multilabel)
    else:
        assert sample is not None
        sharpness = Sharpness.to_learn(machine, sample, multilabel, fitted.progress.epochs)
    return replace(fitted, sharpness=sharpness)
