"""What commands hand on of a file of examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Data:
    """What a file held: examples and, where asked for, labels.

    Each is an array or a frame, whose columns have names.
    """

    X: Any
    y: Any = None
    # Columns of a table that go with the predictions, as in the file; arrays have none.
    kept: pl.DataFrame | None = None
