"""Several columns of labels that share one pool: every example has one label of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import TrainCounts
from ..core.sparse_targets import SparseTargets
from .outputs import OneLabel, Outputs, SeveralLabels, Votes

_ONE = OneLabel()


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """The columns and their classes; the outputs are all classes of all columns, side by side.

    It is what votes mean, see :class:`cotm.model.outputs.Outputs`: of each column the class with
    the most votes.
    """

    names: tuple[str, ...]
    classes: tuple[NDArray[Any], ...]  # of each column, sorted
    named: bool  # whether y had these names, or its columns only have numbers

    @classmethod
    def of(cls, names: Sequence[str] | None, classes: Sequence[NDArray[Any]]) -> LabelColumns:
        """Columns with these names, or with y0, y1 and so on; a ValueError where two outputs would
        have one name."""
        called = names or [f"y{number}" for number in range(len(classes))]
        columns = cls(tuple(called), tuple(classes), names is not None)
        outputs = columns.outputs.tolist()
        if len({*outputs}) < len(outputs):
            twice = next(name for name in outputs if outputs.count(name) > 1)
            raise ValueError(
                f"two outputs would be called {twice!r:.200}; rename a column of y or a label"
            )
        return columns

    @cached_property
    def outputs(self) -> NDArray[Any]:
        """What the outputs are called: ``column=label``."""
        return np.array(
            [
                f"{name}={label}"
                for name, classes in zip(self.names, self.classes, strict=True)
                for label in classes.tolist()
            ]
        )

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where the outputs of each column are."""
        ends = np.cumsum([len(classes) for classes in self.classes]).tolist()
        return tuple(slice(first, end) for first, end in zip([0, *ends], ends, strict=False))

    def __len__(self) -> int:
        """How many outputs there are."""
        return self.parts[-1].stop

    def part_of(self, output: int) -> slice:
        """Where the outputs of the column are that has this one."""
        return next(part for part in self.parts if output < part.stop)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LabelColumns)
            and (self.names, self.named) == (other.names, other.named)
            and len(self.classes) == len(other.classes)
            and all(
                ours.dtype.kind == theirs.dtype.kind and np.array_equal(ours, theirs)
                for ours, theirs in zip(self.classes, other.classes, strict=True)
            )
        )

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values (N, outputs) as one array for each column."""
        return [values[:, part] for part in self.parts]

    def column_scores(self, votes: Votes) -> list[NDArray[np.float64]]:
        """Of each column what a classifier of that column alone gives as ``decision_function``."""
        return [_ONE.scores(part) for part in self.split(votes)]

    __hash__ = None  # type: ignore[assignment]  # as of all that compares arrays

    # What votes mean -----------------------------------------------------------------

    def default_e(self, n_outputs: int) -> float:
        """As much feedback for the classes an example is not of as for those it is of: with as
        many classes in every column the paper's 1 / (m - 1)."""
        return min(1.0, len(self.classes) / (n_outputs - len(self.classes)))

    def labels(self, votes: Votes, classes: NDArray[Any]) -> NDArray[Any]:
        """Labels (N, columns): of one type where all columns are numbers, texts or booleans,
        otherwise objects."""
        found = [
            names[part.argmax(axis=1)]
            for names, part in zip(self.classes, self.split(votes), strict=True)
        ]
        kinds = {names.dtype.kind for names in self.classes}
        if kinds <= {"i", "f"} or kinds in ({"u"}, {"U"}, {"b"}):
            return np.column_stack(found)
        table = np.empty((len(votes), len(found)), dtype=object)
        for number, column in enumerate(found):
            table[:, number] = [*column] if column.dtype.kind in "mM" else column.tolist()
        return table

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        return votes.astype(np.float64)

    def predicted(self, votes: Votes) -> NDArray[np.bool_]:
        return np.concatenate([_ONE.predicted(part) for part in self.split(votes)], axis=1)

    def in_margins(self, votes: Votes, margin: int) -> NDArray[np.float64]:
        return np.asarray(votes / margin)

    def probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """The classes of each column add up to 1."""
        return np.concatenate([_ONE.probabilities(part) for part in self.split(logits)], axis=1)

    def surprise(self, logits: NDArray[np.float64], targets: Any, doubt: float) -> float:
        found = [
            _ONE.surprise(logits[rows, part], known, doubt)
            for part, rows, known in self._known(targets)
        ]
        return float(np.mean(found))

    def distance(self, margins: NDArray[np.float64]) -> float:
        return float(np.mean([_ONE.distance(part) for part in self.split(margins)]))

    # How good they are ---------------------------------------------------------------

    def training_accuracy(self, counts: TrainCounts, n_examples: int, n_outputs: float) -> float:
        """The share of pairs of an example and a class whose votes have the right sign."""
        return counts.correct / (n_examples * n_outputs)

    def accuracy(self, votes: Votes, targets: Any, states: int = 1) -> float:
        """The share of examples that are predicted right, of each column, on average."""
        found = [
            _ONE.accuracy(votes[rows, part], known) for part, rows, known in self._known(targets)
        ]
        return float(np.mean(found))

    def rows_to_hold_out(
        self, order: NDArray[np.int64], targets: Any, fraction: float
    ) -> NDArray[np.int64]:
        return order[: max(1, round(fraction * len(order)))]

    def _known(self, targets: Any) -> list[tuple[slice, NDArray[np.intp], NDArray[np.uint8]]]:
        """Of each column that has known labels its place, their rows, and their targets."""
        dense = targets.dense() if isinstance(targets, SparseTargets) else targets
        found = []
        for part in self.parts:
            rows = np.flatnonzero(dense[:, part].any(axis=1))
            if len(rows):
                found.append((part, rows, dense[rows, part]))
        return found


def outputs_for(multilabel: bool, columns: LabelColumns | None = None) -> Outputs:
    """The way of reading votes."""
    if columns is not None:
        return columns
    return SeveralLabels() if multilabel else OneLabel()
