"""Arrow's IPC streams: rows that clients send, and answers.

A stream is from anybody: what it claims is checked against its size before anything is made
of it, compressed bodies are refused, since few bytes of them may become many, and only types
that have cells or numbers are taken.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ..booleanize.frames import NamedArray
from .problems import Problem
from .reading import check_rows, typed
from .served import Answer, ServedModel

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


def _library() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise Problem(
            415, "this server reads no Arrow: pyarrow is not installed", "send JSON", MEDIA_TYPE
        ) from None
    return pyarrow


def read_stream(model: ServedModel, body: bytes, most: int) -> tuple[Any, int]:
    """X and its number of rows."""
    pa = _library()
    if model.members and model.columns is None and model.image_shape is None:
        raise Problem(422, "members of composites are sent as JSON", "send members", "arrow")
    try:
        _refuse_compressed(body)
        batches = []
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            _check_types(pa, stream.schema)
            rows = 0
            for batch in stream:
                rows += batch.num_rows
                if rows > most:
                    check_rows(rows, most)
                batch.validate(full=True)
                batches.append(batch)
            table = pa.Table.from_batches(batches, stream.schema)
        check_rows(table.num_rows, most)
        if model.columns is None:
            return _images(pa, table), table.num_rows
        return _table(pa, model, table), table.num_rows
    except (pa.ArrowException, OSError, ValueError, struct.error, OverflowError) as error:
        text = str(error).split("\n")[0][:300]
        raise Problem(
            400, f"the body is no Arrow stream: {text}", "write it with pyarrow.ipc.new_stream"
        ) from None


def _refuse_compressed(body: bytes) -> None:
    """Walk through the messages of a stream: each is a flat buffer and a body."""
    place = 0
    while place + 8 <= len(body):
        mark, length = struct.unpack_from("<Ii", body, place)
        if mark != 0xFFFFFFFF:  # as before version 0.15
            raise ValueError("a message does not begin as one")
        place += 8
        if length == 0:
            return
        if length < 0 or place + length > len(body):
            raise ValueError("a message is cut off")
        message = body[place : place + length]
        root = struct.unpack_from("<I", message, 0)[0]
        header = _field(message, root, 2)
        size = _field(message, root, 3)
        (kind,) = struct.unpack_from("<B", message, _field(message, root, 1) or 0)
        if header is not None and kind in (2, 3):
            batch = header + struct.unpack_from("<I", message, header)[0]
            if kind == 2:  # a batch of a dictionary holds a batch
                data = _field(message, batch, 1)
                batch = batch if data is None else data + struct.unpack_from("<I", message, data)[0]
            if _field(message, batch, 3) is not None:
                raise ValueError("it is compressed; write it without compression")
        amount = 0 if size is None else struct.unpack_from("<q", message, size)[0]
        if amount < 0 or place + length + amount > len(body):
            raise ValueError("a body is cut off")
        place += length + amount


def _field(message: bytes, table: int, number: int) -> int | None:
    """Where a field of a flat buffer's table lies; None where it has its default."""
    start = table - struct.unpack_from("<i", message, table)[0]
    if start < 0:
        raise ValueError("a message is damaged")
    (size,) = struct.unpack_from("<H", message, start)
    if 4 + 2 * number + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", message, start + 4 + 2 * number)
    return table + offset if offset else None


def _check_types(pa: Any, schema: Any) -> None:
    kinds = pa.types
    for field in schema:
        type_ = field.type.value_type if kinds.is_dictionary(field.type) else field.type
        while kinds.is_fixed_size_list(type_) and type_.list_size > 0:
            type_ = type_.value_type
        simple = kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_boolean(type_)
        texts = kinds.is_string(type_) or kinds.is_large_string(type_) or kinds.is_null(type_)
        times = kinds.is_date(type_) or kinds.is_timestamp(type_) or kinds.is_time(type_)
        if not (simple or texts or times or kinds.is_duration(type_)):
            raise Problem(
                422,
                f"column {field.name!r} is of the type {str(field.type)[:100]}",
                "send numbers, booleans, text, dates, times or durations; images as fixed-size "
                "lists of numbers",
                field.name,
            )


def _table(pa: Any, model: ServedModel, table: Any) -> Any:
    names = table.column_names
    assert model.columns is not None
    if model.is_named:
        lacking = [c.name for c in model.columns if names.count(c.name) != 1]
        if lacking:
            raise Problem(
                422,
                f"the column {lacking[0]!r} is missing, or there several times",
                "send every column once; null where a value is missing",
                lacking[0],
            )
        table = table.select([column.name for column in model.columns])
    elif len(names) != len(model.columns):
        raise Problem(
            422,
            f"there are {len(names)} columns, but the model reads {len(model.columns)}",
            f"see GET /v1/models/{model.name}",
            len(names),
        )
    arrays = [_cells(pa, name, table.column(k)) for k, name in enumerate(table.column_names)]
    numeric = [array for array in arrays if array.dtype.kind in "biuf"]
    kinds: set[type]
    if len(numeric) == len(arrays):
        matrix: NDArray[Any] = np.column_stack(numeric)
        if any(column.kind == "category" for column in model.columns):
            kinds = {float} if matrix.dtype.kind == "f" else {int}
            return typed(model, np.column_stack([a.astype(object) for a in arrays]), kinds)
        if model.takes_bits and ((matrix == 0) | (matrix == 1)).all():
            matrix = matrix.astype(np.uint8)
        named = [str(n) for n in model.names or ()]
        return NamedArray(matrix, named) if model.is_named else matrix
    matrix = np.empty((table.num_rows, len(arrays)), dtype=object)
    for k, array in enumerate(arrays):
        matrix[:, k] = array.tolist() if array.dtype.kind != "O" else array
    return typed(model, matrix, {*map(type, matrix.ravel().tolist())})


def _cells(pa: Any, name: str, column: Any) -> NDArray[Any]:
    """A column as numbers where it is of numbers, else as objects; None where missing."""
    kinds, type_ = pa.types, column.type
    if kinds.is_fixed_size_list(type_):
        raise Problem(422, f"column {name!r} holds lists", "send cells", name)
    if kinds.is_timestamp(type_) or kinds.is_duration(type_) or kinds.is_time(type_):
        # Python has no nanoseconds, and models count microseconds.
        unit = {"s": "s", "ms": "ms", "us": "us", "ns": "us"}[type_.unit]
        if kinds.is_timestamp(type_):
            column = column.cast(pa.timestamp(unit, type_.tz), safe=False)
        elif kinds.is_duration(type_):
            column = column.cast(pa.duration(unit), safe=False)
        elif type_.unit == "ns":
            column = column.cast(pa.time64("us"), safe=False)
    if (kinds.is_integer(type_) or kinds.is_floating(type_)) and not column.null_count:
        return np.asarray(column.to_numpy())
    if kinds.is_boolean(type_) and not column.null_count:
        return np.asarray(column.to_numpy())
    if kinds.is_floating(type_):
        return np.asarray(column.fill_null(float("nan")).to_numpy())
    cells = np.empty(len(column), dtype=object)
    try:
        cells[:] = column.to_pylist()
    except (ValueError, OverflowError) as error:  # dates beyond those of Python, no UTF-8
        raise Problem(422, f"column {name!r} cannot be read", str(error)[:200], name) from None
    return cells


def _images(pa: Any, table: Any) -> NDArray[Any]:
    """Images: one column of nested lists, or a column for each pixel."""
    if table.num_columns != 1 or not pa.types.is_fixed_size_list(table.column(0).type):
        arrays = [_cells(pa, str(k), table.column(k)) for k in range(table.num_columns)]
        if not arrays or not all(array.dtype.kind in "biuf" for array in arrays):
            raise Problem(422, "pixels must be numbers, none missing", "send them so")
        return np.column_stack(arrays)
    column = table.column(0).combine_chunks()
    shape = [table.num_rows]
    while pa.types.is_fixed_size_list(column.type):
        if column.null_count:
            raise Problem(422, "an image is missing", "leave its row out")
        shape.append(column.type.list_size)
        column = column.flatten()
    if column.null_count or len(column) != np.prod(shape) or pa.types.is_boolean(column.type):
        raise Problem(422, "pixels must be numbers, none missing", "send them so")
    return np.asarray(column.to_numpy(zero_copy_only=False)).reshape(shape)


def write_stream(model: ServedModel, answer: Answer) -> bytes:
    """An answer as a stream: columns as ``cotm predict`` names them."""
    pa = _library()
    labels = [str(label) for label in model.classes]
    columns: dict[str, Any] = {}

    def add(name: str, values: Any, outputs: Sequence[str] = labels) -> None:
        if values is None:
            return
        if values.ndim == 2:
            for k, label in enumerate(outputs):
                column = values[:, k]
                is_plain = column.dtype.kind not in "OU"
                columns[f"{name}_{label}"] = pa.array(column if is_plain else column.tolist())
        else:
            columns[name] = pa.array(values.tolist() if values.dtype.kind in "OU" else values)

    add("prediction", answer.predictions, model.label_columns or labels)
    add("low", answer.low)
    add("high", answer.high)
    add("p", answer.proba)
    add("votes", answer.votes)
    if answer.reasons is not None:
        columns["reasons"] = pa.array([orjson.dumps(row).decode() for row in answer.reasons])
    facts = {"model": model.name, "version": model.version, "unit": str(model.voters.unit)}
    table = pa.table(columns).replace_schema_metadata(facts)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
