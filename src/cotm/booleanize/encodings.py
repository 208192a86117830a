"""How one column of a table becomes bits."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect, expect_array, expect_keys, expect_type
from .descriptions import BitFeature, threshold_features, value_texts
from .frames import MEASURES, Column, Plain, Quantities, row_text
from .packing import pack_groups, unpack_groups
from .thresholds import (
    Thresholds,
    learn_sparse_thresholds,
    learn_thresholds,
    round_seconds,
    whole_days,
)

_NO_THRESHOLDS = np.empty(0)
_BIT_THRESHOLDS = np.full(1, 0.5)

# Microseconds are counted in 64 bits.
_MOST_SECONDS = 2**63 / 1e6

# type -> (what messages call it, how to convert a column to it)
_WORDS = {
    "number": ("only numbers", "to numbers, for example with pandas.to_numeric"),
    "date": ("dates", "to dates, for example with pandas.to_datetime"),
    "duration": ("durations", "to durations, for example with pandas.to_timedelta"),
    "time": ("times of day", "to times of day (datetime.time)"),
    "text": ("text", "to text, for example with astype(str)"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnCode:
    """How one column becomes bits; ``missing`` adds a last bit, for missing values.

    ``type`` is what training saw in the column, one of the class's ``types``; None if it saw no
    values, or in model files that do not say.
    """

    kind: ClassVar[str]
    types: ClassVar[tuple[str, ...]]

    missing: bool
    type: str | None = None
    thresholds: Thresholds = field(default_factory=lambda: _NO_THRESHOLDS)
    categories: tuple[Plain, ...] = ()

    @property
    def n_bits(self) -> int:
        """Number of bits."""
        return len(self.thresholds) + len(self.categories) + self.missing

    def features(self, name: str, index: int, *, from_zero: bool) -> list[BitFeature]:
        """What each bit means; ``from_zero`` if a value of zero sets none (sparse data)."""
        features = self._value_features(name, index, from_zero=from_zero)
        return features + [BitFeature(name, "missing", index=index)] * self.missing

    def _value_features(self, name: str, index: int, *, from_zero: bool) -> list[BitFeature]:
        """What each bit but the one for missing values means."""
        raise NotImplementedError

    def encode(self, column: Column, bits: NDArray[np.uint8]) -> None:
        """Write a column's bits into zeroed ``bits`` of shape (rows, n_bits)."""
        raise NotImplementedError

    def check_parts(self) -> None:
        """Raise a ValueError if the parts, which may come from a damaged file, do not fit."""
        expect(
            self.type is None or self.type in self.types,
            f"a column of kind {self.kind} has the type {self.type!r:.200}",
        )

    def _check_thresholds(self, fit: bool) -> None:
        thresholds = self.thresholds.tolist()
        expect(fit, f"thresholds {thresholds} do not fit a column of kind {self.kind}")


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberCode(ColumnCode):
    """A number, date, duration or time of day sets ``x > t`` for each threshold t."""

    kind = "number"
    types: ClassVar[tuple[str, ...]] = MEASURES

    def _value_features(self, name: str, index: int, *, from_zero: bool) -> list[BitFeature]:
        return threshold_features(
            name, self.thresholds, from_zero=from_zero, measure=self.type, index=index
        )

    def encode(self, column: Column, bits: NDArray[np.uint8]) -> None:
        values = self.numbers(column)
        bits[:, : len(self.thresholds)] = values[:, None] > self.thresholds
        if self.missing:
            bits[:, -1] = np.isnan(values)

    def numbers(self, column: Column) -> NDArray[np.float64]:
        """The numbers of a column, which must be of the type that training saw."""
        expected = "number" if self.type in (None, "bit") else str(self.type)
        held = f"held {_WORDS[expected][0]} in training"
        measure, values = require_quantities(column, held, _WORDS[expected][1])
        if self.type is not None and measure not in (None, expected):
            raise ValueError(_drift_message(column.name, expected, str(measure)))
        return values

    def check_parts(self) -> None:
        super().check_parts()
        expect(
            self.type in (None, "number", "bit")
            or bool((np.abs(self.thresholds) < _MOST_SECONDS).all()),
            f"thresholds of a {self.type} are out of range",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class BitCode(NumberCode):
    """A number that was only 0 or 1 in training sets its bit if it is above one half."""

    kind = "bit"
    types = ("bit",)

    type: str | None = "bit"
    thresholds: Thresholds = field(default_factory=lambda: _BIT_THRESHOLDS)

    def _value_features(self, name: str, index: int, *, from_zero: bool) -> list[BitFeature]:
        return [BitFeature(name, "bit", index=index)]

    def check_parts(self) -> None:
        self._check_thresholds(np.array_equal(self.thresholds, _BIT_THRESHOLDS))
        super().check_parts()


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoryCode(ColumnCode):
    """A category sets its own bit; a value that training did not see sets none."""

    kind = "category"
    types = ("category",)

    def _value_features(self, name: str, index: int, *, from_zero: bool) -> list[BitFeature]:
        texts = value_texts(self.categories)
        return [
            BitFeature(name, "=", value, text, index)
            for value, text in zip(self.categories, texts, strict=True)
        ]

    def encode(self, column: Column, bits: NDArray[np.uint8]) -> None:
        number = {self._key(value): index for index, value in enumerate(self.categories)}
        cells = self._cells(column)
        if self.missing:
            number[self._key(None)] = len(self.categories)
        index = np.array([number.get(self._key(cell), -1) for cell in cells], dtype=np.intp)
        rows = np.flatnonzero(index >= 0)
        bits[rows, index[rows]] = 1

    def _cells(self, column: Column) -> list[Plain]:
        """The cells of a column, at least one of which must be of a type that training saw."""
        seconds = column.temporal()
        if seconds is not None and not self.categories:
            # Without categories every value is unknown, so 0 stands for any of them.
            return [None if gone else 0 for gone in np.isnan(seconds.values)]
        if self.type is None:
            return column.plain()
        known = {_category_type(value) for value in self.categories}
        expected = min(known)  # "number" before "text": of mixed types either will do
        if seconds is not None and not np.isnan(seconds.values).all():
            raise ValueError(_drift_message(column.name, expected, str(seconds.measure)))
        cells = column.plain()
        present = {_category_type(cell) for cell in cells if cell is not None}
        if present and present.isdisjoint(known):
            row, cell = next((n, cell) for n, cell in enumerate(cells) if cell is not None)
            example = f", such as {cell!r:.200} in {row_text(row)}, so no category would be known"
            raise ValueError(_drift_message(column.name, expected, min(present), example))
        return cells

    def _key(self, value: Plain) -> tuple[bool, Plain]:
        # A column of booleans may come back as 0 and 1, so they are told apart only if
        # training saw both.
        return isinstance(value, bool) and self._tells_booleans_apart, value

    @functools.cached_property
    def _tells_booleans_apart(self) -> bool:
        return tells_booleans_apart(self.categories)

    def check_parts(self) -> None:
        self._check_thresholds(not self.thresholds.size)
        super().check_parts()
        expect(self.type is None or bool(self.categories), "a column of no categories has a type")


# Files name a kind of column by its place here.
_CODES = (NumberCode, BitCode, CategoryCode)


def tells_booleans_apart(categories: tuple[Plain, ...]) -> bool:
    """Whether there are both booleans and numbers among categories."""
    kinds = {type(value) for value in categories}
    return bool in kinds and not kinds.isdisjoint((int, float))


def _category_type(value: Plain) -> str:
    return "text" if isinstance(value, str) else "number"


def _drift_message(name: str, before: str, now: str, example: str = "") -> str:
    words, way = _WORDS[before]
    return (
        f"column {name!r} held {words} in training, but holds "
        f"{_WORDS[now][0].removeprefix('only ')} now{example}; convert it {way}, or fit again on "
        "data of the new type"
    )


def require_quantities(column: Column, claim: str, way: str = _WORDS["number"][1]) -> Quantities:
    """A column's numbers, or a ValueError that says what was claimed of the column."""
    found = column.quantities()
    if found is not None:
        return found
    row, text, is_number = column.first_text()
    if is_number:
        raise ValueError(
            f"column {column.name!r} {claim}, but holds numbers written as text, such as {text!r} "
            f"in {row_text(row)}; convert the column {way}"
        )
    raise ValueError(
        f"column {column.name!r} {claim}, but holds the text {text!r:.200} in {row_text(row)}; "
        f"convert it {way}, or mark it as missing (NaN), or, for text, fit Categories or "
        "Booleanizer on it"
    )


def number_codes(columns: list[Quantities], n_bits: int) -> list[NumberCode]:
    """Codes for columns of finite numbers and NaN."""
    absent = [np.isnan(values) for _, values in columns]
    groups = [
        np.unique(values[~gone], return_counts=True)
        for (_, values), gone in zip(columns, absent, strict=True)
    ]
    are_numbers = [measure in (None, "number") for measure, _ in columns]
    learned = learn_thresholds(groups, n_bits, are_numbers)
    return [
        NumberCode(
            missing=bool(gone.any()),
            type=measure,
            thresholds=thresholds
            if is_number
            else round_seconds(thresholds, days=whole_days(values)),
        )
        for (measure, _), (values, _), gone, thresholds, is_number in zip(
            columns, groups, absent, learned, are_numbers, strict=True
        )
    ]


def sparse_codes(matrix: Any, n_bits: int) -> list[NumberCode]:
    """Codes for the columns of a canonical float64 CSR matrix, as numbers."""
    missing = np.zeros(matrix.shape[1], dtype=bool)
    missing[matrix.indices[np.isnan(matrix.data)]] = True
    learned = learn_sparse_thresholds(matrix, n_bits)
    return [
        NumberCode(missing=gone, type="number", thresholds=thresholds)
        for gone, thresholds in zip(missing.tolist(), learned, strict=True)
    ]


def category_code(column: Column) -> CategoryCode:
    """Code with one bit per distinct value of a column."""
    return category_code_of(*distinct_cells(column))


def distinct_cells(column: Column) -> tuple[list[Plain], bool]:
    """The distinct cells of a column, and whether some are missing."""
    cells = column.plain()
    distinct = distinct_values(cells)
    for cell in distinct:
        if isinstance(cell, float) and np.isinf(cell):
            raise ValueError(
                f"column {column.name!r} holds {cell} in {row_text(cells.index(cell))}, which is "
                "no category; replace it by a finite number or by NaN (missing)"
            )
    return distinct, None in cells


def distinct_values(cells: Iterable[Plain]) -> list[Plain]:
    """The distinct ones of cells that are not missing, in no order; of 1 and 1.0 it is 1."""
    distinct: dict[Any, Plain] = {}
    for cell in cells:
        if cell is not None:
            key = category_key(cell)
            if isinstance(distinct.setdefault(key, cell), float):
                distinct[key] = cell  # if one of two equal numbers is an integer, it counts
    return list(distinct.values())


def category_code_of(distinct: Iterable[Plain], missing: bool) -> CategoryCode:
    """Code with one bit for each of some distinct values."""
    categories = tuple(sorted(distinct, key=_order))
    known = "category" if categories else None
    return CategoryCode(missing=missing, type=known, categories=categories)


def category_key(value: Plain) -> tuple[bool, Plain]:
    """What is equal of equal categories.

    >>> category_key(1) == category_key(1.0), category_key(1) == category_key(True)
    (True, False)
    """
    # True == 1 in Python, yet they are different categories. 1 and 1.0 are the same one, since a
    # column of integers turns into floats as soon as one of its cells is missing.
    return isinstance(value, bool), value


def _order(value: Plain) -> tuple[str, Any]:
    # Values of different types cannot be compared, so the type comes first.
    return type(value).__name__, value


def pack_codes(codes: list[ColumnCode]) -> dict[str, NDArray[Any]]:
    """The numeric parts of codes: everything but the categories and types."""
    kinds = [_CODES.index(type(code)) for code in codes]
    return {
        "kinds": np.array(kinds, dtype=np.uint8),
        "missing": np.array([code.missing for code in codes], dtype=np.uint8),
        **pack_groups([code.thresholds for code in codes]),
    }


def unpack_codes(categories: Any, types: Any, arrays: Any, n_bits: int) -> list[ColumnCode]:
    """Codes from what ``pack_codes`` returned, the lists of categories and the types.

    Everything is checked; ``types`` is None in files that do not have them.
    """
    expect_keys(arrays, ("kinds", "missing", "thresholds", "offsets"), "arrays")
    kinds = expect_array(arrays, "kinds", np.uint8, None)
    missing = expect_array(arrays, "missing", np.uint8, len(kinds))
    expect(len(kinds) > 0, "there are no columns")
    expect(bool((kinds < len(_CODES)).all()), f"kinds must be below {len(_CODES)}")
    expect(bool((missing <= 1).all()), "array 'missing' must hold 0 and 1 only")
    groups = unpack_groups(arrays, len(kinds), n_bits)
    expect_type(categories, list, "categories")
    expect(
        len(categories) == np.count_nonzero(kinds == _CODES.index(CategoryCode)),
        "there must be one list of categories for each column of categories",
    )
    lists = iter(categories)
    types = [None] * len(kinds) if types is None else expect_type(types, list, "types")
    expect(len(types) == len(kinds), f"types must be {len(kinds)}, got {len(types)}")
    codes: list[ColumnCode] = []
    for kind, gone, thresholds, type_ in zip(
        kinds.tolist(), missing.tolist(), groups, types, strict=True
    ):
        make = _CODES[kind]
        values = _check_categories(next(lists)) if make is CategoryCode else ()
        code = make(missing=bool(gone), type=type_, thresholds=thresholds, categories=values)
        code.check_parts()
        codes.append(code)
    return codes


def _check_categories(values: Any) -> tuple[Plain, ...]:
    expect_type(values, list, "a column's categories")
    for value in values:
        expect(
            type(value) in (str, int, bool) or (type(value) is float and np.isfinite(value)),
            f"a category must be text, a finite number or a boolean, got {value!r:.200}",
        )
    expect(
        values == sorted(values, key=_order)
        and len({category_key(v) for v in values}) == len(values),
        "a column's categories must be sorted and distinct",
    )
    return tuple(values)
