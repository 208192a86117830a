"""Rules read from their texts alone, and tried on raw rows: what the package is checked against."""

from __future__ import annotations

import datetime as dt
import functools
import re
from typing import Any

import numpy as np
import pandas as pd

from cotm.rules import ParsedTest, parse_rule


def moment(text: str) -> Any:
    """A date, duration or time of day as rules write them."""
    if re.fullmatch(r"-?\d+-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d+)?)?)?", text):
        return pd.Timestamp(text)
    sign, days, clock = re.fullmatch(r"(-)?(?:(-?\d+) days?)? ?([\d:.]+)?", text).groups()
    hours, minutes, seconds = (clock or "0:0:0").split(":")
    found = pd.Timedelta(
        days=int(days or 0), hours=int(hours), minutes=int(minutes), seconds=float(seconds)
    )
    return -found if sign else found


def comparable(cell: Any, text: str) -> tuple[Any, Any]:
    """A cell and what it is compared with, as things that Python compares exactly."""
    if isinstance(cell, dt.datetime):
        return pd.Timestamp(cell), moment(text)
    if isinstance(cell, dt.timedelta):
        return pd.Timedelta(cell), moment(text)
    if isinstance(cell, dt.time):
        since = dt.datetime.combine(dt.date(1970, 1, 1), cell) - dt.datetime(1970, 1, 1)
        return pd.Timedelta(since), moment(text)
    return float(cell), float(text)


def passes(test: ParsedTest, cell: Any, compare: Any = comparable) -> bool:
    """Whether a cell passes a test, going by the grammar and nothing else."""
    if test.op == "missing":
        return bool(pd.isna(cell)) != test.negated
    if pd.isna(cell):
        return test.missing
    if test.op == "bit":
        return bool(cell > 0.5) != test.negated
    if test.op == "in":
        return any(cell == value for value in test.values) != test.negated
    for text, closed, is_low in zip((test.low, test.high), test.closed, (True, False), strict=True):
        if text is not None:
            value, limit = compare(cell, text)
            inside = value > limit if is_low else value < limit
            if not (inside or (closed and value == limit)):
                return False
    return True


read = functools.lru_cache(parse_rule)


def amounts(text: str, found: Any, compare: Any = comparable) -> tuple[int, dict[Any, int]]:
    """How often a rule's weights count where ``found(test)`` is the cell, and the weights."""
    rule = read(text)
    held = sum(all(passes(t, found(t), compare) for t in part) for part in rule.parts)
    return max(0, held - rule.needed), rule.votes


def column_of(columns: list[str], test: ParsedTest) -> int:
    """The place of a test's column; a name alone must be enough if it comes without a number."""
    if test.index is not None:
        assert columns[test.index] == test.column
        return test.index
    (place,) = np.flatnonzero(np.array(columns, dtype=object) == test.column)
    return int(place)
