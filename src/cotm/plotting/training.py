"""How training went, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .drawing import AGAINST, FOR, NEUTRAL, Display

_NAMES = {
    "train_accuracy": ("training", FOR),
    "validation_accuracy": ("validation", AGAINST),
    "validation_score": ("validation score", NEUTRAL),
}


class LearningCurveDisplay(Display):
    """Accuracies of every epoch; of a regressor what its epochs explained.

    Parameters
    ----------
    history : list of dict
        A model's ``history_``.
    """

    def __init__(self, history: Sequence[Any]) -> None:
        self.history = list(history)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> LearningCurveDisplay:
        """Of a fitted model."""
        return cls(estimator.history_).plot(ax)

    def plot(self, ax: Any = None) -> LearningCurveDisplay:
        """Draw it, on axes of your own if you like."""
        ax = self._start(ax, (6, 3.6))
        same = all(
            record.get("validation_score") == record.get("validation_accuracy")
            for record in self.history
        )
        for key, (name, colour) in _NAMES.items():
            points = [(record["epoch"], record[key]) for record in self.history if key in record]
            if points and not (key == "validation_score" and same):
                marker = "." if len(points) < 50 else ""
                ax.plot(*zip(*points, strict=True), label=name, color=colour, marker=marker)
        ax.set_xlabel("epoch")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(alpha=0.3)
        if ax.lines:
            ax.legend(frameon=False)
        return self
