"""Tables to bits in the native core: the fast path of what ``encodings.py`` defines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.extension import native_core
from .encodings import CategoryCode, ColumnCode, tells_booleans_apart
from .frames import NamedArray

#: Types of arrays that the native core reads, by their letters.
_NUMBERS = frozenset("?bBhHiIlLqQfd")

#: Rows of a frame of several types, or of an array of objects, up to which it is read cell by cell.
_FEW_ROWS = 64

_MEASURES = {"number": 0, "bit": 0, "date": 1, "duration": 2, "time": 3, None: 0}
_CATEGORY = 4


class CompiledCodes:
    """The codes of a table's columns, as the native core has them.

    It reads what needs no word: cells of the types that training saw, in columns of the same
    names and number. Everything else, whatever is wrong with it, it leaves to the definition.
    """

    def __init__(self, codes: Sequence[ColumnCode], names: list[str] | None) -> None:
        self._codes = codes
        self._names = names
        self._n_bits = sum(code.n_bits for code in codes)
        self._table: Any = None
        self._made = False

    def __reduce__(self) -> Any:
        # The same before and after the native table was made, as in ``described.py``.
        return CompiledCodes, (self._codes, self._names)

    def bits(self, X: Any) -> NDArray[np.uint8] | None:
        """The bits of X, (N, n_bits); None where the definition has to look at it."""
        if type(X) is np.ndarray:
            return self._of_array(X) if self._names is None else None
        if self._names is None:
            return None
        if type(X) is NamedArray:
            return self._of_array(X.values) if X.columns == self._names else None
        with suppress(Exception):  # libraries raise their own where cells are odd
            if hasattr(type(X), "iloc"):
                return self._of_pandas(X)
            if hasattr(type(X), "get_columns"):
                return self._of_polars(X)
        return None

    def _of_pandas(self, X: Any) -> NDArray[np.uint8] | None:
        if X.ndim != 2 or X.columns.tolist() != self._names:
            return None
        if len(X) == 1:
            return self._of_rows([X.iloc[0].tolist()])
        if len(X) > _FEW_ROWS:
            kinds = {dtype.kind for dtype in X.dtypes if isinstance(dtype, np.dtype)}
            same = len(kinds) > 0 and (kinds <= {*"iuf"} or kinds == {"b"})
            if not same or not all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
                return None  # columns of several types are faster one by one
        return self._of_array(X.to_numpy())

    def _of_polars(self, X: Any) -> NDArray[np.uint8] | None:
        if X.columns != self._names:
            return None
        return self._of_rows(X.rows()) if X.height <= _FEW_ROWS else None

    def _of_array(self, array: NDArray[Any]) -> NDArray[np.uint8] | None:
        if array.ndim != 2 or not len(array) or array.shape[1] != len(self._codes):
            return None
        if array.dtype.char not in _NUMBERS or not array.dtype.isnative:
            few = array.dtype == object and len(array) <= _FEW_ROWS
            return self._of_rows(array.tolist()) if few else None
        table = self._native()
        if table is None:
            return None
        bits = np.zeros((len(array), self._n_bits), dtype=np.uint8)
        return bits if table.read_numbers(array, bits) else None

    def _of_rows(self, rows: list[Any]) -> NDArray[np.uint8] | None:
        table = self._native()
        if table is None or not rows:
            return None
        bits = np.zeros((len(rows), self._n_bits), dtype=np.uint8)
        return bits if table.read_rows(rows, bits) else None

    def _native(self) -> Any:
        """The native table, made when it is first needed; None where there is none."""
        if not self._made:
            make = getattr(native_core(), "Table", None)
            if make is not None:
                with suppress(UnicodeError, OverflowError):  # odd categories
                    self._table = make([_parts(code) for code in self._codes])
            self._made = True
        return self._table


def _parts(code: ColumnCode) -> tuple[Any, ...]:
    return (
        _CATEGORY if isinstance(code, CategoryCode) else _MEASURES[code.type],
        code.missing,
        tells_booleans_apart(code.categories),
        np.ascontiguousarray(code.thresholds, dtype=np.float64),
        code.categories,
    )
