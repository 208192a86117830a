"""From what users pass as y to targets of 0 and 1, one column per output, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight

from .gpu_arrays import to_host
from .parameters import available_memory, check_number, format_bytes
from .randomness import split_order


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
    available = available_memory()
    if available is not None and len(y) * len(classes) > available:
        raise MemoryError(
            f"y has {len(classes)} classes, so the targets of {len(y)} examples need "
            f"{format_bytes(len(y) * len(classes))}, but {format_bytes(available)} are available; "
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
    """One factor per example on its selection probability, or one for all."""
    y = labels.values
    if sample_weight is None and class_weight is None:
        return np.ones(1)
    weight = np.asarray(
        _check_sample_weight(to_host(sample_weight), y, dtype=np.float64, ensure_non_negative=True)
    )
    if class_weight is None:
        return weight
    largest = 1.0
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            check_number(f"class_weight[{label!r}]", value, 0.0)
        largest = max([largest, *(class_weight.get(label, 1.0) for label in classes.tolist())])
    factors = compute_sample_weight(class_weight, y)
    if isinstance(class_weight, str) and not labels.multilabel:
        largest = factors.max(initial=largest)
    # A probability cannot be raised above 1, so the other classes' are lowered instead, but not
    # so far that nothing is learned. Factors of several labels multiply, which says little about
    # any one of them.
    return np.asarray(weight * factors / min(largest, _MOST_LOWERED))


def split_validation(
    seed: int, targets: NDArray[np.uint8], fraction: float, multilabel: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to train on and rows to hold out; every class keeps its share of both."""
    order = split_order(seed, len(targets))
    if multilabel:
        held = order[: max(1, round(fraction * len(order)))]
    else:
        labels = targets[order].argmax(axis=1)
        held = np.concatenate(
            [
                members[: round(fraction * len(members))]
                for members in (order[labels == label] for label in range(targets.shape[1]))
            ]
        )
    if len(held) == 0 or len(held) == len(order):
        raise ValueError(
            f"validation_fraction={fraction} of {len(order)} examples holds out {len(held)}; "
            "early stopping needs some to train on and some to hold out"
        )
    train = np.setdiff1d(np.arange(len(order)), held)
    return train, np.sort(held)
