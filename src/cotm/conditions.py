"""Conditions of rules: which of them imply others, and which contradict each other.

The bits of a column do not occur in every combination. A value lies between two neighbouring
thresholds, or is a certain category, or is missing: these are the cases of the column, and each
case determines all its bits. A condition excludes the cases in which it does not hold. Conditions
that together exclude all cases contradict each other. A condition that excludes only cases which
other conditions exclude as well is implied by them.
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
    """One literal of a rule: a bit of the input, or its negation.

    Attributes
    ----------
    feature : BitFeature
        What the bit means.
    negated : bool
        Whether the condition holds where the bit is 0.
    """

    feature: BitFeature
    negated: bool

    def __str__(self) -> str:
        return self.feature.negated() if self.negated else str(self.feature)


#: Tests that compare a column with a number.
_ORDERS = (">", "<=", "<")


def simplify(conditions: Sequence[Condition]) -> list[Condition]:
    """Leave out conditions that others imply, such as ``x > 3`` beside ``x > 5``.

    An input fulfils the conditions that remain exactly if it fulfils all of them.
    """
    implied: set[int] = set()
    for places in _by_column(conditions):
        _, excluded = _cases([conditions[place] for place in places])
        excluders = Counter(chain.from_iterable(excluded))
        # Negated conditions are left out first, as "is missing" says more than "is not 3".
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
    """Groups of two or more conditions, as places in the sequence, that may imply others."""
    columns: dict[Hashable, dict[Hashable, list[int]]] = {}
    for place, condition in enumerate(conditions):
        feature = condition.feature
        families = columns.setdefault((feature.column, feature.index), {})
        families.setdefault(_family(feature), []).append(place)
    for families in columns.values():
        missing = families.pop("missing", [])
        if len(families) == 1:
            groups = [places + missing for places in families.values()]
        else:  # no booleanizer of cotm tests a column in several ways, so nothing is known
            groups = [*families.values(), missing]
        yield from (places for places in groups if len(places) > 1)


def _family(feature: BitFeature) -> Hashable:
    """The way in which a bit tests its column; bits of one family have cases in common."""
    if feature.op in _ORDERS and isinstance(feature.value, int | float):
        return "threshold"
    if feature.op in ("=", "missing"):
        return feature.op
    return feature.op, feature.value


def _cases(conditions: Sequence[Condition]) -> tuple[range, list[list[int]]]:
    """The cases of one column, as numbers, and for each condition the cases it excludes.

    Case 0 is a missing value, which sets no bit but the one for missing values. Case 1 is a value
    below all thresholds, or one that is none of the categories, or a bit that is 0. The others are
    the values above each threshold, or each category, or a bit that is 1.
    """
    features = [condition.feature for condition in conditions]
    # A family tests by thresholds or in another way, never both, so both count from case 2.
    thresholds: list[Any] = sorted({_cut(f) for f in features if f.op in _ORDERS})
    others: dict[Hashable, int] = {}
    for feature in features:
        if feature.op not in (*_ORDERS, "missing"):
            others.setdefault(_identity(feature), 2 + len(others))
    cases = range(2 + len(thresholds) + len(others))

    def holding(feature: BitFeature) -> range:
        """The cases in which the bit is 1."""
        if feature.op == "missing":
            return cases[:1]
        if feature.op in _ORDERS:
            first_above = 2 + bisect_left(thresholds, _cut(feature))
            return cases[first_above:] if feature.op == ">" else cases[1:first_above]
        case = others[_identity(feature)]
        return cases[case : case + 1]

    excluded = []
    for condition in conditions:
        inside = holding(condition.feature)
        outside = [*cases[: inside.start], *cases[inside.stop :]]
        excluded.append([*inside] if condition.negated else outside)
    return cases, excluded


def _cut(feature: BitFeature) -> tuple[Any, bool]:
    """Where a comparison divides the values; what equals the value lies below it but for ``<``."""
    return feature.value, feature.op != "<"


def _identity(feature: BitFeature) -> Hashable:
    # True == 1 in Python, but they are different categories.
    return feature.op, isinstance(feature.value, bool), feature.value
