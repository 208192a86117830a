"""The two forms of the paper's tables of images: as its text has them, and as its programs do.

The programs are those that the authors released. They were read in public code, and
docs/reproduction.md says which they are and in what they differ from the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import paper

TEXT, RELEASED = "text", "released"


@dataclass(frozen=True)
class TableMachine:
    """A machine of a table, and what it learns with beyond the table's T and s."""

    title: str  # of its columns
    kind: str  # the row of the paper's table, and the class of classifier
    options: Mapping[str, Any] = field(default_factory=dict)
    #: By data set: s, and the most votes of T for each clause of a class.
    s: Mapping[str, float] = field(default_factory=dict)
    votes_per_clause: Mapping[str, float] = field(default_factory=dict)

    def settings(self, data_set: str, column: int) -> dict[str, Any]:
        """T, s and the options with which this machine makes a column of a table."""
        table, k = paper.CLAUSES[data_set], paper.COLUMNS.index(column)
        T, s = int(table["T"][k]), float(table["s"][k])
        if data_set in self.votes_per_clause:
            T = min(T, int(self.votes_per_clause[data_set] * column))
        return {"T": T, "s": self.s.get(data_set, s), **self.options}


@dataclass(frozen=True)
class Form:
    """How the tables of images are made."""

    machines: tuple[TableMachine, ...]
    #: By data set: a pixel is 1 from this gray level on; else by adaptive Gaussian thresholds.
    levels: Mapping[str, int] = field(default_factory=dict)
    #: Whether accuracy by votes that are clipped to the margin is shown, too.
    clips_votes: bool = False


#: The demos present examples in the order of the file.
_ORDER = {"shuffle": False}
#: What the coalesced machine's demos have for s, where it is not the table's.
_COALESCED_S = {"fashion-mnist": 10.0}
#: The weighted machine's demos: 2,000 clauses per class with T 5,000, 8,000 with T 10,000.
_WEIGHTED = {
    "s": {"mnist": 5.0, "fashion-mnist": 10.0},
    "votes_per_clause": {"mnist": 2.5, "fashion-mnist": 1.25},
}
#: Weights of its program for GPUs are unsigned bytes.
_LARGEST_BYTE = 255

FORMS = {
    TEXT: Form((TableMachine("coalesced", "coalesced"), TableMachine("weighted", "weighted"))),
    RELEASED: Form(
        machines=(
            TableMachine("coalesced", "coalesced", _ORDER, _COALESCED_S),
            TableMachine(
                "weighted", "weighted", {**_ORDER, "max_weight": _LARGEST_BYTE}, **_WEIGHTED
            ),
            TableMachine(
                "weighted, one drawn", "weighted", {**_ORDER, "negatives": "drawn"}, **_WEIGHTED
            ),
        ),
        levels={"mnist": 75},
        clips_votes=True,
    ),
}
