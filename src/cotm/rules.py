"""Clauses as rules: objects to compute with, which print as readable text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .booleanize import BitFeature
from .conditions import Condition, is_possible, simplify

__all__ = ["Condition", "MemberRule", "Rule", "feature_descriptions", "rules", "simplify"]


@dataclass(frozen=True)
class Rule:
    """A clause that can vote: if all conditions hold, each label gets its weight as votes.

    With a tolerance above 1 it is graded: each condition that holds beyond the first
    ``len(conditions) - most`` of them gives each label its weight once.

    Attributes
    ----------
    clause : int
        Number of the clause in the model.
    conditions : tuple of Condition
        The literals of the clause; those that others imply are left out of the text only.
    weights : dict of label to int
        Votes for each label; negative ones are votes against it.
    tolerance : int
        Conditions that fail before the rule is silent.
    """

    clause: int
    conditions: tuple[Condition, ...]
    weights: dict[Any, int]
    tolerance: int = 1

    @property
    def most(self) -> int:
        """How often its weights count if all conditions hold."""
        return min(self.tolerance, len(self.conditions))

    @property
    def strength(self) -> int:
        """The largest vote, for or against a label."""
        return self.most * max(abs(weight) for weight in self.weights.values())

    def __str__(self) -> str:
        ranked = sorted(self.weights.items(), key=lambda item: -abs(item[1]))
        votes = ", ".join(f"{label} {weight:+d}" for label, weight in ranked if weight)
        if self.most == 1:
            return f"if {' and '.join(map(str, simplify(self.conditions)))}: {votes}"
        # Here a condition that others imply counts like any other.
        needed, count = len(self.conditions) - self.most, len(self.conditions)
        every = "; ".join(map(str, self.conditions))
        return f"if more than {needed} of {count} hold ({every}): {votes} for each above {needed}"


@dataclass(frozen=True)
class MemberRule(Rule):
    """A rule of a composite's member. Its votes are counted as the member's are: divided.

    Attributes
    ----------
    member : str
        The member's name; ``clause`` is the number of the clause in it.
    """

    member: str = ""

    def __str__(self) -> str:
        return f"{self.member}: {super().__str__()}"


def rules(
    model: Any,
    label: Any = None,
    top: int | None = None,
    feature_names: Sequence[str] | None = None,
    *,
    included: NDArray[np.bool_] | None = None,
    weights: NDArray[Any] | None = None,
    merge: bool = False,
) -> list[Rule]:
    """The clauses of a fitted classifier that can vote, as rules, strongest first.

    Parameters
    ----------
    model : CoTMClassifier or TMClassifier
        The fitted classifier; its method ``rules`` calls this function.
    label : optional
        Rank by the votes for this class only, and leave out clauses that do not vote for it.
    top : int, optional
        Most rules to return.
    feature_names : sequence of str, optional
        Names of the bits, in place of those that the model knows.
    included : ndarray of bool of shape (n_clauses, n_literals), optional
        Which literals each clause includes, in place of what the model's memory says.
    weights : ndarray of int of shape (n_clauses, n_outputs), optional
        In place of the model's weights.
    merge : bool, default=False
        Make one rule of all clauses with the same literals. It has the sum of their weights and
        the number of the first of them.

    Returns
    -------
    list of Rule

    Examples
    --------
    >>> from cotm import CoTMClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
    >>> y = ["no", "no", "no", "yes"] * 50
    >>> model = CoTMClassifier(10, T=20, s=3, random_state=0).fit(X, y)
    >>> print(model.rules(label="yes", top=1)[0])  # doctest: +ELLIPSIS
    if x0 and x1: no -..., yes +...
    """
    included = model.memory_ >= 0 if included is None else included
    weights = model.weights_ if weights is None else weights
    tolerance = model.machine_.parameters.tolerance
    features = feature_descriptions(model)
    names = features if feature_names is None else feature_descriptions(model, feature_names)
    labels = [_plain(value) for value in model.classes_]
    if label is not None and label not in labels:
        raise ValueError(f"label={label!r} is not a class of this model; it has {labels}")
    clauses = _ranked(_voting_clauses(included, weights, labels, merge=merge), label, tolerance)
    found: list[Rule] = []
    for clause in clauses:
        if top is not None and 0 <= top <= len(found):
            break
        signs = [(k % len(features), k >= len(features)) for k in clause.literals]
        conditions = tuple(Condition(features[k], negated) for k, negated in signs)
        # Conditions can only contradict each other if it is known what the bits mean, so this is
        # asked of the model's own descriptions, not of given names.
        if tolerance == 1 and not is_possible(conditions):
            continue
        if names is not features:
            conditions = tuple(Condition(names[k], negated) for k, negated in signs)
        found.append(Rule(clause.number, conditions, clause.votes, tolerance))
    return found[:top]


class _Clause(NamedTuple):
    """A clause that can vote."""

    number: int
    literals: list[int]
    votes: dict[Any, int]  # by label


def _ranked(clauses: Iterable[_Clause], label: Any, tolerance: int) -> list[_Clause]:
    """Strongest first: by the votes for a label, or by the largest vote if there is no label."""

    def strength(clause: _Clause) -> int:
        votes = map(abs, clause.votes.values()) if label is None else [clause.votes[label]]
        return min(tolerance, len(clause.literals)) * max(votes)

    chosen = [c for c in clauses if label is None or c.votes[label] > 0]
    return sorted(chosen, key=lambda c: (-strength(c), c.number))


def _voting_clauses(
    included: NDArray[np.bool_], weights: NDArray[Any], labels: list[Any], *, merge: bool
) -> Iterator[_Clause]:
    """The clauses that have literals and a weight other than 0."""
    votes = weights.astype(np.int64)  # sums of 32-bit weights may not fit into 32 bits
    numbers = np.flatnonzero(included.any(axis=1) & (votes != 0).any(axis=1))
    if merge:
        first: dict[bytes, int] = {}
        for number, key in zip(
            numbers.tolist(), np.packbits(included[numbers], axis=1), strict=True
        ):
            kept = first.setdefault(key.tobytes(), number)
            if kept != number:
                votes[kept] += votes[number]
        numbers = np.array([n for n in first.values() if votes[n].any()], dtype=np.intp)
    for number in numbers.tolist():
        by_label = dict(zip(labels, votes[number].tolist(), strict=True))
        yield _Clause(number, np.flatnonzero(included[number]).tolist(), by_label)


def feature_descriptions(model: Any, names: Sequence[str] | None = None) -> list[BitFeature]:
    """What each bit of an example, or of a patch of it, means, in the order of the literals.

    The second half of the literals, the negated bits, follows the same order.
    """
    booleanizer, grid = model.booleanizer_, model.machine_.spec.grid
    if names is not None:
        if len(names) != grid.n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but the model has {grid.n_features} bits"
            )
        return _bits(names)
    # A booleanizer before the model, in a pipeline, passes on what its bits mean.
    described = getattr(model._reader, "bit_features", None)
    if hasattr(booleanizer, "describe"):
        described = booleanizer.describe()
    if model.patch_shape is None:
        if described is not None:
            return list(described)
        if hasattr(booleanizer, "get_feature_names_out"):
            names = booleanizer.get_feature_names_out()
        else:
            names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(grid.n_features)])
        return _bits(names)
    rows = [BitFeature("row", ">", t) for t in range(grid.rows - 1)]
    columns = [BitFeature("column", ">", t) for t in range(grid.columns - 1)]
    channels = [BitFeature("", "bit")]
    if grid.channels > 1:
        channels = [BitFeature(f"channel {c}", "bit") for c in range(grid.channels)]
        if described is not None and len(described) == grid.channels:
            channels = described
    pixels = [
        replace(feature, column=_placed(feature.column, y if grid.height > 1 else None, x))
        for y in range(grid.patch_height)
        for x in range(grid.patch_width)
        for feature in (replace(f, index=None) for f in channels)
    ]
    return rows + columns + pixels


def _placed(column: str, y: int | None, x: int) -> str:
    """What a channel at a place of a patch is called: a pixel's, a cell's, or of one dimension."""
    kind, _, rest = column.partition(" ")
    if kind not in ("pixel", "cell"):
        kind, rest = "pixel", column
    place = f"at({x})" if y is None else f"{kind}({y},{x})"
    return f"{place} {rest}".rstrip()


def _bits(names: Iterable[Any]) -> list[BitFeature]:
    """Bits of which only the name is known; each is a column of its own."""
    return [BitFeature(str(name), "bit", index=index) for index, name in enumerate(names)]


def _plain(value: Any) -> Any:
    """A label as a value of Python instead of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value
