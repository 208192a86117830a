"""How one column of a table becomes bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .checks import expect, expect_array, expect_keys, expect_type, pack_groups, unpack_groups
from .features import BitFeature, threshold_features, value_texts
from .tables import Column, Plain
from .thresholds import learn_sparse_thresholds, learn_thresholds

# The order gives the numbers that stand for the kinds in files.
KINDS = ("number", "bit", "category")

_NO_THRESHOLDS = np.empty(0)
_BIT_THRESHOLDS = np.full(1, 0.5)


@dataclass(frozen=True, eq=False)
class ColumnCode:
    """The bits of one column.

    A number sets ``x > t`` for each threshold t; a "bit" is a number that may only be 0 or 1,
    with the threshold 0; a category sets its own bit.  ``missing`` adds a last bit.
    """

    kind: str
    missing: bool
    thresholds: np.ndarray = field(default_factory=lambda: _NO_THRESHOLDS)
    categories: tuple[Plain, ...] = ()

    @property
    def n_bits(self) -> int:
        """Number of bits."""
        return len(self.thresholds) + len(self.categories) + self.missing

    def features(self, name: str, *, from_zero: bool) -> list[BitFeature]:
        """What each bit means; ``from_zero`` when zero sets none (sparse data)."""
        if self.kind == "bit":
            features = [BitFeature(name, "bit")]
        elif self.kind == "number":
            features = threshold_features(name, self.thresholds, from_zero=from_zero)
        else:
            texts = value_texts(self.categories)
            features = [
                BitFeature(name, "=", value, text)
                for value, text in zip(self.categories, texts, strict=True)
            ]
        return features + [BitFeature(name, "missing")] * self.missing

    def encode(self, column: Column, bits: np.ndarray) -> None:
        """Write a column's bits into zeroed ``bits`` of shape (rows, n_bits)."""
        if self.kind == "category":
            number = {_key(value): index for index, value in enumerate(self.categories)}
            cells = column.plain()
            if self.missing:
                number[_key(None)] = len(self.categories)
            index = np.array([number.get(_key(cell), -1) for cell in cells], dtype=np.intp)
            rows = np.flatnonzero(index >= 0)
            bits[rows, index[rows]] = 1
            return
        values = require_numbers(column, "held only numbers in training")
        bits[:, : len(self.thresholds)] = values[:, None] > self.thresholds
        if self.missing:
            bits[:, -1] = np.isnan(values)


def require_numbers(column: Column, claim: str) -> np.ndarray:
    """A column's numbers, or a ValueError that says what was claimed of the column."""
    values = column.numbers()
    if values is None:
        raise ValueError(
            f"Column {column.name!r} {claim}, but holds the text {column.first_text()!r}. "
            "Convert it to a number or mark it as missing (NaN); text needs Categories or "
            "Booleanizer, fitted on it."
        )
    return values


def number_codes(columns: list[np.ndarray], n_bits: int) -> list[ColumnCode]:
    """Codes for columns of finite numbers and NaN."""
    absent = [np.isnan(values) for values in columns]
    groups = [
        np.unique(values[~gone], return_counts=True)
        for values, gone in zip(columns, absent, strict=True)
    ]
    return [
        ColumnCode("number", bool(gone.any()), thresholds)
        for gone, thresholds in zip(absent, learn_thresholds(groups, n_bits), strict=True)
    ]


def sparse_codes(matrix: Any, n_bits: int) -> list[ColumnCode]:
    """Codes for the columns of a canonical float64 CSR matrix, as numbers."""
    missing = np.zeros(matrix.shape[1], dtype=bool)
    missing[matrix.indices[np.isnan(matrix.data)]] = True
    thresholds = learn_sparse_thresholds(matrix, n_bits)
    return [
        ColumnCode("number", *parts) for parts in zip(missing.tolist(), thresholds, strict=True)
    ]


def bit_code(missing: bool) -> ColumnCode:
    """Code for a column of only 0 and 1."""
    return ColumnCode("bit", missing, _BIT_THRESHOLDS)


def category_code(column: Column) -> ColumnCode:
    """Code with one bit per distinct value of a column."""
    cells = column.plain()
    distinct = {_key(cell): cell for cell in cells if cell is not None}
    for cell in distinct.values():
        if isinstance(cell, float) and np.isinf(cell):
            raise ValueError(
                f"Column {column.name!r} holds {cell}, which is no category. "
                "Replace it by a finite number or by NaN (missing)."
            )
    categories = tuple(sorted(distinct.values(), key=_order))
    return ColumnCode("category", None in cells, categories=categories)


def _key(value: Plain) -> tuple[bool, Plain]:
    # True == 1 in Python, yet they are different categories; 1 and 1.0 are the same one, since
    # a column of integers turns into floats as soon as one of its cells is missing.
    return isinstance(value, bool), value


def _order(value: Plain) -> tuple[str, Any]:
    return type(value).__name__, value


def pack_codes(codes: list[ColumnCode]) -> dict[str, np.ndarray]:
    """The numeric part of codes: all but the categories."""
    return {
        "kinds": np.array([KINDS.index(code.kind) for code in codes], dtype=np.uint8),
        "missing": np.array([code.missing for code in codes], dtype=np.uint8),
        **pack_groups([code.thresholds for code in codes]),
    }


def unpack_codes(categories: Any, arrays: Any, n_bits: int) -> list[ColumnCode]:
    """Codes from what ``pack_codes`` returned and the lists of categories, after checks."""
    expect_keys(arrays, ("kinds", "missing", "thresholds", "offsets"), "arrays")
    kinds = expect_array(arrays, "kinds", np.uint8, None)
    missing = expect_array(arrays, "missing", np.uint8, len(kinds))
    expect(len(kinds) > 0, "there are no columns")
    expect(bool((kinds < len(KINDS)).all()), f"kinds must be below {len(KINDS)}")
    expect(bool((missing <= 1).all()), "array 'missing' must hold 0 and 1 only")
    groups = unpack_groups(arrays, len(kinds), n_bits)
    expect_type(categories, list, "categories")
    expect(
        len(categories) == np.count_nonzero(kinds == KINDS.index("category")),
        "there must be one list of categories for each column of categories",
    )
    lists = iter(categories)
    codes = []
    for kind, gone, thresholds in zip(kinds.tolist(), missing.tolist(), groups, strict=True):
        name = KINDS[kind]
        values = _check_categories(next(lists)) if name == "category" else ()
        fits = {
            "number": True,
            "bit": np.array_equal(thresholds, _BIT_THRESHOLDS),
            "category": not thresholds.size,
        }
        expect(fits[name], f"thresholds {thresholds.tolist()} do not fit a column of kind {name}")
        codes.append(ColumnCode(name, bool(gone), thresholds, values))
    return codes


def _check_categories(values: Any) -> tuple[Plain, ...]:
    expect_type(values, list, "a column's categories")
    for value in values:
        expect(
            type(value) in (str, int, bool) or (type(value) is float and np.isfinite(value)),
            f"a category must be text, a finite number or a boolean, got {value!r:.200}",
        )
    expect(
        values == sorted(values, key=_order) and len({_key(v) for v in values}) == len(values),
        "a column's categories must be sorted and distinct",
    )
    return tuple(values)
