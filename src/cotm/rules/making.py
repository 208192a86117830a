"""The clauses of a fitted classifier as rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .evidence import Firing
from .features import feature_descriptions
from .groups import ClauseTests, conditions_of
from .rule import Evidence, Position, Rule, VolumePosition
from .rule_list import RuleList


def rules(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    firing: Firing | None = None,
    included: NDArray[np.bool_] | None = None,
    weights: NDArray[Any] | None = None,
) -> RuleList:
    """The clauses of a fitted classifier that can vote, as rules, strongest first.

    Clauses that accept the same are one rule: it has the sum of their weights, and is left out
    where they cancel out. Clauses that can never fire are no rules.

    Parameters
    ----------
    model : CoTMClassifier or TMClassifier
        The fitted classifier; its method ``rules`` calls this function.
    feature_names : sequence of str, optional
        Names of the bits, in place of those that the model knows.
    firing : Firing, optional
        What the clauses do on examples.
    included : ndarray of bool of shape (n_clauses, n_literals), optional
        Which literals each clause includes, in place of what the model's memory says.
    weights : ndarray of int of shape (n_clauses, n_outputs), optional
        In place of the model's weights.

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
    labels = [_plain(value) for value in model.output_names_]
    names = getattr(model, "feature_names_in_", ())
    tests = ClauseTests(features, included, names, apart=tolerance > 1)
    groups, votes = _voting(tests, included, weights.astype(np.int64), graded=tolerance > 1)
    first = np.array([group[0] for group in groups], dtype=np.intp)
    most = np.minimum(tolerance, included[first].sum(axis=1))
    order = np.lexsort((first, -most * np.abs(votes).max(axis=1, initial=0)))
    known: list[Evidence | None] = [None] * len(groups)
    if firing is not None:
        known = [*firing.evidence(first, votes, labels)]
    if feature_names is not None:
        # Conditions can only contradict each other if it is known what the bits mean, so that
        # was asked of the model's own descriptions.
        features = feature_descriptions(model, feature_names)
        tests = ClauseTests(features, included, apart=tolerance > 1)
    literals, grid = conditions_of(features), model.machine_.spec.grid
    bounds = [0, *np.cumsum(included.sum(axis=1)).tolist()]
    places = np.nonzero(included)[1].tolist()
    found = RuleList()
    for place in order.tolist():
        clause = groups[place][0]
        parts = tests.of(clause)
        found.append(
            Rule(
                clause,
                tuple([literals[k] for k in places[bounds[clause] : bounds[clause + 1]]]),
                dict(zip(labels, votes[place].tolist(), strict=True)),
                tolerance,
                tuple(groups[place]),
                parts,
                None if model.patch_shape is None else _position(parts, grid, graded=tolerance > 1),
                known[place],
            )
        )
    return found


def _voting(
    tests: ClauseTests, included: NDArray[np.bool_], votes: NDArray[np.int64], *, graded: bool
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Groups of clauses that say the same and have a say, and the sums of their votes."""
    speaks = included.any(axis=1) & (votes != 0).any(axis=1)
    if not graded:
        speaks &= tests.possible
    groups: dict[bytes, list[int]] = {}
    for clause in np.flatnonzero(speaks).tolist():
        groups.setdefault(tests.key(clause), []).append(clause)
    sums = np.zeros((len(groups), votes.shape[1]), dtype=np.int64)
    for place, clauses in enumerate(groups.values()):
        sums[place] = votes[clauses[0]] if len(clauses) == 1 else votes[clauses].sum(axis=0)
    left = np.flatnonzero(sums.any(axis=1))
    every = [*groups.values()]
    return [every[place] for place in left.tolist()], sums[left]


def _position(tests: Sequence[Any], grid: Any, *, graded: bool) -> Position | VolumePosition:
    """Where the patches lie that pass tests of their row and column; graded ones need not."""
    sizes = {"depth": grid.depths, "row": grid.rows, "column": grid.columns}
    found = {axis: (0, size - 1) for axis, size in sizes.items()}
    for test in () if graded else tests:
        if test.index is None and test.column in found and test.kind == "interval":
            first, last = found[test.column]
            low = first if test.low is None else int(test.low) + 1
            found[test.column] = (low, last if test.high is None else int(test.high))
    plane = found["row"], found["column"]
    return Position(*plane) if grid.depth == 1 else VolumePosition(found["depth"], *plane)


def _plain(value: Any) -> Any:
    """A label as a value of Python instead of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value
