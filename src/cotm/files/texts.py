"""Long lists of texts and numbers as tensors, where JSON would make a header too large."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import DamagedError, UnknownError, expect
from .container import Tensors

#: Lists that are longer than this as JSON go into tensors, since the length of a header is limited.
LONG_TEXT = 1_000_000
#: What stands in the header in the place of such a list, and begins the names of its tensors.
IN_TENSORS = "texts"
_BOOLEANIZER_LISTS = ("names", "categories")
#: The longest number that is read; a text may be as long as it likes.
_MAX_NUMBER = 5000

Plain = str | int | float | bool


def fold(header: dict[str, Any]) -> tuple[dict[str, Any], Tensors]:
    """Move long lists of texts from a header to tensors."""
    header = _copied(header)
    tensors: Tensors = {}
    for name, (place, key) in _places(header).items():
        values = place.get(key)
        if not isinstance(values, list) or len(json.dumps(values)) <= LONG_TEXT:
            continue
        if name == "categories":
            counts = np.array([len(part) for part in values], dtype=np.int64)
            tensors[f"{IN_TENSORS}.{name}.counts"] = counts
            values = [value for part in values for value in part]
        place[key] = IN_TENSORS
        for part, array in pack_texts(values).items():
            tensors[f"{IN_TENSORS}.{name}.{part}"] = array
    return header, tensors


def unfold(header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors as they were before ``fold``; they may be hostile."""
    header, tensors = _copied(header), dict(tensors)
    for name, (place, key) in _places(header).items():
        prefix = f"{IN_TENSORS}.{name}."
        arrays = {
            k.removeprefix(prefix): tensors.pop(k) for k in [*tensors] if k.startswith(prefix)
        }
        if place.get(key) != IN_TENSORS:
            expect(not arrays, f"it holds {name} twice")
            continue
        counts = arrays.pop("counts", np.empty(0)) if name == "categories" else None
        values: list[Any] = unpack_texts(arrays)
        place[key] = values if counts is None else _regrouped(values, counts)
    for name in tensors:
        if name.startswith(f"{IN_TENSORS}."):
            of_booleanizer = name.split(".")[1] in _BOOLEANIZER_LISTS
            expect(not of_booleanizer, f"it holds {name} of a booleanizer that is missing")
            raise UnknownError(f"tensor {name!r:.200} is unknown")
    return header, tensors


def _regrouped(values: list[Any], counts: NDArray[Any]) -> list[list[Any]]:
    """The values in consecutive lists of these lengths."""
    expect(
        counts.dtype == np.int64
        and counts.ndim == 1
        and bool(((counts >= 0) & (counts <= len(values))).all())
        and sum(counts.tolist()) == len(values),
        "categories do not fit their columns",
    )
    each = iter(values)
    return [[next(each) for _ in range(count)] for count in counts.tolist()]


def _copied(header: dict[str, Any]) -> dict[str, Any]:
    """A copy down to the lists that may be moved."""
    copy = dict(header)
    if isinstance(copy.get("booleanizer"), dict):
        copy["booleanizer"] = dict(copy["booleanizer"])
    return copy


def _places(header: dict[str, Any]) -> dict[str, tuple[dict[str, Any], str]]:
    """The lists of a header that may be long: for each its name, and the dict and key it is at."""
    places = {"classes": (header, "classes"), "feature_names_in": (header, "feature_names_in")}
    if isinstance(header.get("booleanizer"), dict):
        places |= {name: (header["booleanizer"], name) for name in _BOOLEANIZER_LISTS}
    return places


def pack_texts(values: list[Plain]) -> Tensors:
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
    expect(arrays.keys() == {"bytes", "ends", "numbers"}, f"texts consist of {sorted(arrays)}")
    data, ends, numbers = arrays["bytes"], arrays["ends"], arrays["numbers"]
    for array, dtype in ((data, np.uint8), (ends, np.int64), (numbers, np.uint8)):
        expect(
            array.dtype == dtype and array.ndim == 1,
            f"texts are {array.dtype} {array.shape}, not a row of {dtype.__name__}",
        )
    expect(
        len(numbers) == len(ends) and not (numbers > 1).any(),
        "texts do not say which of them are numbers",
    )
    # Differences of numbers that are not negative cannot overflow.
    steps = np.diff(ends, prepend=0) if (ends >= 0).all() else np.array([-1])
    expect(
        not (steps < 0).any() and (ends[-1] if len(ends) else 0) == len(data),
        "texts do not end where they say",
    )
    expect(
        not len(steps) or not (steps[numbers == 1] > _MAX_NUMBER).any(),
        f"a number has more than {_MAX_NUMBER} digits",
    )
    content = data.tobytes()
    values: list[Plain] = [
        content[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in pairwise([0, *ends.tolist()])
    ]
    for index in np.flatnonzero(numbers).tolist():
        number = json.loads(values[index])  # type: ignore[arg-type]
        if not isinstance(number, int | float):
            raise DamagedError(f"{number!r:.100} is no number")
        values[index] = number
    return values
