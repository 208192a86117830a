"""Why a model predicts what it predicts: a waterfall for tables, a heat map for images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..explaining.explanation import Explanation
from ..explaining.wording import cell_text
from .drawing import AGAINST, FOR, NEUTRAL, Display, diverging, shortened


class ExplanationDisplay(Display):
    """How the contributions of columns lead from what is usual to the votes for one example.

    Parameters
    ----------
    explanation : Explanation
    i : int, default=0
        The example.
    label : optional
        For which label; by default for what is predicted.
    top : int, default=10
        How many columns; the others are one step together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier
    >>> from cotm.plotting import ExplanationDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CoTMClassifier(50, random_state=0).fit(X, y)
    >>> display = ExplanationDisplay.from_estimator(model, X, i=3)
    >>> bool(display.steps[-1].end == model.votes(X)[3, 0])
    True
    """

    class Step:
        """A bar of the waterfall."""

        def __init__(self, name: str, start: float, end: float) -> None:
            self.name, self.start, self.end = name, start, end

    def __init__(
        self, explanation: Explanation, i: int = 0, label: Any = None, top: int = 10
    ) -> None:
        self.explanation = explanation
        self.i = i
        self.label = label
        self.top = top
        self.steps = self._steps()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        background: Any = None,
        *,
        i: int = 0,
        label: Any = None,
        top: int = 10,
        ax: Any = None,
    ) -> ExplanationDisplay:
        """Of a fitted model's prediction for example ``i`` of X."""
        explanation = estimator.explain(X, background, rules=False)
        return cls(explanation, i, label, top).plot(ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        i: int = 0,
        label: Any = None,
        top: int = 10,
        ax: Any = None,
    ) -> ExplanationDisplay:
        """Of one example of an explanation."""
        return cls(explanation, i, label, top).plot(ax)

    def _steps(self) -> list[Step]:
        said = self.explanation
        output = said.output_of(self.i, self.label)
        reasons = said.reasons(self.i, self.label, None)
        shown, rest = reasons[: self.top], reasons[self.top :]
        at = float(said.base[output]) / said.unit
        steps = []
        for reason in shown:
            known = said.has_values and not said.are_bits
            name = f"{reason.feature} = {cell_text(reason.value)}" if known else reason.feature
            steps.append(self.Step(name, at, at + reason.contribution))
            at = steps[-1].end
        if rest:
            more = sum(reason.contribution for reason in rest)
            steps.append(self.Step(f"{len(rest)} others", at, at + more))
        if steps:  # what adding up floats has lost on the way
            steps[-1].end = self._total(output)
        return steps

    def _total(self, output: int) -> float:
        said = self.explanation
        if said.is_quantity:
            return float(np.reshape(said.predictions, (len(said), -1))[self.i, output])
        return float(said.votes[self.i, output]) / said.unit

    def plot(self, ax: Any = None) -> ExplanationDisplay:
        """Draw it, on axes of your own if you like."""
        ax = self._start(ax, (8, 1.2 + 0.34 * len(self.steps)))
        said = self.explanation
        output = said.output_of(self.i, self.label)
        base = float(said.base[output]) / said.unit
        for place, step in enumerate(self.steps):
            width = step.end - step.start
            ax.barh(place, width, left=step.start, color=FOR if width >= 0 else AGAINST)
            text = f"{width:+,.0f}" if abs(width) >= 10 else f"{width:+.2g}"
            ax.annotate(
                text, (max(step.start, step.end), place), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
            if place:
                ax.plot([step.start] * 2, [place - 1, place], color=NEUTRAL, linewidth=0.8)
        ax.axvline(base, color=NEUTRAL, linewidth=0.8, linestyle="--")
        ax.set_yticks(range(len(self.steps)), [shortened(step.name) for step in self.steps])
        ax.invert_yaxis()
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.margins(x=0.12)
        what = "prediction" if said.is_quantity else f"votes for {said.classes[output]}"
        ax.set_xlabel(f"{what}: {base:,.6g} on average, here {self._total(output):,.6g}")
        return self


class HeatMapDisplay(Display):
    """Where on an image the votes for a label come from.

    Parameters
    ----------
    explanation : Explanation
        Of images.
    i : int, default=0
        The example.
    label : optional
        For which label; by default for what is predicted.
    image : array, optional
        The image, to be seen below the map; gray, or with channels last.
    """

    def __init__(
        self,
        explanation: Explanation,
        i: int = 0,
        label: Any = None,
        image: NDArray[Any] | None = None,
    ) -> None:
        if explanation.image_shape is None:
            raise ValueError("the explanation is of rows and not of images; see ExplanationDisplay")
        self.explanation = explanation
        self.i = i
        self.label = label
        self.image = image

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, i: int = 0, label: Any = None, ax: Any = None
    ) -> HeatMapDisplay:
        """Of a fitted model's prediction for example ``i`` of X."""
        images = X[i : i + 1] if hasattr(X, "shape") else [X[i]]
        said = estimator.explain(images, rules=False)
        image = np.asarray(images)[0]
        if image.ndim < 2:
            image = image.reshape(estimator.image_shape)
        return cls(said, 0, label, image).plot(ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        i: int = 0,
        label: Any = None,
        image: NDArray[Any] | None = None,
        ax: Any = None,
    ) -> HeatMapDisplay:
        """Of one example of an explanation."""
        return cls(explanation, i, label, image).plot(ax)

    def plot(self, ax: Any = None) -> HeatMapDisplay:
        """Draw it, on axes of your own if you like."""
        ax = self._start(ax, (4.2, 3.6))
        said = self.explanation
        assert said.image_shape is not None
        output = said.output_of(self.i, self.label)
        values = said.contributions[self.i, :, output].reshape(said.image_shape) / said.unit
        shown = diverging(ax, values)
        if self.image is not None:
            _outline(ax, self.image, said.image_shape)
        ax.set_axis_off()
        ax.set_title(f"votes for {said.classes[output]}", fontsize=10)
        self.figure_.colorbar(shown, ax=ax, shrink=0.8)
        return self


def _outline(ax: Any, image: NDArray[Any], shape: tuple[int, int]) -> None:
    """Lines around the bright pixels of an image, along their edges."""
    gray = (image if image.ndim == 2 else image.mean(axis=-1)).astype(float)
    bright = np.pad(gray > (gray.max() + gray.min()) / 2, 1)
    across, down = shape[1] / gray.shape[1], shape[0] / gray.shape[0]
    rows, columns = np.nonzero(bright[:, 1:] != bright[:, :-1])
    sides = [columns * across - 0.5, (rows - 1) * down - 0.5, rows * down - 0.5]
    style = {"colors": "black", "linewidth": 0.8, "alpha": 0.6}
    ax.vlines(*sides, **style)
    rows, columns = np.nonzero(bright[1:] != bright[:-1])
    ax.hlines(
        rows * down - 0.5, (columns - 1) * across - 0.5, columns * across - 0.5, **style
    )  # fmt: skip
