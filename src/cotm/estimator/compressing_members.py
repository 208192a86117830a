"""Composites made smaller: member after member, by what all of them predict together."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.joining import joined_votes
from ..model.judging import Judge
from .composition import Composition, Member, check_input, composed
from .compressing import check_loss, classifier_of_rest, exact, loss_of, targets_of

if TYPE_CHECKING:
    from typing_extensions import Self


class CompressingMembers:
    """The method by which a fitted composite is made smaller."""

    if TYPE_CHECKING:
        n_jobs: int | None

        def _now(self) -> Composition: ...

        @classmethod
        def _of(cls, composition: Composition, n_jobs: int | None = None) -> Self: ...

    def compress(self, X: Any = None, y: Any = None, max_loss: float | None = 0.0) -> Self:
        """Make a smaller composite that predicts as well.

        Its members are made smaller as by :meth:`cotm.CoTMClassifier.compress`, one after the
        other, by what all of them predict together; their weights keep their scale, and what
        votes are divided by stays.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict, optional
            As in :meth:`votes`.
        y : array, optional
            The labels, which ``max_loss`` above 0 needs.
        max_loss : float or None, default=0.0
            Accuracy on (X, y) that may be lost in all. 0.0: no prediction on X changes. None: votes
            are the same on everything.

        Returns
        -------
        composite of the same class
        """
        return type(self)._of(compressed_members(self._now(), X, y, max_loss), self.n_jobs)


def compressed_members(now: Composition, X: Any, y: Any, max_loss: float | None) -> Composition:
    """The members made smaller, one after the other, by what all of them predict together."""
    check_loss(max_loss, X, y)
    names = [member.name for member in now.members]
    if max_loss is not None:
        check_input(X, names)
        votes = [member.votes(X) for member in now.members]
        total = joined_votes(votes, now.divisors)
        targets = targets_of(now, total, y if max_loss else None)
        parts = None if now.columns is None else now.columns.parts
        most = int(Judge(targets, now.margin, parts=parts)(total)[0].sum())
        loss = loss_of(max_loss, len(targets))
    models = []
    for k, member in enumerate(now.members):
        still = member.classifier._still()
        fitted = still._now()
        work = exact(fitted, None if max_loss is None else member.part_of(X))
        report: dict[str, Any] = {"max_loss": max_loss}
        if max_loss is not None:
            divisor = None if now.divisors is None else now.divisors[k]
            others = [part for i, part in enumerate(votes) if i != k] or [np.zeros_like(total)]
            theirs = now.divisors and ([d for i, d in enumerate(now.divisors) if i != k] or [1])
            judge = Judge(targets, now.margin, joined_votes(others, theirs), divisor, parts)
            before = work.measure(judge)
            work.shrink(most - loss * (k + 1) // len(names), before, scale=False)
            votes[k] = work.votes
            report |= {"examples": len(targets), "right_before": before}
            report["right_after"] = work.n_right
        models.append(
            (member.name, _in_place(member, classifier_of_rest(still, fitted, work, report)))
        )
    return composed(models, now.scale, divisors=now.divisors)


def _in_place(member: Member, classifier: Any) -> Any:
    """A member's model with another classifier."""
    if member.model is member.classifier:
        return classifier
    pipeline = copy.copy(member.model)
    pipeline.steps = [*member.model.steps[:-1], (member.model.steps[-1][0], classifier)]
    return pipeline
