"""What all estimators share: fitting, continuing, voting, the scikit-learn way."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from .. import files
from ..augmentation import Augmentation
from ..core.checks import check_flag
from ..core.forks import Lock
from ..core.state import Snapshot
from ..explaining.methods import Explaining
from ..explaining.voters import Voters
from ..exporting import Description, describe, export
from ..model.constraints import Constraints
from ..model.fitted import Fitted, TrainingProgress
from ..model.inputs import InputReader
from ..model.presets import epochs_of, is_left
from ..model.resuming import check_same_data, check_same_seed
from ..reporting.notebook import Showing
from .editing import Editing
from .planning import basic_plan, full_plan
from .preparation import measure, prepare
from .settings import check_parameters
from .streamed import streamed_if_large, telling_memory
from .tasks import Task
from .training import Callback, run
from .understanding import Understanding
from .validation import Scorer

if TYPE_CHECKING:
    from typing_extensions import Self

#: By the estimators' ids, and not among their attributes: a call that is refused changes none.
_locks: dict[int, Lock] = {}
_locks_lock = Lock()


class TsetlinEstimator(Showing, Understanding, Explaining, Editing, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers and regressors; they differ in what y is, and what votes mean."""

    #: The class of cotm as which it is saved, by name.
    _kind = "TsetlinEstimator"
    #: What y is.
    _task: Task
    #: Bits of a number in a table, where X is booleanized automatically; None: the usual ones.
    _number_bits: int | None = None

    # Parameters that training asks for by name; the subclasses say what they are.
    n_clauses: int
    epochs: int | str
    preset: str
    augment: Augmentation | None
    constraints: Constraints | None
    class_weight: dict[Any, float] | str | None
    shuffle: bool
    early_stopping: bool
    scoring: str | Scorer | None
    validation_fraction: float
    patience: int
    warm_start: bool
    callbacks: Sequence[Callback] | None
    n_jobs: int | None
    verbose: int
    random_state: Any

    def _machine_kind(self) -> dict[str, bool]:
        """The options of a machine that the class says, and not its parameters."""
        return {"sharing": True, "weighted": True}

    # Training ------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: Any = None,
        resume: bool = False,
    ) -> Self:
        """Learn from examples.

        Ctrl-C keeps the last finished epoch and raises KeyboardInterrupt; calling ``fit``
        again with ``resume=True`` then goes on as if nothing had happened. Other threads see
        the model as it was until the first epoch is finished.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars frame, or Stream
            (N, features), or with ``patch_shape`` images (N, H, W[, C]) or volumes
            (N, D, H, W[, C]). A :class:`cotm.Stream` is read in batches, and has the labels too.
        y : array
            (N,) labels of any type, (N, m) of 0 and 1 for several labels at once, or several
            columns of labels, as an array or frame, in which some may be missing.
        sample_weight : array of (N,), optional
            Multiplies the probability that an example gives feedback, up to certainty. An
            example far from its margin gives feedback with probability 1/2 or more, so
            weights above 2 count most for examples that are nearly learned.
        eval_set : tuple of (X, y), optional
            Early stopping by these examples, instead of a share of the others that is held out,
            also where ``early_stopping`` is False. A list with one such pair will do, or a
            :class:`cotm.Stream`.
        resume : bool
            Finish the epochs that an interrupted or loaded training has left, on the same
            data and ``eval_set``, instead of beginning anew. Other data are refused.

        Returns
        -------
        self
        """
        stream = streamed_if_large(self, X, y, sample_weight)
        if stream is not None:
            X, y, sample_weight = stream, None, None
        with self._alone(), telling_memory(X):
            before = self._fitted_or_none()
            if resume and before is None:
                raise ValueError(
                    "resume=True, but there is no training to resume; call fit without it"
                )
            if not resume and not check_flag("warm_start", self.warm_start):
                before = None
            prepared = prepare(self, X, y, sample_weight, before, eval_set=eval_set)
            progress, data = prepared.fitted.progress, prepared.data
            epochs = epochs_of(self.epochs, prepared.fitted.preset, len(prepared.training))
            if resume:
                epochs = 0 if is_left("epochs", self.epochs) else epochs  # as it began
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
            run(fitted, prepared.training, full_plan(self, fitted, prepared))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """One pass over the examples in the given order, from where training stands.

        ``classes`` names every label there will be, of several columns as a list with those of
        each; the first call needs it. How real data
        becomes bits is learned from the first call's X. X may be a :class:`cotm.Stream`.
        """
        with self._alone(), telling_memory(X):
            before = self._fitted_or_none()
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"class_weight={self.class_weight!r} needs all data at once; with partial_fit "
                    "pass a dictionary or sample_weight"
                )
            prepared = prepare(self, X, y, sample_weight, before, classes=classes, whole=False)
            fitted = prepared.fitted
            progress = replace(fitted.progress, until_epoch=fitted.progress.epochs + 1, data=None)
            plan = basic_plan(self, fitted, prepared.training.targets, shuffle=False)
            run(replace(fitted, progress=progress), prepared.training, plan)
        return self

    def _check_first_part(self, answers: Any, classes: ArrayLike | None) -> None:
        """Raise ValueError if the first call of ``partial_fit`` lacks something."""

    def estimate(self, X: Any, y: Any = None) -> dict[str, float]:
        """How long ``fit`` on these data would take, and how much memory.

        A copy of the estimator learns for a moment and is thrown away. Early epochs are the
        slowest, so the time is rather too long than too short.

        Returns
        -------
        dict with ``seconds``, ``seconds_per_epoch``, ``bytes``
        """
        parameters = {**self.get_params(deep=False), "callbacks": None, "verbose": 0}
        probe = type(self)(**{**parameters, "random_state": 0})
        prepared = prepare(probe, X, y, None, None)
        epochs = epochs_of(self.epochs, prepared.fitted.preset, len(prepared.training))
        return measure(prepared.fitted.machine, prepared.training, epochs)

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

    def _still(self) -> Any:
        """A copy of this estimator at one moment, in which state and epochs belong together."""
        lock = self._training_lock()
        while True:
            mine = lock.is_mine()  # this thread trains, and is between epochs
            try:
                if mine or lock.acquire(blocking=False):  # or nobody does
                    fitted = self._now()
                    state: Snapshot | None = fitted.machine.snapshot()
                else:
                    fitted = self._now()
                    state = fitted.machine.snapshot_at(fitted.progress.step)
            finally:
                try:
                    if not mine:
                        lock.release()
                except RuntimeError:  # somebody else has it, and is training
                    pass
            if state is not None:
                break
            time.sleep(1e-4)  # an epoch is just being recorded
        fitted = replace(fitted, progress=replace(fitted.progress, step=state.step))
        return self._with(replace(fitted, machine=fitted.machine.with_state(state)))

    def _voters(self) -> Voters:
        return Voters.of(self._still())

    def _with(self, fitted: Fitted) -> Self:
        """A classifier with these parameters that has learned this."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._fitted = fitted
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._fitted_or_none() is not None:
            state["_fitted"] = self._still()._fitted
        return state

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
        files.save(self._still()._saved_model(), path)

    def export(self, path: str | os.PathLike[str], *, inputs: str = "raw", **options: Any) -> None:
        """Write the model for other programs, whole or not at all.

        Every format gives the same votes and labels, to the unit. ``docs/exports.md`` says what
        each of them holds; what one cannot say exactly is refused.

        Parameters
        ----------
        path : str or path
            The format is told by its ending, as in ``model.json``.
        inputs : {"raw", "bits"}, default="raw"
            What the export reads: what the model reads, or the bits its booleanizer makes of it.
        **options
            Of the format.
        """
        export(self._description(inputs), path, **options)

    def _description(self, inputs: str = "raw") -> Description:
        """What has been learned, as plain data."""
        now = self._still()._now()
        margin = now.machine.parameters.T * now.machine.n_states_
        return describe(
            [("model", now)],
            divisors=None,
            margin=margin,
            sharpness=now.sharpness,
            inputs=inputs,
        )

    def _saved_model(self) -> files.SavedModel:
        """What a model file holds of this estimator: nothing of a subclass's own."""
        check_parameters(self)
        return files.SavedModel(self._kind, self._parameters_to_save(), self._now())

    def _parameters_to_save(self) -> dict[str, Any]:
        """Those that a model file holds, which a class need not have as its own."""
        return {name: getattr(self, name) for name in files.OPTIONS.get(self._kind, ())}

    # Prediction ----------------------------------------------------------------------

    def _votes(self, fitted: Fitted, X: Any) -> NDArray[np.int64]:
        return fitted.machine.votes(fitted.reader.read(X), n_jobs=self.n_jobs)

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Count the votes for each output.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        int64 (N, outputs)
            The sum of the weights of all clauses that fire, not clipped to the margin. With
            ``average`` that of all states that vote.
        """
        return self._votes(self._now(), X)

    def clause_outputs(self, X: Any) -> NDArray[Any]:
        """Tell which clauses fire on each example.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        bool, or int32 with a tolerance above 1, (N, n_clauses)
            With ``average`` the clauses of all states that vote, as in :attr:`weights_`; the
            product of the two is :meth:`votes`. A clause without literals never fires.
        """
        fitted = self._now()
        return fitted.machine.clause_outputs(fitted.reader.read(X), n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags
