"""What is kept of an explanation to give its numbers as exact fractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.joining import UNIT, joined_votes
from ..model.outputs import Votes
from .shapley import Pool, exact_contributions


class Exact(NamedTuple):
    """What an example's votes are made of, in fractions: base + the sum over features."""

    base: NDArray[np.object_]  # (m,)
    contributions: NDArray[np.object_]  # (features, m)


@dataclass(frozen=True, eq=False)
class Game:
    """Bits of examples and of the background, and the clauses that vote on them."""

    pool: Pool
    n_players: int
    rows: NDArray[np.uint8]
    background: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Games:
    """The games of all members."""

    games: tuple[Game, ...]
    votes: tuple[Votes, ...]
    background_votes: tuple[Votes, ...]
    places: tuple[NDArray[np.intp], ...]  # of each member's features among all
    readers: tuple[NDArray[np.bool_], ...]
    divisors: tuple[int, ...] | None
    n_features: int

    def take(self, rows: Any) -> Games:
        """Those of some examples."""
        return replace(
            self,
            games=tuple(replace(game, rows=game.rows[rows]) for game in self.games),
            votes=tuple(votes[rows] for votes in self.votes),
        )

    def exact(self, i: int) -> Exact:
        """The numbers of one example."""
        joined = joined_votes(self.background_votes, self.divisors)
        base = _mean(joined.astype(object))
        total = np.full((self.n_features, len(base)), Fraction(0), dtype=object)
        for k, (game, place) in enumerate(zip(self.games, self.places, strict=True)):
            part = exact_contributions(game.rows[i], game.background, game.pool, game.n_players)
            if self.divisors is not None:
                divisor, readers = self.divisors[k], np.flatnonzero(self.readers[k])
                part = part * Fraction(UNIT, divisor)
                lost = _mean(_cut(self.background_votes[k], divisor)) - _cut(
                    self.votes[k][i], divisor
                )
                if len(readers):
                    part[readers] += lost / Fraction(len(readers))
            total[place] += part
        return Exact(base, total)


def _mean(values: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.asarray(values.sum(axis=0) * Fraction(1, len(values)), dtype=object)


def _cut(votes: Votes, divisor: int) -> NDArray[np.object_]:
    """What division to the floor cuts off."""
    return np.asarray((votes.astype(object) * UNIT % divisor) * Fraction(1, divisor), dtype=object)
