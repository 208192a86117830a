"""What all displays share: colours, axes, and the message where matplotlib is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: For and against: to be told apart without seeing red or green, on white and on black.
FOR, AGAINST, NEUTRAL = "#3b82c4", "#d9822b", "#8a8f98"
#: Characters of a label beside a bar.
_WIDEST_LABEL = 70


def pyplot() -> Any:
    """matplotlib.pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'pictures need matplotlib; install it with pip install "cotm[plot]"'
        ) from error
    return plt


class Display:
    """A picture that knows its data, and what it was drawn on."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Any, size: tuple[float, float]) -> Any:
        """The axes to draw on; new ones of some inches where none are given."""
        if ax is None:
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _start_grid(self, count: int, columns: int, side: float) -> list[Any]:
        """Axes for small pictures, row by row; what is left over is empty."""
        columns = max(1, min(columns, count))
        rows = max(1, -(-count // columns))
        self.figure_, axes = pyplot().subplots(
            rows, columns, figsize=(side * columns, side * 1.2 * rows), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        self.ax_ = axes
        for ax in axes.flat:
            ax.set_axis_off()
        return list(axes.flat[:count])


def bars(
    ax: Any, names: Sequence[str], values: Sequence[float], title: str, lines: int = 1
) -> None:
    """Bars to the left and right of 0, the first one on top; names take so many lines at most."""
    places = np.arange(len(values))
    ax.barh(places, values, color=[FOR if value >= 0 else AGAINST for value in values])
    ax.set_yticks(places, [shortened(name, lines) for name in names])
    ax.invert_yaxis()
    ax.axvline(0, color=NEUTRAL, linewidth=0.8)
    ax.set_xlabel(title)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def shortened(text: str, lines: int = 1) -> str:
    """A text that fits beside a bar; what matplotlib would take for mathematics stays text."""
    end = text.rfind(" ", 0, _WIDEST_LABEL + 1)
    if lines > 1 and len(text) > _WIDEST_LABEL and end > 0:
        return f"{shortened(text[:end])}\n{shortened(text[end + 1 :], lines - 1)}"
    text = text if len(text) <= _WIDEST_LABEL else f"{text[: _WIDEST_LABEL - 1]}…"
    return text.replace("$", r"\$")


def diverging(ax: Any, values: NDArray[np.float64], largest: float | None = None) -> Any:
    """A map in which 0 is white, what is above it blue, and what is below it orange."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("cotm", [AGAINST, "#ffffff", FOR])
    most = largest or float(np.abs(values).max()) or 1.0
    return ax.imshow(values, cmap=colours, vmin=-most, vmax=most, interpolation="nearest")


def output_of(classes: NDArray[Any], label: Any) -> int:
    """The number of a label among the classes, or a ValueError."""
    known = classes.tolist()
    if label not in known:
        raise ValueError(f"label={label!r} is not a class of this model; it has {known!r:.200}")
    return int(known.index(label))
