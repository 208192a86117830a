"""From what clients send to what a model reads: JSON of rows, columns, tensors or members."""

from __future__ import annotations

import base64
import binascii
import datetime
import math
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..booleanize.frames import NamedArray
from .problems import Problem
from .served import Column, ServedModel
from .settings import Limits

#: What bodies may hold, one of them, and beside it a background for explanations.
_FORMS = ("rows", "columns", "tensor", "members")
_DTYPES = {name: np.dtype(name) for name in ("bool", "uint8", "int8", "int16", "uint16", "int32")}
_DTYPES |= {name: np.dtype(name) for name in ("uint32", "int64", "float32", "float64")}
#: Rows up to which cells are read one by one by the native core.
_FEW_ROWS = 64


def parse_json(body: bytes) -> dict[str, Any]:
    """The object of a body."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(
            400, f"the body is not JSON: {error}", "send an object such as {'rows': [[1, 2]]}"
        ) from None
    if not isinstance(value, dict):
        raise Problem(
            400, "the body is not an object", "send one such as {'rows': [[1, 2]]}", value
        )
    unknown = [key for key in value if key not in (*_FORMS, "background")]
    if unknown:
        raise Problem(
            422,
            "the body has a key that is not known",
            f"it takes {', '.join(_FORMS)} and background; what is wanted stands in the query, "
            "as in ?proba=true",
            unknown[0],
        )
    return value


def read_body(model: ServedModel, value: dict[str, Any], limits: Limits) -> tuple[Any, int, Any]:
    """X, its number of rows, and a background, or None."""
    background = None
    if "background" in value:
        part = value["background"]
        if not isinstance(part, dict):
            raise Problem(422, "the background is not an object", "send it like a body", part)
        background, _ = _read_form(model, part, limits.background_rows, "the background")
    forms = {key: part for key, part in value.items() if key != "background"}
    X, count = _read_form(model, forms, limits.rows, "the body")
    return X, count, background


def _read_form(model: ServedModel, value: dict[str, Any], most: int, what: str) -> tuple[Any, int]:
    if len(value) != 1:
        raise Problem(
            422,
            f"{what} must hold exactly one of {', '.join(_FORMS)}",
            "send one of them",
            ", ".join(map(str, value)) or "none",
        )
    ((form, data),) = value.items()
    if form == "members":
        return _read_members(model, data, most)
    if form == "tensor":
        return _checked_array(model, _tensor(data, most))
    if form == "columns":
        return _read_columns(model, data, most)
    if form != "rows":
        raise Problem(422, f"{what} has a key that is not known", f"use {_FORMS}", form)
    if not isinstance(data, list):
        raise Problem(422, "rows is not a list", "send a list of rows", data)
    check_rows(len(data), most)
    if model.columns is None:
        return _checked_array(model, _numbers(data, "rows"))
    return from_cells(model, _cells(model, data)), len(data)


def check_rows(count: int, most: int) -> None:
    """Refuse none, and too many."""
    if count == 0:
        raise Problem(422, "there are no rows", "send one or more", 0)
    if count > most:
        raise Problem(413, "there are too many rows", f"send at most {most} at a time", count)


# Tables ------------------------------------------------------------------------------


def _cells(model: ServedModel, rows: list[Any]) -> list[list[Any]]:
    """Rows as lists of cells, in the order of the model's columns."""
    columns = model.columns
    assert columns is not None
    if model.is_named and isinstance(rows[0], dict):
        names = [column.name for column in columns]
        try:
            return [[row[name] for name in names] for row in rows]
        except (KeyError, TypeError):
            raise _missing_column(names, rows) from None
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            kinds = "a list or an object" if model.is_named else "a list"
            raise Problem(422, f"row {number} is not {kinds}", "send all rows alike", row)
        if len(row) != len(columns):
            raise Problem(
                422,
                f"row {number} has {len(row)} cells, but the model reads {len(columns)} columns",
                f"send them as GET /v1/models/{model.name} lists them",
                len(row),
            )
    return rows


def _missing_column(names: list[str | None], rows: list[Any]) -> Problem:
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            return Problem(422, f"row {number} is not an object", "send all rows alike", row)
        lacking = [name for name in names if name not in row]
        if lacking:
            return Problem(
                422,
                f"row {number} lacks the column {lacking[0]!r}",
                "send every column; null where a value is missing",
                lacking[0],
            )
    raise AssertionError


def _read_columns(model: ServedModel, data: Any, most: int) -> tuple[Any, int]:
    if not model.is_named:
        raise Problem(
            422, "this model knows no names of columns", "send rows, as lists of cells", "columns"
        )
    assert model.columns is not None
    if not isinstance(data, dict):
        raise Problem(422, "columns is not an object", "send lists of cells by their names", data)
    found = []
    for column in model.columns:
        if column.name not in data:
            raise Problem(
                422,
                f"the column {column.name!r} is missing",
                "send every column; null where a value is missing",
                column.name,
            )
        cells = data[column.name]
        if not isinstance(cells, list):
            raise Problem(
                422, f"the column {column.name!r} is not a list", "send its cells as one", cells
            )
        found.append(cells)
    counts = {len(cells) for cells in found}
    if len(counts) != 1:
        raise Problem(
            422,
            "the columns are not of one length",
            "send as many cells of each",
            ", ".join(map(str, sorted(counts)[:10])),
        )
    check_rows(len(found[0]), most)
    return from_cells(model, [[*row] for row in zip(*found, strict=True)]), len(found[0])


def from_cells(model: ServedModel, rows: list[list[Any]]) -> Any:
    """What a table's model reads, of cells as JSON has them."""
    columns = model.columns
    assert columns is not None
    temporal = [(k, c) for k, c in enumerate(columns) if c.kind in _PARSERS]
    if temporal:
        rows = [list(row) for row in rows]
        for number, row in enumerate(rows):
            for k, column in temporal:
                row[k] = _moment(column, number, k, row[k])
    matrix = np.empty((len(rows), len(columns)), dtype=object)
    try:
        matrix[:] = rows
    except (ValueError, TypeError):  # cells that are lists
        matrix = None  # type: ignore[assignment]
    kinds = {*map(type, matrix.ravel().tolist())} if matrix is not None else {list}
    if kinds & {list, dict}:
        cell = next(cell for row in rows for cell in row if isinstance(cell, list | dict))
        raise Problem(
            422, "a cell is a list or an object", "send numbers, texts, true, false or null", cell
        )
    return typed(model, matrix, kinds)


def typed(model: ServedModel, matrix: NDArray[np.object_], kinds: set[type]) -> Any:
    """Cells as the quickest array that says the same."""
    values: NDArray[Any] = matrix
    if model.takes_bits and kinds <= {int, bool, float}:
        numbers = matrix.astype(np.float64)
        if ((numbers == 0) | (numbers == 1)).all():
            values = numbers.astype(np.uint8)
    elif len(matrix) > _FEW_ROWS and kinds <= {int, float, bool, type(None)}:
        assert model.columns is not None
        if all(column.kind in ("number", "bit") for column in model.columns):
            values = matrix.astype(np.float64)
    return NamedArray(values, [str(n) for n in model.names or ()]) if model.is_named else values


# Dates and the like ------------------------------------------------------------------


def _date(text: str) -> datetime.datetime:
    # Before Python 3.11 the letter for UTC is not read.
    text = text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text
    return datetime.datetime.fromisoformat(text)


def _duration(seconds: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=seconds)


_PARSERS: dict[str, tuple[type | tuple[type, ...], Any, str]] = {
    "date": (str, _date, "text such as 2026-05-17 or 2026-05-17T12:30:00"),
    "time": (str, datetime.time.fromisoformat, "text such as 12:30:00"),
    "duration": ((int, float), _duration, "a number of seconds"),
}


def _moment(column: Column, row: int, k: int, cell: Any) -> Any:
    if cell is None:
        return None
    kinds, parse, words = _PARSERS[column.kind]
    if isinstance(cell, kinds) and not isinstance(cell, bool):
        try:
            return parse(cell)
        except (ValueError, OverflowError):
            pass
    name = k if column.name is None else repr(column.name)
    raise Problem(
        422, f"column {name} holds {column.kind}s, but row {row} does not", f"send {words}", cell
    )


# Arrays ------------------------------------------------------------------------------


def _numbers(rows: list[Any], what: str) -> NDArray[Any]:
    """Nested lists of numbers as an array of their own type."""
    try:
        array = np.array(rows)
    except (ValueError, OverflowError):
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise Problem(
            422,
            f"{what} must be nested lists of numbers, all of one length",
            "send images as lists of rows of pixels, or as a tensor",
        )
    return array


def _tensor(data: Any, most: int) -> NDArray[Any]:
    keys = {"dtype", "shape", "data"}
    if not isinstance(data, dict) or data.keys() != keys:
        raise Problem(
            422,
            "a tensor needs dtype, shape and data, and nothing else",
            "send data as base64 of the bytes of the array, row by row, little end first",
            data,
        )
    dtype, shape, text = data["dtype"], data["shape"], data["data"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise Problem(422, "the tensor's dtype is not known", f"use {', '.join(_DTYPES)}", dtype)
    whole = isinstance(shape, list) and 2 <= len(shape) <= 4
    if not whole or not all(type(n) is int and 0 < n < 1 << 31 for n in shape):
        raise Problem(
            422, "the tensor's shape is wrong", "send two to four lengths, rows first", shape
        )
    check_rows(shape[0], most)
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True)
    except (AttributeError, binascii.Error, UnicodeError):
        raise Problem(422, "the tensor's data is not base64", "encode the array's bytes") from None
    kind = _DTYPES[dtype].newbyteorder("<")
    expected = math.prod(shape) * kind.itemsize
    if len(content) != expected:
        raise Problem(
            422,
            f"the tensor has {len(content)} bytes, but its shape and dtype need {expected}",
            "send all of them and no more",
            len(content),
        )
    if dtype == "bool" and content.strip(b"\x00\x01"):
        raise Problem(422, "the tensor's booleans hold other bytes than 0 and 1", "send these")
    return np.frombuffer(content, kind).reshape(shape).astype(_DTYPES[dtype])


def _checked_array(model: ServedModel, array: NDArray[Any]) -> tuple[Any, int]:
    """An array of numbers as the model reads it."""
    if array.ndim < 2:
        raise Problem(422, "X is no list of rows", "send a list of images or rows", array.ndim)
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise Problem(422, "X holds an infinite number", "send finite numbers", "inf")
    if array.dtype.kind in "iu" and array.dtype != np.uint8:
        small = array.size and array.min() >= 0 and array.max() < 256
        array = array.astype(np.uint8) if small else array
    if model.columns is not None:
        if array.ndim != 2 or array.shape[1] != len(model.columns):
            raise Problem(
                422,
                f"X has the shape {list(array.shape)}, but the model reads {len(model.columns)} "
                "columns",
                f"see GET /v1/models/{model.name}",
                str(list(array.shape)),
            )
        if model.is_named:
            return NamedArray(array, [str(n) for n in model.names or ()]), len(array)
    return array, len(array)


def _read_members(model: ServedModel, data: Any, most: int) -> tuple[Any, int]:
    """Arrays for each member of a composite."""
    names = set(model.members)
    if not names or not isinstance(data, dict) or data.keys() != names:
        known = ", ".join(sorted(names)) or "none: it is no composite"
        raise Problem(
            422,
            "members must be an object with every member's rows",
            f"members: {known}",
            ", ".join(map(str, data)) if isinstance(data, dict) else data,
        )
    found, counts = {}, set()
    for name, part in data.items():
        if isinstance(part, dict) and part.keys() == {"tensor"}:
            array = _tensor(part["tensor"], most)
        elif isinstance(part, dict) and part.keys() == {"rows"} and isinstance(part["rows"], list):
            array = _numbers(part["rows"], f"rows of {name}")
        else:
            raise Problem(422, f"member {name!r} needs rows or a tensor", "send one", part)
        if array.ndim < 2 or not np.isfinite(array).all():
            raise Problem(422, f"member {name!r} has no rows of finite numbers", "send some")
        check_rows(len(array), most)
        found[name] = array
        counts.add(len(array))
    if len(counts) != 1:
        raise Problem(
            422,
            "the members do not have the same number of rows",
            "send as many each",
            ", ".join(map(str, sorted(counts))),
        )
    return found, counts.pop()
