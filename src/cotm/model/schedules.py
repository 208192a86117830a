"""Learning options that change from epoch to epoch."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from sklearn.base import BaseEstimator

from ..core.checks import check_choice, check_integer
from ..core.parameters import OPTIONS, Option, Whole

SHAPES = ("linear", "geometric", "step")
#: For values by equal factors: decimals are rounded alike everywhere, floats are not.
_DECIMALS = Context(prec=40, rounding=ROUND_HALF_EVEN)


class Schedule(BaseEstimator):  # type: ignore[misc]
    """A learning option's value for every epoch, in place of one value for all of them.

    For ``T``, ``s``, ``tolerance``, ``drop_clauses`` and ``drop_literals`` of the classifiers. The
    value depends on the number of the epoch alone, as ``history_`` counts them, so that a training
    that goes on, from a file or by ``warm_start`` or ``partial_fit``, has the values of one that
    was never interrupted. Model files hold it as they hold the parameter. It is worked out in whole
    numbers and decimals, so that it is the same on every computer.

    Parameters
    ----------
    start : int or float
        The value in the first epoch.
    end : int or float
        The value in epoch number ``epochs`` and all later ones.
    epochs : int
        How many it takes, 2 or more.
    shape : {"linear", "geometric", "step"}, default="linear"
        The way from ``start`` to ``end``: by equal differences, by equal factors, or ``start``
        until epoch number ``epochs``. Options that are whole numbers are rounded.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier, Schedule
    >>> Schedule(100, 40, epochs=4).at(2), Schedule(2, 16, epochs=4, shape="geometric").at(2)
    (80.0, 4.0)
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CoTMClassifier(50, T=Schedule(100, 40, epochs=4), epochs=3, random_state=0)
    >>> model.fit(X, y).T_
    60
    >>> model.partial_fit(X, y).T_
    40
    """

    def __init__(self, start: float, end: float, *, epochs: int, shape: str = "linear") -> None:
        self.start = start
        self.end = end
        self.epochs = epochs
        self.shape = shape

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same parameters."""
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]

    def at(self, epoch: int) -> float:
        """The value in an epoch, counted from 1; not rounded."""
        return float(self._exactly_at(epoch))

    def check(self, option: Option) -> None:
        """Raise a ValueError where an option cannot take these values."""
        name = option.name
        if not option.scheduled:
            names = ", ".join(known for known in OPTIONS if OPTIONS[known].scheduled)
            raise ValueError(
                f"{name}={self!r:.200} changes from epoch to epoch, as only {names} can; use one "
                "value"
            )
        check_integer(f"{name}.epochs", self.epochs, 2)
        check_choice(f"{name}.shape", self.shape, SHAPES)
        for part in ("start", "end"):
            value: Any = option.values.check(f"{name}.{part}", getattr(self, part))
            if self.shape == "geometric" and value <= 0:
                raise ValueError(
                    f"{name}.{part}={value!r} must be above 0, since shape='geometric' goes by "
                    "factors; use shape='linear'"
                )

    def _exactly_at(self, epoch: int) -> Fraction:
        start, end = Fraction(self.start), Fraction(self.end)
        done = Fraction(epoch - 1, int(self.epochs) - 1)
        if done >= 1:
            return end
        if self.shape == "step":
            return start
        if self.shape == "linear":
            return start + (end - start) * done
        with localcontext(_DECIMALS):
            first, last = (Decimal(v.numerator) / v.denominator for v in (start, end))
            share = Decimal(done.numerator) / done.denominator
            value = Fraction((first.ln() + (last.ln() - first.ln()) * share).exp())
        return min(max(value, min(start, end)), max(start, end))


def at_epoch(option: Option, value: Any, epoch: int) -> Any:
    """What an option is in an epoch, counted from 1."""
    if not isinstance(value, Schedule):
        return value
    exact = value._exactly_at(epoch)
    return round(exact) if isinstance(option.values, Whole) else float(exact)
