"""What is searched: each dimension takes codes, plain numbers that files and samplers know, and
makes values of them, which estimators know."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from ..model.presets import AUTO
from ..model.schedules import Schedule

#: A value as samplers and study files have it.
Code = int | float


@dataclass(frozen=True)
class Numbers:
    """Numbers between two limits, both of which can come up."""

    low: float
    high: float
    log: bool = False
    whole: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low > self.high:
            raise ValueError(
                f"numbers from {self.low:g} to {self.high:g} are none; swap the limits"
            )
        if self.log and self.low <= 0:
            raise ValueError(
                f"numbers from {self.low:g} by their logarithms must begin above 0; set log=False"
            )
        if self.log and self.step is not None and not self.whole:
            raise ValueError(f"step={self.step:g} and log=True do not go together; leave one out")

    def at(self, share: float) -> Code:
        """The number so far on the way from the low to the high limit, from 0 to below 1."""
        if self.whole or self.step is not None:
            step = self.step or 1
            if self.log:
                low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
                number = round(math.exp(low + (high - low) * share))
                return self.checked(min(max(number, self.low), self.high))
            count = math.floor((self.high - self.low) / step + 1e-9) + 1
            return self.checked(self.low + min(int(share * count), count - 1) * step)
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return min(max(math.exp(low + (high - low) * share), self.low), self.high)
        return self.low + (self.high - self.low) * share

    def allows(self, code: Code) -> bool:
        """Whether a code can be one of this dimension."""
        return _lies_between(self.low, code, self.high)

    def checked(self, number: float) -> Code:
        """The number in the type it has for estimators; others to four digits, as people write."""
        if self.whole:
            return int(number)
        rounded = float(f"{number:.4g}") if self.step is None else round(float(number), 10)
        return min(max(rounded, self.low), self.high)

    def value(self, code: Code, others: Mapping[str, Any]) -> Any:
        """What the estimator gets."""
        return self.checked(code)

    def describe(self) -> str:
        """In words, the same for the same dimension: studies are known again by it."""
        words = [f"{self.low:g} to {self.high:g}"]
        words += ["whole"] if self.whole else []
        words += ["by logarithms"] if self.log else []
        words += [f"in steps of {self.step:g}"] if self.step is not None else []
        return ", ".join(words)

    def text(self, code: Code) -> str:
        """A value as plots show it."""
        return f"{self.checked(code):.4g}"


@dataclass(frozen=True)
class Choices:
    """One of some values, of any type."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a list of values to search must hold one at least")

    def at(self, share: float) -> Code:
        """The number of a value."""
        return min(int(share * len(self.values)), len(self.values) - 1)

    def allows(self, code: Code) -> bool:
        """Whether a code can be one of this dimension."""
        return 0 <= code < len(self.values)

    def value(self, code: Code, others: Mapping[str, Any]) -> Any:
        """What the estimator gets."""
        return self.values[int(code)]

    def describe(self) -> str:
        """In words."""
        return " or ".join(map(shown, self.values))

    def text(self, code: Code) -> str:
        """A value as plots show it."""
        return shown(self.values[int(code)])


@dataclass(frozen=True)
class Quantiles:
    """A distribution of SciPy that has no counterpart here: searched by its quantiles."""

    distribution: Any

    def at(self, share: float) -> Code:
        """A share itself."""
        return share

    def allows(self, code: Code) -> bool:
        """Whether a code can be one of this dimension."""
        return 0 <= code <= 1

    def value(self, code: Code, others: Mapping[str, Any]) -> Any:
        """What the estimator gets."""
        value = self.distribution.ppf(min(max(float(code), 1e-9), 1 - 1e-9))
        is_whole = hasattr(self.distribution.dist, "pmf")
        return int(value) if is_whole else float(f"{float(value):.4g}")

    def describe(self) -> str:
        """In words."""
        frozen = self.distribution
        return f"scipy {frozen.dist.name}, {frozen.args}, {sorted(frozen.kwds.items())}"

    def text(self, code: Code) -> str:
        """A value as plots show it."""
        return f"{self.value(code, {}):.4g}"


@dataclass(frozen=True)
class Share:
    """The margin T as a share of what all clauses can say: ``n_clauses`` times ``tolerance``.

    Parameters
    ----------
    low, high : float
        Between which the share lies in the end; it is searched by its logarithm.
    first : float, default=1.0
        The share of that with which training begins.
    rise : int, default=1
        The epoch by which it has risen to the end; 1: it is the same from the beginning.
    """

    low: float
    high: float
    first: float = 1.0
    rise: int = 1

    def at(self, share: float) -> Code:
        """A share between the limits."""
        return Numbers(self.low, self.high, log=True).at(share)

    def allows(self, code: Code) -> bool:
        """Whether a code can be one of this dimension."""
        return _lies_between(self.low, code, self.high)

    def value(self, code: Code, others: Mapping[str, Any]) -> Any:
        """T, or how it rises."""
        most = int(others["n_clauses"]) * int(others["tolerance"])
        last = max(1, round(float(code) * most))
        first = max(1, round(float(code) * most * self.first))
        return last if self.rise < 2 or first == last else Schedule(first, last, epochs=self.rise)

    def describe(self) -> str:
        """In words."""
        return f"share {self.low:g} to {self.high:g}, from {self.first:g} of it, {self.rise}"

    def text(self, code: Code) -> str:
        """A value as plots show it."""
        return f"{float(code):.3g} × clauses"


def _lies_between(low: float, code: Code, high: float) -> bool:
    """Up to how numbers are rounded."""
    return low <= code <= high or math.isclose(code, low) or math.isclose(code, high)


Dimension = Numbers | Choices | Quantiles | Share


def shown(value: Any) -> str:
    """A value as code; long ones shortened."""
    if isinstance(value, BaseEstimator):
        value = "".join(repr(value).split("\n"))
        return value if len(value) <= 200 else f"{value[:200]}..."
    return repr(value)[:200]


def as_dimension(name: str, given: Any) -> Dimension:
    """What users pass for a parameter: a list, or a distribution of Optuna, SciPy or ours."""
    try:
        return _read(given)
    except ValueError as error:
        raise ValueError(f"the space of {name!r}: {error}") from error


def _read(given: Any) -> Dimension:
    if isinstance(given, Dimension):
        return given
    kind = type(given).__name__
    if type(given).__module__.startswith("optuna."):
        if kind == "CategoricalDistribution":
            return Choices(tuple(given.choices))
        if kind in ("FloatDistribution", "IntDistribution"):
            step = given.step if kind == "FloatDistribution" or given.step != 1 else None
            return Numbers(given.low, given.high, given.log, kind == "IntDistribution", step)
    if hasattr(given, "ppf") and hasattr(given, "dist"):
        return _of_scipy(given)
    if isinstance(given, str | numbers.Number):
        raise ValueError(f"{given!r} is one value; set it on the estimator, or pass a list")
    if isinstance(given, Sequence) or hasattr(given, "tolist"):
        values = given.tolist() if hasattr(given, "tolist") else given
        return Choices(tuple(values))
    raise ValueError(
        f"{given!r:.200} is no list, no distribution of Optuna (optuna.distributions) and none of "
        "SciPy that has quantiles (scipy.stats.loguniform(1, 100)); pass one of them"
    )


def _of_scipy(given: Any) -> Dimension:
    """A frozen distribution; evenly spread ones as samplers know them."""
    name = given.dist.name
    low, high = (float(limit) for limit in given.support())
    if name == "uniform":
        return Numbers(low, high)
    if name in ("loguniform", "reciprocal"):
        return Numbers(low, high, log=True)
    if name == "randint":
        return Numbers(low, high, whole=True)
    return Quantiles(given)


def values_of(
    space: Mapping[str, Dimension], codes: Mapping[str, Code], settled: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters that codes stand for; ``settled`` are those of the estimator that margins
    are reckoned from."""
    values = {
        name: space[name].value(code, {})
        for name, code in codes.items()
        if not isinstance(space[name], Share)
    }
    # A margin may stand behind the name of a step of a pipeline.
    for name, code in codes.items():
        if isinstance(space[name], Share):
            prefix = name[: -len("T")] if name.endswith("T") else ""
            others = {
                part: values.get(prefix + part, settled[part])
                for part in ("n_clauses", "tolerance")
            }
            tolerance = others["tolerance"]
            if isinstance(tolerance, Schedule) or tolerance == AUTO:
                others["tolerance"] = settled["tolerance"]
            values[name] = space[name].value(code, others)
    return {name: values[name] for name in space if name in values}
