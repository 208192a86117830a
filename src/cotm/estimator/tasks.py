"""What y is to an estimator: labels, or quantities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.room import Room
from ..core.sparse_targets import Targets
from ..files import check_class_names
from ..machine import Machine
from ..model.fitted import Fitted
from ..model.label_cells import classes_of, places
from ..model.label_columns import LabelColumns, outputs_for
from ..model.labels import (
    Labels,
    distinct_classes,
    example_weights,
    make_targets,
    read_labels,
    require_some_weight,
    warn_about_quantities,
)
from ..model.outputs import Judge
from ..model.presets import QUANTITIES
from ..model.probabilities import JudgedSharpness, Sample, Sharpness, judged
from ..model.quantities import (
    Quantities,
    QuantityJudge,
    Scaling,
    quantity_weights,
    read_quantities,
)
from ..model.stored_answers import StoredLabels, StoredQuantities
from .held_out import HeldOut

#: What outputs are called: labels, columns with their labels, or columns of quantities.
Outputs = NDArray[Any] | LabelColumns


class Task(Protocol):
    """How an estimator reads y and what it makes of it. ``answers`` are what y holds, checked."""

    preset: str | None  # that says what is left "auto", whatever X is

    def read(self, y: Any) -> Any:
        """Check y."""
        ...

    def stored(self, folder: Any) -> Any:
        """What keeps answers of batches in files: ``append(answers)``, and ``whole()`` of them."""
        ...

    def first_classes(self, answers: Any, classes: Any) -> Outputs:
        """What the outputs are called, in a training that begins."""
        ...

    def same_classes(self, answers: Any, before: Fitted) -> Outputs:
        """The same in one that goes on, or a ValueError for other answers than it began with."""
        ...

    def scaling(self, answers: Any, margin: int) -> Scaling | None:
        """How quantities become votes, in a training that begins."""
        ...

    def judge(self, answers: Any, classes: Outputs) -> Judge:
        """How good votes are, before there is a scaling."""
        ...

    def targets(self, answers: Any, fitted: Fitted, room: Room = np.empty) -> Targets:
        """What the machine is to learn, (N, m)."""
        ...

    def weights(
        self,
        answers: Any,
        classes: Outputs,
        sample_weight: ArrayLike | None,
        estimator: Any,
        room: Room = np.empty,
    ) -> NDArray[np.float64]:
        """Factors per example on its selection probability, or for all."""
        ...

    def check_whole(self, answers: Any, classes: Outputs, weight: NDArray[np.float64]) -> None:
        """Raise or warn where these are all the data there are, and will not do."""
        ...

    def check_held(self, answers: Any, fitted: Fitted) -> None:
        """Raise ValueError for an ``eval_set`` of another kind."""
        ...

    def while_scored(self, fitted: Fitted, machine: Machine, held: HeldOut) -> Fitted:
        """What a scorer is to see of a training that is under way."""
        ...

    def finished(self, fitted: Fitted, held: HeldOut | None, sample: Sample | None) -> Fitted:
        """The model with all that is learned after the last epoch."""
        ...


class Classification:
    """y holds labels: one for each example, several, or one of each of several columns."""

    preset: str | None = None

    def read(self, y: Any) -> Labels:
        return read_labels(y)

    def stored(self, folder: Any) -> StoredLabels:
        return StoredLabels(folder)

    def first_classes(self, answers: Labels, classes: Any) -> Outputs:
        if isinstance(classes, LabelColumns):
            return classes
        if classes is not None and (answers.several or _is_of_columns(classes)):
            return _named_columns(answers.as_columns(), classes)
        if classes is not None and not answers.multilabel:
            known: Outputs = distinct_classes(np.asarray(classes))
        else:
            known = answers.classes()
        for names in known.classes if isinstance(known, LabelColumns) else [known]:
            check_class_names(names)
        return known

    def same_classes(self, answers: Labels, before: Fitted) -> Outputs:
        columns = before.columns
        if columns is not None:
            if answers.as_columns().several:
                _check_column_names(answers.names, columns)
                return columns
        elif not answers.several and answers.multilabel == before.multilabel:
            _check_names(answers.names, before)
            return before.classes
        raise ValueError(
            "y is of another kind (labels, columns of labels, or indicator matrix) than before"
        )

    def scaling(self, answers: Labels, margin: int) -> None:
        return None

    def judge(self, answers: Labels, classes: Outputs) -> Judge:
        columns = classes if isinstance(classes, LabelColumns) else None
        return outputs_for(answers.multilabel, columns)

    def targets(self, answers: Labels, fitted: Fitted, room: Room = np.empty) -> Targets:
        return make_targets(answers, fitted.classes, fitted.columns, room)

    def weights(
        self,
        answers: Labels,
        classes: Outputs,
        sample_weight: ArrayLike | None,
        estimator: Any,
        room: Room = np.empty,
    ) -> NDArray[np.float64]:
        return example_weights(answers, classes, sample_weight, estimator.class_weight, room)

    def check_whole(self, answers: Labels, classes: Outputs, weight: NDArray[np.float64]) -> None:
        require_some_weight(weight)
        warn_about_quantities(answers, classes)

    def check_held(self, answers: Labels, fitted: Fitted) -> None:
        if fitted.columns is not None:
            self.same_classes(answers, fitted)
            places(answers.as_columns().values, fitted.columns)
            return
        if answers.several or answers.multilabel != fitted.multilabel:
            raise ValueError(
                "its y is of another kind (labels, columns of labels, or indicator matrix) than "
                "fit's"
            )
        if fitted.multilabel:
            return
        known = set(fitted.classes.tolist())
        unknown = [label for label in answers.distinct().tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"its y holds the label {unknown[0]!r}, which is not among the classes "
                f"{fitted.classes.tolist()!r:.200} of training; leave these rows out"
            )

    def while_scored(self, fitted: Fitted, machine: Machine, held: HeldOut) -> Fitted:
        """With probabilities that the held-out examples tell, and no second machine."""
        sharpness = JudgedSharpness(machine, held.examples, held.targets, fitted.outputs)
        return replace(fitted, machine=machine, sharpness=sharpness)

    def finished(self, fitted: Fitted, held: HeldOut | None, sample: Sample | None) -> Fitted:
        """With a sharpness, of held-out examples, or of a sample when it is needed."""
        machine, outputs = fitted.machine, fitted.outputs
        if held is not None:
            sharpness = judged(machine, held.examples, held.targets, outputs)
        else:
            assert sample is not None
            sharpness = Sharpness.to_learn(machine, sample, outputs, fitted.progress.epochs)
        return replace(fitted, sharpness=sharpness)


class Regression:
    """y holds quantities, one or several for each example."""

    preset: str | None = QUANTITIES

    def read(self, y: Any) -> Quantities:
        return read_quantities(y)

    def stored(self, folder: Any) -> StoredQuantities:
        return StoredQuantities(folder)

    def first_classes(self, answers: Quantities, classes: ArrayLike | None) -> NDArray[Any]:
        known = np.array(answers.names or range(answers.values.shape[1]))
        check_class_names(known)
        return known

    def same_classes(self, answers: Quantities, before: Fitted) -> NDArray[Any]:
        assert before.scaling is not None
        count = answers.values.shape[1]
        if count != len(before.classes) or answers.one != before.scaling.one:
            raise ValueError(
                f"y has {count} columns of quantities, but training began with "
                f"{len(before.classes)}, {'as (N,)' if before.scaling.one else 'as (N, m)'}; pass "
                "as many in the same form"
            )
        _check_names(answers.names, before)
        return before.classes

    def scaling(self, answers: Quantities, margin: int) -> Scaling:
        return Scaling.of(answers, margin)

    def judge(self, answers: Quantities, classes: Outputs) -> Judge:
        return QuantityJudge(Scaling.of(answers, 1))

    def targets(
        self, answers: Quantities, fitted: Fitted, room: Room = np.empty
    ) -> NDArray[np.int32]:
        assert fitted.scaling is not None
        return fitted.scaling.aims(answers.values, room)

    def weights(
        self,
        answers: Quantities,
        classes: Outputs,
        sample_weight: ArrayLike | None,
        estimator: Any,
        room: Room = np.empty,
    ) -> NDArray[np.float64]:
        return quantity_weights(answers, sample_weight)

    def check_whole(
        self, answers: Quantities, classes: Outputs, weight: NDArray[np.float64]
    ) -> None:
        require_some_weight(weight)

    def check_held(self, answers: Quantities, fitted: Fitted) -> None:
        self.same_classes(answers, fitted)

    def while_scored(self, fitted: Fitted, machine: Machine, held: HeldOut) -> Fitted:
        return replace(fitted, machine=machine)

    def finished(self, fitted: Fitted, held: HeldOut | None, sample: Sample | None) -> Fitted:
        """With the errors on held-out examples, which say how wide intervals must be."""
        if held is None:
            return replace(fitted, errors=None)
        assert fitted.scaling is not None
        predicted = fitted.scaling.quantities(*fitted.machine.votes_of_states(held.examples))
        return replace(fitted, errors=sorted_errors(predicted, held.answers.values))


def sorted_errors(
    predicted: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far predictions were off, (N, m), each column in ascending order; read-only."""
    errors = np.sort(np.abs(predicted - values), axis=0)
    errors.flags.writeable = False
    return errors


def _is_of_columns(classes: Any) -> bool:
    """Whether these are the labels of several columns, one list for each."""
    return (
        isinstance(classes, list | tuple)
        and len(classes) > 1
        and all(np.ndim(part) == 1 and not isinstance(part, str) for part in classes)
    )


def _named_columns(answers: Labels, classes: Any) -> LabelColumns:
    """Columns whose labels are named before they are seen."""
    count = answers.values.shape[1] if answers.several else 1
    if not _is_of_columns(classes) or len(classes) != count:
        raise ValueError(
            f"classes={classes!r:.200} must be a list with the labels of each of the columns of "
            f"y, of which there are {count}"
        )
    known = [
        classes_of(part.tolist() if hasattr(part, "tolist") else [*part], f"classes[{number}]")
        for number, part in enumerate(classes)
    ]
    return LabelColumns.of(answers.names, known)


def _check_column_names(names: list[str] | None, columns: LabelColumns) -> None:
    if names is not None and columns.named and names != [*columns.names]:
        raise ValueError(f"y has the columns {names}, but training began with {[*columns.names]}")


def _check_names(names: list[str] | None, before: Fitted) -> None:
    known = before.classes.tolist()
    if names is not None and names != known:
        raise ValueError(f"y has the columns {names}, but training began with {known}")
