"""Reading a table of any kind through polars: columns with their types, and as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ...streaming.arrow import parquet_files
from .missing import missing_texts, without_missing
from .source import SEPARATORS, Source

#: What to do about errors of polars, by what they say.
_HINTS = {
    "utf-8": "save it as UTF-8",
    "\ufffd": "save it as UTF-8",
    "more fields": "a row has more cells than the header has names",
}


#: What columns of texts may be read as, where a file has no types of its own for it.
DATE_READERS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "date": lambda series: series.str.to_date(strict=True),
    "datetime": lambda series: series.str.to_datetime(strict=True),
    "time": lambda series: series.str.to_time(strict=True),
}


@dataclass(frozen=True)
class Table:
    """A table as it is learned from, and as it was written."""

    frame: pl.DataFrame  # with types, and nothing in cells that are missing
    raw: Callable[[list[str]], pl.DataFrame]  # columns as in the file; of CSV all are text


def read_table(source: Source, text_columns: Iterable[str]) -> Table:
    """The whole table; given columns stay text where they hold nothing but digits or dates."""
    content = source.content
    with polars_errors(source):
        if source.kind in SEPARATORS:
            table = _read_csv(source, content, {*text_columns})
        elif source.kind == "parquet":
            table = _typed(_read_parquet(content), source)
        else:
            # From memory, because polars takes [ in a name for a pattern.
            data = content.read_bytes() if isinstance(content, Path) else content
            frame = pl.read_ndjson(data, infer_schema_length=None)
            table = _with_dates(_typed(frame, source), {*text_columns})
    if table.frame.height == 0:
        raise ValueError(f"{source.name} holds no rows")
    return table


@contextmanager
def polars_errors(source: Source) -> Iterator[None]:
    """What polars cannot read, told in a line."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0]
        hints = [hint for sign, hint in _HINTS.items() if sign in reason.lower()]
        raise ValueError(
            f"{source.name} cannot be read as {source.kind}: {'; '.join([reason, *hints])}"
        ) from error


def _read_parquet(content: Path | bytes) -> pl.DataFrame:
    if isinstance(content, Path) and content.is_dir():
        return pl.concat([pl.read_parquet(file, glob=False) for file in parquet_files(content)])
    return pl.read_parquet(content, glob=False)


def csv_options(source: Source) -> dict[str, Any]:
    """How polars reads a text file."""
    return {
        "separator": source.separator or SEPARATORS[source.kind],
        "glob": False,
        "null_values": missing_texts(source.missing),
        "infer_schema_length": None,  # types from all rows: the odd one may come late
        "try_parse_dates": True,
    }


def _read_csv(source: Source, content: Path | bytes, text_columns: set[str]) -> Table:
    options = csv_options(source)
    plain = {name: options[name] for name in ("separator", "glob")}
    read = partial(pl.read_csv, content, infer_schema_length=0, **plain)
    header = read(n_rows=0).columns
    texts = dict.fromkeys(text_columns.intersection(header), pl.String)
    frame = pl.read_csv(content, schema_overrides=texts, **options)
    return Table(frame, lambda names: read(columns=names).select(names))


def _typed(frame: pl.DataFrame, source: Source) -> Table:
    """A table of a file that knows types."""
    texts = missing_texts(source.missing)
    columns = [_numbers_left(series, without_missing(series, texts)) for series in frame]
    return Table(pl.DataFrame(columns), frame.select)


def _numbers_left(before: pl.Series, after: pl.Series) -> pl.Series:
    """A column with null for the missing texts, as numbers if only those made it text."""
    if after.dtype != pl.String or after.null_count() in (before.null_count(), len(after)):
        return after
    with suppress(pl.exceptions.PolarsError):
        return after.cast(pl.Float64, strict=True)
    return after


def _with_dates(table: Table, text_columns: set[str]) -> Table:
    """The table with texts that are all dates or times read as such: JSON has no other way."""
    columns = [
        series if series.name in text_columns else _parsed(series)
        for series in table.frame.get_columns()
    ]
    return Table(pl.DataFrame(columns), table.raw)


def _parsed(series: pl.Series) -> pl.Series:
    if series.dtype != pl.String or series.null_count() == len(series):
        return series
    for read in DATE_READERS.values():
        with suppress(pl.exceptions.PolarsError):
            return read(series)
    return series
