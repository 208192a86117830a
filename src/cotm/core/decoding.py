"""Checks of what was decoded from a file, which may be damaged, hostile or of a newer version.

Whatever is decoded consists of JSON and arrays. A check that fails raises a `DamagedError`, or
an `UnknownError` where a name is met that a newer version may have introduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What files hold: named values that JSON knows, and named arrays.
Encoded = tuple[dict[str, Any], dict[str, Any]]
#: A step that turns what one version encoded into what the next version would have encoded.
Upgrade = Callable[[dict[str, Any], dict[str, Any]], Encoded]


class DamagedError(ValueError):
    """What was decoded cannot have been written like this."""


class UnknownError(ValueError):
    """What was decoded holds something that this version does not know."""


@contextmanager
def damage_in(what: str) -> Iterator[None]:
    """Say of damage that is found inside the block what it is in."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(f"{what}: {error}") from error


def expect(condition: bool, problem: str) -> None:
    """Raise a DamagedError with the problem unless ``condition`` holds."""
    if not condition:
        raise DamagedError(problem)


def expect_keys(mapping: Any, keys: Iterable[str], what: str) -> None:
    """Expect a dict with exactly these keys; a surplus one is unknown, not damage."""
    expect(isinstance(mapping, dict), f"{what} must be a dict, got {type(mapping).__name__}")
    expected = set(keys)
    rule = f"{what} must have the keys {sorted(expected)}"
    expect(expected <= mapping.keys(), f"{rule}, got {[*mapping]!r:.200}")
    if surplus := mapping.keys() - expected:
        raise UnknownError(f"{rule}, and has {sorted(map(str, surplus))!r:.200} too")


def expect_type(value: Any, kind: type, what: str) -> Any:
    """Return ``value``, expected to be of exactly this type."""
    # `type(...) is`, since True passes for an integer with isinstance.
    expect(type(value) is kind, f"{what} must be of type {kind.__name__}, got {value!r:.200}")
    return value


def expect_integer(mapping: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return the value with this name, expected to be an integer from ``low`` to ``high``."""
    value = mapping[name]
    expect(type(value) is int and low <= value <= high, f"{name} is {value!r:.100}")
    return int(value)


def expect_array(
    arrays: Mapping[str, Any], key: str, dtype: type, length: int | None
) -> NDArray[Any]:
    """Return one of ``arrays``, expected to be a vector of this type and length."""
    array = arrays[key]
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.dtype(dtype) and array.ndim == 1,
        f"array {key!r} must be one-dimensional of {np.dtype(dtype)}",
    )
    expect(
        length is None or len(array) == length,
        f"array {key!r} must have {length} entries, got {len(array)}",
    )
    return array  # type: ignore[no-any-return]


def upgraded(
    encoded: Encoded,
    name: str,
    version: Any,
    latest: int,
    upgrades: Mapping[int, Upgrade],
) -> Encoded:
    """What an earlier version encoded, as the latest one would have encoded it.

    ``upgrades`` holds the step from each earlier version to the next one; ``name`` is what
    messages call the version.
    """
    rule = f"{name} must be {latest} or lower, got {version!r:.200}"
    expect(type(version) is int and (version >= latest or version in upgrades), rule)
    if version > latest:
        raise UnknownError(rule)
    for step in range(version, latest):
        encoded = upgrades[step](*encoded)
    return encoded
