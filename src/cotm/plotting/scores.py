"""How good predictions are: confusion and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..reporting.scores import calibration, class_scores, require_one_column
from .drawing import FOR, NEUTRAL, Display


class ConfusionDisplay(Display):
    """How often each class is taken for which.

    Parameters
    ----------
    matrix : int (classes, classes)
        Rows are true labels, columns predicted ones.
    labels : list
        Of the classes.
    """

    def __init__(self, matrix: NDArray[np.int64], labels: list[Any]) -> None:
        self.matrix = np.asarray(matrix)
        self.labels = list(labels)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> ConfusionDisplay:
        """Of a fitted classifier of one label a row, on examples."""
        require_one_column(estimator)
        scores = class_scores(estimator.classes_, np.asarray(y), estimator.predict(X))
        found = scores["confusion_matrix"]
        return cls(np.array(found["true_by_predicted"]), found["labels"]).plot(ax)

    def plot(self, ax: Any = None) -> ConfusionDisplay:
        """Draw it, on axes of your own if you like."""
        count = len(self.labels)
        ax = self._start(ax, (1.6 + 0.5 * count, 1.4 + 0.5 * count))
        totals = np.maximum(1, self.matrix.sum(axis=1, keepdims=True))
        shares = self.matrix / totals
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in np.ndindex(*self.matrix.shape):
            if self.matrix[row, column] and count <= 30:
                colour = "white" if shares[row, column] > 0.6 else "black"
                text = f"{self.matrix[row, column]:,}"
                ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        names = [str(label) for label in self.labels]
        turned = max(map(len, names)) > 3
        ax.set_xticks(range(count), names, rotation=90 if turned else 0)
        ax.set_yticks(range(count), names)
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")
        return self


class CalibrationDisplay(Display):
    """How often predictions are right beside how often probabilities say so.

    Parameters
    ----------
    bins : list of dict
        With ``mean`` probability, share ``right`` and ``count``.
    error : float
        The expected calibration error.
    """

    def __init__(self, bins: list[dict[str, Any]], error: float) -> None:
        self.bins = list(bins)
        self.error = error

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None
    ) -> CalibrationDisplay:
        """Of a fitted classifier, on examples that it was not trained on."""
        require_one_column(estimator)
        found = calibration(
            estimator.classes_, np.asarray(y), estimator.predict(X), estimator.predict_proba(X)
        )
        return cls(found["bins"], found["error"]).plot(ax)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw it, on axes of your own if you like."""
        ax = self._start(ax, (4.4, 4.2))
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle="--")
        largest = max((bin_["count"] for bin_ in self.bins), default=1)
        ax.scatter(
            [bin_["mean"] for bin_ in self.bins],
            [bin_["right"] for bin_ in self.bins],
            s=[20 + 180 * bin_["count"] / largest for bin_ in self.bins],
            color=FOR,
            alpha=0.8,
        )
        ax.set_xlabel("mean probability")
        ax.set_ylabel("share that is right")
        ax.set_title(f"calibration error {self.error:.1%}", fontsize=10)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_aspect("equal")
        return self
