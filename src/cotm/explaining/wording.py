"""Reasons in words."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..booleanize.descriptions import duration_text


class Reason(NamedTuple):
    """A feature, its value (None where it is missing or not known), and what it contributed."""

    feature: str
    value: Any
    contribution: float

    def to_data(self) -> dict[str, Any]:
        """What JSON can hold."""
        value = simple(self.value)
        return {"feature": self.feature, "value": value, "contribution": self.contribution}


def plain(value: Any) -> Any:
    """A value of Python instead of NumPy's; None for a missing one."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]")  # of nanoseconds Python has no dates
    value = value.item() if isinstance(value, np.generic) else value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def simple(value: Any) -> Any:
    """A plain value as JSON holds it: dates and the like as text."""
    if isinstance(value, datetime.timedelta):
        return value_text(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def value_text(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.replace(tzinfo=None).date())  # as rules have it
    if isinstance(value, datetime.timedelta):
        return duration_text(value.total_seconds())
    return str(value)


def cell_text(value: Any) -> str:
    """A cell in a sentence; None is missing."""
    return "missing" if value is None else value_text(value)


def test_text(reason: Reason, *, bits: bool, known: bool = True) -> str:
    """What is so, as in ``age is 37``."""
    if bits and reason.value is not None:
        return reason.feature if reason.value else f"not {reason.feature}"
    if not known:
        return reason.feature
    if reason.value is None:
        return f"{reason.feature} is missing"
    return f"{reason.feature} is {value_text(reason.value)}"


def votes_text(votes: float) -> str:
    """A signed number of votes, short."""
    return f"{votes:+,.0f}" if abs(votes) >= 10 else f"{votes:+.2g}"


def sentence(
    label: str,
    chance: float,
    predicted: bool,
    reasons: Sequence[Reason],
    *,
    bits: bool,
    known: bool,
) -> str:
    """Why a label is predicted, or is not, and what speaks against that."""

    def listed(chosen: Sequence[Reason]) -> str:
        return _listed(chosen, bits=bits, known=known, measure=" votes")

    pro = [reason for reason in reasons if (reason.contribution > 0) == predicted]
    contra = [reason for reason in reasons if (reason.contribution > 0) != predicted]
    head = f"{label} ({chance:.0%})".replace("%", " %")
    head = head if predicted else f"not {head}"
    because = "because" if known or bits else "because of"
    why = f"mainly {because} {listed(pro)}" if pro else "no feature speaks for it"
    but = f"; against it speak{'s' * (len(contra) == 1)} {listed(contra)}" if contra else ""
    return f"{head}: {why}{but}."


def quantity_sentence(
    said: str, usual: str, reasons: Sequence[Reason], *, bits: bool, known: bool
) -> str:
    """What raised a quantity above what it is on average, and what lowered it."""
    parts = [
        f"{word} by {_listed(chosen, bits=bits, known=known)}"
        for word, chosen in (
            ("raised", [reason for reason in reasons if reason.contribution > 0]),
            ("lowered", [reason for reason in reasons if reason.contribution < 0]),
        )
        if chosen
    ]
    return f"{said}, on average {usual}: {'; '.join(parts) or 'no feature changes it'}."


def _listed(chosen: Sequence[Reason], *, bits: bool, known: bool, measure: str = "") -> str:
    """Reasons one after the other, the first one with what is counted."""
    texts = [
        f"{test_text(reason, bits=bits, known=known)} ({votes_text(reason.contribution)}"
        f"{measure if number == 0 else ''})"
        for number, reason in enumerate(chosen)
    ]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
