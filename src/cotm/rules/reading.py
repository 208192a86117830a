"""From a rule's text back to literals of a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..booleanize import BitFeature
from .conditions import Column, columns_of
from .grammar import ParsedTest, parse_tests
from .groups import conditions_of


def literals_of(text: str, features: Sequence[BitFeature], names: Iterable[str] = ()) -> list[int]:
    """The literals of a clause that accepts exactly what a text does; a ValueError says why not."""
    columns, places = columns_of(features, names)
    wanted: dict[int, int] = {}
    for test in parse_tests(text.removeprefix("if ")):
        place = _column_of(test, columns)
        wanted[place] = wanted.get(place, columns[place].everything) & _cases(test, columns[place])
    conditions, found = conditions_of(features), []
    for place, cases in wanted.items():
        column = columns[place]
        if not cases:
            raise ValueError(f"{text!r:.200} asks for what {column.name!r} cannot be")
        own = [k for k in range(len(conditions)) if places[k % len(features)] == place]
        excluded = {k: column.excluded(conditions[k]) for k in own}
        # Those that exclude most come first; what excludes nothing more is left out.
        left, chosen = column.everything, []
        for k in sorted(own, key=lambda k: (-excluded[k].bit_count(), k)):
            if not excluded[k] & cases and excluded[k] & left:
                left &= ~excluded[k]
                chosen.append(k)
        if left != cases:
            raise ValueError(
                f"{text!r:.200}: the bits of {column.name!r} cannot say this and nothing else; "
                f"nearest is {column.test(left).text!r:.200}"
                if left != column.everything
                else f"{text!r:.200}: no bit of {column.name!r} says this"
            )
        found += chosen
    return sorted(found)


def _column_of(test: ParsedTest, columns: Sequence[Column]) -> int:
    places = [
        place
        for place, column in enumerate(columns)
        if column.name == test.column and test.index in (None, column.index)
    ]
    if not places:
        known = dict.fromkeys(column.name for column in columns)
        raise ValueError(
            f"no bit of the model tests {test.column!r:.200}; there are "
            f"{', '.join(map(repr, known))[:200]}"
        )
    if len({columns[place].index for place in places}) == 1:
        # Bits that test one column in different ways: the text says in which.
        return next((place for place in places if _says(test, columns[place])), places[0])
    if len(places) > 1:
        raise ValueError(
            f"several columns are called {test.column!r}; name one by its number, as in "
            f"{test.column}[{columns[places[0]].index}]"
        )
    return places[0]


def _says(test: ParsedTest, column: Column) -> bool:
    """Whether a column has what a test compares it with."""
    try:
        _cases(test, column)
    except ValueError:
        return False
    return True


def _cases(test: ParsedTest, column: Column) -> int:
    """The cases of a column in which a test is passed."""
    missing = 1 if test.missing else 0
    values = column.everything & ~1
    if test.op == "missing":
        return values if test.negated else 1
    if test.op == "interval":
        return missing | _interval(test, column, values)
    cases = column.value_cases(test.values if test.op == "in" else None)
    return missing | (values & ~cases if test.negated else cases)


def _interval(test: ParsedTest, column: Column, values: int) -> int:
    if column.mean is not None and column.mean in (test.low, test.high):
        bit = column.value_cases(None)
        return bit if test.low is not None else values & ~bit
    first, last = 1, column.n_cases
    if test.low is not None:
        first = 2 + _cut(test.low, column, below=not test.closed[0])
    if test.high is not None:
        last = 2 + _cut(test.high, column, below=test.closed[1])
    return values & ((1 << last) - 1) & ~((1 << first) - 1)


def _cut(text: str, column: Column, *, below: bool) -> int:
    """The number of the cut that a text stands for; ``below`` if what equals it lies below."""
    for place, ((value, is_below), (said, said_below)) in enumerate(column.cuts()):
        if text == said and below == said_below:
            return place
        try:
            number = float(text)
        except ValueError:
            continue
        if not _is_number(said):
            continue
        if (number == value and below == is_below) or (
            is_below and not below and number == np.nextafter(float(value), math.inf)
        ):
            return place
    texts = [said for _, (said, _) in column.cuts()]
    raise ValueError(
        f"{column.name!r} is not compared with {text}; the model compares it with "
        f"{', '.join(_nearest(text, texts)) or 'nothing'}"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _nearest(text: str, texts: list[str]) -> list[str]:
    """Those thresholds that lie nearest."""
    if _is_number(text):
        ranked = [(abs(float(t) - float(text)), t) for t in texts if _is_number(t)]
        return [each for _, each in sorted(ranked)[:4]]
    return texts[:8]
