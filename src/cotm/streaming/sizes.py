"""How much is read at a time."""

from __future__ import annotations

from typing import Any

#: Bytes of a batch, where its size is ours to choose, and most rows.
_BATCH_BYTES, _MOST_ROWS = 8_000_000, 1 << 16


def rows_of_batch(columns: int, batch_rows: int | None) -> int:
    """How many rows are read at a time, of so many numbers each."""
    fitting = _BATCH_BYTES // (8 * max(1, columns))
    return batch_rows or max(64, min(_MOST_ROWS, fitting))


def count_rows(rows: Any) -> int:
    """How many rows there are."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
