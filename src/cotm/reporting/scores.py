"""How good predictions are: what ``cotm evaluate`` prints and reports show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Of the curve that says how often probabilities are right.
_BINS = 10


def require_one_column(model: Any) -> None:
    """Raise ValueError for a model that predicts a label for each of several columns."""
    columns = model._now().columns
    if columns is not None:
        raise ValueError(
            f"the model predicts a label for each of {len(columns.names)} columns "
            f"({', '.join(columns.names)}), and this shows a single one; train a model for one "
            "column alone, or compare predict(X) with y column by column"
        )


def class_scores(classes: NDArray[Any], y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Of one label a row. Labels that the model does not know count as wrong."""
    from sklearn.metrics import confusion_matrix

    if y.ndim > 1 or _are_texts(y) != _are_texts(classes):
        raise ValueError(
            f"the labels are like {y[0].tolist()!r}, but the model's classes are like "
            f"{classes.tolist()[0]!r}"
        )
    labels = np.unique(np.concatenate([classes, y]))
    return {
        "rows": len(y),
        "accuracy": float((y == predicted).mean()),
        "classes": _scores("class", labels.tolist(), y, predicted, labels),
        "confusion_matrix": {
            "labels": labels.tolist(),
            "true_by_predicted": confusion_matrix(y, predicted, labels=labels).tolist(),
        },
    }


def _are_texts(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "U" or isinstance(labels.tolist()[0], str)


def label_scores(classes: NDArray[Any], y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Of several labels a row."""
    from sklearn.metrics import multilabel_confusion_matrix

    if y.shape != predicted.shape:
        raise ValueError(
            f"the labels have shape {y.shape}, but the model predicts {predicted.shape[1]} per row"
        )
    labels = _scores("label", classes.tolist(), y, predicted, None)
    for label, counts in zip(labels, multilabel_confusion_matrix(y, predicted), strict=True):
        names = ("true_negatives", "false_positives", "false_negatives", "true_positives")
        label.update(zip(names, counts.ravel().tolist(), strict=True))
    return {
        "rows": len(y),
        "accuracy": float((y == predicted).mean()),
        "all_labels_right": float((y == predicted).all(axis=1).mean()),
        "labels": labels,
    }


def _scores(
    kind: str, names: list[Any], y: NDArray[Any], predicted: NDArray[Any], labels: Any
) -> list[dict[str, Any]]:
    from sklearn.metrics import precision_recall_fscore_support

    columns = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0)
    keys = (kind, "precision", "recall", "f1", "support")
    rows = zip(names, *(column.tolist() for column in columns), strict=True)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def calibration(
    classes: NDArray[Any],
    y: NDArray[Any],
    predicted: NDArray[Any],
    proba: NDArray[np.float64],
) -> dict[str, Any]:
    """How often probabilities are right, in bins of equal width.

    Of one label a row it is the probability of the predicted class; of several, the probability
    of each label. ``error`` is the expected calibration error: the mean distance between
    probability and share, by how many there are in each bin.
    """
    if y.ndim > 1:
        said, right = proba.ravel(), y.ravel() == 1
        chance = np.where(y == 1, proba, 1 - proba)
    else:
        said, right = proba.max(axis=1), predicted == y
        chance = np.where(classes == y[:, None], proba, 0).sum(axis=1)
    places = np.searchsorted(np.linspace(0, 1, _BINS + 1)[1:-1], said)  # as scikit-learn has it
    counts = np.bincount(places, minlength=_BINS)
    means = np.bincount(places, said, _BINS) / np.maximum(counts, 1)
    shares = np.bincount(places, right, _BINS) / np.maximum(counts, 1)
    tiny = np.finfo(np.float64).eps  # as scikit-learn's log_loss has it
    return {
        "bins": [
            {"low": k / _BINS, "mean": float(means[k]), "right": float(shares[k]), "count": int(n)}
            for k, n in enumerate(counts)
            if n
        ],
        "error": float((counts * np.abs(means - shares)).sum() / counts.sum()),
        "log_loss": float(-np.log(np.clip(chance, tiny, 1)).mean()),
    }
