"""The public Stream: what is read, and which of its columns are answers and weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.checks import check_integer
from .sizes import count_rows
from .sources import Source, source_of, takes_columns
from .spilling import Spilled


class Batch(NamedTuple):
    """Some rows: examples, their answers, and their weights where they have any."""

    X: Any
    y: Any
    weight: Any = None


class Stream:
    """Examples that are read in batches, for ``fit`` and ``partial_fit`` in bounded memory.

    The result is that of ``fit(X, y)`` with all rows in the same order, to the bit. What the
    booleanizer makes of the examples, bits, is kept in a temporary file while they are trained on.

    Parameters
    ----------
    source : path, data set, frame, array, or iterable of batches
        A Parquet file or a folder of such (read with pyarrow), a ``pyarrow.dataset.Dataset``, a
        polars ``LazyFrame`` or ``DataFrame``, a pandas frame, a Dask frame or array, an array such
        as ``numpy.memmap``, a CSR matrix, a function without arguments that returns an iterator of
        batches, or an iterable of them. A batch is a frame with the columns of the others, or a
        pair ``(X, y)``, or ``(X, y, weight)``. An iterator, which can be read once only, is
        written to a temporary file on the way.
    target : str, list of str, or array, optional
        The column of the answers, or several; beside an array or matrix, an array of them.
        Batches that are pairs have theirs.
    weight : str or array, optional
        The same for sample weights.
    drop : sequence of str, default=()
        Columns that are not learned from.
    batch_rows : int, optional
        Rows that are read at a time, where the source leaves it open; None: about 8 MB of them.
    folder : path, optional
        Where temporary files are made; None: where the system has them (``TMPDIR``).

    Examples
    --------
    >>> import numpy as np
    >>> from cotm import CoTMClassifier, Stream
    >>> def batches():
    ...     for seed in range(4):
    ...         X = np.random.default_rng(seed).normal(size=(250, 3))
    ...         yield X, X[:, 0] > X[:, 1]
    >>> model = CoTMClassifier(n_clauses=20, epochs=3, random_state=0).fit(Stream(batches))
    >>> X, y = (np.concatenate(parts) for parts in zip(*batches()))
    >>> same = CoTMClassifier(n_clauses=20, epochs=3, random_state=0).fit(X, y)
    >>> bool((model.memory_ == same.memory_).all())
    True
    """

    def __init__(
        self,
        source: Any,
        target: Any = None,
        *,
        weight: Any = None,
        drop: Sequence[str] = (),
        batch_rows: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if batch_rows is not None:
            check_integer("batch_rows", batch_rows, 1)
        if isinstance(drop, str):
            raise ValueError(f"drop={drop!r} must be a list of columns; write [{drop!r}]")
        self.target, self.weight, self.drop = target, weight, tuple(drop)
        self.folder = folder
        self._source: Source = source_of(source, batch_rows)
        self._columns = [*_names(target), *_names(weight), *self.drop]
        if self._source.is_array and self._columns:
            raise ValueError(
                f"the stream names the columns {self._columns}, but its source is an array, whose "
                "columns have no names; pass arrays as target and weight"
            )
        for name, value in (("target", target), ("weight", weight)):
            if value is not None and not _names(value) and not self._source.has_rows:
                raise ValueError(
                    f"{name} is of the type {type(value).__name__}, but the rows of this source "
                    "come with theirs; name a column of it, or yield tuples (X, y, weight)"
                )
        self._given = {
            name: _computed(value)
            for name, value in (("target", target), ("weight", weight))
            if value is not None and not _names(value)
        }
        self._is_read = False

    def __repr__(self) -> str:
        return f"Stream({self._source.title})"

    def __iter__(self) -> Iterator[Batch]:
        """The batches, from the first one on; those without rows are left out."""
        return self._read(self._source.batches)

    def for_training(self) -> Iterator[Batch]:
        """The same, in the form that takes the least memory."""
        return self._read(self._source.for_training or self._source.batches)

    def _read(self, batches: Callable[[], Iterator[Any]]) -> Iterator[Batch]:
        self._begin()
        first = 0
        for number, batch in enumerate(batches(), start=1):
            parts = self._parts(batch, number, first)
            rows = count_rows(parts.X)
            if rows:
                yield parts
            first += rows
        for name, values in self._given.items():
            if count_rows(values) != first:
                raise ValueError(
                    f"{name} has {count_rows(values):,} rows, but the source has {first:,}"
                )

    def again(self) -> Stream:
        """A stream of the same batches that can be read any number of times."""
        if not self._source.once:
            return self
        self._begin()
        other = object.__new__(Stream)
        other.__dict__.update(self.__dict__)
        spilled = Spilled(self._source.batches, self.folder)
        other._source = Source(self._source.title, spilled.batches, has_rows=False)
        return other

    def _begin(self) -> None:
        if self._source.once and self._is_read:
            raise ValueError(
                "the source of this stream is an iterator, which can be read once only, and it "
                "has been; pass a function that returns one instead"
            )
        self._is_read = True

    def _parts(self, batch: Any, number: int, first: int) -> Batch:
        if isinstance(batch, tuple):
            return self._of_tuple(batch, number)
        if self._source.is_array or not takes_columns(batch):
            last = first + count_rows(batch)
            given = [self._given.get(name) for name in ("target", "weight")]
            y, weight = (None if rows is None else rows[first:last] for rows in given)
            return Batch(batch, y, weight)
        absent = [name for name in self._columns if name not in list(batch.columns)]
        if absent:
            raise ValueError(
                f"batch {number} of the stream has no column {absent[0]!r}; it has "
                f"{list(batch.columns)!r:.300}"
            )
        last = first + len(batch)
        answers = [
            _column(batch, value) if _names(value) else self._given[name][first:last]
            for name, value in (("target", self.target), ("weight", self.weight))
            if value is not None
        ]
        y = answers.pop(0) if self.target is not None else None
        return Batch(_without(batch, self._columns), y, answers[0] if answers else None)

    def _of_tuple(self, batch: tuple[Any, ...], number: int) -> Batch:
        if self._columns or self._given:
            raise ValueError(
                "the batches are pairs with answers of their own, so leave out target, weight "
                "and drop"
            )
        if len(batch) not in (2, 3):
            raise ValueError(
                f"batch {number} of the stream is a tuple of {len(batch)}; it must be (X, y) or "
                "(X, y, weight)"
            )
        parts = Batch(*batch)
        if parts.y is not None and count_rows(parts.y) != count_rows(parts.X):
            raise ValueError(
                f"batch {number} of the stream has {count_rows(parts.X)} examples, but "
                f"{count_rows(parts.y)} answers"
            )
        return parts


def _names(value: Any) -> list[str]:
    """The columns that are named; none where the values themselves are given."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return list(value)
    return []


def _computed(values: Any) -> Any:
    """Answers or weights for all rows, as an array that can be sliced, or a frame's columns."""
    values = values.compute() if hasattr(values, "compute") else values
    if hasattr(values, "columns") and not isinstance(values, np.ndarray):
        raise ValueError(
            "target is a frame; name columns of the source, or pass an array of 0 and 1"
        )
    return np.asarray(values)


def _column(batch: Any, name: Any) -> Any:
    return batch[list(name)] if not isinstance(name, str) else batch[name]


def _without(batch: Any, names: list[str]) -> Any:
    if not names:
        return batch
    return batch.drop(columns=names) if hasattr(batch, "iloc") else batch.drop(names)
