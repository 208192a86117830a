"""Which clauses serve which outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ClauseSharing:
    """Which clauses serve which outputs; the arrays are read-only.

    Attributes
    ----------
    labels : tuple
        The outputs, in the order of the columns.
    clauses : int64 (k,)
        Numbers of the clauses that have literals and votes; of a composite as its member has them.
    members : tuple of str, or None
        Of a composite, whose clause each of them is.
    votes : int64 (k, m)
        What each gives each output: its weights.
    shares : float64 (k, m)
        The sizes of these as shares of all that the clause gives; rows sum to 1.
    shared : int64 (m, m)
        How many clauses vote on both outputs; on the diagonal, on the one.
    agreeing, opposing : int64 (m, m)
        How many of them vote alike on both, and how many for one and against the other.
    """

    labels: tuple[Any, ...]
    clauses: NDArray[np.int64]
    members: tuple[str, ...] | None
    votes: NDArray[np.int64]
    shares: NDArray[np.float64]
    shared: NDArray[np.int64]
    agreeing: NDArray[np.int64]
    opposing: NDArray[np.int64]

    def served(self, place: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The labels that a clause votes for and those that it votes against, largest first."""
        row = self.votes[place]
        order = np.argsort(-np.abs(row), kind="stable").tolist()
        return (
            tuple(self.labels[k] for k in order if row[k] > 0),
            tuple(self.labels[k] for k in order if row[k] < 0),
        )

    def __len__(self) -> int:
        return len(self.clauses)

    def __repr__(self) -> str:
        count, outputs = len(self), len(self.labels)
        between = f"{count:,} clauses between {outputs} output{'s' * (outputs != 1)}"
        several = int(((self.votes != 0).sum(axis=1) > 1).sum())
        return f"<ClauseSharing of {between}; {several:,} vote on more than one>"

    def to_pandas(self) -> pd.DataFrame:
        """The matrix of shared clauses as a frame of pandas, outputs by outputs."""
        pandas = _pandas()
        return pandas.DataFrame(self.shared, index=[*self.labels], columns=[*self.labels])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each clause as plain data: what it votes for, against, and in which shares."""
        names = [str(label) for label in self.labels]
        found = []
        for place, clause in enumerate(self.clauses.tolist()):
            liked, disliked = self.served(place)
            found.append(
                {
                    **({} if self.members is None else {"member": self.members[place]}),
                    "clause": clause,
                    "for": [str(label) for label in liked],
                    "against": [str(label) for label in disliked],
                    "votes": dict(zip(names, self.votes[place].tolist(), strict=True)),
                    "shares": dict(zip(names, self.shares[place].tolist(), strict=True)),
                }
            )
        return found


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas needs pandas: pip install pandas") from error
    return pandas


def clause_sharing(
    included: NDArray[np.bool_],
    weights: NDArray[Any],
    labels: Sequence[Any],
    members: Sequence[str] | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> ClauseSharing:
    """What clauses with these literals and weights share."""
    speaks = np.flatnonzero(included.any(axis=1) & (weights != 0).any(axis=1))
    votes = weights[speaks].astype(np.int64)
    sizes = np.abs(votes)
    liked, disliked = (votes > 0).astype(np.int64), (votes < 0).astype(np.int64)
    agreeing = liked.T @ liked + disliked.T @ disliked
    opposing = liked.T @ disliked + disliked.T @ liked
    arrays = {
        "clauses": (np.arange(len(weights)) if numbers is None else numbers)[speaks],
        "votes": votes,
        "shares": sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1),
        "shared": agreeing + opposing,
        "agreeing": agreeing,
        "opposing": opposing,
    }
    for array in arrays.values():
        array.flags.writeable = False
    names = None if members is None else tuple(members[k] for k in speaks.tolist())
    return ClauseSharing(labels=tuple(labels), members=names, **arrays)
