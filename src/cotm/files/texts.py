"""Long lists of texts and numbers as tensors, where JSON would make a header too large."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The longest number that is read; a text may be as long as it likes.
_MAX_NUMBER = 5000

Plain = str | int | float | bool


def pack_texts(values: list[Plain]) -> dict[str, NDArray[Any]]:
    """The values one after the other as UTF-8, where each ends, and which are no texts."""
    parts = [
        value.encode("utf-8", "surrogatepass")
        if isinstance(value, str)
        else json.dumps(value).encode()
        for value in values
    ]
    return {
        "bytes": np.frombuffer(b"".join(parts), dtype=np.uint8),
        "ends": np.cumsum([len(part) for part in parts], dtype=np.int64),
        "numbers": np.array([not isinstance(value, str) for value in values], dtype=np.uint8),
    }


def unpack_texts(arrays: dict[str, Any]) -> list[Plain]:
    """What ``pack_texts`` packed; a ValueError where the arrays do not fit together."""
    if arrays.keys() != {"bytes", "ends", "numbers"}:
        raise ValueError(f"texts consist of {sorted(arrays)}")
    data, ends, numbers = arrays["bytes"], arrays["ends"], arrays["numbers"]
    for array, dtype in ((data, np.uint8), (ends, np.int64), (numbers, np.uint8)):
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"texts are {array.dtype} {array.shape}, not a row of {dtype}")
    if len(numbers) != len(ends) or (numbers > 1).any():
        raise ValueError("texts do not say which of them are numbers")
    # Differences of numbers that are not negative cannot overflow.
    steps = np.diff(ends, prepend=0) if (ends >= 0).all() else np.array([-1])
    if (steps < 0).any() or (ends[-1] if len(ends) else 0) != len(data):
        raise ValueError("texts do not end where they say")
    if len(steps) and (steps[numbers == 1] > _MAX_NUMBER).any():
        raise ValueError(f"a number has more than {_MAX_NUMBER} digits")
    content = data.tobytes()
    values: list[Plain] = [
        content[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in pairwise([0, *ends.tolist()])
    ]
    for index in np.flatnonzero(numbers).tolist():
        number = json.loads(values[index])  # type: ignore[arg-type]
        if not isinstance(number, int | float):
            raise ValueError(f"{number!r:.100} is no number")
        values[index] = number
    return values
