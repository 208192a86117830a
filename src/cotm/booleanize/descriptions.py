"""What one output bit means, as data and as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import damage_in, expect, expect_type

# op -> (text when the bit is 1, text when the bit is 0)
_PHRASES = {
    "bit": ("{column}", "not {column}"),
    ">": ("{column} > {value}", "{column} <= {value}"),
    "<=": ("{column} <= {value}", "{column} > {value}"),
    "<": ("{column} < {value}", "{column} >= {value}"),
    "=": ("{column} = {value}", "{column} != {value}"),
    "missing": ("{column} is missing", "{column} is not missing"),
    "pixel": ("{column} > local mean - {value}", "{column} <= local mean - {value}"),
}

#: How the name of a column begins that says where in an image it is.
_PLACE = re.compile(r"(?P<kind>at|pixel|cell)(?P<which>(?:-\d+)?)\(")


@dataclass(frozen=True)
class BitFeature:
    """The meaning of one bit.

    Parameters
    ----------
    column : str
        Name of the input column (for images, of the channel).
    op : {"bit", ">", "<=", "<", "=", "missing", "pixel"}
        How the column is tested. ``"pixel"`` compares a pixel with the mean around it.
    value : str, int, float, bool or None
        What the column is compared with; None for ``"bit"`` and ``"missing"``.
    text : str, optional
        How names write ``value``; derived from ``value`` when empty.
    index : int, optional
        Number of the input column, which tells columns of the same name apart.

    Notes
    -----
    Dates, durations and times of day are compared as seconds: ``value`` is a float, and ``text``
    says the same to the microsecond, as in ``2021-03-05 14:30``, ``2 days 03:00:00`` and
    ``14:30:00``. Dates are seconds since 1970, those with a time zone in UTC.

    A missing value sets none of the bits that compare its column with something, so the negated
    texts of all these bits hold for it.

    Examples
    --------
    >>> feature = BitFeature("age", ">", 37.5)
    >>> str(feature), feature.negated()
    ('age > 37.5', 'age <= 37.5')
    """

    column: str
    op: str
    value: str | int | float | bool | None = None
    text: str = field(default="", compare=False, repr=False)
    index: int | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.op not in _PHRASES:
            raise ValueError(f"op={self.op!r} must be one of {', '.join(map(repr, _PHRASES))}")

    @property
    def value_text(self) -> str:
        """How names write ``value``."""
        return self.text or value_texts([self.value])[0]

    def _phrase(self, which: int) -> str:
        return _PHRASES[self.op][which].format(column=self.column, value=self.value_text)

    def __str__(self) -> str:
        return self._phrase(0)

    def negated(self) -> str:
        """Text that holds when the bit is 0."""
        return self._phrase(1)


def placed(
    feature: BitFeature, z: str, y: int | None, x: int, *, number: int | None = None
) -> BitFeature:
    """What a channel says at a place: of a pixel, of a cell, or of one dimension.

    ``number`` tells places apart that would be called the same.
    """
    kind, _, rest = feature.column.partition(" ")
    if _PLACE.match(kind):
        return feature  # of a window or a whole image, which says where in it
    if kind not in ("pixel", "cell"):
        kind, rest = "pixel", feature.column
    which = "" if number is None else f"-{number}"
    place = f"at({x})" if y is None else f"{kind}{which}({z}{y},{x})"
    return replace(feature, column=f"{place} {rest}".rstrip(), index=None)


def place_of(feature: BitFeature) -> str | None:
    """The pixel or cell of an image that a bit is of, where it says so."""
    place = feature.column.partition(" ")[0]
    found = _PLACE.match(place)
    if found is None or found["kind"] == "at":
        return None
    # A pixel is the same, whoever looks at it.
    return place if found["kind"] == "cell" else place.replace(found["which"], "", 1)


def threshold_features(
    column: str,
    thresholds: NDArray[np.float64],
    *,
    from_zero: bool = False,
    measure: str | None = None,
    index: int | None = None,
) -> list[BitFeature]:
    """One feature per threshold; ``from_zero`` turns those below zero into ``<=``."""
    write = _TEMPORAL_TEXTS.get(str(measure))
    texts = number_texts(thresholds) if write is None else [*map(write, thresholds.tolist())]
    return [
        BitFeature(column, "<=" if from_zero and value < 0 else ">", value, text, index)
        for value, text in zip(thresholds.tolist(), texts, strict=True)
    ]


def features_to_state(features: list[BitFeature]) -> list[list[Any]]:
    """Features as lists that JSON can hold."""
    return [[f.column, f.op, f.value, f.text, f.index] for f in features]


def features_from_state(state: Any, count: int) -> list[BitFeature]:
    """The ``count`` features that ``features_to_state`` wrote; the input may be hostile."""
    with damage_in("Damaged booleanizer state"):
        expect_type(state, list, "bit_features")
        expect(len(state) == count, f"bit_features must be {count}, got {len(state)}")
        return [_feature_from_state(entry) for entry in state]


def _feature_from_state(entry: Any) -> BitFeature:
    expect_type(entry, list, "a bit's feature")
    expect(len(entry) == 5, f"a bit's feature must have 5 parts, got {len(entry)}")
    column, op, value, text, index = entry
    expect_type(column, str, "a bit's column")
    expect_type(text, str, "a bit's text")
    expect(type(op) is str and op in _PHRASES, f"a bit's op is {op!r:.200}")
    expect(index is None or (type(index) is int and index >= 0), f"a bit's index is {index!r:.200}")
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    fits = {"bit": value is None, "missing": value is None}
    fits["="] = is_number or type(value) in (str, bool)
    expect(fits.get(op, is_number), f"a bit's value is {value!r:.200}")
    return BitFeature(column, op, value, text, index)


def value_texts(values: Sequence[object]) -> list[str]:
    """Exact texts for category values, quoted where bare text would be ambiguous."""
    mixed = len({type(value) for value in values}) > 1

    def one(value: object) -> str:
        if isinstance(value, float):
            return repr(value).removesuffix(".0")
        if isinstance(value, str) and (mixed or value != value.strip() or not value):
            return repr(value)
        return str(value)

    return [one(value) for value in values]


def number_texts(values: NDArray[np.float64]) -> list[str]:
    """Short texts for increasing numbers, precise enough to tell neighbours apart."""
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    rooms: Iterable[float] = np.minimum(gaps[:-1], gaps[1:]).tolist()
    return [_shortest(value, room) for value, room in zip(values.tolist(), rooms, strict=True)]


def _shortest(value: float, room: float) -> str:
    """A short text for a number whose nearest neighbour is ``room`` away."""
    # A half is the midpoint of two integers. Rounded to one of them, its text would say something
    # else about that integer than the bit does.
    if abs(value) < 1e15 and (2 * value).is_integer():
        return _digits(value, 17)
    text = _digits(value, 6)
    if room == np.inf or abs(float(text) - value) <= min(1e-9 * abs(value), room / 100):
        return text
    # No reader notices an error of a hundredth of the distance to the next threshold.
    texts = (_digits(value, count) for count in range(3, 17))
    close = (text for text in texts if abs(float(text) - value) <= room / 100)
    return next(close, repr(value))


def _digits(value: float, count: int) -> str:
    """A number with so many significant digits."""
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(
            value, precision=count, unique=False, fractional=False, trim="-"
        )
    return f"{value:.{count}g}"


def _microseconds(seconds: float) -> int:
    """Whole microseconds, rounded from the exact value of the float."""
    return round(Fraction(seconds) * 1_000_000)


def _clock_text(micro: int) -> str:
    seconds, fraction = divmod(micro, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    decimals = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{decimals}"


def _date_text(seconds: float) -> str:
    """``2021-03-05``, with hours and minutes, seconds and their parts only where needed."""
    days, rest = divmod(_microseconds(seconds), _DAY)
    date = str(np.datetime64(days, "D"))
    if not rest:
        return date
    clock = _clock_text(rest)
    return f"{date} {clock[:5] if clock.endswith(':00') else clock}"


def duration_text(seconds: float) -> str:
    """``2 days``, ``2 days 03:00:00``, ``-51:00:00``, ``00:00:01.5``."""
    micro = _microseconds(seconds)
    days, rest = divmod(abs(micro), _DAY)
    if micro < 0 and rest:
        # In "-2 days 03:00:00" it would be unclear whether the sign holds for the hours, too.
        return f"-{_clock_text(-micro)}"
    parts = [f"{days if micro > 0 else -days} day{'s' if days > 1 else ''}"] * bool(days)
    if rest or not days:
        parts.append(_clock_text(rest))
    return " ".join(parts)


def _time_text(seconds: float) -> str:
    """``14:30:00``."""
    return duration_text(seconds) if seconds < 0 else _clock_text(_microseconds(seconds))


_DAY = 86_400_000_000  # microseconds

_TEMPORAL_TEXTS = {"date": _date_text, "duration": duration_text, "time": _time_text}
