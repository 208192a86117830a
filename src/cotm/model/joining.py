"""Votes of several models as one sum, in whole numbers: no rounding ever decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .outputs import Votes

#: How a member's votes are brought to the size of the others': divided by the range of its votes
#: on examples, by its margin, or not at all.
SCALES = ("range", "margin", "none")
#: Divided votes are counted in parts of this, so that little is lost by whole numbers.
UNIT = 1 << 32
#: Votes of any member, and divisors, are less than this.
MOST = 2**63 - 1


def vote_range(votes: Votes) -> int:
    """The largest less the smallest of all votes, and 1 where they are all the same."""
    return max(1, int(votes.max()) - int(votes.min()))


def joined_votes(votes: Sequence[Votes], divisors: Sequence[int] | None) -> Votes:
    """The sum over all members of ``(votes * 2**32) // divisor``, or of plain votes without them.

    Division is to the floor, so what is negative stays negative, and 0 stays 0.

    >>> joined_votes([np.array([[3, -1]]), np.array([[0, 5]])], [2, 5]) / 2**32
    array([[1.5, 0.5]])
    """
    parts: Sequence[NDArray[np.int64] | NDArray[np.object_]] = votes
    if divisors is not None:
        parts = [_divided(part, divisor) for part, divisor in zip(votes, divisors, strict=True)]
    if sum(map(_largest, parts)) > MOST:  # some sum may not fit into 64 bits
        exact = np.sum([part.astype(object) for part in parts], axis=0)
        if _largest(exact) > MOST:
            raise ValueError(
                "the members' votes are so large that their sum does not fit into 64 bits; join "
                "them with scale='margin'"
            )
        return np.asarray(exact.astype(np.int64))
    return np.asarray(np.sum([part.astype(np.int64) for part in parts], axis=0))


def joined_margin(margins: Sequence[int], divisors: Sequence[int] | None) -> int:
    """The members' margins as one, in the unit of the votes that :func:`joined_votes` gives."""
    if divisors is None:
        return sum(margins)
    parts = (T * UNIT // divisor for T, divisor in zip(margins, divisors, strict=True))
    return max(1, sum(parts))


def _divided(votes: Votes, divisor: int) -> NDArray[np.int64] | NDArray[np.object_]:
    """``(votes * 2**32) // divisor``, in 64 bits where they suffice."""
    if _largest(votes) < 2**31:
        return np.asarray(votes * UNIT // divisor)
    return np.asarray(votes.astype(object) * UNIT // divisor)


def _largest(votes: NDArray[np.int64] | NDArray[np.object_]) -> int:
    """The largest magnitude."""
    return max(abs(int(votes.max())), abs(int(votes.min()))) if votes.size else 0
