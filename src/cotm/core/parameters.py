"""The table of learning options: what each is called, its default, its limits, its meaning.

A field of :class:`MachineParameters` is the only declaration of an option. Machines, estimators,
model files and the command line go over the fields; ``spec.py`` says what backends get of them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .checks import check_choice, check_flag, check_integer, check_number
from .limits import (
    MAX_AVERAGE,
    MAX_CLAUSES,
    MAX_DROPPED,
    MAX_FEATURES,
    MAX_T,
    MAX_TOLERANCE,
    WEIGHT_LIMIT,
)

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Whole:
    """Whole numbers between limits; with ``optional`` None too, which is no limit."""

    low: int
    high: int
    optional: bool = False

    def check(self, name: str, value: Any) -> Any:
        """The value as Python's own, or a ValueError."""
        if self.optional and value is None:
            return None
        return check_integer(name, value, self.low, self.high)


@dataclass(frozen=True)
class Real:
    """Finite real numbers between limits."""

    low: float
    high: float = math.inf

    def check(self, name: str, value: Any) -> float:
        """The value as Python's own, or a ValueError."""
        return check_number(name, value, self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of a few texts."""

    values: tuple[str, ...]

    def check(self, name: str, value: Any) -> str:
        """The value, or a ValueError."""
        return str(check_choice(name, value, self.values))


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> bool:
        """The value as Python's own, or a ValueError."""
        return check_flag(name, value)


def first(values: Sequence[Any]) -> Any:
    """Of one pool: what says how its clauses will learn, and not what they say now."""
    return values[0]


def loosest(limits: Sequence[int | None]) -> int | None:
    """Of one pool: the limit that all its clauses keep; None where one has none."""
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None


@dataclass(frozen=True)
class Option:
    """One learning option."""

    name: str
    default: Any  # of a machine
    values: Whole | Real | Choice | Flag
    meaning: str  # in one line, for the command line and the documentation of Machine
    flag: str | None  # what the command line calls it; None: the name with dashes
    automatic: bool  # whether the classifiers' default is "auto", which a preset says
    is_kind: bool  # not set by users: the class of classifier says it
    pooled: Callable[[Sequence[Any]], Any] | None  # see of_pool; None: all must have the same
    scheduled: bool  # whether it may be another in every epoch

    def of_pool(self, values: Sequence[Any]) -> Any:
        """The value of a pool, of those of the machines whose clauses become one."""
        return (self.pooled or first)(values)

    @property
    def classifier_default(self) -> Any:
        """The default of the classifiers."""
        return "auto" if self.automatic else self.default

    def check(self, value: Any) -> Any:
        """A machine's value for the option, as Python's own type, or a ValueError."""
        return self.values.check(self.name, value)


def _option(
    default: Any,
    values: Whole | Real | Choice | Flag,
    meaning: str,
    *,
    flag: str | None = None,
    automatic: bool = False,
    is_kind: bool = False,
    pooled: Callable[[Sequence[Any]], Any] | None = None,
    scheduled: bool = False,
) -> Any:
    metadata = {
        "values": values,
        "meaning": meaning,
        "flag": flag,
        "automatic": automatic,
        "is_kind": is_kind,
        "pooled": pooled,
        "scheduled": scheduled,
    }
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class MachineParameters:
    """What a machine learns with, checked; see :class:`cotm.CoTMClassifier` for more words."""

    n_clauses: int = _option(
        500, Whole(1, MAX_CLAUSES), "Rules to learn.", flag="--clauses", pooled=first
    )
    T: int = _option(
        200,
        Whole(1, MAX_T),
        "Voting margin T: more of it lets more rules take part in a decision.",
        flag="--margin",
        automatic=True,
        pooled=first,
        scheduled=True,
    )
    s: float = _option(
        10.0,
        Real(1.0),
        "Specificity s: more of it gives longer, rarer rules.",
        flag="--specificity",
        automatic=True,
        pooled=first,
        scheduled=True,
    )
    memory_depth: int = _option(
        128,
        Whole(1, 128),
        "Reinforcements a condition's memory holds on either side.",
        automatic=True,
        pooled=loosest,
    )
    e: float = _option(
        1.0,
        Real(0.0),
        "Factor on feedback for the classes an example is not of.",
        automatic=True,
        pooled=first,
    )
    e_scales: str = _option(
        "output",
        Choice(("output", "type2")),
        "What e scales: all feedback of those classes, or Type II feedback.",
        pooled=first,
    )
    boost_true_positive: bool = _option(
        True, Flag(), "Always memorize what is true.", flag="--boost/--no-boost", pooled=first
    )
    max_literals: int | None = _option(
        None,
        Whole(1, 2 * MAX_FEATURES, optional=True),
        "Most conditions in a rule.",
        pooled=loosest,
    )
    max_weight: int | None = _option(
        None, Whole(1, WEIGHT_LIMIT, optional=True), "Largest weight of a rule.", pooled=loosest
    )
    average: int = _option(
        1,
        Whole(1, MAX_AVERAGE),
        "How many of the last epochs vote together in prediction; steadies it.",
        automatic=True,
        pooled=first,
    )
    tolerance: int = _option(
        1,
        Whole(1, MAX_TOLERANCE),
        "Misses that silence a rule; with fewer it votes, the more so the fewer they are.",
        automatic=True,
        scheduled=True,
    )
    forgetting: str = _option(
        "drawn",
        Choice(("drawn", "sampled")),
        "Whether every condition is drawn for, or a sample of them forgotten.",
        automatic=True,
        pooled=first,
    )
    growth_limit: int | None = _option(
        None,
        Whole(1, 2 * MAX_FEATURES, optional=True),
        "Conditions beyond which a rule memorizes no more until it has forgotten some.",
        automatic=True,
        pooled=first,
    )
    include_depth: int | None = _option(
        None,
        Whole(1, 128, optional=True),
        "Reinforcements an included condition's memory holds; none: as --memory-depth says.",
        automatic=True,
    )
    negatives: str = _option(
        "all",
        Choice(("all", "drawn", "focused")),
        "Which classes an example is not of give feedback: all, or one, drawn evenly or by votes.",
        automatic=True,
        pooled=first,
    )
    drop_clauses: float = _option(
        0.0,
        Real(0.0, MAX_DROPPED),
        "Share of the rules that sit out each epoch: they neither vote nor learn in it.",
        pooled=first,
        scheduled=True,
    )
    drop_literals: float = _option(
        0.0,
        Real(0.0, MAX_DROPPED),
        "Share of the conditions that sit out each epoch: rules go by the others, and learn those.",
        pooled=first,
        scheduled=True,
    )
    negations: bool = _option(
        True,
        Flag(),
        "Whether rules may ask that a bit is 0, or for bits that are 1 only.",
        flag="--negations/--no-negations",
        pooled=any,
    )
    sharing: bool = _option(
        True, Flag(), "Whether all outputs share the clauses, or each owns some.", is_kind=True
    )
    weighted: bool = _option(
        True,
        Flag(),
        "Without sharing: whether a clause's weight is learned, or stays at 1.",
        is_kind=True,
    )

    regression: bool = _option(
        False,
        Flag(),
        "Whether targets are quantities: votes to come near, instead of 0 and 1.",
        is_kind=True,
    )

    def __post_init__(self) -> None:
        for option in OPTIONS.values():
            object.__setattr__(self, option.name, option.check(getattr(self, option.name)))
        if self.regression and (self.negatives != "all" or self.e != 1.0 or not self.sharing):
            raise ValueError(
                f"negatives={self.negatives!r}, e={self.e:g}, sharing={self.sharing}, but "
                "quantities have no classes that an example is not of, and share their clauses: "
                "leave negatives='all', e=1.0 and sharing=True"
            )
        if self.forgetting == "sampled" and not self.boost_true_positive:
            raise ValueError(
                "forgetting='sampled' draws for no condition, so it cannot leave true ones out: "
                "set boost_true_positive=True, or forgetting='drawn'"
            )

    def holding(self, largest: int) -> dict[str, Any]:
        """The options that must change before there can be so large a weight."""
        cap = self.max_weight
        return {} if cap is None or cap >= largest else {"max_weight": largest}


#: Every learning option by its name.
OPTIONS = {
    field.name: Option(field.name, field.default, **field.metadata)
    for field in dataclasses.fields(MachineParameters)
}


def takes(parameters: Iterable[inspect.Parameter]) -> Callable[[_Function], _Function]:
    """Show parameters in the signature of a function that takes them as its ``**names``."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = {parameter.name for parameter in own}
        added = [parameter for parameter in parameters if parameter.name not in names]

        @functools.wraps(function)
        def shown(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        known: Any = shown
        known.__signature__ = signature.replace(parameters=[*own, *added])
        known.__annotations__ = {
            parameter.name: parameter.annotation
            for parameter in (*own, *added)
            if parameter.annotation is not parameter.empty
        }
        return known  # type: ignore[no-any-return]

    return decorate


#: For a function that takes the learning options by their names.
takes_options = takes(
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
        for name, option in OPTIONS.items()
    ]
)
