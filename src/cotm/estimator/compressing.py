"""Fitted classifiers made smaller: what is agreed, and the classifier that results."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from ..core.checks import check_number
from ..core.limits import MAX_T, WEIGHT_LIMIT
from ..core.parameters import OPTIONS
from ..core.state import Snapshot, voters
from ..exporting.describing import ranges_of
from ..machine import Machine
from ..model.compression import Compression
from ..model.fitted import Fitted, TrainingProgress
from ..model.judging import Judge
from ..model.label_cells import places
from ..model.labels import make_targets, read_labels
from ..model.outputs import Votes
from ..model.probabilities import Sharpness
from .settings import machine_parameters

if TYPE_CHECKING:
    from typing_extensions import Self

    from .classifying import TsetlinClassifier
    from .composition import Composition


class Compressing:
    """The method by which a fitted classifier is made smaller."""

    def compress(self, X: Any = None, y: Any = None, max_loss: float | None = 0.0) -> Self:
        """Make a smaller classifier that predicts as well.

        Equal clauses become one, and what can never vote goes. Then, as far as ``max_loss`` allows
        on X, literals are left out that decide least, clauses are dropped that do least, and
        weights are brought to few bits. All of it is measured: no bound is an estimate. Time
        grows with clauses, times literals, times rows.

        Parameters
        ----------
        X : array, sparse matrix, or frame, optional
            As in :meth:`fit`; best the examples of training, or as many of the same kind.
        y : array, optional
            Their labels, which ``max_loss`` above 0 needs.
        max_loss : float or None, default=0.0
            Accuracy on (X, y) that may be lost, as a share of the examples. 0.0: no prediction on
            X changes; others may. None, which needs no X: votes are the same on everything.

        Returns
        -------
        classifier of the same class
            With the same booleanizer, for predictions, files, exports and rules. The states of
            ``average`` are one pool, and ``T`` is in proportion to the weights, so that training
            can go on with ``partial_fit`` or ``warm_start``; literals that went may then come
            back. ``compression_`` says what was done. This classifier stays as it is.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cotm import CoTMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = CoTMClassifier(n_clauses=50, epochs=10, average=1, random_state=0).fit(X, y)
        >>> small = model.compress(X, y, max_loss=0.01)
        >>> small.n_clauses < model.n_clauses and small.score(X, y) > model.score(X, y) - 0.011
        True
        """
        return compressed(self, X, y, max_loss)  # type: ignore[no-any-return, arg-type]


def compressed(model: TsetlinClassifier, X: Any, y: Any, max_loss: float | None) -> Any:
    """A smaller classifier that predicts X as well, but for the loss."""
    check_loss(max_loss, X, y)
    still = model._still()
    fitted: Fitted = still._now()
    work = exact(fitted, None if max_loss is None else X)
    report: dict[str, Any] = {"max_loss": max_loss}
    if max_loss is not None:
        votes = fitted.machine.votes(work.examples, n_jobs=still.n_jobs)
        targets = targets_of(fitted, votes, y if max_loss else None)
        margin = fitted.machine.parameters.T * fitted.machine.n_states_
        parts = None if fitted.columns is None else fitted.columns.parts
        most = work.measure(Judge(targets, margin, parts=parts))
        report |= {"examples": len(targets), "right_before": most}
        work.shrink(most - loss_of(max_loss, len(targets)), most)
        report["right_after"] = work.n_right
    return classifier_of_rest(still, fitted, work, report)


def loss_of(max_loss: float, rows: int) -> int:
    """How many examples a share is at the most, reckoned as it is written."""
    return math.floor(Fraction(str(max_loss)) * rows)


def check_loss(max_loss: float | None, X: Any, y: Any) -> None:
    """Raise ValueError for a loss that is none, or cannot be measured."""
    if max_loss is None:
        return
    check_number("max_loss", max_loss, 0.0, 1.0)
    if X is None or (max_loss and y is None):
        raise ValueError(
            f"max_loss={max_loss} needs examples to measure on: pass X{' and y' * (max_loss > 0)}, "
            "best of the training data, or max_loss=None for what needs none"
        )


def targets_of(model: Fitted | Composition, votes: Votes, y: Any | None) -> NDArray[np.int64]:
    """What is right: the labels, or without them what is predicted; see :class:`Judge`."""
    multilabel, columns = model.multilabel, model.columns
    if y is None:
        if columns is not None:
            return np.column_stack([part.argmax(axis=1) for part in columns.split(votes)])
        return (votes >= 0).astype(np.int64) if multilabel else votes.argmax(axis=1)
    labels = read_labels(y)
    check_consistent_length(votes, labels.values)
    targets = make_targets(labels, model.classes, columns)
    if columns is not None:
        return places(labels.as_columns().values, columns)
    assert isinstance(targets, np.ndarray)
    return targets.astype(np.int64) if multilabel else targets.argmax(axis=1)


def exact(fitted: Fitted, X: Any) -> Compression:
    """The pool of all states that vote, without what can never vote."""
    machine = fitted.machine
    examples = None if X is None else fitted.reader.read(X)
    memory, weights = voters(machine.snapshot())
    included = memory >= 0
    work = Compression(machine, included, weights, examples)
    work.merge(_can_fire(machine, included))
    return work


def _can_fire(machine: Machine, included: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which clauses fire on some bits."""
    can: NDArray[np.bool_] = np.asarray(included.any(axis=1))
    if machine.parameters.tolerance == 1:
        grid = machine.spec.grid
        o = grid.n_features
        can &= ~(included[:, :o] & included[:, o:]).any(axis=1)
        for j in np.flatnonzero(can) if grid.n_patches > 1 else ():
            can[j] = ranges_of(grid, np.flatnonzero(included[j])) is not None
    return can


def classifier_of_rest(
    still: TsetlinClassifier, fitted: Fitted, work: Compression, report: dict[str, Any]
) -> Any:
    """A classifier with the clauses that are left."""
    machine = fitted.machine
    before = voters(machine.snapshot())
    memory, weights = _state(machine, work, before[0])
    parameters, scale = machine.parameters, work.scale
    T = min(MAX_T, max(1, round(scale * parameters.T * machine.n_states_)))
    other = still._with(fitted)
    largest = int(np.abs(weights).max(initial=1))
    changed = {
        "n_clauses": len(memory),
        "T": T,
        "average": 1,
        "e": "auto" if isinstance(still.e, str) else parameters.e,
        **parameters.holding(largest),
    }
    # What was set since the training is not what trained these clauses.
    for name in OPTIONS:
        if hasattr(other, name) and not OPTIONS[name].is_kind:
            setattr(other, name, changed.get(name, getattr(parameters, name)))
    other.callbacks = None
    made = Machine(
        **{
            **machine_parameters(other, fitted.preset, len(fitted.classes), fitted.judge),
            "random_state": machine.seed_,
        }
    )
    step = machine.step_
    assert fitted.reader.grid is not None
    made.load_state(fitted.reader.grid, Snapshot(memory, weights, step))
    sharpness = fitted.sharpness.value()
    if sharpness is not None and work.examples is not None:
        # Probabilities remain as far apart as they were.
        outputs, margin = fitted.outputs, parameters.T * machine.n_states_
        votes = machine.votes(work.examples, n_jobs=still.n_jobs)
        apart = outputs.distance(outputs.in_margins(votes, margin))
        sharpness *= apart / max(1e-9, outputs.distance(outputs.in_margins(work.votes, T)))
    sizes = {
        "clauses": (len(before[0]), len(work.weights)),
        "literals": (int((before[0] >= 0).sum()), int(work.included.sum())),
        "weight_bits": (_bits(before[1]), _bits(work.weights)),
    }
    other._fitted = replace(
        fitted,
        machine=made,
        progress=TrainingProgress(step=step),
        sharpness=Sharpness(sharpness),
        compression=report | sizes,
    )
    return other


def _state(
    machine: Machine, work: Compression, memory: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Memory and weights: literals that went are on the edge, and could come back in training."""
    rows = memory[work.sources]
    rows = np.where(work.included, np.maximum(rows, 0), np.minimum(rows, -1)).astype(np.int8)
    weights, m = work.weights, work.weights.shape[1]
    if not machine.spec.sharing:
        # Clause j belongs to output j * m // n: as many for each, with empty ones at the ends.
        owners = np.abs(weights).argmax(axis=1)
        count = max(1, int(np.bincount(owners, minlength=m).max(initial=0)))
        places = [owner * count + i for owner, i in _places(owners)]
        all_rows = np.full((m * count, rows.shape[1]), -1, dtype=np.int8)
        all_weights = np.zeros((m * count, m), dtype=np.int64)
        all_weights[np.arange(m * count), np.arange(m * count) // count] = 1
        all_rows[places], all_weights[places] = rows, weights
        rows, weights = all_rows, all_weights
    if not len(rows):
        rows, weights = np.full((1, rows.shape[1]), -1, dtype=np.int8), np.zeros((1, m), np.int64)
    if np.abs(weights).max(initial=0) > WEIGHT_LIMIT:
        raise ValueError("weights of equal clauses add up to more than files hold")
    return rows, weights.astype(np.int32)


def _places(owners: NDArray[Any]) -> list[tuple[int, int]]:
    """Of each clause its owner, and how many of the owner's are before it."""
    seen: dict[int, int] = {}
    places = []
    for owner in owners.tolist():
        places.append((owner, seen.get(owner, 0)))
        seen[owner] = seen.get(owner, 0) + 1
    return places


def _bits(weights: NDArray[Any]) -> int:
    """Of the largest weight, with its sign."""
    return int(np.abs(weights.astype(np.int64)).max(initial=0)).bit_length() + 1
