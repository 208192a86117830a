"""Tables that are larger than memory: the same columns and answers, in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.system import available_memory, returning_memory
from ...estimator.streamed import is_too_large, telling_memory
from ...streaming import Batch, Stream
from ...streaming.arrow import parquet_batches, parquet_bytes
from ...streaming.sources import lazy_batches
from ..errors import quoted
from ..output import say
from .examples import Data, StreamedData
from .frames import DATE_READERS, csv_options, polars_errors
from .labels import check_class_values, read_labels, read_quantities
from .missing import count_missing, is_text, missing_note, missing_texts, without_missing
from .source import SEPARATORS, Source
from .tables import check_pixels, named_columns, names_among

#: Texts of a column that are remembered to tell whether they name rows.
_MOST_TEXTS = 1 << 16


def is_larger_than_memory(source: Source) -> bool:
    """Whether a table is better read in batches."""
    path = source.content
    assert isinstance(path, Path)
    size = parquet_bytes(path) if source.kind == "parquet" else path.stat().st_size
    return is_too_large(size, available_memory())


def can_be_streamed(source: Source) -> bool:
    """Whether a file can be read in batches."""
    return source.is_table and isinstance(source.content, Path) and not is_packed(source)


def is_packed(source: Source) -> bool:
    """Whether a text file must be unpacked to be read."""
    return source.path.suffix.lower() in (".gz", ".zst")


def stream_training(
    source: Source, *, images: bool, quantities: bool, quiet: bool, folder: Path | None
) -> StreamedData:
    """What ``training_examples`` gives of a table as a whole, in batches."""
    with polars_errors(source), telling_memory(source.name), returning_memory():
        table = _Batches.of(source)
        scan = _Scan(source)
        for frame in table.frames():
            scan.add(table, frame)
    targets, features = table.targets, table.features
    if not features:
        raise ValueError(f"{source.name} has no columns to learn from beside {quoted(targets)}")
    table = scan.settled(table)
    if not quiet:
        _tell_missing(table, scan)
    read = read_quantities if quantities else read_labels

    def batches() -> Iterator[Batch]:
        with polars_errors(source):
            for frame in map(table.typed, table.frames()):
                X = frame.select(features)
                if images:
                    check_pixels(X, source)
                yield Batch(X, read(frame, targets, source))

    first = next(batches())
    if not quantities and len(targets) == 1:
        classes = np.unique(np.concatenate(scan.answers))
        check_class_values(classes, scan.rows, targets[0], source)
    like = Data(first.X.clear(), first.y[:0])
    return StreamedData(
        Stream(batches, folder=folder),
        count=scan.rows,
        like=like,
        row_names=scan.row_names(first.X),
    )


@dataclass(frozen=True)
class _Batches:
    """How a file becomes frames, and what is done to columns of text."""

    source: Source
    frames: Callable[[], Iterator[pl.DataFrame]]  # as the file has them
    targets: list[str]
    features: list[str]
    numbers: frozenset[str] = frozenset()  # only missing texts made these columns text
    readers: dict[str, tuple[str, str]] = field(default_factory=dict)  # of dates: which, and a text

    @classmethod
    def of(cls, source: Source) -> _Batches:
        path = source.content
        if not can_be_streamed(source) or not isinstance(path, Path):
            raise ValueError(
                f"{source.name} cannot be read in batches, only whole: --stream needs a CSV, TSV, "
                "Parquet or JSON lines file that is not packed, or a folder of Parquet files"
            )
        if source.kind == "parquet":
            return cls._with_columns(source, partial(parquet_batches, path, None))
        if source.kind == "jsonl":
            if any(mark in str(path) for mark in "[]*?"):  # polars takes it for a pattern
                raise ValueError(
                    f"{source.name} has one of []*? in its name; rename it, or use --no-stream"
                )
            lazy = pl.scan_ndjson(path, infer_schema_length=None)
            return cls._with_columns(source, partial(lazy_batches, lazy))
        options = csv_options(source)
        lazy = pl.scan_csv(path, **options)
        schema = lazy.collect_schema()
        targets, _ = _columns(source, schema.to_frame())
        dated = [name for name in targets if schema[name].is_temporal()]
        lazy = pl.scan_csv(path, **{**options, "schema_overrides": dict.fromkeys(dated, pl.String)})
        return cls._with_columns(source, partial(lazy_batches, lazy))

    @classmethod
    def _with_columns(
        cls, source: Source, frames: Callable[[], Iterator[pl.DataFrame]]
    ) -> _Batches:
        first = next((frame for frame in frames() if frame.height), None)
        if first is None:
            raise ValueError(f"{source.name} holds no rows")
        return cls(source, frames, *_columns(source, first))

    def typed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A batch as it is learned from; texts of CSV files have been read already."""
        if self.source.kind in SEPARATORS:
            return frame
        texts = missing_texts(self.source.missing)
        return pl.DataFrame([self._column(without_missing(column, texts)) for column in frame])

    def _column(self, series: pl.Series) -> pl.Series:
        if series.name in self.numbers:
            return _as_text(series).cast(pl.Float64)
        if series.name in self.readers:
            kind, text = self.readers[series.name]
            return _as_dates(series, kind, text)
        return series


def _as_dates(series: pl.Series, kind: str, text: str) -> pl.Series:
    """A column read as dates or times, in the form of its first text, as polars would the whole."""
    whole = pl.concat([pl.Series(series.name, [text]), _as_text(series)])
    return DATE_READERS[kind](whole)[1:]


def _as_text(series: pl.Series) -> pl.Series:
    return series.cast(pl.String) if is_text(series) else series


def _columns(source: Source, frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Targets, sorted as for a table in memory, and features."""
    targets = sorted(named_columns([source.target or ""], frame, source))
    dropped = named_columns(source.drop, frame, source)
    return targets, [name for name in frame.columns if name not in {*targets, *dropped}]


class _Scan:
    """What must be known of all rows before the first of them can be learned from."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows = 0
        self.answers: list[Any] = []  # different ones of each batch
        self.counts: Counter[str] = Counter()  # of missing texts
        self.incomplete: set[str] = set()
        self.distinct: dict[str, set[str] | None] = {}  # texts; None: too many
        self.counting: dict[str, int | None] = {}  # the last number; None: it does not count rows
        self._not_numbers: set[str] = set()
        self._absent: set[str] = set()  # columns in which texts were missing
        self._known: dict[str, str] = {}  # the first text that is not missing
        self._readers: dict[str, list[str]] = {}  # kinds of dates that all texts can be

    def add(self, table: _Batches, frame: pl.DataFrame) -> None:
        """Look at a batch."""
        texts = missing_texts(self.source.missing)
        is_csv = self.source.kind in SEPARATORS
        for name in [*table.features, *table.targets]:
            before = frame[name]
            after = before if is_csv else without_missing(before, texts)
            if after.null_count():
                self.incomplete.add(name)
            if is_text(before) and not is_csv:
                self.counts += count_missing([before], texts)
                self._add_texts(before, after, dates=name not in table.targets)
            if name in table.features:
                self._add_names(after)
        for name in table.targets if len(table.targets) == 1 else ():
            self.answers.append(_distinct_answers(frame[name]))
        self.rows += frame.height

    def _add_texts(self, before: pl.Series, after: pl.Series, *, dates: bool) -> None:
        name, known = before.name, after.drop_nulls()
        if after.null_count() > before.null_count():
            self._absent.add(name)
        if not len(known):
            return
        first = self._known.setdefault(name, str(known[0]))
        try:
            _as_text(known).cast(pl.Float64, strict=True)
        except pl.exceptions.PolarsError:
            self._not_numbers.add(name)
        if self.source.kind == "jsonl" and dates:
            left = []
            for kind in self._readers.get(name, [*DATE_READERS]):
                with suppress(pl.exceptions.PolarsError):
                    _as_dates(known, kind, first)
                    left.append(kind)
            self._readers[name] = left

    def _add_names(self, series: pl.Series) -> None:
        name, last = series.name, self.counting.get(series.name, -1)
        if series.dtype == pl.String:
            known = self.distinct.setdefault(name, set())
            if known is not None:
                known.update(series.unique().to_list())
                self.distinct[name] = known if len(known) <= _MOST_TEXTS else None
        elif series.dtype.is_integer() and last is not None and len(series):
            follows = self.rows == 0 or series[0] == last + 1
            counts = not series.null_count() and bool((series.diff()[1:] == 1).all())
            self.counting[name] = series[-1] if follows and counts else None

    def row_names(self, X: pl.DataFrame) -> dict[str, str]:
        """Columns of examples like these that seem to name rows, and why they do."""
        texts = {name: len(known) for name, known in self.distinct.items() if known is not None}
        are_texts = {name: n for name, n in texts.items() if X[name].dtype == pl.String}
        counting = [name for name, last in self.counting.items() if last is not None]
        return names_among(X.columns, are_texts, counting, self.rows)

    def settled(self, table: _Batches) -> _Batches:
        """The batches, with what columns of text are known to be."""
        numbers = frozenset(self._absent & {*self._known} - self._not_numbers)
        readers = {
            name: (kinds[0], self._known[name])
            for name, kinds in self._readers.items()
            if kinds and name not in numbers
        }
        return _Batches(table.source, table.frames, table.targets, table.features, numbers, readers)


def _distinct_answers(series: pl.Series) -> Any:
    """Its different answers; whether any is missing is asked later."""
    known = series.drop_nulls().unique()
    if known.dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.array(known.cast(pl.String).to_list(), dtype=str)
    return known.to_numpy() if known.dtype.is_numeric() or known.dtype == pl.Boolean else []


def _tell_missing(table: _Batches, scan: _Scan) -> None:
    """As for a table in memory; of CSV files the texts must be looked up."""
    names = [name for name in [*table.features, *table.targets] if name in scan.incomplete]
    counts = scan.counts
    if names and table.source.kind in SEPARATORS:
        options = csv_options(table.source) | {"infer_schema_length": 0, "null_values": None}
        lazy = pl.scan_csv(table.source.content, **options).select(names)
        for frame in lazy_batches(lazy):
            counts += count_missing(frame.get_columns(), missing_texts(table.source.missing))
    if counts:
        say(missing_note(counts))
