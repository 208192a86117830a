"""Rules as plain data and as columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .rule import MemberRule, Rule


def data_of(rule: Rule) -> dict[str, Any]:
    """A rule as data that JSON can hold. Labels are text there, as JSON's keys are."""
    evidence = None if rule.evidence is None else asdict(rule.evidence)
    for name in ("counts", "precision", "lift"):
        if evidence is not None and evidence[name] is not None:
            evidence[name] = _by_text(evidence[name])
    return {
        **(_of_members(rule) if isinstance(rule, MemberRule) else {}),
        "clause": rule.clause,
        "clauses": [*rule.clauses],
        "conditions": [
            {
                "column": condition.feature.column,
                "op": condition.feature.op,
                "value": condition.feature.value,
                "negated": condition.negated,
                "text": str(condition),
            }
            for condition in rule.conditions
        ],
        "tests": [_plain(asdict(test)) for test in rule.tests],
        "tolerance": rule.tolerance,
        "weights": _by_text(rule.weights),
        **({} if rule.position is None else {"position": _plain(rule.position._asdict())}),
        **({} if evidence is None else {"evidence": evidence}),
        "text": str(rule),
    }


def _of_members(rule: MemberRule) -> dict[str, Any]:
    members = {name: [*clauses] for name, clauses in (rule.members or {}).items()}
    return {"member": rule.member, "members": members, "divisor": rule.divisor}


def _plain(parts: dict[str, Any]) -> dict[str, Any]:
    """Tuples as lists, as JSON gives them back."""
    return {name: [*part] if isinstance(part, tuple) else part for name, part in parts.items()}


def _by_text(values: dict[Any, Any]) -> dict[str, Any]:
    return {str(label): value for label, value in values.items()}


def rows_of(rules: Sequence[Rule]) -> dict[str, list[Any]]:
    """Columns with a value for each rule."""
    columns: dict[str, list[Any]] = {}
    if any(isinstance(rule, MemberRule) for rule in rules):
        columns["member"] = [getattr(rule, "member", None) for rule in rules]
    columns |= {
        "clause": [rule.clause for rule in rules],
        "clauses": [len(rule.clauses) for rule in rules],
        "literals": [len(rule.conditions) for rule in rules],
        "condition": [rule.condition for rule in rules],
    }
    labels = [*rules[0].weights] if rules else []
    for label in labels:
        columns[f"votes {label}"] = [rule.most * rule.weights[label] for rule in rules]
    known = [rule.evidence for rule in rules]
    if not rules or any(evidence is None for evidence in known):
        return columns
    for name in ("count", "coverage"):
        columns[name] = [getattr(evidence, name) for evidence in known]
    columns["share of votes"] = [evidence.share_of_votes for evidence in known if evidence]
    for name in ("precision", "lift"):
        found = [getattr(evidence, name) for evidence in known]
        for label in labels if any(found) else ():
            columns[f"{name} {label}"] = [f.get(label) if f else None for f in found]
    return columns
