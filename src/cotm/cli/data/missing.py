"""Texts that stand for a missing value: the same in every kind of table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl

#: Read as text, a single "NA" would turn a column of numbers into one of categories.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")


def missing_texts(chosen: tuple[str, ...] | None) -> list[str]:
    """The texts a user has chosen, or the usual ones; an empty cell is missing in any case."""
    return [*MISSING_TEXTS] if chosen is None else [*dict.fromkeys(["", *chosen])]


def is_text(series: pl.Series) -> bool:
    """Whether a column holds texts."""
    return series.dtype in (pl.String, pl.Categorical, pl.Enum)


def without_missing(series: pl.Series, texts: list[str]) -> pl.Series:
    """A column of texts, with null in place of those that stand for a missing value."""
    if not is_text(series):
        return series
    words = series.cast(pl.String)
    absent = words.is_in(texts)
    return words.set(absent.fill_null(False), None) if absent.any() else series


def count_missing(columns: Iterable[pl.Series], texts: list[str]) -> Counter[str]:
    """How many cells hold which of the texts, in columns as they are in the file."""
    counts: Counter[str] = Counter()
    for series in filter(is_text, columns):
        words = series.cast(pl.String)
        found = words.filter(words.is_in(texts) & (words != "")).value_counts()
        counts.update(dict(found.iter_rows()))
    return counts


def missing_note(counts: Counter[str]) -> str:
    """A line that says what was read as missing."""
    cells = "cell was" if counts.total() == 1 else "cells were"
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = ", ".join(f"{text} {count:,}" for text, count in most_first)
    return f"note: {counts.total():,} {cells} read as missing ({parts})"
