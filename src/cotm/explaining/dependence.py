"""How votes depend on one column, other things as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.outputs import Votes
from .columns import Columns, rows_of
from .features import cells_of
from .shapley import Pool
from .voters import Voters
from .wording import plain

#: So many cells of X at the most make a grid.
_MOST_CELLS = 100
#: Literals of examples that are looked at at the same time.
_MOST_LITERALS = 50_000_000


class PartialDependence(NamedTuple):
    """The mean votes of examples if all of them had the same cell in a column.

    Attributes
    ----------
    feature : str
        The column.
    grid : tuple
        Its cells.
    votes : float64 (cells, outputs)
        The mean votes with each cell.
    """

    feature: str
    grid: tuple[Any, ...]
    votes: NDArray[np.float64]


class QuantityDependence(NamedTuple):
    """The mean predictions of a regressor if all examples had the same cell in a column.

    Attributes
    ----------
    feature : str
        The column.
    grid : tuple
        Its cells.
    predictions : float64 (cells, targets)
        The mean prediction with each cell.
    """

    feature: str
    grid: tuple[Any, ...]
    predictions: NDArray[np.float64]


def partial_dependence(
    voters: Voters, feature: Any, X: Any, grid: Sequence[Any] | None = None
) -> PartialDependence:
    """The mean votes of X with each cell of a grid in one column, from the clauses that read it."""
    columns = Columns.of(voters, "partial_dependence")
    column = columns.number(feature)
    rows = rows_of(voters, X)
    cells = _usual_grid(voters, columns, column, X, rows[0]) if grid is None else [*grid]
    if not cells:
        raise ValueError(f"grid is empty; pass cells of the column {columns.names[column]!r}")
    patterns = [columns.bits(k, column, cells) for k in range(len(rows))]
    literals = max(1, *(len(voter.pool.features) for voter in voters.members))
    step = max(1, _MOST_LITERALS // literals)
    totals = np.zeros((len(cells), len(voters.classes)), dtype=np.int64)
    for first in range(0, len(rows[0]), step):
        parts = [
            _votes(voter.pool, bits[first : first + step], columns.places(k, column), patterns[k])
            for k, (voter, bits) in enumerate(zip(voters.members, rows, strict=True))
        ]
        for k, total in enumerate(totals):
            total += voters.joined([part[k] for part in parts]).sum(axis=0)
    return PartialDependence(columns.names[column], tuple(cells), totals / len(rows[0]))


def _usual_grid(
    voters: Voters, columns: Columns, column: int, X: Any, bits: NDArray[np.uint8]
) -> list[Any]:
    """The different cells of the column in X, a hundred of them at the most."""
    if columns.booleanizers[0] is None:
        return [0, 1]
    held = {plain(cell): None for cell in cells_of(voters.members[0].part_of(X))[:, column]}
    held.pop(None, None)
    cells = sorted(held, key=lambda cell: (isinstance(cell, str), cell))
    chosen = np.unique(np.linspace(0, len(cells) - 1, min(len(cells), _MOST_CELLS)).astype(int))
    return [cells[k] for k in chosen]


def _votes(
    pool: Pool, bits: NDArray[np.uint8], places: NDArray[np.intp], cells: NDArray[np.uint8]
) -> list[Votes]:
    """A member's votes (N, m) with each cell: only clauses that read the column change."""
    owner = np.repeat(np.arange(len(pool)), np.diff(pool.starts))
    place_of = np.full(bits.shape[1], -1)
    place_of[places] = np.arange(len(places))
    own = place_of[pool.features] >= 0
    misses = _misses(pool, bits, np.flatnonzero(~own), owner, pool.features)
    with_cell = _misses(pool, cells, np.flatnonzero(own), owner, place_of[pool.features])
    reads = np.zeros(len(pool), dtype=bool)
    reads[owner[own]] = True
    weights = pool.weights.astype(np.float64)  # sums of votes are whole numbers below 2**53
    others = np.maximum(0, pool.most[~reads] - misses[:, ~reads])
    fixed = others @ weights[~reads]
    most, left, change = pool.most[reads], misses[:, reads], with_cell[:, reads]
    return [
        np.rint(fixed + np.maximum(0, most - left - cell) @ weights[reads]).astype(np.int64)
        for cell in change
    ]


def _misses(
    pool: Pool,
    bits: NDArray[np.uint8],
    literals: NDArray[np.intp],
    owner: NDArray[np.int64],
    features: NDArray[Any],
) -> NDArray[np.int64]:
    """How many of some literals each clause misses on rows of bits, (N, clauses)."""
    found = np.zeros((len(bits), len(pool)), dtype=np.int64)
    if len(literals):
        false = bits[:, features[literals]] == pool.negated[literals]
        owners, firsts = np.unique(owner[literals], return_index=True)
        found[:, owners] = np.add.reduceat(false, firsts, axis=1, dtype=np.int64)
    return found
