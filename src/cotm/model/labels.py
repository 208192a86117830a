"""From what users pass as y to targets of 0 and 1, one column per output."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight

from ..core.checks import check_number
from ..core.gpu_arrays import to_host
from ..core.randomness import split_order
from ..core.room import Room, filled, pieces
from ..core.sparse_targets import SparseTargets, Targets
from ..core.system import available_memory, format_bytes
from .label_cells import column_classes, label_cells, places
from .label_columns import LabelColumns
from .outputs import Judge

#: More classes than these, with fewer rows of each than those, are rather a quantity.
_MANY_CLASSES = 30
_ROWS_OF_A_CLASS = 100
#: Bytes of targets from which on it is worth asking the system how many there are.
_LARGE = 10_000_000


class Labels(NamedTuple):
    """Checked labels: (N,) of any type, (N, m) of 0 and 1 with names for the columns, or several
    columns of labels (N, columns), None where one is missing."""

    values: NDArray[Any]
    multilabel: bool
    names: list[str] | None = None
    several: bool = False  # columns of labels
    known: NDArray[Any] | None = None  # labels (N,) of a stream: the values are places in it

    def of(self, rows: slice) -> NDArray[Any]:
        """The labels of some rows."""
        return self.values[rows] if self.known is None else self.known[self.values[rows]]

    def distinct(self) -> NDArray[Any]:
        """The different labels (N,), sorted."""
        return np.unique(self.values if self.known is None else self.known)

    def classes(self) -> NDArray[Any] | LabelColumns:
        """The distinct labels, sorted; of an indicator matrix its columns' names or numbers."""
        if self.several:
            return column_classes(self.values, self.names)
        if self.multilabel:
            return np.arange(self.values.shape[1]) if self.names is None else np.array(self.names)
        return distinct_classes(self.distinct())

    def as_columns(self) -> Labels:
        """The same as columns of labels, where that is what a model has learned: 0 and 1 may be
        all that there is of them."""
        if not self.multilabel:
            return self
        return self._replace(values=self.values.astype(object), multilabel=False, several=True)


def read_labels(y: Any) -> Labels:
    """Check y, whatever form it comes in."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    names = list(getattr(y, "columns", ()))
    has_names = bool(names) and all(isinstance(name, str) for name in names)
    cells = label_cells(y)
    if cells is not None and len(cells):
        return Labels(cells, False, names if has_names else None, several=True)
    if scipy.sparse.issparse(y):
        y = y.toarray()
    y = np.asarray(to_host(y))
    if y.size == 0:
        raise ValueError("y holds no labels")
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
        y = _without_excess_precision(y)
    elif y.dtype.kind in "OMm":
        _require_known(y)
    try:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
    except TypeError as error:
        kinds = sorted({type(value).__name__ for value in y.ravel().tolist()})
        raise ValueError(
            f"y holds labels of the types {', '.join(kinds)} that cannot be told apart ({error}); "
            "convert them all to text or all to numbers"
        ) from error
    if kind == "multilabel-indicator":
        return Labels(y.astype(np.uint8), True, names if has_names else None)
    return Labels(column_or_1d(y, warn=True), False)


def _without_excess_precision(y: NDArray[Any]) -> NDArray[Any]:
    """Long doubles as doubles: a model file has no others."""
    if y.dtype.itemsize <= 8:
        return y
    doubles = y.astype(np.float64)
    lost = doubles != y
    if lost.any():
        raise ValueError(
            f"y holds the label {y[lost][0]!r}, which needs more precision than a float64 has; "
            "convert the labels to text or to integers"
        )
    return doubles


def _require_known(y: NDArray[Any]) -> None:
    """No label may be missing: None, NaN, NaT, pandas.NA."""
    if y.dtype.kind == "O":
        missing = [row for row, cell in enumerate(y.ravel().tolist()) if _is_missing(cell)]
    else:
        missing = np.flatnonzero(np.isnat(y)).tolist()
    if missing:
        raise ValueError(
            f"y has no label in {len(missing)} of {len(y)} rows (row {missing[0]}, counted from "
            f"0, holds {y.ravel()[missing[0]]}); fill them in or leave these rows out"
        )


def _is_missing(cell: Any) -> bool:
    return (
        cell is None
        or (isinstance(cell, float) and cell != cell)
        or type(cell).__name__ in ("NAType", "NaTType")
    )


def warn_about_quantities(labels: Labels, classes: NDArray[Any] | LabelColumns) -> None:
    """Numbers with many values are mostly quantities, and each value becomes a class."""
    if labels.multilabel:
        return
    columns = classes.classes if isinstance(classes, LabelColumns) else (classes,)
    for number, known in enumerate(columns):
        few = len(labels.values) < _ROWS_OF_A_CLASS * len(known)
        if known.dtype.kind not in "iuf" or len(known) <= _MANY_CLASSES or not few:
            continue
        called = "y"
        if isinstance(classes, LabelColumns):
            called = f"column {classes.names[number]!r} of y"
        warnings.warn(
            f"{called} is a number with {len(known)} different values in {len(labels.values)} "
            "rows, and each becomes a class of its own; if it is a quantity, turn it into a few "
            "ranges first, for example with pandas.cut, or use a regressor",
            UserWarning,
            stacklevel=4,
        )


def distinct_classes(y: NDArray[Any]) -> NDArray[Any]:
    """The classes among labels, sorted."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y has 1 class only ({classes.tolist()[0]!r}); a classifier needs two or more"
        )
    return classes


def make_targets(
    labels: Labels,
    classes: NDArray[Any],
    columns: LabelColumns | None = None,
    room: Room = np.empty,
) -> Targets:
    """Targets (N, m): one-hot, or the indicator matrix itself; with ``columns`` of every column.
    The outputs of a column are not asked where its label is missing."""
    y = labels.values
    needed = len(y) * len(classes)
    available = available_memory() if needed > _LARGE and room is np.empty else None
    if available is not None and needed > available:
        raise MemoryError(
            f"y has {len(classes)} classes, so the targets of {len(y)} examples need "
            f"{format_bytes(needed)}, but {format_bytes(available)} are available; "
            "is it really a column of labels?"
        )
    if columns is not None:
        return _column_targets(labels, columns)
    if labels.several:
        raise ValueError(
            f"y has {y.shape[1]} columns of labels, but training began with "
            "other labels; pass y in the same form"
        )
    if labels.multilabel:
        if y.shape[1] != len(classes):
            raise ValueError(f"y has {y.shape[1]} columns, but the classifier has {len(classes)}")
        return np.ascontiguousarray(y, dtype=np.uint8)

    def one_hot(rows: slice) -> NDArray[np.uint8]:
        some = labels.of(rows)
        position = _places(some, classes)
        unseen = classes[position] != some
        if unseen.any():
            raise ValueError(
                f"y holds the label {some[unseen].tolist()[0]!r}, which is not among the classes "
                f"{classes.tolist()}; pass every label as classes= in the first call of partial_fit"
            )
        found = np.zeros((len(some), len(classes)), dtype=np.uint8)
        found[np.arange(len(some)), position] = 1
        return found

    targets: NDArray[np.uint8] = filled((len(y), len(classes)), np.uint8, one_hot, room)
    return targets


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Which class each label is; of a label that is none of them, some class."""
    return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)


def _column_targets(labels: Labels, columns: LabelColumns) -> Targets:
    labels = labels.as_columns()
    if not labels.several:
        raise ValueError(
            f"y has one label per row, but the model has the columns {', '.join(columns.names)}; "
            "pass one column for each"
        )
    found = places(labels.values, columns)
    firsts = np.array([part.start for part in columns.parts])
    targets = np.zeros((len(found), len(columns)), dtype=np.uint8)
    rows, numbers = np.nonzero(found >= 0)
    targets[rows, (firsts + found)[rows, numbers]] = 1
    if len(rows) == found.size:
        return targets
    sizes = [len(classes) for classes in columns.classes]
    return SparseTargets.where(np.repeat(found >= 0, sizes, axis=1), targets)


#: Feedback is lowered at most this many times so that a rare class can count more.
_MOST_LOWERED = 10.0


def example_weights(
    labels: Labels,
    classes: NDArray[Any] | LabelColumns,
    sample_weight: ArrayLike | None,
    class_weight: Any,
    room: Room = np.empty,
) -> NDArray[np.float64]:
    """Factors per example on its selection probability, or for all; see ``selection_scale``."""
    y = labels.values
    if sample_weight is None and class_weight is None:
        return np.ones(1)
    weight = (
        np.broadcast_to(1.0, len(y))
        if sample_weight is None
        else np.asarray(
            _check_sample_weight(
                to_host(sample_weight), y, dtype=np.float64, ensure_non_negative=True
            )
        )
    )
    if class_weight is None:
        return weight
    largest = 1.0
    if labels.multilabel or labels.several:
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r}, but with several labels at once it must be "
                "'balanced' or None; pass sample_weight for anything else"
            )
        if isinstance(classes, LabelColumns):
            found = places(labels.as_columns().values, classes)
            if (found < 0).any():
                raise ValueError(
                    "class_weight='balanced' needs every label of every column, and y has missing "
                    "ones; pass sample_weight"
                )
            y = found
        factor = compute_sample_weight(class_weight, y)
    else:
        assert not isinstance(classes, LabelColumns)
        by_class = _class_factors(class_weight, labels, classes)
        factor = filled(
            (len(y),),
            np.float64,
            lambda rows: by_class[_places(labels.of(rows), classes)],
            room,
        )
        counted = by_class if isinstance(class_weight, dict) else factor
        largest = max(largest, float(counted.max()))

    # Classes above 1 lower the others instead, so that it is their proportions that count, but
    # not so far that nothing is learned. Factors of several labels multiply, which says little
    # about any one of them. An example's own weight above 1 comes on top.
    def both(rows: slice) -> NDArray[np.float64]:
        lowered = np.minimum(weight[rows], 1.0) * factor[rows] / min(largest, _MOST_LOWERED)
        return np.column_stack([lowered, np.maximum(weight[rows], 1.0)])

    weights: NDArray[np.float64] = filled((len(y), 2), np.float64, both, room)
    return weights


def _class_factors(class_weight: Any, labels: Labels, classes: NDArray[Any]) -> NDArray[np.float64]:
    """A factor for each class. (scikit-learn's function takes the text "0" for the number 0.)"""
    if not isinstance(class_weight, dict):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} must be a dictionary, 'balanced' or None"
            )
        counts = np.zeros(len(classes), dtype=np.int64)
        for rows in pieces(len(labels.values)):
            counts += np.bincount(_places(labels.of(rows), classes), minlength=len(classes))
        present = int((counts > 0).sum())
        return np.asarray(len(labels.values) / (present * np.maximum(counts, 1)))
    known = classes.tolist()
    for label, value in class_weight.items():
        check_number(f"class_weight[{label!r}]", value, 0.0)
        if label not in known and any(other not in class_weight for other in known):
            raise ValueError(
                f"class_weight names the class {label!r}, but the classes are {known}; its keys "
                "must be labels as they are in y"
            )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not factors.any():
        raise ValueError(
            f"class_weight={class_weight!r} is 0 for every class, so there is nothing to learn; "
            "give at least one class a weight above 0"
        )
    return factors


def require_some_weight(weight: NDArray[np.float64]) -> None:
    """Refuse to learn from examples that all count nothing."""
    if not weight.any(axis=0).reshape(-1)[0]:
        raise ValueError(
            "sample_weight and class_weight together are 0 for every example, so there is nothing "
            "to learn from"
        )


def split_validation(
    seed: int, targets: Any, fraction: float, judge: Judge, room: Room = np.empty
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on and rows to hold out."""
    order = split_order(seed, len(targets), room)
    held = judge.rows_to_hold_out(order, targets, fraction)
    if len(held) == 0 or len(held) == len(order):
        raise ValueError(
            f"validation_fraction={fraction} of {len(order)} examples holds out {len(held)}; "
            "early stopping needs some to train on and some to hold out"
        )
    held = np.sort(held)
    trained_on = room(len(order) - len(held), np.int64)
    for rows in pieces(len(order)):
        first, last = np.searchsorted(held, [rows.start, rows.stop])
        others = np.ones(rows.stop - rows.start, dtype=bool)
        others[held[first:last] - rows.start] = False
        trained_on[rows.start - first : rows.stop - last] = rows.start + np.flatnonzero(others)
    return trained_on, held
