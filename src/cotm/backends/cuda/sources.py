"""The text of the kernels, and what Python knows from it. Needs no device.

``kernels/types.cuh`` is the only place that lists the structs which Python fills, the sizes that
both sides agree on, and the parts of a block's state. They are read from there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

_KERNELS = Path(__file__).with_name("kernels")
_INCLUDE = re.compile(r'#include "(\w+\.cuh)"')


def inlined(name: str) -> str:
    """A file of kernels with all that it includes, each file once.

    CuPy keeps what it compiled on disk, under the text that it was given: had that text
    ``#include`` in it, a kernel would stay the same when an included file changes. Messages of the
    compiler name the file and the line as they are, because of ``#line``.
    """
    return "\n".join(_lines(name, set())) + "\n"


def _lines(name: str, seen: set[str]) -> list[str]:
    seen.add(name)
    found = [f'#line 1 "{name}"']
    for number, line in enumerate((_KERNELS / name).read_text().splitlines(), start=1):
        include = _INCLUDE.fullmatch(line)
        if include is None:
            # A file that is inlined is no header any more, and the compiler would warn of it.
            found.append("" if line == "#pragma once" else line)
        else:
            if include[1] not in seen:
                found += _lines(include[1], seen)
            found.append(f'#line {number + 1} "{name}"')
    return found


# Structs and constants ------------------------------------------------------------------------

_SCALARS: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64),
    "u64": np.dtype(np.uint64),
    "double": np.dtype(np.float64),
}
_POINTER = np.dtype(np.uint64)
_STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_FIELDS = re.compile(r"(?:const )?(\w+)(\*?) (\w+(?:\[\d+\])?(?:, \w+(?:\[\d+\])?)*);")
_CONSTANT = re.compile(r"^inline constexpr u32 (\w+) = (\d+);", re.MULTILINE)
_PARTS = re.compile(r"^enum Part : u32 \{ (.*) \};", re.MULTILINE)


def read_structs(text: str) -> dict[str, np.dtype[np.void]]:
    """The structs of a C++ text as dtypes whose fields lie where the compiler puts them.

    Understands integers by the names of types.cuh, double, pointers, arrays of a fixed length and
    structs that stand before; member functions are passed over. Anything else is an error.

    >>> text = "struct Pair {\\n  u8 a;\\n  i64 b[2];  // two of them\\n};\\n"
    >>> read_structs(text)["Pair"].itemsize
    24
    """
    structs: dict[str, np.dtype[Any]] = {}
    for name, body in _STRUCT.findall(text):
        fields: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
        for line in body.splitlines():
            code = line.partition("//")[0].strip()
            if not code or code.startswith("__device__"):
                continue
            match = _FIELDS.fullmatch(code)
            if match is None:
                raise ValueError(f"struct {name} has a line that is no list of fields: {code}")
            kind, pointer, names = match.groups()
            dtype = _POINTER if pointer else _SCALARS.get(kind, structs.get(kind))
            if dtype is None:
                raise ValueError(f"struct {name} has a field of unknown type {kind}: {code}")
            for field in names.split(", "):
                plain, _, length = field.rstrip("]").partition("[")
                fields.append((plain, dtype, (int(length),) if length else ()))
        structs[name] = np.dtype(fields, align=True)
    return structs


def read_constants(text: str) -> dict[str, int]:
    """The sizes that a C++ text defines as ``inline constexpr u32``.

    >>> read_constants("inline constexpr u32 kKeys = 32;  // of a warp\\n")
    {'kKeys': 32}
    """
    return {name: int(value) for name, value in _CONSTANT.findall(text)}


def read_parts(text: str) -> tuple[str, ...]:
    """The names of ``enum Part`` in their order, as Python writes them.

    >>> read_parts("enum Part : u32 { kOutputs, kWords };")
    ('outputs', 'words')
    """
    (names,) = _PARTS.findall(text)
    return tuple(name.removeprefix("k").lower() for name in names.split(", "))


_TYPES = (_KERNELS / "types.cuh").read_text()
STRUCTS = read_structs(_TYPES)
CONSTANTS = read_constants(_TYPES)
PARTS = read_parts(_TYPES)


def size_checks() -> str:
    """C++ that does not compile unless the structs are as large as :data:`STRUCTS` says.

    Tests check where each field lies, too; CuPy's compiler has no ``offsetof``.
    """
    return "".join(
        f"static_assert(sizeof({name}) == {dtype.itemsize});\n" for name, dtype in STRUCTS.items()
    )
