"""Clauses as objects to compute with, which print as readable text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .conditions import ColumnTest, Condition, column_tests
from .grammar import label_text, name_text


class Position(NamedTuple):
    """Where the patches lie that a clause of a convolution accepts: first and last, from 0."""

    rows: tuple[int, int]
    columns: tuple[int, int]


class VolumePosition(NamedTuple):
    """The same in volumes."""

    depths: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True)
class Evidence:
    """What a rule does on examples.

    Attributes
    ----------
    count : int
        Examples on which it fires; of images, those with any patch that it accepts.
    coverage : float
        Their share of all examples.
    counts : dict of label to int, or None
        Examples of each label among them; None where no labels were given.
    precision : dict of label to float, or None
        Their share of those on which it fires; None where it never does.
    lift : dict of label to float, or None
        Precision divided by the label's share of all examples; a label that none of them has is
        left out.
    votes : int
        What it says on all examples, for and against, added up.
    share_of_votes : float
        That as a share of what all rules say.
    """

    count: int
    coverage: float
    counts: dict[Any, int] | None
    precision: dict[Any, float] | None
    lift: dict[Any, float] | None
    votes: int
    share_of_votes: float


@dataclass(frozen=True)
class Rule:
    """A clause that can vote: if all conditions hold, each label gets its weight as votes.

    With a tolerance above 1 it is graded: each condition that holds beyond the first
    ``len(conditions) - most`` of them gives each label its weight once.

    Attributes
    ----------
    clause : int
        Number of the clause in the model; of equal clauses that of the first.
    conditions : tuple of Condition
        The literals of the clause.
    weights : dict of label to int
        Votes for each label; negative ones are votes against it. Of equal clauses the sum.
    tolerance : int
        Conditions that fail before the rule is silent.
    clauses : tuple of int
        Numbers of all clauses that say the same.
    tests : tuple of ColumnTest
        The conditions, those of a column as one interval, set or bit. Of a graded rule a test for
        each condition, as each counts.
    position : Position, VolumePosition or None
        In a convolution, where the patches lie that it accepts.
    evidence : Evidence or None
        What it does on the examples that were given.
    """

    clause: int
    conditions: tuple[Condition, ...]
    weights: dict[Any, int]
    tolerance: int = 1
    clauses: tuple[int, ...] = ()
    tests: tuple[ColumnTest, ...] = ()
    position: Position | VolumePosition | None = None
    evidence: Evidence | None = None

    def __post_init__(self) -> None:
        if not self.clauses:
            object.__setattr__(self, "clauses", (self.clause,))
        if not self.tests:
            object.__setattr__(self, "tests", column_tests(self.conditions, apart=self.most > 1))

    @property
    def most(self) -> int:
        """How often its weights count if all conditions hold."""
        return min(self.tolerance, len(self.conditions))

    @property
    def strength(self) -> int:
        """The largest vote, for or against a label."""
        return self.most * max(abs(weight) for weight in self.weights.values())

    @property
    def condition(self) -> str:
        """When it votes, in words."""
        if self.most == 1:
            return " and ".join(test.text for test in self.tests)
        needed, count = len(self.conditions) - self.most, len(self.conditions)
        return f"more than {needed} of {count} hold ({'; '.join(t.text for t in self.tests)})"

    @property
    def said(self) -> str:
        """What it votes, in words: the largest first."""
        ranked = sorted(self.weights.items(), key=lambda item: -abs(item[1]))
        votes = ", ".join(f"{label_text(label)} {weight:+d}" for label, weight in ranked if weight)
        if self.most == 1:
            return votes
        return f"{votes} for each above {len(self.conditions) - self.most}"

    def __str__(self) -> str:
        return f"if {self.condition}: {self.said}"


@dataclass(frozen=True)
class MemberRule(Rule):
    """A rule of a composite's member. Its votes are counted as the member's are: divided.

    Attributes
    ----------
    member : str
        The member's name; ``clause`` is the number of the clause in it.
    members : dict of str to tuple of int
        All members that say the same, with the numbers of their clauses. Only those are one rule
        that read the same bits and whose votes are divided by the same number.
    divisor : int
        What its votes are divided by.
    """

    member: str = ""
    members: dict[str, tuple[int, ...]] | None = None
    divisor: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members is None:
            object.__setattr__(self, "members", {self.member: self.clauses})

    def __str__(self) -> str:
        return f"{name_text(self.member)}: {super().__str__()}"
