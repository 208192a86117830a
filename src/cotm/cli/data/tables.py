"""Columns of a table: those that options name, and those that look wrong."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ..errors import quoted, suggestion
from .source import Source

#: So many different values are fine, however few the rows.
_FEW = 50


def named_columns(texts: Iterable[str], frame: pl.DataFrame, source: Source) -> list[str]:
    """Columns named by options: a whole name, or names with commas between."""
    names = [
        name for text in texts for name in ([text] if text in frame.columns else text.split(","))
    ]
    return present_columns([*dict.fromkeys(names)], frame, source)


def present_columns(names: list[str], frame: pl.DataFrame, source: Source) -> list[str]:
    """The names, if they all are columns."""
    absent = [name for name in names if name not in frame.columns]
    if not absent:
        return names
    message = f"{source.name} has no column {quoted(absent)}"
    if len(absent) == 1:
        message += f"; {suggestion(absent[0], frame.columns)}"
    if frame.width == 1 and any(mark in frame.columns[0] for mark in ";\t|,"):
        message += "; if its columns are not separated by commas, say how with --separator"
    raise ValueError(message)


def row_names(X: pl.DataFrame) -> dict[str, str]:
    """Columns that seem to name rows, which teaches nothing, and why they do."""
    texts = {s.name: s.n_unique() for s in X.get_columns() if s.dtype == pl.String}
    counting = [s.name for s in X.get_columns() if s.dtype.is_integer() and _counts_up(s)]
    return names_among(X.columns, texts, counting, X.height)


def names_among(
    columns: list[str], texts: dict[str, int], counting: list[str], rows: int
) -> dict[str, str]:
    """The same, where it is known how many different texts columns hold, and which count up."""
    found = {}
    for name in columns:
        if name in texts and is_nearly_unique(texts[name], rows):
            found[name] = f"holds {texts[name]} different texts, a bit each"
        elif name in counting and rows > _FEW:
            found[name] = "counts the rows"
    return found


def _counts_up(series: pl.Series) -> bool:
    return not series.null_count() and bool((series.diff()[1:] == 1).all())


def check_pixels(features: pl.DataFrame, source: Source) -> None:
    """Refuse columns that cannot be pixels of images."""
    for series in features.get_columns():
        if not series.dtype.is_numeric() or series.null_count():
            what = "missing values" if series.null_count() else f"values of type {series.dtype}"
            raise ValueError(
                f"column {series.name!r} of {source.name} holds {what}, but images are numbers; "
                "leave it out with --drop, or learn without --patch-shape"
            )


def is_nearly_unique(distinct: int, rows: int) -> bool:
    """Whether values differ too much to be categories or classes."""
    return distinct > max(_FEW, rows // 2)
