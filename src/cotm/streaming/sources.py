"""Everything that can be read in batches, by what it looks like; libraries are used, not needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from .arrow import as_frame, dataset_batches, is_arrow, parquet_batches, training_batches
from .sizes import rows_of_batch


@dataclass(frozen=True)
class Source:
    """What a stream reads."""

    title: str
    batches: Callable[[], Iterator[Any]]  # from the first one on
    has_rows: bool = True  # answers can be given beside them
    is_array: bool = False  # its columns have no names
    once: bool = False  # it can be read once only
    for_training: Callable[[], Iterator[Any]] | None = None  # the same batches in less memory


def source_of(source: Any, batch_rows: int | None) -> Source:
    """How to read something; a ValueError says what can be."""
    kind = type(source).__name__
    if isinstance(source, str | os.PathLike):
        return Source(
            repr(os.fspath(source)),
            partial(parquet_batches, source, batch_rows),
            for_training=partial(training_batches, source, batch_rows),
        )
    if isinstance(source, np.ndarray) or scipy.sparse.issparse(source):
        rows = source.tocsr() if scipy.sparse.issparse(source) else source
        title = f"{kind} {source.shape}"
        return Source(title, partial(_slices, rows, batch_rows), is_array=True)
    if is_arrow(source, "dataset"):
        return Source(kind, partial(dataset_batches, source, batch_rows))
    if is_arrow(source, "table"):
        return Source(kind, lambda: _slices(as_frame(source), batch_rows))
    if type(source).__module__.partition(".")[0] in ("dask", "dask_expr"):
        return _dask(source, batch_rows)
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return Source(kind, partial(lazy_batches, source, batch_rows))
    if takes_columns(source):
        return Source(f"{kind} {source.shape}", partial(_slices, source, batch_rows))
    if callable(source):
        return Source(
            getattr(source, "__name__", kind),
            lambda: map(_as_batch, iter(source())),
            has_rows=False,
        )
    if isinstance(source, Iterable) and not isinstance(source, dict | set | tuple | bytes):
        once = iter(source) is source
        return Source(kind, lambda: map(_as_batch, iter(source)), has_rows=False, once=once)
    raise ValueError(
        f"a stream cannot be read from an object of the type {kind}; pass the path of a Parquet "
        "file, a data set, frame or array, or an iterable of batches"
    )


def takes_columns(batch: Any) -> bool:
    """Whether it is a frame, of pandas or polars, or of our own."""
    kinds = ("iloc", "get_columns", "plain_columns")
    return hasattr(batch, "columns") and any(hasattr(batch, name) for name in kinds)


def _as_batch(batch: Any) -> Any:
    return as_frame(batch) if is_arrow(batch, "table") else batch


def _slices(table: Any, batch_rows: int | None) -> Iterator[Any]:
    size = rows_of_batch(int(np.prod(table.shape[1:])), batch_rows)
    take = table.iloc if hasattr(table, "iloc") else table
    for first in range(0, table.shape[0], size):
        yield take[first : first + size]


def lazy_batches(frame: Any, batch_rows: int | None = None) -> Iterator[Any]:
    """The rows of a lazy frame of polars, in order."""
    if not hasattr(frame, "collect_batches"):
        raise ImportError(
            "this polars cannot read lazy frames in batches; install a newer one with "
            "pip install -U polars, or write the frame to a Parquet file with sink_parquet"
        )
    size = rows_of_batch(len(frame.collect_schema()), batch_rows)
    return iter(frame.collect_batches(chunk_size=size, maintain_order=True))


def _dask(source: Any, batch_rows: int | None) -> Source:
    kind = f"dask {type(source).__name__}"
    if hasattr(source, "rechunk"):
        whole = source.rechunk({axis: -1 for axis in range(1, source.ndim)})
        blocks, count = whole.blocks, whole.numblocks[0]
        return Source(kind, lambda: _computed(blocks, count, batch_rows), is_array=True)
    if not hasattr(source, "npartitions") or not hasattr(source, "columns"):
        raise ValueError(f"a stream is read from Dask frames and arrays, not from a {kind}")
    return Source(kind, lambda: _computed(source.partitions, source.npartitions, batch_rows))


def _computed(parts: Any, count: int, batch_rows: int | None) -> Iterator[Any]:
    for number in range(count):
        yield from _slices(parts[number].compute(), batch_rows)
