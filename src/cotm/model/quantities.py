"""From quantities that users pass as y to the votes that a machine is to come near, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from ..backends import TrainCounts
from ..core.gpu_arrays import to_host
from ..core.limits import MAX_T
from ..core.room import Room, filled


class Quantities(NamedTuple):
    """Checked quantities: (N, m), with names for the columns where they have some."""

    values: NDArray[np.float64]
    one: bool  # y was (N,)
    names: list[str] | None = None


def read_quantities(y: Any) -> Quantities:
    """Check y, whatever form it comes in."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    names = list(getattr(y, "columns", ()))
    if scipy.sparse.issparse(y):
        y = y.toarray()
    y = np.asarray(to_host(y))
    if y.dtype.kind in "Mm":
        raise ValueError(
            f"y holds {y.dtype}; quantities are numbers, so convert dates and durations to "
            "seconds or days first"
        )
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers")
    one = y.ndim < 2 or (y.ndim == 2 and y.shape[1] == 1 and not names)
    if one:
        y = column_or_1d(y, warn=True)[:, None]
    values = check_array(y, dtype=np.float64, ensure_min_samples=0, input_name="y")
    if len(values) == 0:
        raise ValueError("y holds no quantities")
    has_names = bool(names) and all(isinstance(name, str) for name in names)
    return Quantities(values, one, names if has_names else None)


@dataclass(frozen=True)
class Scaling:
    """How quantities become votes: a target of y asks for (y - offset) * unit votes."""

    offset: tuple[float, ...]  # of each output
    unit: tuple[float, ...]  # votes for a difference of 1
    spread: tuple[float, ...]  # how far targets were from their median, on average
    one: bool  # there is one output, and y is (N,)

    @classmethod
    def of(cls, quantities: Quantities, margin: int) -> Scaling:
        """As many votes as the margin are a standard deviation of these quantities."""
        values = quantities.values
        with np.errstate(over="ignore", invalid="ignore"):
            offset = values.mean(axis=0)
            deviation = values.std(axis=0)
            distance = np.abs(values - np.median(values, axis=0)).mean(axis=0)
        # Rounding alone makes equal numbers differ from their mean.
        flat = values.min(axis=0) == values.max(axis=0)
        offset = np.where(flat, values[0], offset)
        unit = margin / np.where(flat | (deviation == 0), 1.0, deviation)
        if not (np.isfinite(offset) & np.isfinite(unit) & (unit > 0) & np.isfinite(distance)).all():
            raise ValueError(
                f"y reaches from {values.min():g} to {values.max():g}, which is too far for "
                "float64 to compute with; divide it by a constant first"
            )
        distance = np.where(flat, 0.0, distance)
        return cls(
            tuple(offset.tolist()), tuple(unit.tolist()), tuple(distance.tolist()), quantities.one
        )

    def aims(self, values: NDArray[np.float64], room: Room = np.empty) -> NDArray[np.int32]:
        """The votes that each output is to come near, (N, m)."""

        def of(rows: slice) -> NDArray[np.float64]:
            votes = np.rint((values[rows] - np.array(self.offset)) * np.array(self.unit))
            return np.asarray(np.clip(votes, -MAX_T, MAX_T))

        aims: NDArray[np.int32] = filled(values.shape, np.int32, of, room)
        return aims

    def quantities(self, votes: NDArray[Any], states: int) -> NDArray[np.float64]:
        """What the votes of so many states together predict, (N, m)."""
        return np.asarray(votes / (np.array(self.unit) * states) + np.array(self.offset))

    def in_form(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions (N, m) in the form that y had."""
        return values[:, 0] if self.one else values


class QuantityJudge:
    """How good votes for quantities are: see :class:`cotm.model.outputs.Judge`."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling

    def default_e(self, n_outputs: int) -> float:
        return 1.0

    def training_accuracy(self, counts: TrainCounts, n_examples: int, n_outputs: float) -> float:
        """Of the distance from the median, the share that the votes of a pass explained.

        It is scikit-learn's ``d2_absolute_error_score`` of all outputs together, in votes.
        """
        spread = sum(np.multiply(self.scaling.spread, self.scaling.unit).tolist()) * n_examples
        return 1.0 - counts.missed / spread if spread else float(counts.missed == 0)

    def accuracy(
        self, votes: NDArray[np.int64], targets: NDArray[np.int32], states: int = 1
    ) -> float:
        """R², the mean of all outputs."""
        from sklearn.metrics import r2_score  # only here: it takes a while to import

        return float(r2_score(targets, votes / states))

    def rows_to_hold_out(
        self, order: NDArray[np.int64], targets: NDArray[Any], fraction: float
    ) -> NDArray[np.int64]:
        return order[: max(2, round(fraction * len(order)))]


def quantity_weights(
    quantities: Quantities, sample_weight: ArrayLike | None
) -> NDArray[np.float64]:
    """Factors per example on its selection probability, or for all; see ``selection_scale``."""
    if sample_weight is None:
        return np.ones(1)
    weight = _check_sample_weight(
        to_host(sample_weight), quantities.values, dtype=np.float64, ensure_non_negative=True
    )
    return np.asarray(weight)
