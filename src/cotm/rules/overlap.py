"""Rules that fire on the same examples: those that repeat each other, and those that disagree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rule import MemberRule, Rule
from .rule_list import RuleList


@dataclass(frozen=True)
class RulePair:
    """Two rules that fire together.

    Attributes
    ----------
    first, second : Rule
        The rules; the first has the larger votes.
    together : int
        Examples on which both fire.
    similarity : float
        Their share of those on which either fires.
    first_implies_second, second_implies_first : bool
        Whether on these examples the one fires wherever the other does.
    opposed : float
        Votes in which they are against each other: summed over the labels that one votes for
        and the other against, the smaller of the two.
    """

    first: Rule
    second: Rule
    together: int
    similarity: float
    first_implies_second: bool
    second_implies_first: bool
    opposed: float

    def __str__(self) -> str:
        how = f"together on {self.together:,} examples ({self.similarity:.0%} of either)"
        if self.first_implies_second:
            how += ", the second wherever the first"
        if self.second_implies_first:
            how += ", the first wherever the second"
        return f"{self.first}\n{self.second}\n  {how}, {self.opposed:,.10g} votes opposed"


@dataclass(frozen=True, eq=False, repr=False)
class RuleOverlap:
    """Which of the strongest rules repeat each other, and which disagree.

    Attributes
    ----------
    rules : RuleList
        The rules that were compared.
    count : int64 (k,)
        Examples on which each fires.
    together : int64 (k, k)
        Examples on which two of them do.
    n_examples : int
        How many there were.
    redundant : tuple of RulePair
        Pairs that fire on nearly the same examples, or of which one implies the other; those that
        are most alike first.
    conflicts : tuple of RulePair
        Pairs that fire together and vote against each other; first those whose opposed votes on
        the examples are most.
    """

    rules: RuleList
    count: NDArray[np.int64]
    together: NDArray[np.int64]
    n_examples: int
    redundant: tuple[RulePair, ...]
    conflicts: tuple[RulePair, ...]

    def __repr__(self) -> str:
        found = f"{len(self.redundant):,} redundant pairs, {len(self.conflicts):,} conflicts"
        of = f"{len(self.rules):,} rules on {self.n_examples:,} examples"
        return f"<RuleOverlap of {of}: {found}>"


def rule_overlap(
    rules: RuleList, parts: Iterable[NDArray[np.bool_]], *, similarity: float, pairs: int
) -> RuleOverlap:
    """Compare rules by where they fire: (rows, k), some rows at a time."""
    k = len(rules)
    together, n_examples = np.zeros((k, k), dtype=np.int64), 0
    for fires in parts:
        part = fires.astype(np.float32)  # exact, as parts are small, and fast
        together += (part.T @ part).astype(np.int64)
        n_examples += len(fires)
    count = np.diagonal(together).copy()
    either = np.maximum(count[:, None] + count - together, 1)
    alike = together / either
    first, second = np.triu_indices(k, 1)
    joint = together[first, second]
    opposed = _opposed(rules)
    implies = (joint == count[first]) | (joint == count[second])
    near = (joint > 0) & (implies | (alike[first, second] >= similarity))
    against = joint * opposed[first, second]

    def chosen(some: NDArray[np.bool_], rank: NDArray[Any]) -> tuple[RulePair, ...]:
        places = np.flatnonzero(some)
        best = places[np.argsort(-rank[places], kind="stable")[:pairs]]
        return tuple(
            RulePair(
                rules[a],
                rules[b],
                int(together[a, b]),
                float(alike[a, b]),
                bool(together[a, b] == count[a]),
                bool(together[a, b] == count[b]),
                float(opposed[a, b]),
            )
            for a, b in zip(first[best].tolist(), second[best].tolist(), strict=True)
        )

    redundant = chosen(near, alike[first, second])
    conflicts = chosen(against > 0, against)
    for array in (count, together):
        array.flags.writeable = False
    return RuleOverlap(rules, count, together, n_examples, redundant, conflicts)


def _opposed(rules: RuleList) -> NDArray[np.float64]:
    """Votes in which two rules are against each other, (k, k)."""
    found = np.zeros((len(rules), len(rules)))
    for label in rules[0].weights if rules else ():
        votes = np.array([_votes(rule, label) for rule in rules])
        against = np.sign(votes)[:, None] * np.sign(votes) < 0
        found += np.where(against, np.minimum(np.abs(votes)[:, None], np.abs(votes)), 0)
    return found


def _votes(rule: Rule, label: Any) -> float:
    """A rule's votes, of members divided so that they can be compared."""
    votes = rule.most * rule.weights[label]
    return votes / rule.divisor if isinstance(rule, MemberRule) else votes
