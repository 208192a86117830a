"""What an output's votes mean: each output is a class of its own, or a label beside others.

Several columns of classes are in ``label_columns.py``, quantities in ``quantities.py``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from ..backends import TrainCounts
from ..core.room import pieces
from ..core.sparse_targets import Targets

Votes = NDArray[np.int64]  # (rows, outputs)


class Judge(Protocol):
    """How good votes are, whatever the outputs are."""

    def default_e(self, n_outputs: int) -> float:
        """The factor ``e`` where it is "auto"."""
        ...

    def training_accuracy(self, counts: TrainCounts, n_examples: int, n_outputs: float) -> float:
        """How good the votes before each update of a pass were; at best 1."""
        ...

    def accuracy(self, votes: Votes, targets: Any, states: int = 1) -> float:
        """How good the votes of so many states together are; at best 1."""
        ...

    def rows_to_hold_out(
        self, order: NDArray[np.int64], targets: Any, fraction: float
    ) -> NDArray[np.int64]:
        """The first rows of an order that make up a fraction."""
        ...


class Outputs(Judge, Protocol):
    """How votes for classes are read: as :class:`OneLabel`, :class:`SeveralLabels` or
    :class:`cotm.model.label_columns.LabelColumns`."""

    def labels(self, votes: Votes, classes: NDArray[Any]) -> NDArray[Any]:
        """What is predicted."""
        ...

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        """Confidence, as scikit-learn's ``decision_function`` has it."""
        ...

    def predicted(self, votes: Votes) -> NDArray[np.bool_]:
        """Which outputs are predicted, (rows, outputs)."""
        ...

    def in_margins(self, votes: Votes, margin: int) -> NDArray[np.float64]:
        """Votes in units of the margins of all states that vote."""
        ...

    def probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities (rows, outputs)."""
        ...

    def surprise(self, logits: NDArray[np.float64], targets: Targets, doubt: float) -> float:
        """How unlikely probabilities make the targets, of which a share may be wrong."""
        ...

    def distance(self, margins: NDArray[np.float64]) -> float:
        """How far votes are from another prediction, on average."""
        ...


class OneLabel:
    """Every example is of one class: that of the output with the most votes."""

    def default_e(self, n_outputs: int) -> float:
        return 1.0 if n_outputs <= 2 else 1.0 / (n_outputs - 1)

    def labels(self, votes: Votes, classes: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(classes[votes.argmax(axis=1)])

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        scores = votes.astype(np.float64)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predicted(self, votes: Votes) -> NDArray[np.bool_]:
        return np.asarray(votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1]))

    def in_margins(self, votes: Votes, margin: int) -> NDArray[np.float64]:
        return np.asarray(votes / margin)

    def probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(softmax(logits, axis=1))

    def surprise(self, logits: NDArray[np.float64], targets: Targets, doubt: float) -> float:
        logs = log_softmax(logits, axis=1)
        spread = np.where(targets == 1, 1 - doubt, doubt / max(1, targets.shape[1] - 1))
        return -float((spread * logs).sum(axis=1).mean())

    def distance(self, margins: NDArray[np.float64]) -> float:
        """How far the highest votes are above the second highest, on average."""
        if margins.shape[1] < 2:
            return float(np.abs(margins).mean())
        ranked = np.partition(margins, -2, axis=1)
        return float((ranked[:, -1] - ranked[:, -2]).mean())

    def training_accuracy(self, counts: TrainCounts, n_examples: int, n_outputs: float) -> float:
        return counts.hits / n_examples

    def accuracy(self, votes: Votes, targets: NDArray[Any], states: int = 1) -> float:
        """The share of examples that are predicted right."""
        return float(targets[np.arange(len(votes)), votes.argmax(axis=1)].mean())

    def rows_to_hold_out(
        self, order: NDArray[np.int64], targets: NDArray[Any], fraction: float
    ) -> NDArray[np.int64]:
        """Every class keeps its share."""
        classes = range(targets.shape[1])
        counts = np.zeros(len(classes), dtype=np.int64)
        for piece in pieces(len(order)):
            counts += np.bincount(targets[piece].argmax(axis=1), minlength=len(classes))
        wanted = [round(fraction * count) for count in counts.tolist()]
        held: list[list[NDArray[np.int64]]] = [[] for _ in classes]
        for piece in pieces(len(order)):
            if not any(wanted):
                break
            rows = order[piece]
            labels = targets[rows].argmax(axis=1)
            for label in classes:
                held[label].append(rows[labels == label][: wanted[label]])
                wanted[label] -= len(held[label][-1])
        return np.concatenate([order[:0], *(rows for parts in held for rows in parts)])


class SeveralLabels:
    """Every output is a label that an example has or has not: yes from 0 votes on."""

    def default_e(self, n_outputs: int) -> float:
        return 1.0

    def labels(self, votes: Votes, classes: NDArray[Any]) -> NDArray[Any]:
        return (votes >= 0).astype(np.int64)

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        return votes.astype(np.float64) + 0.5

    def predicted(self, votes: Votes) -> NDArray[np.bool_]:
        return np.asarray(votes >= 0)

    def in_margins(self, votes: Votes, margin: int) -> NDArray[np.float64]:
        return np.asarray((votes + 0.5) / margin)

    def probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(expit(logits))

    def surprise(self, logits: NDArray[np.float64], targets: Targets, doubt: float) -> float:
        right = np.where(targets == 1, log_expit(logits), log_expit(-logits))
        wrong = np.where(targets == 1, log_expit(-logits), log_expit(logits))
        return -float(((1 - doubt) * right + doubt * wrong).mean())

    def distance(self, margins: NDArray[np.float64]) -> float:
        return float(np.abs(margins).mean())

    def training_accuracy(self, counts: TrainCounts, n_examples: int, n_outputs: float) -> float:
        return counts.correct / (n_examples * n_outputs)

    def accuracy(self, votes: Votes, targets: NDArray[Any], states: int = 1) -> float:
        """The share of pairs of an example and a label that are predicted right."""
        return float(((votes >= 0) == (targets == 1)).mean())

    def rows_to_hold_out(
        self, order: NDArray[np.int64], targets: NDArray[Any], fraction: float
    ) -> NDArray[np.int64]:
        return order[: max(1, round(fraction * len(order)))]
