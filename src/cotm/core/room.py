"""Arrays with an entry for each example: where they are made, and filled some rows at a time.

They lie in memory, or, where examples lie in a file, in files beside it: whoever makes one is
given the room for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Makes an array of a shape and type. What it holds does not count; ``np.empty`` is one.
Room = Callable[[Any, Any], NDArray[Any]]

#: Rows that are looked at together.
_ROWS = 1 << 16


def pieces(count: int) -> Iterator[slice]:
    """All of so many rows, some at a time."""
    for first in range(0, count, _ROWS):
        yield slice(first, min(first + _ROWS, count))


def filled(shape: tuple[int, ...], dtype: Any, make: Callable[[slice], Any], room: Room) -> Any:
    """An array of the rows that ``make`` gives for one piece after the other."""
    found = room(shape, dtype)
    for piece in pieces(shape[0]):
        found[piece] = make(piece)
    return found


def counted(count: int, room: Room) -> NDArray[np.int64]:
    """The numbers of so many rows."""
    found: NDArray[np.int64] = filled(
        (count,), np.int64, lambda piece: np.arange(piece.start, piece.stop), room
    )
    return found


def taken(array: Any, rows: NDArray[np.integer[Any]], room: Room) -> Any:
    """Some rows of an array."""
    shape = len(rows), *array.shape[1:]
    return filled(shape, array.dtype, lambda piece: array[rows[piece]], room)
