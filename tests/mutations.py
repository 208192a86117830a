"""Changes of right inputs into such that nobody would write, by dice that can be thrown again."""

from __future__ import annotations

import random
from typing import Any

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1e308, -0.0, 2**63, -(2**70), "", "\x00", "\U0001f600", "NaN"),
    *("9" * 400, [], {}, [[]], [[1], [1, 2]], {"rows": [[1]]}, "../../etc/passwd", "\u202e", "é"),
    *("0001-01-01", "9999-12-31T23:59:59.999999+23:59", "12:30", 1e-320, "null", [None] * 50),
]


def changed_value(value: Any, dice: random.Random, odd: list[Any] = ODD) -> Any:
    """A value of JSON with a part changed, somewhere in it."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice([*value])
        changed = dict(value)
        draw = dice.random()
        if draw < 0.1:
            del changed[key]
        elif draw < 0.15:
            changed[str(dice.choice(odd))[:20]] = changed.pop(key)
        else:
            changed[key] = changed_value(changed[key], dice, odd)
        return changed
    if isinstance(value, list) and value and dice.random() < 0.85:
        changed, at, draw = list(value), dice.randrange(len(value)), dice.random()
        if draw < 0.1:
            del changed[at]
        elif draw < 0.2:
            changed.insert(at, dice.choice(odd))
        elif draw < 0.22:
            changed = changed * dice.choice((2, 50, 400))
        else:
            changed[at] = changed_value(changed[at], dice, odd)
        return changed
    return dice.choice(odd)


def near(value: Any, dice: random.Random) -> list[Any]:
    """Values of the same type that are not far away."""
    if type(value) is bool:
        return [not value]
    if type(value) is int:
        return [value + 1, value - 1, 2 * value, -value]
    if type(value) is float:
        return [value / 2, -value, value * 1e9]
    if type(value) is str:
        return [value + "x", value[1:], value * 2]
    return []


def flipped(content: bytes, dice: random.Random) -> bytes:
    """The bytes with some of them changed, cut, or doubled."""
    data = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        if not data:
            break
        at, draw = dice.randrange(len(data)), dice.random()
        if draw < 0.6:
            data[at] = dice.randrange(256)
        elif draw < 0.7:
            data[at : at + 4] = dice.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0"))
        elif draw < 0.8:
            del data[at : at + dice.randrange(1, 40)]
        elif draw < 0.9:
            data[at:at] = data[at : at + dice.randrange(1, 40)]
        else:
            del data[at:]
    return bytes(data)
