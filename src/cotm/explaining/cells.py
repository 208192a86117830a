"""Cells that a column could hold instead: one for each thing that models tell apart in it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..booleanize.encodings import CategoryCode
from ..booleanize.frames import Column
from .columns import Columns
from .wording import plain

_DAY = 86400.0  # seconds
_1970 = datetime.datetime(1970, 1, 1)


class Candidate(NamedTuple):
    """A cell for a column, how far it is from the present one, and the bits it becomes."""

    column: int
    cell: Any
    cost: float
    bits: tuple[NDArray[np.uint8], ...]  # of each member


def candidates(
    columns: Columns,
    column: int,
    cell: Any,
    *,
    read: Sequence[NDArray[np.bool_]],
    held: Sequence[Any] | None,
    missing: bool,
) -> list[Candidate]:
    """What the column could hold so that some clause could tell, nearest first.

    ``read`` are the bits of each member that any clause of it reads. ``held`` are cells that rows
    hold; without them cells lie just beyond thresholds. A cell costs the share of the column's
    thresholds that lie between it and the present one; another category, another bit and a
    missing value cost 1.
    """
    thresholds = _thresholds(columns, column)
    place = None if thresholds is None else _place(columns, column, thresholds, cell)
    if held is not None:
        cells = list({plain(value): None for value in held})
    elif thresholds is None:
        cells = _others(columns, column)
    else:
        cells = _beyond(thresholds, place, cell, _type(columns, column))
    cells = [value for value in cells if value is not None] + [None] * missing
    # What the clauses of each member look at, counted within its bits of the column.
    looks = [np.flatnonzero(mask[columns.places(k, column)]) for k, mask in enumerate(read)]
    now = _pattern(columns, column, cell, looks)
    best: dict[bytes, Candidate] = {}
    for value in cells:
        pattern = _pattern(columns, column, value, looks)
        if pattern == now:
            continue
        cost = 1.0
        if thresholds is not None and place is not None and value is not None:
            there = _place(columns, column, thresholds, value)
            cost = abs((there or 0) - place) / max(1, len(thresholds))
        known = best.get(pattern)
        if known is None or (cost, _gap(value, cell)) < (known.cost, _gap(known.cell, cell)):
            bits = [columns.bits(k, column, [value])[0] for k in range(len(looks))]
            best[pattern] = Candidate(column, value, cost, tuple(bits))
    return sorted(best.values(), key=lambda candidate: candidate.cost)


def _pattern(columns: Columns, column: int, cell: Any, looks: Sequence[NDArray[np.intp]]) -> bytes:
    """What the clauses of all members see of a cell."""
    parts = [columns.bits(k, column, [cell])[0][places] for k, places in enumerate(looks)]
    return np.concatenate(parts).tobytes()


def _thresholds(columns: Columns, column: int) -> NDArray[np.float64] | None:
    """The thresholds of all members for numbers; None for categories and bits."""
    codes = columns.codes(column)
    if not codes or any(isinstance(code, CategoryCode) or code.type == "bit" for code in codes):
        return None
    return np.unique(np.concatenate([code.thresholds for code in codes]))


def _type(columns: Columns, column: int) -> str:
    return next((str(code.type) for code in columns.codes(column) if code.type), "number")


def _others(columns: Columns, column: int) -> list[Any]:
    """The categories of all members, or both bits."""
    known = {value: None for code in columns.codes(column) for value in code.categories}
    return [*known] or [0, 1]


def _place(columns: Columns, column: int, thresholds: NDArray[np.float64], cell: Any) -> int | None:
    """How many thresholds a cell is above; None for a missing one."""
    data = np.empty(1, dtype=object)
    data[0] = cell
    found = Column(columns.names[column], data).quantities()
    if found is None or np.isnan(found.values[0]):
        return None
    return int(np.searchsorted(thresholds, found.values[0], side="left"))


def _beyond(thresholds: NDArray[np.float64], place: int | None, cell: Any, kind: str) -> list[Any]:
    """A cell between any two thresholds, as near to the present one as is short to write."""
    if not len(thresholds):  # all that counts is whether there is a value
        return [_as_cell(0.0, kind, whole=False)]
    cells = []
    whole = (isinstance(cell, int) and not isinstance(cell, bool)) or (
        kind == "date" and bool((thresholds % _DAY == 0).all())
    )
    unit = _DAY if kind == "date" else 1.0
    for j in range(len(thresholds) + 1):
        if place is not None and j < place:
            value = float(thresholds[j])  # x > t is no longer so
            below = math.floor(value / unit) * unit
            if whole and (not j or below > thresholds[j - 1]):
                value = below
        elif j > 0:
            low = float(thresholds[j - 1])
            high = float(thresholds[j]) if j < len(thresholds) else math.inf
            value = _just_above(low, high, unit if whole else None)
        else:
            value = float(thresholds[0])
        cells.append(_as_cell(value, kind, whole))
    return cells


def _just_above(low: float, high: float, unit: float | None) -> float:
    """A short number above a threshold, and up to the next."""
    if unit is not None and (math.floor(low / unit) + 1) * unit <= high:
        return (math.floor(low / unit) + 1) * unit
    room = (high - low) / 10 if high < math.inf else max(abs(low), 1e-6) / 50
    for digits in range(-15, 17):
        scale = 10.0**digits
        value = (math.floor(low * scale) + 1) / scale
        if low < value <= low + room:
            return value
    return math.nextafter(low, math.inf) if hasattr(math, "nextafter") else high


def _as_cell(value: float, kind: str, whole: bool) -> Any:
    """A quantity as a column holds it."""
    if kind == "date":
        return _1970 + datetime.timedelta(seconds=value)
    if kind == "duration":
        return datetime.timedelta(seconds=value)
    if kind == "time":
        seconds = min(max(value, 0.0), _DAY - 1e-6)
        return (_1970 + datetime.timedelta(seconds=seconds)).time()
    return int(value) if whole and value == int(value) else value


def _gap(value: Any, cell: Any) -> float:
    """How far two numbers are apart; 0 for anything else."""
    try:
        return abs(float(value) - float(cell))
    except (TypeError, ValueError):
        return 0.0
