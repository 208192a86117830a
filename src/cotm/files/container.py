"""The bytes of a model file: safetensors with a checksum, the same for all formats.

Never more bytes are read than the file itself accounts for.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from ..core.system import available_memory, format_bytes
from .errors import ModelFileError

#: The longest header that safetensors reads.
MAX_HEADER = 100_000_000
#: Objects and arrays in a header. An empty one takes 2 bytes in a file and 60 in memory.
MAX_CONTAINERS = 1_000_000
#: Values in a header, counted by their commas (those within texts count too).
MAX_VALUES = 5_000_000
_CHUNK = 1 << 20

Tensors = dict[str, NDArray[Any]]


def check_header_text(text: str | bytes) -> None:
    """Refuse JSON that would take far more memory than its length, before it is parsed."""
    marks = (b"{", b"[", b",") if isinstance(text, bytes) else ("{", "[", ",")
    objects, arrays, commas = (text.count(mark) for mark in marks)  # type: ignore[arg-type]
    if objects + arrays > MAX_CONTAINERS:
        raise ModelFileError(
            f"its header holds {objects + arrays} objects and lists; up to {MAX_CONTAINERS} work"
        )
    if commas > MAX_VALUES:
        raise ModelFileError(f"its header holds {commas} values; up to {MAX_VALUES} work")


def pack(text: str, tensors: Tensors) -> bytes:
    """The bytes of a model file with this header, which is JSON, and these tensors.

    The same model makes the same bytes.
    """
    metadata = {"cotm": text, "sha256": _checksum(text, tensors)}
    data = safetensors.numpy.save(tensors, metadata)
    begin = 8 + int.from_bytes(data[:8], "little")
    # safetensors writes the two in an order that is another one every time.
    entries = {**json.loads(data[8:begin]), "__metadata__": metadata}
    ordered = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    ordered += b" " * (-len(ordered) % 8)
    return b"".join((len(ordered).to_bytes(8, "little"), ordered, data[begin:]))


def read_container(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors of a model file, which are what was written: the checksum is right."""
    return _contents(*_read_bytes(path))


def unpack(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """The same from the bytes of a model file."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 10 or data[8:9] != b"{" or not 2 <= length <= min(MAX_HEADER, len(data) - 8):
        raise ModelFileError("this is not a model file of cotm (it is not in safetensors format)")
    entries, rest = _parse(data[8 : 8 + length])
    if len(data) != 8 + length + rest:
        raise ModelFileError(
            f"the model file is damaged or truncated: it should have {8 + length + rest} bytes, "
            f"not {len(data)}"
        )
    return _contents(data, entries)


def _contents(data: bytes, entries: dict[str, Any]) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors of a file with this parsed header of safetensors."""
    metadata = entries.get("__metadata__", {})
    if not isinstance(metadata, dict) or not isinstance(metadata.get("cotm"), str):
        raise ModelFileError("this is not a model file of cotm (it holds other tensors)")
    text = metadata["cotm"]
    check_header_text(text)  # what the bytes wrote in escapes was not counted there
    try:
        tensors = safetensors.numpy.load(data)
    except Exception as error:
        raise ModelFileError(f"the model file is damaged or truncated ({error})") from error
    if _checksum(text, tensors) != metadata.get("sha256"):
        raise ModelFileError("the model file is damaged: its checksum does not match its contents")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ModelFileError("the model file is damaged: its header is not an object")
    return header, tensors


def _checksum(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _read_bytes(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Any]]:
    """A file in safetensors format, which may be a pipe: all its bytes, and its parsed header.

    The header says how long the file is. A file of another format is recognised by its first
    bytes, and one that is longer or shorter than it says is damaged.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        start = _take(file, 9)
        length = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or length < 2:
            raise ModelFileError(
                "this is not a model file of cotm (it is not in safetensors format)"
            )
        if length > MAX_HEADER or (stat.S_ISREG(status.st_mode) and 8 + length > status.st_size):
            raise ModelFileError("the model file is damaged or truncated")
        header = start[8:] + _take(file, length - 1)
        entries, rest = _parse(header)
        whole, available = 8 + length + rest, available_memory()
        if stat.S_ISREG(status.st_mode) and whole != status.st_size:
            raise ModelFileError(
                f"the model file is damaged or truncated: it should have {whole} bytes, not "
                f"{status.st_size}"
            )
        if available is not None and 2 * whole > available:  # the file and its tensors
            raise MemoryError(
                f"{os.fspath(path)!r} needs about {format_bytes(2 * whole)} to be loaded, but "
                f"{format_bytes(available)} are available; free some memory first"
            )
        if stat.S_ISREG(status.st_mode):
            file.seek(0)
            data = file.read(whole)
        else:
            data = start[:8] + header + _take(file, rest)
        if len(data) != whole or file.read(1):
            raise ModelFileError(
                f"the model file is damaged or truncated: it does not end after {whole} bytes"
            )
        return data, entries


def _take(file: BinaryIO, count: int) -> bytes:
    """So many bytes, or all there are; memory is taken for what came, not for what was asked."""
    parts, left = [], count
    while left and (part := file.read(min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _parse(header: bytes) -> tuple[dict[str, Any], int]:
    """A header of safetensors, and how many bytes of tensors follow it."""
    check_header_text(header)
    try:
        entries: Any = json.loads(header)
        ends = [
            entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"
        ]
        if not all(type(end) is int and end >= 0 for end in ends):
            raise ValueError("offsets must be positive integers")
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError):
        raise ModelFileError("the model file is damaged: its header cannot be read") from None
    return entries, max(ends, default=0)
