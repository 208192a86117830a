"""The rules of a composite's members as those of one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..files import same_inputs
from ..rules import (
    ClauseSharing,
    MemberRule,
    Rule,
    RuleList,
    RuleOverlap,
    clause_sharing,
    rule_overlap,
)
from .composition import Composition, Member, check_input, steps_before
from .understanding import check_label, check_overlap


class JoinedRules:
    """The methods by which a composite is read, not used."""

    if TYPE_CHECKING:

        def _now(self) -> Composition: ...

    def rules(
        self,
        X: Any = None,
        y: Any = None,
        *,
        label: Any = None,
        top: int | None = None,
        sort: str = "votes",
        at_least: Mapping[str, float] | None = None,
    ) -> RuleList:
        """The rules of all members, each with its member's name.

        Members that read the same bits and whose votes are divided by the same number have equal
        rules as one, with the sum of their votes.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict, optional
            As in :meth:`votes`: examples on which to measure coverage and share of votes.
        y : array, optional
            Their labels, for precision and lift.
        label : optional
            Measure votes, precision and lift of this class only, and leave out rules that do not
            vote for it.
        top : int, optional
            How many at the most.
        sort : {"votes", "coverage", "count", "precision", "lift", "share"}, default="votes"
            What they are sorted by, the highest first.
        at_least : dict of str to float, optional
            The least that a rule needs of these measures, as in ``{"coverage": 0.05}``.

        Returns
        -------
        cotm.rules.RuleList
            A list of :class:`cotm.MemberRule`. Votes are the member's own; the order and the
            share of votes are those of the votes divided by alpha.
        """
        now = self._now()
        check_label(label, now.classes.tolist())
        found = joined_rules(now, X, y)
        return found.chosen(label=label, top=top, sort=sort, at_least=at_least)

    def clause_sharing(self) -> ClauseSharing:
        """Tell which clauses of which members serve which outputs.

        As :meth:`cotm.CoTMClassifier.clause_sharing`; votes are the members' own.
        """
        return joined_sharing(self._now())

    def rule_overlap(
        self, X: Any, *, most: int = 500, similarity: float = 0.9, pairs: int = 100
    ) -> RuleOverlap:
        """Compare rules of all members by where they fire.

        As :meth:`cotm.CoTMClassifier.rule_overlap`; X is as in :meth:`votes`, and votes are
        compared as they count: divided.
        """
        check_overlap(most, similarity, pairs)
        return joined_overlap(
            self._now(), X, most=int(most), similarity=similarity, pairs=int(pairs)
        )


def joined_rules(composition: Composition, X: Any = None, y: Any = None) -> RuleList:
    """The rules of all members, and what they do on examples; equal ones are one."""
    members = composition.members
    check_input(X, [member.name for member in members])
    divisors = composition.divisors or (1,) * len(members)
    groups: dict[Any, list[MemberRule]] = {}
    for member, divisor in zip(members, divisors, strict=True):
        classifier = member.classifier
        kind = (_inputs_of(member, members), divisor, classifier.machine_.parameters.tolerance)
        for rule in classifier.rules(None if X is None else member.part_of(X), y):
            own = {part.name: getattr(rule, part.name) for part in fields(Rule)}
            named = MemberRule(**own, member=member.name, divisor=divisor)
            groups.setdefault((kind, frozenset(rule.tests)), []).append(named)
    found = [_one_rule(rules) for rules in groups.values()]
    said = sum(rule.evidence.votes / rule.divisor for rule in found if rule.evidence)
    return RuleList(
        rule
        if rule.evidence is None
        else replace(
            rule,
            evidence=replace(
                rule.evidence, share_of_votes=rule.evidence.votes / rule.divisor / (said or 1)
            ),
        )
        for rule in found
        if any(rule.weights.values())
    )


def _inputs_of(member: Member, members: Sequence[Member]) -> str:
    """The name of the first member that reads the same bits."""
    if steps_before(member.model):
        return member.name
    reader = member.classifier._now().reader
    return next(
        other.name
        for other in members
        if other is member
        or (not steps_before(other.model) and same_inputs(other.classifier._now().reader, reader))
    )


def _one_rule(rules: list[MemberRule]) -> MemberRule:
    """Equal rules of members as one, under the name of the first."""
    first = rules[0]
    if len(rules) == 1:
        return first
    weights = {label: sum(rule.weights[label] for rule in rules) for label in first.weights}
    evidence = first.evidence
    if evidence is not None:
        amount = sum(map(abs, first.weights.values()))
        votes = evidence.votes // amount * sum(map(abs, weights.values()))
        evidence = replace(evidence, votes=votes)
    members = {rule.member: rule.clauses for rule in rules}
    return replace(first, weights=weights, members=members, evidence=evidence)


def joined_sharing(composition: Composition) -> ClauseSharing:
    """Which clauses of which members serve which outputs."""
    models = [(member.name, member.classifier) for member in composition.members]
    included = [(model.memory_ >= 0).any(axis=1, keepdims=True) for _, model in models]
    names = [name for name, model in models for _ in range(len(model.memory_))]
    return clause_sharing(
        np.concatenate(included),  # whether there are literals is all that matters
        np.concatenate([model.weights_ for _, model in models]),
        composition.classes.tolist(),
        names,
        np.concatenate([np.arange(len(model.memory_)) for _, model in models]),
    )


def joined_overlap(
    composition: Composition, X: Any, *, most: int, similarity: float, pairs: int
) -> RuleOverlap:
    """The strongest rules of all members, compared by where they fire."""
    check_input(X, [member.name for member in composition.members])
    found = joined_rules(composition).chosen(top=most)
    own: list[list[int]] = []
    parts: list[Iterator[NDArray[np.bool_]]] = []
    for member in composition.members:
        own.append([k for k, rule in enumerate(found) if _member_of(rule) == member.name])
        rules = RuleList(found[k] for k in own[-1])
        parts.append(member.classifier._still()._fires(member.part_of(X), rules))
    order = np.argsort([k for places in own for k in places])
    joined = (np.concatenate(fires, axis=1)[:, order] for fires in zip(*parts, strict=True))
    return rule_overlap(found, joined, similarity=similarity, pairs=pairs)


def _member_of(rule: Rule) -> str:
    assert isinstance(rule, MemberRule)
    return rule.member
