"""Rows of Arrow as a frame that only cotm reads: what polars would make of them, without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ArrowFrame:
    """The part of a frame of polars that a training asks for.

    It takes less memory: polars sets addresses aside for itself and its threads, and where there
    are none it ends the process.
    """

    def __init__(self, batch: Any, as_frame: Callable[[Any], Any]) -> None:
        self._batch, self._as_frame = batch, as_frame
        self.columns: list[str] = list(batch.schema.names)

    @staticmethod
    def takes(schema: Any) -> bool:
        """Whether all columns are of types of which it is known what polars makes of them."""
        from pyarrow import types

        def is_known(kind: Any) -> bool:
            if types.is_timestamp(kind):
                return kind.tz is None and kind.unit != "s"
            is_text = types.is_string(kind) or types.is_large_string(kind)
            return _is_number(kind) or bool(is_text or types.is_date32(kind))

        return len(set(schema.names)) == len(schema) and all(map(is_known, schema.types))

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    def __getitem__(self, names: str | list[str]) -> Any:
        """A column, or some of them, as answers and weights are read."""
        if isinstance(names, str):
            column = self._batch.column(names)
            if _is_number(column.type) and not column.null_count:
                return column.to_numpy(zero_copy_only=False)
            return self._as_frame(self._batch.select([names]))[names]
        return self._as_frame(self._batch.select(names))

    def drop(self, names: list[str]) -> ArrowFrame:
        """The other columns."""
        kept = [name for name in self.columns if name not in names]
        return ArrowFrame(self._batch.select(kept), self._as_frame)

    def to_numpy(self) -> NDArray[Any]:
        """All cells in one array."""
        return np.asarray(self._as_frame(self._batch).to_numpy())

    def plain_columns(self) -> list[NDArray[Any]]:
        """Each column as :func:`cotm.booleanize.frames.read_table` takes it."""
        return [_plain(column) for column in self._batch.columns]


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    is_float = types.is_float32(kind) or types.is_float64(kind)
    return bool(is_float or types.is_integer(kind) or types.is_boolean(kind))


def _plain(column: Any) -> NDArray[Any]:
    from pyarrow import types

    kind = column.type
    is_number = _is_number(kind) and not types.is_boolean(kind) and not column.null_count
    if is_number or types.is_temporal(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_pylist()
    return cells
