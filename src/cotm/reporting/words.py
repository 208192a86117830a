"""The rules of a model in words, and what they do on examples, beside the clauses of its export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..exporting.description import Description
from ..rules import Rule


def rules_in_words(found: Iterable[Rule], description: Description) -> dict[str, Any]:
    """``texts``, each once, and of each rule its number, clauses, texts and evidence.

    Clauses are pairs of a member and its clause in the export; they fire together. Evidence is
    (examples on which it fires, those of each label, votes), if there is any.
    """
    places = {
        (member.name, clause.number): [k, j]
        for k, member in enumerate(description.members)
        for j, clause in enumerate(member.clauses)
    }
    known: dict[str, int] = {}
    rows = []
    for rule in found:
        members = getattr(rule, "members", None) or {description.members[0].name: rule.clauses}
        same = [(name, number) for name, numbers in members.items() for number in numbers]
        evidence = rule.evidence
        rows.append(
            [
                rule.clause,
                [places[pair] for pair in same if pair in places],
                [known.setdefault(test.text, len(known)) for test in rule.tests],
                None
                if evidence is None
                else [
                    evidence.count,
                    None if evidence.counts is None else [*evidence.counts.values()],
                    evidence.share_of_votes,
                ],
            ]
        )
    return {"texts": [*known], "rules": rows}
