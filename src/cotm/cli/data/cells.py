"""The cell that spoils a column: one that is no number where all others are."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress

import polars as pl

from .source import Source


def check_numbers(X: pl.DataFrame, kinds: Sequence[str], source: Source) -> None:
    """Refuse columns of text where the model has learned from numbers, dates or times.

    Read from a text file, every cell of such a column is text; named is the one that is at
    fault.
    """
    for series, kind in zip(X.get_columns(), kinds, strict=True):
        if kind == "category" or series.dtype != pl.String or series.null_count() == len(series):
            continue
        row = _odd_row(series)
        if row is None:
            raise ValueError(
                f"column {series.name!r} of {source.name} held numbers or dates in training, but "
                f"here they are all written as text, such as {series.drop_nulls()[0]!r}; store "
                "them as what they are"
            )
        value = series[row]
        raise ValueError(
            f"column {series.name!r} of {source.name} held numbers or dates in training, but row "
            f"{row + 1} holds {value!r}; correct it, or if it stands for a missing value, name it "
            f"with --missing {shlex.quote(value)}"
        )


def _odd_row(series: pl.Series) -> int | None:
    """The first row that does not fit, in the reading that fits the most rows; None if all do."""
    readings: list[Callable[[], pl.Series]] = [
        lambda: series.cast(pl.Float64, strict=False),
        lambda: series.str.to_lowercase().replace_strict({"true": 1, "false": 0}, default=None),
        lambda: series.str.to_date(strict=False),
        lambda: series.str.to_datetime(strict=False),
        lambda: series.str.to_time(strict=False),
    ]
    misfits = [series.is_not_null()]
    for read in readings:
        with suppress(pl.exceptions.PolarsError):  # no format fits even the first row
            misfits.append(series.is_not_null() & read().is_null())
    fewest = min(misfits, key=lambda misfit: misfit.sum())
    return fewest.arg_max() if fewest.any() else None
