"""What votes are worth on some examples: how many are right, and how narrowly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .joining import joined_votes
from .outputs import Votes

#: Below all votes, and far enough from the end of 64 bits to be subtracted.
_LEAST = -(2**62)


@dataclass(frozen=True)
class Judge:
    """Compares votes with targets: (N,) numbers of outputs, with several labels (N, m) of 0 and 1,
    or with ``parts``, the outputs of each column of labels, (N, columns) numbers of outputs in
    them, -1 where a label is missing.

    With ``others`` the votes are those of one member of a composite, which are divided and added to
    those of the others. All is in whole numbers, so that no rounding decides.
    """

    targets: NDArray[Any]
    margin: int  # votes that are so far on the right side cannot be better
    others: Votes | None = None
    divisor: int | None = None
    parts: tuple[slice, ...] | None = None

    def scaled(self, top: int, largest: int) -> Judge:
        """The same for votes that are top / largest times as large."""
        return replace(self, margin=max(1, self.margin * top // largest))

    def total(self, votes: Votes, rows: Any = slice(None)) -> Votes:
        """The votes that decide on some rows, of this pool's."""
        if self.others is None:
            return votes
        divisors = None if self.divisor is None else [self.divisor]
        return joined_votes([votes], divisors) + self.others[rows]

    def __call__(
        self, votes: Votes, rows: Any = slice(None)
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Of each row whether all is right, and how much of the margin is missing."""
        total, targets = self.total(votes, rows), self.targets[rows]
        if self.parts is not None:
            return self._of_columns(total, targets, self.parts)
        if targets.ndim == 2:
            above = np.where(targets == 1, total + 1, -total)  # from 0 votes on it is yes
            return np.asarray((above > 0).all(axis=1)), np.maximum(0, self.margin - above).sum(
                axis=1
            )
        return self._of_one(total, targets)

    def _of_columns(
        self, total: Votes, targets: NDArray[Any], parts: tuple[slice, ...]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Every column by itself; a missing label is right whatever is predicted."""
        right = np.ones(len(total), dtype=bool)
        missing = np.zeros(len(total), dtype=np.int64)
        for part, column in zip(parts, targets.T, strict=True):
            known = np.flatnonzero(column >= 0)
            is_right, lacking = self._of_one(total[known, part], column[known])
            right[known] &= is_right
            missing[known] += lacking
        return right, missing

    def _of_one(
        self, total: Votes, targets: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Of the output with the most votes."""
        number = np.arange(len(total))
        own, others = total[number, targets], total.copy()
        others[number, targets] = _LEAST
        rival = others.argmax(axis=1)  # the first of equals, which wins before later ones
        best = others[number, rival]
        right = (own > best) | ((own == best) & (targets < rival))
        return right, np.maximum(0, self.margin - (own - best))
