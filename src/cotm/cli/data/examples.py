"""What commands hand on of a file of examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Data:
    """What a file held: examples and, where asked for, labels.

    Each is an array or a frame, whose columns have names; or X is a stream of both.
    """

    X: Any
    y: Any = None
    # Columns of a table that go with the predictions, as in the file; arrays have none.
    kept: pl.DataFrame | None = None

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return len(self.X)


@dataclass(frozen=True)
class StreamedData(Data):
    """What a file holds that is read in batches."""

    count: int = 0
    like: Data = field(default_factory=lambda: Data(None))  # as the batches, without rows
    row_names: dict[str, str] = field(default_factory=dict)  # columns that seem to name rows: why

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return self.count
