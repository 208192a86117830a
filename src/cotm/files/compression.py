"""What a model file holds of how a classifier was made smaller."""

from __future__ import annotations

import math
from typing import Any

from ..core.decoding import expect, expect_integer, expect_keys
from .parameters import MAX_COUNT

#: Numbers before and after.
_PAIRS = ("clauses", "literals", "weight_bits")
#: Of the examples that a loss was measured on; where none was, they are missing.
_COUNTS = ("examples", "right_before", "right_after")


def encode_compression(compression: dict[str, Any] | None) -> dict[str, Any] | None:
    """As plain numbers; None for what is as it was trained."""
    if compression is None:
        return None
    return {name: list(compression[name]) for name in _PAIRS} | {
        name: value for name, value in compression.items() if name not in _PAIRS
    }


def decode_compression(encoded: Any) -> dict[str, Any] | None:
    """What ``encode_compression`` encoded, which may be hostile."""
    if encoded is None:
        return None
    measured = isinstance(encoded, dict) and "examples" in encoded
    expect_keys(encoded, ("max_loss", *_PAIRS, *_COUNTS * measured), "compression")
    loss = encoded["max_loss"]
    expect(
        loss is None or (type(loss) in (int, float) and math.isfinite(loss) and 0 <= loss <= 1),
        f"max_loss is {loss!r:.100}",
    )
    for name in _PAIRS:
        pair = encoded[name]
        expect(
            isinstance(pair, list)
            and len(pair) == 2
            and all(type(value) is int and 0 <= value <= MAX_COUNT for value in pair),
            f"{name} is {pair!r:.100}",
        )
    for name in _COUNTS * measured:
        expect_integer(encoded, name, 0, MAX_COUNT)
    return encoded | {name: tuple(encoded[name]) for name in _PAIRS}
