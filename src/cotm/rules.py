"""Clauses as rules: data first, text second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .booleanize import BitFeature
from .conditions import Condition, is_possible, simplify

__all__ = ["Condition", "Rule", "feature_descriptions", "rules", "simplify"]


@dataclass(frozen=True)
class Rule:
    """A clause that can vote: if all conditions hold, each label gets the rule's weight."""

    clause: int
    conditions: tuple[Condition, ...]
    weights: dict[Any, int]  # label -> votes

    @property
    def strength(self) -> int:
        """The largest vote, for or against a label."""
        return max(abs(weight) for weight in self.weights.values())

    def __str__(self) -> str:
        ranked = sorted(self.weights.items(), key=lambda item: -abs(item[1]))
        votes = ", ".join(f"{label} {weight:+d}" for label, weight in ranked if weight)
        return f"if {' and '.join(map(str, simplify(self.conditions)))}: {votes}"


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
    """What ``model.rules`` gives, which see.

    ``included`` (clauses, literals) and ``weights`` (clauses, outputs) take the place of the
    model's own. With ``merge``, clauses of the same literals become one rule with the sum of
    their weights and the number of the first.

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
    features = feature_descriptions(model)
    names = features if feature_names is None else feature_descriptions(model, feature_names)
    labels = [_plain(value) for value in model.classes_]
    if label is not None and label not in labels:
        raise ValueError(f"label={label!r} is not a class of this model; it has {labels}")
    clauses = [
        (number, literals, dict(zip(labels, votes, strict=True)))
        for number, literals, votes in _voting_clauses(included, weights, merge=merge)
    ]
    if label is not None:
        clauses = [clause for clause in clauses if clause[2][label] > 0]
        clauses.sort(key=lambda clause: (-clause[2][label], clause[0]))
    else:
        clauses.sort(key=lambda clause: (-max(map(abs, clause[2].values())), clause[0]))
    found: list[Rule] = []
    for number, literals, votes in clauses:
        if top is not None and 0 <= top <= len(found):
            break
        signs = [(k % len(features), bool(k >= len(features))) for k in literals]
        conditions = tuple(Condition(features[k], negated) for k, negated in signs)
        # What is possible depends on what the bits are, not on what they are called.
        if not is_possible(conditions):
            continue
        if names is not features:
            conditions = tuple(Condition(names[k], negated) for k, negated in signs)
        found.append(Rule(number, conditions, votes))
    return found[:top]


def _voting_clauses(
    included: NDArray[np.bool_], weights: NDArray[Any], *, merge: bool
) -> Iterator[tuple[int, list[int], list[int]]]:
    """Number, literals and votes of each clause that can vote."""
    votes = weights.astype(np.int64)  # sums of 32-bit weights need room
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
        yield number, np.flatnonzero(included[number]).tolist(), votes[number].tolist()


def feature_descriptions(model: Any, names: Sequence[str] | None = None) -> list[BitFeature]:
    """What each bit of a patch says, in the order of memory's first half of columns."""
    booleanizer, grid = model.booleanizer_, model.machine_.spec.grid
    if names is not None:
        if len(names) != grid.n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but the model has {grid.n_features} bits"
            )
        return _bits(names)
    # Bits that came from a transformer before the model may have brought what they mean.
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
            channels = [replace(f, column=f.column.removeprefix("pixel")) for f in described]
    pixels = [
        replace(feature, column=f"{place} {feature.column}".rstrip(), index=None)
        for y in range(grid.patch_height)
        for x in range(grid.patch_width)
        for place in [f"pixel({y},{x})" if grid.height > 1 else f"at({x})"]
        for feature in channels
    ]
    return rows + columns + pixels


def _bits(names: Iterable[Any]) -> list[BitFeature]:
    """Bits that are called something, each a column of its own."""
    return [BitFeature(str(name), "bit", index=index) for index, name in enumerate(names)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
