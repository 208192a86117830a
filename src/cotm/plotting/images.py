"""What clauses of images look for, and where they find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import ImageUnion
from ..rules import Rule
from .drawing import AGAINST, Display, diverging, pyplot

#: How strongly a pixel is asked for, where all bits of it are.
_FULL = 1.0


class ClausesDisplay(Display):
    """Patches as clauses want them: what must be on is blue, what must be off orange.

    What a clause does not look at is white. Where a pixel has several bits, the colour is the
    share of those that must be on less that of those that must be off. Below each are the votes
    it gives most, and where it looks.

    Parameters
    ----------
    rules : list of Rule
    patches : float64 (rules, patch rows, patch columns)
        From -1, all bits must be off, to 1, all must be on.
    label : optional
        Whose votes are shown; by default of each rule the label that it votes for most.
    """

    def __init__(
        self, rules: Sequence[Rule], patches: NDArray[np.float64], label: Any = None
    ) -> None:
        self.rules = list(rules)
        self.patches = patches
        self.label = label

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: Any = None, top: int = 12, columns: int = 6
    ) -> ClausesDisplay:
        """The strongest clauses of a fitted classifier of images."""
        _require_images(estimator)
        if isinstance(estimator.booleanizer_, ImageUnion):
            raise ValueError(
                "clauses on the bits of an ImageUnion look at several grids at once, which no one "
                "picture has; see RulesDisplay"
            )
        found = estimator.rules(label=label, top=top)
        grid = estimator.machine_.spec.grid
        memory = estimator.memory_
        placed = grid.rows - 1 + grid.columns - 1
        patches = []
        for rule in found:
            included = memory[rule.clause] >= 0
            on, off = included[: grid.n_features][placed:], included[grid.n_features :][placed:]
            asked = on.astype(float) - off.astype(float)
            shape = (grid.patch_height, grid.patch_width, grid.channels)
            patches.append(asked.reshape(shape).mean(axis=2))
        return cls(found, np.array(patches), label).plot(columns)

    def plot(self, columns: int = 6) -> ClausesDisplay:
        """Draw them in so many columns; ``ax_`` are all axes."""
        axes = self._start_grid(len(self.rules), columns, 1.7)
        largest = float(np.abs(self.patches).max()) if len(self.patches) else _FULL
        for ax, rule, patch in zip(axes, self.rules, self.patches, strict=True):
            diverging(ax, patch, largest or _FULL)
            ax.set_axis_on()
            ax.set_xticks([])
            ax.set_yticks([])
            best = self.label
            if best is None:
                best = max(rule.weights, key=lambda label: rule.weights[label])
            lines = [f"#{rule.clause}: {best} {rule.most * rule.weights[best]:+d}"]
            if rule.position is not None:
                (top, bottom), (left, right) = rule.position.rows, rule.position.columns
                where = _span("row", top, bottom), _span("column", left, right)
                lines.append(", ".join(where))
            ax.set_title("\n".join(lines), fontsize=7)
        return self


class FiringDisplay(Display):
    """Images on which a clause fires, with the patch where it does.

    Parameters
    ----------
    images : array (count, rows, columns[, channels])
    boxes : list of tuple of (row, column, height, width), or None
        In pixels; None where bits do not lie as pixels do.
    title : str
        Above the pictures.
    """

    def __init__(
        self,
        images: NDArray[Any],
        boxes: Sequence[tuple[int, int, int, int] | None],
        title: str = "",
    ) -> None:
        self.images = images
        self.boxes = list(boxes)
        self.title = title

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, clause: int, *, count: int = 12, columns: int = 6
    ) -> FiringDisplay:
        """Of a fitted classifier of images: the first of X on which a clause says most."""
        _require_images(estimator)
        X = np.asarray(X)
        outputs = np.asarray(estimator.clause_outputs(X)[:, clause]).astype(np.int64)
        order = np.argsort(-outputs, kind="stable")[:count]
        order = order[outputs[order] > 0]
        shape = tuple(estimator.image_shape or X.shape[1:])
        grid = estimator.machine_.spec.grid
        strides = grid.stride_rows, grid.stride_columns
        boxes: list[tuple[int, int, int, int] | None] = [None] * len(order)
        if len(order) and (grid.height, grid.width) == shape[:2]:
            said = estimator.explain(X[order])
            for k in range(len(order)):
                place = _place_of(said.rules[k], clause)
                if place is not None:
                    top, left = place[0] * strides[0], place[1] * strides[1]
                    boxes[k] = top, left, grid.patch_height, grid.patch_width
        fires = int((outputs > 0).sum())
        title = f"clause {clause} fires on {fires:,} of {len(X):,} images"
        return cls(X[order].reshape(len(order), *shape), boxes, title).plot(columns)

    def plot(self, columns: int = 6) -> FiringDisplay:
        """Draw them in so many columns; ``ax_`` are all axes."""
        axes = self._start_grid(len(self.images), columns, 1.4)
        plt = pyplot()
        for ax, image, box in zip(axes, self.images, self.boxes, strict=False):
            shown = image[..., 0] if image.ndim == 3 and image.shape[-1] == 1 else image
            ax.imshow(shown, cmap="gray_r", interpolation="nearest")
            if box is not None:
                top, left, height, width = box
                ax.add_patch(
                    plt.Rectangle(
                        (left - 0.5, top - 0.5),
                        width,
                        height,
                        fill=False,
                        edgecolor=AGAINST,
                        linewidth=1.5,
                    )
                )
        if self.title:
            self.figure_.suptitle(self.title, fontsize=10)
        return self


def _span(name: str, first: int, last: int) -> str:
    """One row, or several."""
    return f"{name} {first}" if first == last else f"{name}s {first}–{last}"


def _place_of(spoken: Sequence[Any], clause: int) -> tuple[int, int] | None:
    """The patch where a clause fires, or one that says the same."""
    for said in spoken:
        if clause == said.rule.clause or clause in said.rule.clauses:
            place: tuple[int, int] | None = said.patch
            return place
    return None


def _require_images(estimator: Any) -> None:
    if getattr(estimator, "patch_shape", None) is None or len(estimator.patch_shape) != 2:
        raise ValueError(
            f"a {type(estimator).__name__} with "
            f"patch_shape={getattr(estimator, 'patch_shape', None)} reads no images, so its "
            "clauses are no pictures; see RulesDisplay"
        )
