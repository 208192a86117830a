"""Conditions of rules: which of them imply others, and which exclude each other.

A column's bits do not come in every combination. A value lies between two thresholds, is one
category or another, or is missing, and each of these cases says what all bits of the column
are. Conditions on a column therefore exclude cases: those that exclude all of them never hold,
and one that excludes no case of its own is implied by the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .booleanize import BitFeature


@dataclass(frozen=True)
class Condition:
    """One literal of a rule: a bit of the input, or its negation."""

    feature: BitFeature
    negated: bool

    def __str__(self) -> str:
        return self.feature.negated() if self.negated else str(self.feature)


def simplify(conditions: Sequence[Condition]) -> list[Condition]:
    """Leave out what others imply: ``x > 3`` or ``x is not missing`` beside ``x > 5``.

    Bits that a column can have fulfil what is left exactly if they fulfil all.
    """
    implied: set[int] = set()
    for places in _by_column(conditions):
        _, excluded = _cases([conditions[place] for place in places])
        excluders = Counter(chain.from_iterable(excluded))
        # Negated conditions go first: "is missing" says more than "is not 3".
        for _, place, cases in sorted(
            (not conditions[place].negated, place, cases)
            for place, cases in zip(places, excluded, strict=True)
        ):
            if all(excluders[case] > 1 for case in cases):
                implied.add(place)
                excluders.subtract(cases)
    return [condition for place, condition in enumerate(conditions) if place not in implied]


def is_possible(conditions: Sequence[Condition]) -> bool:
    """Whether any input fulfils all conditions."""
    for places in _by_column(conditions):
        cases, excluded = _cases([conditions[place] for place in places])
        if len({*chain.from_iterable(excluded)}) == len(cases):
            return False
    return True


def _by_column(conditions: Sequence[Condition]) -> Iterator[list[int]]:
    """Places of conditions that bear on each other, two or more at a time."""
    columns: dict[Hashable, dict[Hashable, list[int]]] = {}
    for place, condition in enumerate(conditions):
        feature = condition.feature
        families = columns.setdefault((feature.column, feature.index), {})
        families.setdefault(_family(feature), []).append(place)
    for families in columns.values():
        missing = families.pop("missing", [])
        if len(families) == 1:
            groups = [places + missing for places in families.values()]
        else:  # tests of several kinds: not a column of ours, so each is looked at alone
            groups = [*families.values(), missing]
        yield from (places for places in groups if len(places) > 1)


def _family(feature: BitFeature) -> Hashable:
    if feature.op in (">", "<=") and isinstance(feature.value, int | float):
        return "threshold"
    if feature.op in ("=", "missing"):
        return feature.op
    return feature.op, feature.value


def _cases(conditions: Sequence[Condition]) -> tuple[range, list[list[int]]]:
    """The cases of one column, as numbers, and for each condition those it excludes.

    Case 0 is a missing value, which sets no bit but its own. Case 1 is a value that lies
    below all thresholds, is none of the categories, or is a bit of 0.
    """
    features = [condition.feature for condition in conditions]
    # A family has thresholds or the others, so that both may count from case 2.
    thresholds: list[Any] = sorted({f.value for f in features if f.op in (">", "<=")})
    others: dict[Hashable, int] = {}
    for feature in features:
        if feature.op not in (">", "<=", "missing"):
            others.setdefault(_identity(feature), 2 + len(others))
    cases = range(2 + len(thresholds) + len(others))

    def holding(feature: BitFeature) -> range:
        if feature.op == "missing":
            return cases[:1]
        if feature.op in (">", "<="):
            first_above = 2 + bisect_left(thresholds, feature.value)
            return cases[first_above:] if feature.op == ">" else cases[1:first_above]
        case = others[_identity(feature)]
        return cases[case : case + 1]

    excluded = []
    for condition in conditions:
        inside = holding(condition.feature)
        outside = [*cases[: inside.start], *cases[inside.stop :]]
        excluded.append([*inside] if condition.negated else outside)
    return cases, excluded


def _identity(feature: BitFeature) -> Hashable:
    # True == 1 in Python; as categories they differ.
    return feature.op, isinstance(feature.value, bool), feature.value
