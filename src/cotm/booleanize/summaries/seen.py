"""What has been seen in one column of a table that comes in parts, other than its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encodings import category_key, distinct_cells, distinct_values, require_quantities
from ..frames import Column, Plain, Quantities
from ..thresholds import whole_days

#: Different values of a column that can become categories: each is a bit.
MOST_CATEGORIES = 1 << 16
#: Different numbers of a column, if it turns out to hold text as well.
_MOST_NUMBERS = 1 << 12

_WORDS = {
    "number": "numbers",
    "date": "dates",
    "duration": "durations",
    "time": "times of day",
    "text": "text",
    "categories": "declared categories",
}


@dataclass
class Seen:
    """What has been seen in one column; the same whatever the order of the parts."""

    name: str
    kinds: frozenset[str] = frozenset()  # among the keys of _WORDS
    missing: bool = False
    objects: bool = False  # in some part it was no array of one type of numbers or dates
    days: bool = True  # dates and durations were whole days
    rounded: int | None = None  # the largest integer that is none any more as a float
    text: str | None = None  # one that is there: the first in the order of texts
    #: Its different values, by keys that tell 1 from True; None: too many to become categories.
    values: dict[Any, Plain] | None = field(default_factory=dict)

    def add(self, column: Column, wanted: str) -> Quantities | None:
        """Look at a part of the column; its numbers are returned, if it is a column of such.

        ``wanted`` says what the booleanizer takes: "numbers", "categories" or "any".
        """
        part = Seen(self.name, objects=column.data.dtype.kind not in "biufmM")
        found: Quantities | None = None
        if wanted == "numbers":
            found = require_quantities(column, "must hold only numbers for Thermometer")
        elif wanted == "any" and not column.categorical:
            found = column.quantities()
        if found is None:
            declared = column.categorical or wanted == "categories"
            part._add_cells(column, "categories" if declared else "text")
        else:
            part._add_quantities(column, found, keep=self.values is not None and wanted == "any")
        self.merge(part)
        return found

    def merge(self, other: Seen) -> None:
        """Add what the other has seen; a ValueError if both together are no column."""
        kinds = self.kinds | other.kinds
        values = None
        if self.values is not None and other.values is not None:
            values = _limited({**self.values, **_replacing(self.values, other.values)}, kinds)
        text = min((t for t in (self.text, other.text) if t is not None), default=None)
        self._check(kinds, values, text)
        rounded = [n for n in (self.rounded, other.rounded) if n is not None]
        self.kinds, self.values, self.text = kinds, values, text
        self.missing |= other.missing
        self.objects |= other.objects
        self.days &= other.days
        self.rounded = max(rounded, default=None)

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories rather than quantities."""
        # A column without values may hold anything later, and only categories take any value.
        return bool(self.kinds & {"text", "categories"}) or (not self.kinds and self.objects)

    @property
    def measure(self) -> str | None:
        """What its quantities measure; None if all are missing."""
        return next(iter(self.kinds), None)

    def _add_cells(self, column: Column, kind: str) -> None:
        distinct, self.missing = distinct_cells(column)
        self.kinds = frozenset([kind] if distinct or column.categorical else [])
        self.text = min((cell for cell in distinct if isinstance(cell, str)), default=None)
        self.values = _limited(_by_key(distinct), self.kinds)

    def _add_quantities(self, column: Column, found: Quantities, *, keep: bool) -> None:
        absent = np.isnan(found.values)
        self.missing = bool(absent.any())
        self.kinds = frozenset([] if found.measure is None else [found.measure])
        self.rounded = column.rounded_integer() if found.measure == "number" else None
        if found.measure not in (None, "number"):
            self.days = whole_days(found.values[~absent])
        elif found.measure == "number":
            distinct = _distinct_numbers(column) if keep else None
            self.values = None if distinct is None else _limited(_by_key(distinct), self.kinds)

    def _check(self, kinds: frozenset[str], values: Any, text: str | None) -> None:
        if len(kinds) > 1 and kinds != {"number", "text"}:
            words = sorted(_WORDS[kind] for kind in kinds)
            raise ValueError(
                f"column {self.name!r} holds {words[0]} in one part of the data and {words[1]} in "
                "another; convert it to one type, or drop it"
            )
        if values is not None or not kinds & {"text", "categories"}:
            return
        if "number" in kinds:
            raise ValueError(
                f"column {self.name!r} holds more than {_MOST_NUMBERS:,} different numbers and the "
                f"text {text!r:.200}, so each of them would become a category; correct the text, "
                "or make it missing (NaN)"
            )
        raise ValueError(
            f"column {self.name!r} holds more than {MOST_CATEGORIES:,} different categories, each "
            "of which would become a bit; drop what names rows, or put rare values together"
        )


def _distinct_numbers(column: Column) -> list[Plain]:
    """The distinct numbers of a column as they are; more than are kept if they are many."""
    data = column.data
    if data.dtype.kind == "O":
        return distinct_values(column.plain())
    known = data[~np.isnan(data)] if data.dtype.kind == "f" else data
    distinct: NDArray[Any] = np.unique(known)
    return distinct[: _MOST_NUMBERS + 1].tolist()  # type: ignore[no-any-return]


def _by_key(distinct: list[Plain]) -> dict[Any, Plain]:
    return {category_key(value): value for value in distinct_values(distinct)}


def _replacing(known: dict[Any, Plain], more: dict[Any, Plain]) -> dict[Any, Plain]:
    """Values that are new, or integers in place of the floats that they equal."""
    return {
        key: value
        for key, value in more.items()
        if key not in known or (isinstance(known[key], float) and isinstance(value, int))
    }


def _limited(values: dict[Any, Plain], kinds: frozenset[str]) -> dict[Any, Plain] | None:
    """Values as they are kept; None if they are too many to become categories."""
    if len(values) <= _MOST_NUMBERS:
        return values
    numbers = sum(not isinstance(value, str) for value in values.values())
    if len(values) > MOST_CATEGORIES or ("categories" not in kinds and numbers > _MOST_NUMBERS):
        return None
    return values
