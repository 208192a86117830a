"""Columns of predictions as CSV and JSON lines, to the letter as polars writes them.

For predictions from arrays, which need no polars: it may be missing, and takes longer to import
than to write what most of them are.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Text, booleans and numbers; as labels there are also dates and durations.
WRITABLE_KINDS = "UObiuf"

#: What a cell of CSV cannot hold without quotes.
_SPECIAL = {",", '"', "\n", "\r"}


def csv_text(columns: dict[str, NDArray[Any]]) -> str:
    """A header, and a line for each row."""
    cells = [map(_csv_cell, _plain(values)) for values in columns.values()]
    rows = (",".join(row) for row in zip(*cells, strict=True))
    return "\n".join([",".join(map(_csv_cell, columns)), *rows, ""])


def json_lines(columns: dict[str, Any]) -> str:
    """An object for each row; a column that is a dict of columns is an object in it."""
    return "".join(f"{line}\n" for line in _json_objects(columns))


def _json_objects(columns: dict[str, Any]) -> list[str]:
    names = [json.dumps(name, ensure_ascii=False) for name in columns]
    cells = [
        _json_objects(values) if isinstance(values, dict) else map(_json_cell, _plain(values))
        for values in columns.values()
    ]
    return [
        "{" + ",".join(f"{name}:{cell}" for name, cell in zip(names, row, strict=True)) + "}"
        for row in zip(*cells, strict=True)
    ]


def _plain(values: NDArray[Any]) -> list[Any]:
    """The values as Python's own."""
    if values.dtype.kind == "f" and values.dtype != np.float64:
        # A float32 of 0.1 is to be written so, and not with the digits that a float64 has more.
        values = values.astype(str).astype(np.float64)
    return values.tolist()


def _csv_cell(value: Any) -> str:
    if not isinstance(value, str):
        return _number(value)
    if value and _SPECIAL.isdisjoint(value):
        return value
    return '"' + value.replace('"', '""') + '"'


def _json_cell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    r"""A number or boolean.

    >>> [_number(value) for value in (0.5, 0.000015, 2e-7, 7, True)]
    ['0.5', '0.000015', '2e-7', '7', 'true']
    """
    text = repr(value)
    if isinstance(value, bool):
        return text.lower()
    digits, small, exponent = text.partition("e-0")
    if not small:
        return text
    return f"{Decimal(text):f}" if exponent == "5" else f"{digits}e-{exponent}"
