"""What clauses must not do: look at a column for some labels, or fall where they must rise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..booleanize import BitFeature
from ..core.checks import shortened
from ..core.state import EarlierState, Snapshot


class Constraints(BaseEstimator):  # type: ignore[misc]
    """What the rules of a classifier must not do, in every state that it ever has.

    After each pass over the data the state is brought within them, by the same whole-number
    steps everywhere: of a rule that looks at a forbidden column, the votes for that label become
    0; a rule that is to rise with a column loses its conditions that fall with it, or its votes
    where it would fall. ``TMClassifier`` loses conditions in both cases. ``docs/rules.md`` has the
    steps and what they cost.

    Parameters
    ----------
    monotone : dict, default=None
        Columns with which votes only rise (1) or fall (-1): ``{"income": {"yes": 1, "no": -1}}``
        names the labels; ``{"income": 1}``, with two classes, says that of the second one and the
        opposite of the first. The rules that vote for a label then have conditions of one
        direction only, as ``income > 2000``, and those that vote against it of the other. Missing
        values are neither high nor low.
    forbid : dict, default=None
        Columns that must not count for labels: ``{"zip code": ["refused"]}``.

    Columns are named by their names, or by their numbers in X, counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from cotm import Constraints, CoTMClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = X[:, 0] + 0.3 * X[:, 1] > 0
    >>> rising = Constraints(monotone={0: 1}, forbid={1: [False]})
    >>> model = CoTMClassifier(50, epochs=5, constraints=rising, random_state=0).fit(X, y)
    >>> model.check()
    []
    >>> steps = np.column_stack([np.linspace(-3, 3, 50), np.zeros(50)])
    >>> bool((np.diff(model.votes(steps)[:, 1]) >= 0).all())
    True
    """

    def __init__(
        self,
        monotone: dict[Any, Any] | None = None,
        forbid: dict[Any, Any] | None = None,
    ) -> None:
        self.monotone = monotone
        self.forbid = forbid

    def __eq__(self, other: object) -> bool:
        """Whether the other one says the same."""
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]

    def check(self) -> None:
        """Raise a ValueError that names what cannot be read."""
        for name in ("monotone", "forbid"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise ValueError(
                    f"constraints.{name}={shortened(value)} must be a dictionary of columns"
                )
            for column in value or ():
                if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
                    raise ValueError(
                        f"constraints.{name} has the column {column!r:.200}; columns are named by "
                        "name or number"
                    )
        for column, said in (self.monotone or {}).items():
            for way in said.values() if isinstance(said, Mapping) else [said]:
                if isinstance(way, bool) or way not in (1, -1):
                    raise ValueError(
                        f"constraints.monotone[{column!r:.200}] says {way!r:.200}; 1 is rising and "
                        "-1 falling"
                    )
        for column, labels in (self.forbid or {}).items():
            if isinstance(labels, str) or not isinstance(labels, Sequence | np.ndarray):
                raise ValueError(
                    f"constraints.forbid[{column!r:.200}]={labels!r:.200} must be a list of labels"
                )


@dataclass(frozen=True)
class Violation:
    """A clause that does what it must not.

    Attributes
    ----------
    state : int
        Which state has it: 0 is the current one, 1 the one before with ``average``.
    clause : int
        Its number in that state.
    column : str or int
        The column, as the constraint names it.
    label : object
        The label.
    kind : {"forbidden", "monotone"}
        What it violates.
    """

    state: int
    clause: int
    column: Any
    label: Any
    kind: str


@dataclass(frozen=True)
class _Rising:
    """A column with which votes rise or fall: literals that rise with it, and ways by output."""

    column: Any
    rising: NDArray[np.bool_]  # (L,)
    falling: NDArray[np.bool_]
    ways: NDArray[np.int64]  # (m,) 1, -1, or 0 where it is free


@dataclass(frozen=True)
class Limits:
    """Constraints and pins as literals and outputs of one machine."""

    labels: tuple[Any, ...]
    rising: tuple[_Rising, ...] = ()
    forbidden: tuple[tuple[Any, NDArray[np.bool_], int], ...] = ()  # column, literals, output
    sharing: bool = True
    pinned: tuple[int, ...] = ()  # clauses whose literals stay
    held: tuple[int, ...] = ()  # those whose weights stay, too

    def __bool__(self) -> bool:
        return bool(self.rising or self.forbidden or self.pinned)

    def apply(self, state: Snapshot, before: Snapshot | None = None) -> Snapshot:
        """The state brought within them; pinned clauses are as they were before."""
        memory, weights = state.memory, state.weights
        if before is not None and self.pinned:
            memory, weights = memory.copy(), weights.copy()
            memory[[*self.pinned]] = before.memory[[*self.pinned]]
            weights[[*self.held]] = before.weights[[*self.held]]
        included, kept = self._within(memory >= 0, weights, self.pinned)
        if included is not None:
            memory = np.where((memory >= 0) & ~included, np.int8(-1), memory)
        earlier = tuple(self._earlier(past, memory.shape[1]) for past in state.earlier)
        same = all(a is b for a, b in zip(earlier, state.earlier, strict=True))
        if memory is state.memory and kept is state.weights and same:
            return state
        return replace(state, memory=memory, weights=kept, earlier=earlier)

    def _earlier(self, past: EarlierState, n_literals: int) -> EarlierState:
        included = np.unpackbits(past.included, axis=1, count=n_literals).view(np.bool_)
        changed, weights = self._within(included, past.weights, ())
        if changed is None and weights is past.weights:
            return past
        packed = past.included if changed is None else np.packbits(changed, axis=1)
        return EarlierState(packed, weights)

    def _within(
        self, included: NDArray[np.bool_], weights: NDArray[np.int32], pinned: tuple[int, ...]
    ) -> tuple[NDArray[np.bool_] | None, NDArray[np.int32]]:
        """Literals, None if they stay, and weights that are within the constraints."""
        if not self._violated(included, weights):
            return None, weights
        result, kept = included.copy(), weights.copy()
        free = np.ones(len(included), dtype=bool)
        free[[*pinned]] = False
        for _, literals, output in self.forbidden:
            uses = _looks(result, literals) & (kept[:, output] != 0)
            if self.sharing:
                kept[uses, output] = 0
            else:
                result[np.ix_(uses & free, literals)] = False
                kept[uses & ~free, output] = 0
        for rule in self.rising:
            self._straighten(rule, result, kept, free)
        return result, kept

    def _straighten(
        self,
        rule: _Rising,
        included: NDArray[np.bool_],
        weights: NDArray[np.int32],
        free: NDArray[np.bool_],
    ) -> None:
        """Take away the literals of the direction in which a clause votes less."""
        sizes = np.abs(weights.astype(np.int64)) * np.sign(weights) * rule.ways
        up = np.where(sizes > 0, sizes, 0).sum(axis=1)
        down = np.where(sizes < 0, -sizes, 0).sum(axis=1)
        included[np.ix_(free & (up + down > 0) & (up >= down), rule.falling)] = False
        included[np.ix_(free & (up < down), rule.rising)] = False
        rises = _looks(included, rule.rising)
        falls = _looks(included, rule.falling)
        weights[(sizes < 0) & rises[:, None]] = 0
        weights[(sizes > 0) & falls[:, None]] = 0

    def _violated(self, included: NDArray[np.bool_], weights: NDArray[np.int32]) -> bool:
        return next(self._violations(included, weights, 0), None) is not None

    def _violations(
        self, included: NDArray[np.bool_], weights: NDArray[np.int32], state: int
    ) -> Iterator[Violation]:
        for column, literals, output in self.forbidden:
            uses = _looks(included, literals) & (weights[:, output] != 0)
            for clause in np.flatnonzero(uses).tolist():
                yield Violation(state, clause, column, self.labels[output], "forbidden")
        for rule in self.rising:
            ways = np.sign(weights) * rule.ways
            rises = _looks(included, rule.rising)
            falls = _looks(included, rule.falling)
            wrong = ((ways < 0) & rises[:, None]) | ((ways > 0) & falls[:, None])
            for clause, output in np.argwhere(wrong).tolist():
                yield Violation(state, clause, rule.column, self.labels[output], "monotone")

    def violations(self, state: Snapshot) -> list[Violation]:
        """All that the clauses of a state do and must not, the current state first."""
        found = [*self._violations(state.memory >= 0, state.weights, 0)]
        for number, past in enumerate(reversed(state.earlier), start=1):
            included = np.unpackbits(past.included, axis=1, count=state.memory.shape[1])
            found += self._violations(included.view(np.bool_), past.weights, number)
        return found


def _looks(included: NDArray[np.bool_], literals: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each clause has any of these literals."""
    return np.asarray(included[:, literals].any(axis=1))


def limits_of(
    constraints: Constraints | None,
    features: Sequence[BitFeature],
    names: Sequence[str],
    labels: Sequence[Any],
    *,
    sharing: bool,
    pinned: tuple[int, ...] = (),
    held: tuple[int, ...] = (),
) -> Limits:
    """Constraints on these bits and labels; a ValueError names what is not there."""
    limits = Limits(tuple(labels), sharing=sharing, pinned=pinned, held=held)
    if constraints is None:
        return limits
    constraints.check()
    rising = []
    for column, said in (constraints.monotone or {}).items():
        bits = _bits_of(column, features, names)
        up, down = _directions(column, bits, features)
        ways = np.zeros(len(labels), dtype=np.int64)
        if not isinstance(said, Mapping):
            if len(labels) > 2:
                raise ValueError(
                    f"constraints.monotone[{column!r}]={said} is for two classes, and there are "
                    f"{len(labels)}; name the labels, as in {{{labels[0]!r}: {said}}}"
                )
            said = {labels[0]: -said, labels[-1]: said}  # of one quantity the last one counts
        for label, way in said.items():
            ways[_output(label, labels, f"monotone[{column!r}]")] = way
        rising.append(_Rising(column, up, down, ways))
    forbidden = []
    for column, some in (constraints.forbid or {}).items():
        literals = np.zeros(2 * len(features), dtype=bool)
        for bit in _bits_of(column, features, names):
            literals[[bit, bit + len(features)]] = True
        for label in some:
            forbidden.append((column, literals, _output(label, labels, f"forbid[{column!r}]")))
    return replace(limits, rising=tuple(rising), forbidden=tuple(forbidden))


def _output(label: Any, labels: Sequence[Any], where: str) -> int:
    if label not in labels:
        raise ValueError(
            f"constraints.{where} names the label {label!r:.200}; there are {[*labels]!r:.200}"
        )
    return [*labels].index(label)


def _bits_of(column: Any, features: Sequence[BitFeature], names: Sequence[str]) -> list[int]:
    """The bits of a column, by its name or number."""
    if not isinstance(column, str):
        bits = [k for k, feature in enumerate(features) if feature.index == column]
        if not bits and not 0 <= column < len(names):
            raise ValueError(f"constraints name the column {column}; X has {len(names)} of them")
        return bits
    bits = [k for k, feature in enumerate(features) if feature.column == column]
    if not bits and column not in names:
        raise ValueError(
            f"constraints name the column {column!r:.200}, which the model does not know; it has "
            f"{', '.join(map(repr, dict.fromkeys(f.column for f in features)))[:200]}"
        )
    if [*names].count(column) > 1 or len({features[k].index for k in bits}) > 1:
        raise ValueError(f"several columns are called {column!r}; name it by its number")
    return bits


def _directions(
    column: Any, bits: Sequence[int], features: Sequence[BitFeature]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The literals that are fulfilled where a column is high, and those where it is low."""
    up, down = (np.zeros(2 * len(features), dtype=bool) for _ in range(2))
    for bit in bits:
        op = features[bit].op
        if op == "missing":
            continue
        if op not in (">", "<=", "<", "bit"):
            raise ValueError(
                f"constraints.monotone names {column!r}, but categories are neither high nor low"
            )
        high, low = (up, down) if op in (">", "bit") else (down, up)
        high[bit], low[bit + len(features)] = True, True
    return up, down
