"""What clauses do on examples: how often they fire, on which labels, and how much they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rule import Evidence


@dataclass(frozen=True)
class Firing:
    """Counts of what the clauses of a model do on examples."""

    n_examples: int
    count: NDArray[np.int64]  # (n,) examples on which each clause fires
    by_label: NDArray[np.int64] | None  # (n, m) those of each label
    said: NDArray[np.int64]  # (n,) what it says, which its weights multiply
    of_label: NDArray[np.int64] | None  # (m,) examples of each label

    @classmethod
    def of(
        cls, parts: Iterable[NDArray[Any]], n_clauses: int, targets: NDArray[Any] | None
    ) -> Firing:
        """Counts of clause outputs (rows, n), which come some rows at a time."""
        count = np.zeros(n_clauses, dtype=np.int64)
        said = np.zeros(n_clauses, dtype=np.int64)
        n_labels = 0 if targets is None else targets.shape[1]
        by_label = np.zeros((n_clauses, n_labels), dtype=np.int64)
        done = 0
        for outputs in parts:
            fires = outputs > 0
            count += fires.sum(axis=0)
            said += outputs.sum(axis=0, dtype=np.int64)
            if targets is not None:
                # Parts are small enough for float32 to be exact, and fast.
                there = targets[done : done + len(outputs)].astype(np.float32)
                by_label += (fires.T.astype(np.float32) @ there).astype(np.int64)
            done += len(outputs)
        if targets is None:
            return cls(done, count, None, said, None)
        return cls(done, count, by_label, said, targets.sum(axis=0, dtype=np.int64))

    def evidence(
        self, clauses: NDArray[np.intp], weights: NDArray[np.int64], labels: list[Any]
    ) -> list[Evidence]:
        """The evidence of rules that are these clauses and have these weights."""
        count = self.count[clauses]
        votes = self.said[clauses] * np.abs(weights).sum(axis=1)
        shares = votes / max(1, int(votes.sum()))
        coverage = count / max(1, self.n_examples)
        counts, precision, lift = self._by_label(clauses, labels)
        return [
            Evidence(*row)
            for row in zip(
                count.tolist(),
                coverage.tolist(),
                counts,
                precision,
                lift,
                votes.tolist(),
                shares.tolist(),
                strict=True,
            )
        ]

    def _by_label(
        self, clauses: NDArray[np.intp], labels: list[Any]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        if self.by_label is None or self.of_label is None:
            nothing: list[None] = [None] * len(clauses)
            return nothing, nothing, nothing
        count, found = self.count[clauses], self.by_label[clauses]
        precise = found / np.maximum(count, 1)[:, None]
        there = self.of_label > 0
        lifted = precise[:, there] * (self.n_examples / self.of_label[there])
        known = [label for label, is_there in zip(labels, there.tolist(), strict=True) if is_there]
        fires = (count > 0).tolist()
        return (
            [dict(zip(labels, row, strict=True)) for row in found.tolist()],
            _where(fires, labels, precise),
            _where(fires, known, lifted),
        )


def _where(fires: list[bool], labels: list[Any], values: NDArray[np.float64]) -> list[Any]:
    """A dictionary by label for each row, or None."""
    return [
        dict(zip(labels, row, strict=True)) if fired else None
        for fired, row in zip(fires, values.tolist(), strict=True)
    ]
