"""Booleanizers for tables: thermometers for numbers, categories, and the automatic choice."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .base import TableBooleanizer
from .encodings import (
    BitCode,
    CategoryCode,
    ColumnCode,
    NumberCode,
    category_code,
    number_codes,
    require_quantities,
    sparse_codes,
)
from .frames import Column, Quantities, Table
from .summaries import TableSummary
from .thresholds import Thresholds, check_n_bits


class Thermometer(TableBooleanizer):
    """Numbers as bits ``x > t``.

    Thresholds lie midway between neighbouring values of the training column, rounded to the digits
    that names have, so that a rule means what it says. A column with at
    most ``n_bits + 1`` distinct values gets a threshold between any two neighbours, others at the
    quantiles; a value that fills more than its share of the rows counts there as one share. A
    constant column gets no bits. A missing value (NaN) sets none of these bits; if training saw a
    missing value in the column, it sets a bit of its own.

    Dates, durations and times of day are compared as seconds, to the microsecond, and written as
    what they are: ``when > 2021-03-05``. Their thresholds are rounded down, to whole days if all
    values are whole days, otherwise to microseconds.

    On sparse data, zeros set no bit: bits are ``x > t`` for t >= 0 and ``x <= t`` for t < 0.

    Parameters
    ----------
    n_bits : int, default=15
        Most thresholds per column.

    Attributes
    ----------
    thresholds_ : list of ndarray of float64
        Increasing thresholds of each column.
    missing_ : ndarray of bool
        Which columns have a bit for missing values.
    n_bits_out_ : int
        Number of output bits.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of str objects
        Names of the input columns, only when they were text.

    Examples
    --------
    >>> import numpy as np
    >>> thermometer = Thermometer(n_bits=2).fit(np.array([[1.0], [2.0], [4.0]]))
    >>> thermometer.get_feature_names_out().tolist()
    ['x0 > 1.5', 'x0 > 3']
    >>> thermometer.transform(np.array([[2.5], [9.0]]))
    array([[1, 0],
           [1, 1]], dtype=uint8)
    """

    _codes = (NumberCode,)
    _takes = "numbers"

    def __init__(self, n_bits: int = 15) -> None:
        self.n_bits = n_bits

    @property
    def thresholds_(self) -> list[Thresholds]:
        """Increasing thresholds of each column."""
        return [code.thresholds for code in self.codes_]

    def _checked_params(self) -> dict[str, int]:
        return {"n_bits": check_n_bits(self.n_bits)}

    def _learn(self, table: Table) -> list[ColumnCode]:
        n_bits = check_n_bits(self.n_bits)
        if table.matrix is not None:
            return [*sparse_codes(table.matrix, n_bits)]
        claim = "must hold only numbers for Thermometer"
        columns = [require_quantities(column, claim) for column in table.columns]
        return [*number_codes(columns, n_bits)]

    def _learn_summary(self, summary: TableSummary) -> list[ColumnCode]:
        return [code for code in summary.number_codes() if code is not None]


class Categories(TableBooleanizer):
    """Categories as one bit each.

    A missing value (None, NaN, pandas.NA) sets no category's bit; if training saw a missing value
    in the column, it sets a bit of its own. A value that training did not see sets no bit. 1, 1.0
    and True are one category, unless training saw both numbers and booleans in the column.

    Attributes
    ----------
    categories_ : list of tuple
        Sorted categories of each column.
    missing_ : ndarray of bool
        Which columns have a bit for missing values.
    n_bits_out_ : int
        Number of output bits.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of str objects
        Names of the input columns, only when they were text.

    Examples
    --------
    >>> categories = Categories().fit([["red"], ["blue"], [None]])
    >>> categories.get_feature_names_out().tolist()
    ['x0 = blue', 'x0 = red', 'x0 is missing']
    >>> categories.transform([["red"], ["green"]])
    array([[0, 1, 0],
           [0, 0, 0]], dtype=uint8)
    """

    _codes = (CategoryCode,)
    _takes = "categories"

    @property
    def categories_(self) -> list[tuple[Any, ...]]:
        """Sorted categories of each column."""
        return [code.categories for code in self.codes_]

    def _learn(self, table: Table) -> list[ColumnCode]:
        if table.matrix is not None:
            raise ValueError(
                "X is sparse, but Categories takes no sparse data, since zero would be a category "
                "like any other; pass X.toarray(), or use Thermometer or Booleanizer"
            )
        return [category_code(column) for column in table.columns]

    def _learn_summary(self, summary: TableSummary) -> list[ColumnCode]:
        return [summary.category_code(index) for index in range(summary.n_columns)]


class Booleanizer(TableBooleanizer):
    """Any table as bits, choosing for each column by what training saw in it.

    A column of only 0, 1, False and True becomes one bit under its own name; if it holds other
    numbers later, those above one half count as 1. Other numbers, dates, durations and times of
    day get the bits of `Thermometer`; text and everything declared categorical get those of
    `Categories`. Sparse data stay sparse.

    A column must keep its type: numbers that come back as dates, or text as numbers, are refused
    by `transform`. Integers, floats and booleans are one type, and a column without any values
    fits every type.

    Parameters
    ----------
    n_bits : int, default=15
        Most thresholds per column of numbers.

    Attributes
    ----------
    kinds_ : list of {"number", "bit", "category"}
        What each column was taken for.
    missing_ : ndarray of bool
        Which columns have a bit for missing values.
    n_bits_out_ : int
        Number of output bits, at least one.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of str objects
        Names of the input columns, only when they were text.

    Examples
    --------
    >>> rows = [[41, "red", True], [34, "blue", False]]
    >>> booleanizer = Booleanizer().fit(rows)
    >>> booleanizer.get_feature_names_out().tolist()
    ['x0 > 37.5', 'x1 = blue', 'x1 = red', 'x2']
    >>> booleanizer.transform(rows)
    array([[1, 0, 1, 1],
           [0, 1, 0, 0]], dtype=uint8)
    """

    _codes = (NumberCode, BitCode, CategoryCode)
    _takes = "any"

    def __init__(self, n_bits: int = 15) -> None:
        self.n_bits = n_bits

    @property
    def kinds_(self) -> list[str]:
        """What each column was taken for."""
        return [code.kind for code in self.codes_]

    def _checked_params(self) -> dict[str, int]:
        return {"n_bits": check_n_bits(self.n_bits)}

    def _learn(self, table: Table) -> list[ColumnCode]:
        n_bits = check_n_bits(self.n_bits)
        if table.matrix is not None:
            data, indices = table.matrix.data, table.matrix.indices
            only_bits = np.ones(table.shape[1], dtype=bool)
            only_bits[indices[(data != 1) & ~np.isnan(data)]] = False
            return [
                BitCode(missing=code.missing) if is_bit else code
                for code, is_bit in zip(sparse_codes(table.matrix, n_bits), only_bits, strict=True)
            ]
        columns = [_quantities(column) for column in table.columns]
        numeric = [found for found in columns if found is not None]
        learned = iter(number_codes(numeric, n_bits))
        codes: list[ColumnCode] = [
            category_code(column) if found is None else _bit_or(next(learned), found)
            for column, found in zip(table.columns, columns, strict=True)
        ]
        if not any(code.n_bits for code in codes):
            # All columns are constant, but a classifier needs at least one bit.
            codes[0] = dataclasses.replace(codes[0], thresholds=numeric[0].values[:1])
        return codes

    def _learn_summary(self, summary: TableSummary) -> list[ColumnCode]:
        codes: list[ColumnCode] = []
        for index, code in enumerate(summary.number_codes()):
            if code is None:
                codes.append(summary.category_code(index))
            else:
                codes.append(BitCode(missing=code.missing) if summary.is_bit(index) else code)
        if not summary.sparse and not any(code.n_bits for code in codes):
            codes[0] = dataclasses.replace(codes[0], thresholds=summary.distinct(0)[:1])
        return codes


def _quantities(column: Column) -> Quantities | None:
    """A column's numbers; None where it holds categories."""
    if column.categorical:
        return None
    found = column.quantities()
    if found is not None and column.data.dtype.kind == "O" and found.measure is None:
        # A column without values may hold anything later, and only categories take any value.
        return None
    return found


def _bit_or(code: NumberCode, found: Quantities) -> NumberCode:
    """The code of a bit if all values are 0 or 1, otherwise the given code."""
    known = found.values[~np.isnan(found.values)]
    if found.measure == "number" and np.isin(known, (0, 1)).all():
        return BitCode(missing=code.missing)
    return code
