"""Clauses as rules: data first, text second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .booleanize import BitFeature


@dataclass(frozen=True)
class Condition:
    """One literal of a rule: a bit of the input, or its negation."""

    feature: BitFeature
    negated: bool

    def __str__(self) -> str:
        return self.feature.negated() if self.negated else str(self.feature)

    def _bound(self) -> tuple[str, float] | None:
        """("above" or "at most", threshold) of a condition on a number, else None."""
        value = self.feature.value
        if self.feature.op not in (">", "<=") or not isinstance(value, int | float):
            return None
        above = (self.feature.op == ">") != self.negated
        return ("above" if above else "at most", float(value))


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


def simplify(conditions: tuple[Condition, ...]) -> list[Condition]:
    """Leave out what other conditions imply: ``x > 3`` beside ``x > 5``."""
    tightest: dict[tuple[str, str], Condition] = {}
    for condition in conditions:
        bound = condition._bound()
        if bound is None:
            continue
        key = (condition.feature.column, bound[0])
        held = tightest.get(key)
        held_bound = held._bound() if held else None
        if held_bound is None or (bound[1] > held_bound[1]) == (bound[0] == "above"):
            tightest[key] = condition
    kept = set(map(id, tightest.values()))
    return [c for c in conditions if c._bound() is None or id(c) in kept]


def rules(
    model: Any,
    label: Any = None,
    top: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> list[Rule]:
    """What ``model.rules`` gives, which see.

    Examples
    --------
    >>> from cotm import CoTMClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
    >>> y = ["no", "no", "no", "yes"] * 50
    >>> model = CoTMClassifier(10, T=20, s=3, random_state=0).fit(X, y)
    >>> print(model.rules(label="yes", top=1)[0])  # doctest: +ELLIPSIS
    if x0 and x1: no -..., yes +...
    """
    memory, weights = model.memory_, model.weights_
    features = feature_descriptions(model, feature_names)
    labels = [_plain(value) for value in model.classes_]
    if label is not None and label not in labels:
        raise ValueError(f"label={label!r} is not a class of this model; it has {labels}")
    found = []
    for clause in np.flatnonzero((memory >= 0).any(axis=1) & (weights != 0).any(axis=1)):
        literals = np.flatnonzero(memory[clause] >= 0)
        conditions = tuple(
            Condition(features[k % len(features)], bool(k >= len(features))) for k in literals
        )
        votes = dict(zip(labels, weights[clause].tolist(), strict=True))
        found.append(Rule(int(clause), conditions, votes))
    if label is not None:
        found = [rule for rule in found if rule.weights[label] > 0]
        found.sort(key=lambda rule: (-rule.weights[label], rule.clause))
    else:
        found.sort(key=lambda rule: (-rule.strength, rule.clause))
    return found[:top]


def feature_descriptions(model: Any, names: Sequence[str] | None = None) -> list[BitFeature]:
    """What each bit of a patch says, in the order of memory's first half of columns."""
    booleanizer, grid = model.booleanizer_, model.machine_.spec.grid
    if names is not None:
        if len(names) != grid.n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but the model has {grid.n_features} bits"
            )
        return [BitFeature(str(name), "bit") for name in names]
    described = booleanizer.describe() if hasattr(booleanizer, "describe") else None
    if model.patch_shape is None:
        if described is not None:
            return list(described)
        if hasattr(booleanizer, "get_feature_names_out"):
            names = booleanizer.get_feature_names_out()
        else:
            names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(grid.n_features)])
        return [BitFeature(str(name), "bit") for name in names]
    rows = [BitFeature("row", ">", t) for t in range(grid.rows - 1)]
    columns = [BitFeature("column", ">", t) for t in range(grid.columns - 1)]
    channels = [""] if grid.channels == 1 else [f" channel {c}" for c in range(grid.channels)]
    if described is not None and len(described) == grid.channels and grid.channels > 1:
        channels = [f" {feature}" for feature in described]
    pixels = [
        BitFeature(f"pixel({y},{x}){channel}" if grid.height > 1 else f"at({x}){channel}", "bit")
        for y in range(grid.patch_height)
        for x in range(grid.patch_width)
        for channel in channels
    ]
    return rows + columns + pixels


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
