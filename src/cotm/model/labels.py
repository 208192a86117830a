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
from ..core.system import available_memory, format_bytes
from .outputs import Judge

#: More classes than these, with fewer rows of each than those, are rather a quantity.
_MANY_CLASSES = 30
_ROWS_OF_A_CLASS = 100
#: Bytes of targets from which on it is worth asking the system how many there are.
_LARGE = 10_000_000


class Labels(NamedTuple):
    """Checked labels: (N,) of any type, or (N, m) of 0 and 1 with names for the columns."""

    values: NDArray[Any]
    multilabel: bool
    names: list[str] | None = None

    def classes(self) -> NDArray[Any]:
        """The distinct labels, sorted; of an indicator matrix its columns' names or numbers."""
        if self.multilabel:
            return np.arange(self.values.shape[1]) if self.names is None else np.array(self.names)
        return distinct_classes(self.values)


def read_labels(y: Any) -> Labels:
    """Check y, whatever form it comes in."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    names = list(getattr(y, "columns", ()))
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
        has_names = bool(names) and all(isinstance(name, str) for name in names)
        return Labels(y.astype(np.uint8), True, names if has_names else None)
    if kind == "multiclass-multioutput":
        raise ValueError(
            "y has several columns that are not 0 and 1; pass one label per row, or an indicator "
            "matrix with a column of 0 and 1 per label"
        )
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


def warn_about_quantities(labels: Labels, classes: NDArray[Any]) -> None:
    """Numbers with many values are mostly quantities, and each value becomes a class."""
    few = len(labels.values) < _ROWS_OF_A_CLASS * len(classes)
    if labels.values.dtype.kind in "iuf" and len(classes) > _MANY_CLASSES and few:
        warnings.warn(
            f"y is a number with {len(classes)} different values in {len(labels.values)} rows, "
            "and each becomes a class of its own; if it is a quantity, turn it into a few ranges "
            "first, for example with pandas.cut, or use a regressor",
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


def make_targets(labels: Labels, classes: NDArray[Any]) -> NDArray[np.uint8]:
    """Targets (N, m): one-hot, or the indicator matrix itself."""
    y = labels.values
    needed = len(y) * len(classes)
    available = available_memory() if needed > _LARGE else None
    if available is not None and needed > available:
        raise MemoryError(
            f"y has {len(classes)} classes, so the targets of {len(y)} examples need "
            f"{format_bytes(needed)}, but {format_bytes(available)} are available; "
            "is it really a column of labels?"
        )
    if labels.multilabel:
        if y.shape[1] != len(classes):
            raise ValueError(f"y has {y.shape[1]} columns, but the classifier has {len(classes)}")
        return np.ascontiguousarray(y, dtype=np.uint8)
    position = np.searchsorted(classes, y)
    position = np.minimum(position, len(classes) - 1)
    unseen = classes[position] != y
    if unseen.any():
        raise ValueError(
            f"y holds the label {y[unseen].tolist()[0]!r}, which is not among the classes "
            f"{classes.tolist()}; pass every label as classes= in the first call of partial_fit"
        )
    targets = np.zeros((len(y), len(classes)), dtype=np.uint8)
    targets[np.arange(len(y)), position] = 1
    return targets


#: Feedback is lowered at most this many times so that a rare class can count more.
_MOST_LOWERED = 10.0


def example_weights(
    labels: Labels, classes: NDArray[Any], sample_weight: ArrayLike | None, class_weight: Any
) -> NDArray[np.float64]:
    """Factors per example on its selection probability, or for all; see ``selection_scale``."""
    y = labels.values
    if sample_weight is None and class_weight is None:
        return np.ones(1)
    weight = np.asarray(
        _check_sample_weight(to_host(sample_weight), y, dtype=np.float64, ensure_non_negative=True)
    )
    if class_weight is None:
        return weight
    largest = 1.0
    if labels.multilabel:
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r}, but with several labels at once it must be "
                "'balanced' or None; pass sample_weight for anything else"
            )
        factor = compute_sample_weight(class_weight, y)
    else:
        by_class = _class_factors(class_weight, y, classes)
        factor = by_class[np.searchsorted(classes, y)]
        counted = by_class if isinstance(class_weight, dict) else factor
        largest = max(largest, float(counted.max()))
    # Classes above 1 lower the others instead, so that it is their proportions that count, but
    # not so far that nothing is learned. Factors of several labels multiply, which says little
    # about any one of them. An example's own weight above 1 comes on top.
    lowered = np.minimum(weight, 1.0) * factor / min(largest, _MOST_LOWERED)
    return np.column_stack([lowered, np.maximum(weight, 1.0)])


def _class_factors(
    class_weight: Any, y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.float64]:
    """A factor for each class. (scikit-learn's function takes the text "0" for the number 0.)"""
    if not isinstance(class_weight, dict):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} must be a dictionary, 'balanced' or None"
            )
        counts = np.bincount(np.searchsorted(classes, y), minlength=len(classes))
        present = int((counts > 0).sum())
        return np.asarray(len(y) / (present * np.maximum(counts, 1)))
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
    seed: int, targets: NDArray[Any], fraction: float, judge: Judge
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on and rows to hold out."""
    order = split_order(seed, len(targets))
    held = judge.rows_to_hold_out(order, targets, fraction)
    if len(held) == 0 or len(held) == len(order):
        raise ValueError(
            f"validation_fraction={fraction} of {len(order)} examples holds out {len(held)}; "
            "early stopping needs some to train on and some to hold out"
        )
    train = np.setdiff1d(np.arange(len(order)), held)
    return train, np.sort(held)
