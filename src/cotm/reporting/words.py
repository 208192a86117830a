"""Rules of an export in words: a test for each column that they ask for, each text once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..booleanize import BitFeature
from ..exporting.description import Member
from ..rules import ClauseTests


def rules_in_words(member: Member, features: Sequence[BitFeature]) -> dict[str, Any]:
    """``texts``, and for each clause which of them it asks for, and its number in the model.

    None is asked for by clauses that never vote, as no value can be what they want.
    """
    graded = member.tolerance > 1
    included = np.zeros((len(member.clauses), 2 * len(features)), dtype=bool)
    for row, clause in zip(included, member.clauses, strict=True):
        row[[*clause.literals]] = True
    # In graded clauses every condition counts.
    tests = ClauseTests(features, included, apart=graded)
    known: dict[str, int] = {}
    return {
        "conditions": [
            [known.setdefault(test.text, len(known)) for test in tests.of(place)]
            if graded or possible
            else None
            for place, possible in enumerate(tests.possible.tolist())
        ],
        "texts": [*known],
        "numbers": [clause.number for clause in member.clauses],
    }
