"""Rules of an export in words: the conditions that others do not imply, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..booleanize import BitFeature
from ..conditions import Condition, is_possible, simplify
from ..exporting.description import Member


def rules_in_words(member: Member, features: Sequence[BitFeature]) -> dict[str, Any]:
    """``texts``, and for each clause which of them it asks for, and its number in the model.

    None is asked for by clauses that never vote, as no value can be what they want.
    """
    known: dict[str, int] = {}
    conditions: list[list[int] | None] = []
    for clause in member.clauses:
        signs = [(k % len(features), k >= len(features)) for k in clause.literals]
        asked = [Condition(features[k], negated) for k, negated in signs]
        if member.tolerance == 1 and not is_possible(asked):
            conditions.append(None)
            continue
        # In graded clauses a condition that others imply counts like any other.
        kept = simplify(asked) if member.tolerance == 1 else asked
        conditions.append([known.setdefault(str(c), len(known)) for c in kept])
    return {
        "texts": [*known],
        "conditions": conditions,
        "numbers": [clause.number for clause in member.clauses],
    }
