"""Conditions of rules: what those of one column say together, and which contradict each other.

The bits of a column do not occur in every combination. A value lies between two neighbouring
thresholds, or is a certain category, or is missing: these are the cases of the column, and each
case determines all its bits. A condition excludes the cases in which it does not hold. Conditions
that together exclude all cases contradict each other; otherwise the cases that are left are an
interval, a set of categories, or a bit, and one test says the same as all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..booleanize import BitFeature
from .grammar import name_text, threshold_text, value_text


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


@dataclass(frozen=True)
class ColumnTest:
    """What a rule asks of one column: all its conditions on it as one test.

    Attributes
    ----------
    column : str
        The column's name.
    index : int or None
        Its number among the columns of X, where it is one of them.
    kind : {"interval", "set", "bit", "missing"}
        An interval of numbers, dates or quantiles; a set of categories; a bit, or a pixel beside
        the mean around it; or whether the value is missing.
    low, high : float or None
        The ends of an interval, None where it has none.
    closed : tuple of (bool, bool)
        Whether ``low`` and ``high`` belong to it.
    values : tuple
        The categories of a set.
    negated : bool
        Of a set that all other values pass, of a bit that it is 0, else that nothing is missing.
    missing : bool
        Whether a missing value passes.
    text : str
        The test in words, which :func:`cotm.rules.parse_tests` reads.
    """

    column: str
    index: int | None
    kind: str
    low: Any = None
    high: Any = None
    closed: tuple[bool, bool] = (False, False)
    values: tuple[Any, ...] = ()
    negated: bool = False
    missing: bool = False
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text


#: Bits that compare a column with a number.
_ORDERS = (">", "<=", "<")


class Column:
    """The bits that test one column, and its cases.

    Case 0 is a missing value, which sets no bit but the one for missing values. Case 1 is a value
    below all thresholds, or one that is none of the categories, or a bit that is 0. The others are
    the values above each threshold, or each category, or a bit that is 1. A set of cases is an
    integer with a bit for each.
    """

    def __init__(self, features: Sequence[BitFeature], *, repeated: bool) -> None:
        first = features[0]
        self.name, self.index = first.column, first.index
        self._text = name_text(first.column, first.index if repeated else None)
        self._tells_missing = any(feature.op == "missing" for feature in features)
        self._tests: dict[int, ColumnTest] = {}
        ordered = {_cut(f): f for f in features if _is_ordered(f)}
        self._cuts: list[tuple[Any, bool]] = sorted(ordered)
        self._cut_texts = [self._cut_text(cut, ordered[cut]) for cut in self._cuts]
        # A column is tested by thresholds or in another way, never both.
        others = {_identity(f): f for f in features if not _is_ordered(f) and f.op != "missing"}
        self._others = [*others.values()]
        self._place = {identity: place for place, identity in enumerate(others)}
        self.n_cases = 2 + len(self._cuts) + len(self._others)
        self.everything = (1 << self.n_cases) - 1

    @staticmethod
    def _cut_text(cut: tuple[Any, bool], feature: BitFeature) -> tuple[str, bool]:
        """How a cut is written, and whether what equals the text lies below it."""
        text, above = threshold_text(feature.value, feature.value_text)  # type: ignore[arg-type]
        if above and not cut[1]:
            return repr(feature.value), False
        return text, cut[1] and not above

    def holding(self, feature: BitFeature) -> int:
        """The cases in which a bit is 1."""
        if feature.op == "missing":
            return 1
        if _is_ordered(feature):
            below = (1 << (2 + bisect_left(self._cuts, _cut(feature)))) - 1
            return self.everything & ~below if feature.op == ">" else below & ~1
        return 1 << (2 + self._place[_identity(feature)])

    def excluded(self, condition: Condition) -> int:
        """The cases in which a condition does not hold."""
        holding = self.holding(condition.feature)
        return holding if condition.negated else self.everything & ~holding

    @property
    def mean(self) -> str | None:
        """What a pixel is compared with, where that is the mean around it."""
        pixels = [f for f in self._others if f.op == "pixel"]
        return f"local mean - {pixels[0].value_text}" if pixels else None

    def cuts(self) -> list[tuple[tuple[Any, bool], tuple[str, bool]]]:
        """Where thresholds divide the values, in order, and how they are written."""
        return [*zip(self._cuts, self._cut_texts, strict=True)]

    def value_cases(self, values: Sequence[Any] | None) -> int:
        """The cases of some categories, or of a bit that is 1; a ValueError if there are none."""
        if values is None:
            bits = [1 << (2 + k) for k, f in enumerate(self._others) if f.op in ("bit", "pixel")]
            if len(bits) != 1:
                raise ValueError(f"{self.name!r} is no bit; say what it is compared with")
            return bits[0]
        found = 0
        for value in values:
            identity = ("=", isinstance(value, bool), value)
            if identity not in self._place:
                known = ", ".join(value_text(f.value) for f in self._others if f.op == "=")
                raise ValueError(
                    f"{value!r:.200} is no category of {self.name!r}; it has {known:.200}"
                )
            found |= 1 << (2 + self._place[identity])
        return found

    def test(self, accepted: int) -> ColumnTest:
        """The test that is passed in these cases, which conditions have left."""
        if accepted not in self._tests:
            self._tests[accepted] = self._make_test(accepted)
        return self._tests[accepted]

    def _make_test(self, accepted: int) -> ColumnTest:
        missing, values = bool(accepted & 1), accepted >> 1
        every = self.everything >> 1
        if not values or values == every:
            return self._finished("missing", missing, negated=bool(values))
        if self._cuts:
            return self._interval(values, missing)
        feature, *more = self._others
        if feature.op == "=" or more:
            return self._set(values, missing)
        negated = not values & 2
        # "{column} > local mean - 2" has its column in the middle of the phrase.
        named = BitFeature(self._text, feature.op, feature.value, feature.text)
        text = f"not {self._text}" if feature.op == "bit" else named.negated()
        return self._finished(
            "bit", missing, text if negated else str(named), negated=negated, hides=negated
        )

    def _interval(self, values: int, missing: bool) -> ColumnTest:
        """Conditions leave neighbouring cases of thresholds."""
        first = (values & -values).bit_length() - 1
        last = values.bit_length() - 1
        low, high, closed, text = None, None, [False, False], self._text
        if last < len(self._cuts):
            high, closed[1] = self._cuts[last]
            number, below = self._cut_texts[last]
            text = f"{text} {'<=' if below else '<'} {number}"
        if first:
            low, above = self._cuts[first - 1]
            closed[0] = not above
            number, below = self._cut_texts[first - 1]
            if high is None:
                text = f"{text} {'>' if below else '>='} {number}"
            else:
                text = f"{number} {'<' if below else '<='} {text}"
        ends = {"low": low, "high": high, "closed": (closed[0], closed[1])}
        return self._finished("interval", missing, text, hides=not first, **ends)

    def _set(self, values: int, missing: bool) -> ColumnTest:
        """One category, or all values but some."""
        negated = bool(values & 1)
        chosen = [
            feature.value
            for place, feature in enumerate(self._others, start=1)
            if bool(values >> place & 1) != negated
        ]
        texts = [value_text(value) for value in chosen]
        if len(texts) == 1:
            text = f"{self._text} {'!=' if negated else '='} {texts[0]}"
        else:
            text = f"{self._text} {'not in' if negated else 'in'} {{{', '.join(texts)}}}"
        return self._finished(
            "set", missing, text, values=tuple(chosen), negated=negated, hides=negated
        )

    def _finished(
        self, kind: str, missing: bool, text: str = "", *, hides: bool = False, **parts: Any
    ) -> ColumnTest:
        """A test with what it says of missing values.

        ``hides``: without a word on it a missing value passes, as it sets no bit. That is left
        unsaid where training saw no missing values in the column.
        """
        if kind == "missing":
            text = f"{self._text} is {'not ' if parts['negated'] else ''}missing"
        elif missing and (self._tells_missing or not hides):
            text += " or missing"
        elif hides and not missing:
            text += f" and {self._text} is not missing"
        return ColumnTest(self.name, self.index, kind, missing=missing, text=text, **parts)


def _is_ordered(feature: BitFeature) -> bool:
    return feature.op in _ORDERS and isinstance(feature.value, int | float)


def _is_in_words(feature: BitFeature) -> bool:
    """Whether a threshold is a date or a quantile, which no other number lies above or below."""
    if type(feature.value) is int and feature.value == 0 and feature.text:
        return True  # the quantile 0
    try:
        float(feature.value_text)
    except ValueError:
        return True
    return False


def _cut(feature: BitFeature) -> tuple[Any, bool]:
    """Where a comparison divides the values; what equals the value lies below it but for ``<``."""
    return feature.value, feature.op != "<"


def _identity(feature: BitFeature) -> Hashable:
    # True == 1 in Python, but they are different categories.
    return feature.op, isinstance(feature.value, bool), feature.value


def columns_of(
    features: Sequence[BitFeature], names: Iterable[str] = ()
) -> tuple[list[Column], list[int]]:
    """The columns that bits test, and for each bit the number of its column.

    ``names`` are those of all columns, also of such that have no bits.

    Columns are told apart by number where they have one. Bits that test a column in different
    ways, as several booleanizers of an image do by numbers and by its quantiles, are taken for
    different columns: nothing is known of what they have in common.
    """
    families: dict[Hashable, set[Hashable]] = {}
    numbers: dict[str, set[int | None]] = {}
    for index, name in enumerate(names):
        numbers.setdefault(name, set()).add(index)
    for feature in features:
        key = (feature.column, feature.index)
        numbers.setdefault(feature.column, set()).add(feature.index)
        if feature.op != "missing":
            families.setdefault(key, set()).add(_family(feature))
    groups: dict[Hashable, list[BitFeature]] = {}
    keys = []
    for feature in features:
        key = (feature.column, feature.index)
        together = len(families.get(key, ())) < 2
        keys.append(key if together else (*key, _family(feature)))
        groups.setdefault(keys[-1], []).append(feature)
    place = {key: number for number, key in enumerate(groups)}
    columns = [
        Column(group, repeated=len(numbers[group[0].column]) > 1) for group in groups.values()
    ]
    return columns, [place[key] for key in keys]


def _family(feature: BitFeature) -> Hashable:
    """The way in which a bit tests its column; bits of one family have cases in common."""
    if _is_ordered(feature):
        return "words" if _is_in_words(feature) else "threshold"
    if feature.op in ("=", "missing"):
        return feature.op
    return feature.op, feature.value


def column_tests(conditions: Sequence[Condition], *, apart: bool = False) -> tuple[ColumnTest, ...]:
    """The tests that hold where all conditions do; none if they contradict each other.

    ``apart`` gives each condition a test of its own, as graded clauses count them.
    """
    columns, places = columns_of([condition.feature for condition in conditions])
    if apart:
        return tuple(
            columns[place].test(columns[place].everything & ~columns[place].excluded(condition))
            for place, condition in zip(places, conditions, strict=True)
        )
    accepted = {place: columns[place].everything for place in places}
    for place, condition in zip(places, conditions, strict=True):
        accepted[place] &= ~columns[place].excluded(condition)
    if not all(accepted.values()):
        return ()
    return tuple(columns[place].test(cases) for place, cases in accepted.items())
