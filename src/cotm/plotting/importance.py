"""How much each column counts, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..reporting.importance import names_of
from .drawing import Display, bars, output_of


class ImportanceDisplay(Display):
    """The shares of all votes that go through each column.

    Parameters
    ----------
    importances : float64 (features,)
    names : sequence of str
        Of the features.
    title : str, default="importance"
        What is shown.
    top : int, default=15
        How many are drawn, the largest first.
    """

    def __init__(
        self,
        importances: NDArray[np.float64],
        names: Sequence[str],
        *,
        title: str = "importance",
        top: int = 15,
    ) -> None:
        self.importances = importances
        self.names = list(names)
        self.title = title
        self.top = top

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: Any = None, top: int = 15, ax: Any = None
    ) -> ImportanceDisplay:
        """Of a fitted model; with ``label`` of the votes for and against that class."""
        if label is None:
            values, title = estimator.feature_importances_, "importance"
        else:
            output = output_of(estimator.output_names_, label)
            values, title = estimator.class_importances_[:, output], f"importance for {label}"
        return cls(values, names_of(estimator, len(values)), title=title, top=top).plot(ax)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
        """Draw it, on axes of your own if you like."""
        order = np.argsort(-self.importances, kind="stable")[: self.top]
        ax = self._start(ax, (7, 0.8 + 0.3 * len(order)))
        shown = self.importances[order].tolist()
        bars(ax, [str(self.names[k]) for k in order], shown, self.title)
        return self
