"""Shapley values of votes, in closed form: the definition, exact and in floats.

An example x and one of the background, z, make a game. Its players are features; a coalition has
the values of x, all other players those of z. A clause says max(0, most - misses), where a player
misses as many of the clause's literals as are false for its value. Only gaps matter, by how many
misses z's value is worse than x's: a gap above 0 speaks for x, one below 0 against it. What both
miss lowers ``most`` for good. So the value of a player depends on its gap, on how many players
have each gap, and on what ``most`` has left, and clauses need no walk over coalitions.

The native core computes the same as :func:`add_contributions`, in floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.extension import native_core
from ..core.system import resolve_n_jobs

#: (gap, how many players have it), gaps ascending, without 0.
Gaps = tuple[tuple[int, int], ...]

#: Pairs of examples and clauses that keep a thread busy long enough to be worth its start, and
#: that are computed between two looks for Ctrl-C.
_THREAD_PAIRS, _BLOCK_PAIRS = 3e6, 1e8


@dataclass(frozen=True)
class Pool:
    """The clauses that can vote, as arrays. Literals lie clause by clause, sorted by player."""

    numbers: tuple[tuple[int, ...], ...]  # of the model's clauses that each one is made of
    starts: NDArray[np.int64]  # (n + 1,), where each clause's literals begin
    features: NDArray[np.int32]  # of each literal
    negated: NDArray[np.uint8]
    players: NDArray[np.int32]
    most: NDArray[np.int32]  # (n,)
    weights: NDArray[np.int64]  # (n, m)

    def __len__(self) -> int:
        return len(self.numbers)


@lru_cache(maxsize=1 << 16)
def shares(left: int, gaps: Gaps) -> dict[int, Fraction]:
    """What a player of each gap contributes to a clause that says max(0, left - misses).

    By counting: ways to choose a coalition of s others so that q misses are there, weighed with
    s! (n - 1 - s)! / n!.

    >>> shares(1, ((-1, 2), (1, 1)))  # one speaks for x, two against it
    {-1: Fraction(-1, 6), 1: Fraction(1, 3)}
    """
    n = sum(count for _, count in gaps)
    found = {}
    for gap, _ in gaps:
        ways = {(0, 0): 1}  # by size of the coalition, and misses
        for other, count in gaps:
            count -= other == gap
            # A player misses where it is in the coalition, or where it is not.
            grown: dict[tuple[int, int], int] = {}
            for (size, misses), number in ways.items():
                for inside in range(count + 1):
                    missing = inside if other < 0 else count - inside
                    total = misses + missing * abs(other)
                    if total < left:
                        key = size + inside, total
                        grown[key] = grown.get(key, 0) + number * comb(count, inside)
            ways = grown
        gained = sum(
            number
            * factorial(size)
            * factorial(n - 1 - size)
            * (left - misses - max(0, left - misses - abs(gap)))
            for (size, misses), number in ways.items()
        )
        found[gap] = Fraction(gained if gap > 0 else -gained, factorial(n))
    return found


def _shares_in_floats(left: int, gaps: Gaps) -> dict[int, float]:
    return {gap: float(value) for gap, value in shares(left, gaps).items()}


def contributions(
    rows: NDArray[np.uint8],
    background: NDArray[np.uint8],
    pool: Pool,
    n_players: int,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Shapley values (N, players, m) of the votes for rows of bits, the mean over a background."""
    out = np.zeros((len(rows), n_players, pool.weights.shape[1]))
    kernel = getattr(native_core(), "shapley", None)
    if kernel is None:
        for row, added in zip(rows, out, strict=True):
            add_contributions(row, background, pool, added, _shares_in_floats)
        return out
    owner = np.repeat(np.arange(len(pool)), np.diff(pool.starts))
    turns = np.diff(owner, prepend=-1) | np.diff(pool.players, prepend=-1)
    times, weights = _nodes(int(np.bincount(owner[turns != 0], minlength=1).max()))
    per_row = max(1, len(pool)) * len(background)
    step = max(1, int(_BLOCK_PAIRS / per_row))
    for first in range(0, len(rows), step):
        block = np.ascontiguousarray(rows[first : first + step])
        kernel(
            block,
            np.ascontiguousarray(background),
            pool.starts,
            pool.features,
            pool.negated,
            pool.players,
            pool.most,
            pool.weights.astype(np.float64),
            times,
            weights,
            resolve_n_jobs(n_jobs, len(block) * per_row / _THREAD_PAIRS),
            out[first : first + step],
        )
    return out


def exact_contributions(
    row: NDArray[np.uint8], background: NDArray[np.uint8], pool: Pool, n_players: int
) -> NDArray[np.object_]:
    """As :func:`contributions` of one row, (players, m), in fractions."""
    out = np.full((n_players, pool.weights.shape[1]), Fraction(0), dtype=object)
    add_contributions(row, background, pool, out, shares)
    return out


def add_contributions(
    row: NDArray[np.uint8],
    background: NDArray[np.uint8],
    pool: Pool,
    out: NDArray[Any],
    shares: Callable[[int, Gaps], dict[int, Any]],
) -> None:
    """Add the Shapley values of one row's votes to ``out`` (players, m)."""
    zero = out.dtype.type(0) if out.dtype != object else Fraction(0)
    for j, part in enumerate(_parts(pool)):
        players, firsts = np.unique(pool.players[part], return_index=True)
        mine = np.add.reduceat(row[pool.features[part]] == pool.negated[part], firsts, dtype=int)
        false = background[:, pool.features[part]] == pool.negated[part]
        theirs = np.add.reduceat(false, firsts, axis=1, dtype=int)
        left = int(pool.most[j]) - np.minimum(mine, theirs).sum(axis=1)
        gaps = np.clip(theirs - mine, -left[:, None], left[:, None])
        gained = np.full(len(players), zero)
        for some, group in _alike(left, gaps):
            for gap, value in shares(*some).items():
                gained = gained + (gaps[group] == gap).sum(axis=0) * value
        weights = pool.weights[j].astype(object if out.dtype == object else np.float64)
        out[players] += gained[:, None] * weights / len(background)


def _alike(
    left: NDArray[np.int64], gaps: NDArray[np.int64]
) -> list[tuple[tuple[int, Gaps], NDArray[np.int64]]]:
    """The rows of the background for which a clause is the same game, where it is one at all."""
    groups: dict[tuple[int, Gaps], list[int]] = {}
    for k in np.flatnonzero((left > 0) & gaps.any(axis=1)).tolist():
        values, counts = np.unique(gaps[k][gaps[k] != 0], return_counts=True)
        game = int(left[k]), tuple(zip(values.tolist(), counts.tolist(), strict=True))
        groups.setdefault(game, []).append(k)
    return [(game, np.array(rows)) for game, rows in groups.items()]


def _parts(pool: Pool) -> list[slice]:
    """Where each clause's literals lie."""
    return [slice(*pair) for pair in pairwise(pool.starts.tolist())]


@lru_cache(maxsize=8)
def _nodes(players: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of Gauss's quadrature on [0, 1], exact for games of so many players."""
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(max(1, (players + 1) // 2))
    return (nodes + 1) / 2, weights / 2
