"""What one output bit says, as data first and text second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

# op -> (text when the bit is 1, text when the bit is 0)
_PHRASES = {
    "bit": ("{column}", "not {column}"),
    ">": ("{column} > {value}", "{column} <= {value}"),
    "<=": ("{column} <= {value}", "{column} > {value}"),
    "=": ("{column} = {value}", "{column} != {value}"),
    "missing": ("{column} is missing", "{column} is not missing"),
    "pixel": ("{column} > local mean - {value}", "{column} <= local mean - {value}"),
}


@dataclass(frozen=True)
class BitFeature:
    """The meaning of one bit.

    Parameters
    ----------
    column : str
        Name of the input column (for images, of the channel).
    op : {"bit", ">", "<=", "=", "missing", "pixel"}
        How the column is tested.  ``"pixel"`` compares a pixel with the mean around it.
    value : str, int, float, bool or None
        What the column is compared with; None for ``"bit"`` and ``"missing"``.
    text : str, optional
        How names write ``value``; derived from ``value`` when empty.

    Notes
    -----
    A missing value sets none of its column's bits, so it also makes every negated text of its
    column come out true.

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

    def __post_init__(self) -> None:
        if self.op not in _PHRASES:
            raise ValueError(f"op must be one of {sorted(_PHRASES)}, got {self.op!r}.")

    def _phrase(self, which: int) -> str:
        return _PHRASES[self.op][which].format(
            column=self.column, value=self.text or value_texts([self.value])[0]
        )

    def __str__(self) -> str:
        return self._phrase(0)

    def negated(self) -> str:
        """Text that holds when the bit is 0."""
        return self._phrase(1)


def threshold_features(
    column: str, thresholds: np.ndarray, *, from_zero: bool = False
) -> list[BitFeature]:
    """One feature per threshold; ``from_zero`` turns those below zero into ``<=``."""
    return [
        BitFeature(column, "<=" if from_zero and value < 0 else ">", value, text)
        for value, text in zip(thresholds.tolist(), number_texts(thresholds), strict=True)
    ]


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


def number_texts(values: np.ndarray) -> list[str]:
    """Short texts for increasing numbers, precise enough to tell neighbours apart."""
    gaps = np.diff(values, prepend=-np.inf, append=np.inf)
    rooms: Iterable[float] = np.minimum(gaps[:-1], gaps[1:]).tolist()
    return [_shortest(value, room) for value, room in zip(values.tolist(), rooms, strict=True)]


def _shortest(value: float, room: float) -> str:
    # Halves are the midpoints of integers: rounding one would move it onto an integer, where
    # the text says something else than the bit.
    if abs(value) < 1e15 and (2 * value).is_integer():
        return _digits(value, 17)
    text = _digits(value, 6)
    if room == np.inf or abs(float(text) - value) <= min(1e-9 * abs(value), room / 100):
        return text
    # An error of a hundredth of the distance to the next threshold is lost on a reader.
    texts = (_digits(value, count) for count in range(3, 17))
    close = (text for text in texts if abs(float(text) - value) <= room / 100)
    return next(close, repr(value))


def _digits(value: float, count: int) -> str:
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(
            value, precision=count, unique=False, fractional=False, trim="-"
        )
    return f"{value:.{count}g}"
