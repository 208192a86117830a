"""The smallest change of an example that changes what is predicted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_flag, check_integer
from .cells import candidates
from .columns import Columns, rows_of, votes_of
from .features import cells_of
from .goals import goal_of
from .rows import changed_row, one_row
from .search import Search
from .voters import Voters
from .wording import cell_text, plain, simple


class Change(NamedTuple):
    """A cell that is to change."""

    feature: str
    old: Any
    new: Any


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A change of an example after which the model predicts something else.

    Attributes
    ----------
    changes : tuple of (feature, old, new)
        The cells that change.
    row : like X
        The changed example.
    label : object
        What is predicted then; with several labels the label that changes.
    before, after : str
        The predictions in words.
    votes_before, votes : int64 (outputs,)
        The votes for the example, and for the changed one: the model was asked.
    is_smallest : bool
        Whether no change of fewer columns, and no smaller change of as many, would do: all were
        tried. A change is the smaller the fewer thresholds of a column it crosses, as a share of
        all of them; another category, another bit or a missing value counts as all.
    tries : int
        How many changes were tried.
    """

    changes: tuple[Change, ...]
    row: Any
    label: Any
    before: str
    after: str
    votes_before: NDArray[np.int64]
    votes: NDArray[np.int64]
    is_smallest: bool
    tries: int

    def __str__(self) -> str:
        texts = [
            f"{change.feature} were {cell_text(change.new)} instead of {cell_text(change.old)}"
            for change in self.changes
        ]
        doubt = "" if self.is_smallest else " (a smaller change may do, too)"
        return f"{self.after} instead of {self.before}, if {' and '.join(texts)}{doubt}."

    def to_data(self) -> dict[str, Any]:
        """What JSON can hold; times as text."""
        return {
            "before": self.before,
            "after": self.after,
            "changes": [
                {"feature": change.feature, "old": simple(change.old), "new": simple(change.new)}
                for change in self.changes
            ],
            "votes_before": self.votes_before.tolist(),
            "votes": self.votes.tolist(),
            "is_smallest": self.is_smallest,
        }

    def to_json(self) -> str:
        """A JSON text."""
        return json.dumps(self.to_data(), ensure_ascii=False)


def counterfactual(
    voters: Voters,
    x: Any,
    label: Any = None,
    *,
    features: Any = None,
    keep: Any = (),
    values: Any = None,
    missing: bool = False,
    max_changes: int = 6,
    max_tries: int = 100_000,
) -> Counterfactual | None:
    """The smallest change that gives another label, or the label; None where none was found."""
    check_flag("missing", missing)
    max_changes = check_integer("max_changes", max_changes, 1)
    max_tries = check_integer("max_tries", max_tries, 1)
    columns = Columns.of(voters, "counterfactual")
    x = one_row(x)
    rows = rows_of(voters, x)
    before = votes_of(voters, rows)
    goal = goal_of(voters, before[0], label)
    cells = _cells(columns, x, rows)
    held = None if values is None else _cells(columns, values, rows_of(voters, values))
    allowed = range(len(columns.names)) if features is None else columns.numbers(features)
    fixed = columns.numbers(keep)
    read = [member.read_bits for member in voters.members]
    found = [
        candidate
        for column in dict.fromkeys(allowed)
        if column not in fixed
        for candidate in candidates(
            columns,
            column,
            plain(cells[0, column]),
            read=read,
            held=None if held is None else held[:, column].tolist(),
            missing=missing,
        )
    ]
    search = Search(voters, columns, rows, found, goal, max_tries)
    chosen, is_smallest = search.run(max_changes)
    if chosen is None:
        return None
    changed = [found[k] for k in sorted(chosen, key=lambda k: found[k].column)]
    row = changed_row(x, {candidate.column: candidate.cell for candidate in changed})
    votes = voters.votes(row)
    if not goal.reached(votes)[0]:
        raise RuntimeError(
            "the changed example is not predicted as the search has it; please report this"
        )
    return Counterfactual(
        changes=tuple(
            Change(columns.names[c.column], plain(cells[0, c.column]), c.cell) for c in changed
        ),
        row=row,
        label=goal.label(votes[0]),
        before=goal.text(before[0]),
        after=goal.text(votes[0]),
        votes_before=before[0],
        votes=votes[0],
        is_smallest=is_smallest,
        tries=search.tries,
    )


def _cells(columns: Columns, X: Any, rows: Sequence[NDArray[np.uint8]]) -> NDArray[np.object_]:
    """The cells of all columns, or the bits where all members read bits."""
    if all(booleanizer is None for booleanizer in columns.booleanizers):
        return rows[0].astype(object)
    return cells_of(X)
