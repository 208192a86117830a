"""Arrays and frames of Dask as parts, each of which one task takes at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import dask.array
import dask.dataframe


class Part(NamedTuple):
    """Promises of rows that lie together: X, and y and weights where there are any."""

    X: Any
    y: Any = None
    weight: Any = None


def is_collection(X: Any) -> bool:
    """Whether X is an array or a frame of Dask."""
    return isinstance(X, dask.array.Array | dask.dataframe.DataFrame | dask.dataframe.Series)


def parts_of(X: Any, y: Any = None, weight: Any = None) -> list[Part]:
    """The parts of X with those of y and weights that belong to them.

    Borders that are known must be the same, or can be made so; others are looked at when the rows
    are there.
    """
    _require_collection("X", X)
    given = {"y": y, "sample_weight": weight}
    promised = [_promises("X", X)]
    for name, values in given.items():
        if values is None:
            promised.append([None] * len(promised[0]))
            continue
        _require_collection(name, values)
        promised.append(_promises(name, _aligned(name, values, X)))
        if len(promised[-1]) != len(promised[0]):
            raise ValueError(
                f"X has {len(promised[0])} partitions and {name} {len(promised[-1])}, and where "
                "rows belong is not known of both; pass columns of one frame, or arrays whose "
                "chunks are known (X.compute_chunk_sizes())"
            )
    return [Part(*three) for three in zip(*promised, strict=True)]


def known_rows(X: Any) -> list[float]:
    """How many rows each part has; NaN where that is not known."""
    if isinstance(X, dask.array.Array):
        return [float(rows) for rows in X.chunks[0]]
    return [math.nan] * X.npartitions


def _require_collection(name: str, values: Any) -> None:
    if not is_collection(values):
        raise TypeError(
            f"{name} is a {type(values).__name__}, but must be an array, frame or series of Dask; "
            "make one with dask.array.from_array or dask.dataframe.from_pandas, or fit a "
            "cotm.CoTMClassifier"
        )


def _promises(name: str, values: Any) -> list[Any]:
    if not isinstance(values, dask.array.Array):
        return list(values.to_delayed())
    if values.ndim == 0:
        raise ValueError(f"{name} has no rows: it is a single value")
    if any(len(chunks) > 1 for chunks in values.chunks[1:]):
        values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
    return list(values.to_delayed().ravel())


def _aligned(name: str, values: Any, X: Any) -> Any:
    """Values with their borders where X has them, if both are known."""
    if not (isinstance(values, dask.array.Array) and isinstance(X, dask.array.Array)):
        return values
    rows, others = X.chunks[0], values.chunks[0]
    if any(map(math.isnan, (*rows, *others))):
        return values
    if sum(rows) != sum(others):
        raise ValueError(f"X has {sum(rows):,} rows, but {name} has {sum(others):,}")
    return values if rows == others else values.rechunk({0: rows})


def rows_text(counts: Sequence[int]) -> str:
    """Numbers of rows as a list that fits into a message."""
    text = ", ".join(f"{count:,}" for count in counts[:6])
    return text if len(counts) <= 6 else f"{text}, ..."
