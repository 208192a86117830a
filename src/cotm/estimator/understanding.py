"""What a classifier says about what it has learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ..core.checks import check_integer, check_number
from ..core.examples import Examples
from ..core.sparse_targets import SparseTargets
from ..model.labels import make_targets, read_labels
from ..rules import (
    ClauseSharing,
    Firing,
    RuleList,
    RuleOverlap,
    clause_sharing,
    rule_overlap,
    rules,
)
from .attributes import FittedAttributes

if TYPE_CHECKING:
    from ..machine import Machine

#: Rows for which the outputs of all clauses are in memory at a time.
_ROWS = 2048


class Understanding(FittedAttributes):
    """The methods by which a fitted classifier is read, not used."""

    if TYPE_CHECKING:
        n_jobs: int | None

        def _still(self) -> Any: ...

    def rules(
        self,
        X: Any = None,
        y: Any = None,
        *,
        label: Any = None,
        top: int | None = None,
        sort: str = "votes",
        at_least: Mapping[str, float] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> RuleList:
        """The clauses that can vote as rules, and what they do on examples.

        Clauses that accept the same, of all states with ``average``, are one rule with the sum of
        their votes.

        Parameters
        ----------
        X : array, sparse matrix, or frame, optional
            Examples, as in :meth:`fit`, on which to measure coverage and share of votes.
        y : array, optional
            Their labels, for precision and lift.
        label : optional
            Measure votes, precision and lift of this class only, and leave out rules that do not
            vote for it. Without it these are measured of the class that a rule votes for most.
        top : int, optional
            How many at the most.
        sort : {"votes", "coverage", "count", "precision", "lift", "share"}, default="votes"
            What they are sorted by, the highest first.
        at_least : dict of str to float, optional
            The least that a rule needs of these measures, as in ``{"coverage": 0.05}``.
        feature_names : sequence of str, optional
            What to call the bits of X where the model has not seen names, as with the sparse
            matrix of a vectorizer.

        Returns
        -------
        cotm.rules.RuleList
            A list of :class:`cotm.Rule`: each has the conditions, the votes for each class, the
            evidence, and a text. The list becomes a table, JSON, LaTeX or HTML by its methods.
        """
        still = self._still()
        check_label(label, still.output_names_.tolist())
        firing = None if X is None else still._firing(X, y)
        if X is None and y is not None:
            raise ValueError("y is given without X; pass the examples that have these labels")
        found = rules(still, feature_names, firing=firing)
        return found.chosen(label=label, top=top, sort=sort, at_least=at_least)

    def clause_sharing(self) -> ClauseSharing:
        """Tell which clauses serve which outputs.

        Returns
        -------
        cotm.rules.ClauseSharing
            For each clause the outputs that it votes for and against, with the shares of its
            votes, and matrices of how many clauses two outputs share. With ``average`` of the
            clauses of all states that vote.
        """
        still = self._still()
        return clause_sharing(still.memory_ >= 0, still.weights_, still.output_names_.tolist())

    def rule_overlap(
        self, X: Any, *, most: int = 500, similarity: float = 0.9, pairs: int = 100
    ) -> RuleOverlap:
        """Compare rules by where they fire: which repeat each other, and which disagree.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            Examples, as in :meth:`fit`.
        most : int, default=500
            How many rules are compared, the strongest; time and memory grow with its square.
        similarity : float, default=0.9
            Share of the examples on which either fires from which on two rules repeat each other.
        pairs : int, default=100
            The most pairs that are listed of each kind.

        Returns
        -------
        cotm.rules.RuleOverlap
        """
        check_overlap(most, similarity, pairs)
        still = self._still()
        found = rules(still)[:most]
        return rule_overlap(found, still._fires(X, found), similarity=similarity, pairs=int(pairs))

    def _fires(self, X: Any, found: RuleList) -> Iterator[NDArray[np.bool_]]:
        """Where rules fire, some rows at a time."""
        fitted = self._now()
        clauses = [rule.clause for rule in found]
        for outputs in _outputs(fitted.machine, fitted.reader.read(X), self.n_jobs):
            yield outputs[:, clauses] > 0

    def _firing(self, X: Any, y: Any) -> Firing:
        """What the clauses of all states that vote do on examples."""
        fitted = self._now()
        examples = fitted.reader.read(X)
        targets = None
        if y is not None:
            if is_regressor(self):
                raise ValueError(
                    "y is given, but precision and lift are of labels, and this model predicts "
                    "quantities; leave y out"
                )
            labels = read_labels(y)
            if len(labels.values) != len(examples):
                raise ValueError(
                    f"X has {len(examples)} examples, but y has {len(labels.values)} labels"
                )
            found = make_targets(labels, fitted.classes, fitted.columns)
            targets = found.dense() if isinstance(found, SparseTargets) else found
        outputs = _outputs(fitted.machine, examples, self.n_jobs)
        return Firing.of(outputs, len(self.memory_), targets)


def _outputs(machine: Machine, examples: Examples, n_jobs: int | None) -> Iterator[NDArray[Any]]:
    """Clause outputs, some rows at a time."""
    for begin in range(0, len(examples), _ROWS):
        yield machine.clause_outputs(examples[begin : begin + _ROWS], n_jobs=n_jobs)


def check_label(label: Any, labels: list[Any]) -> None:
    """Raise a ValueError for what is no class of a model."""
    if label is not None and label not in labels:
        raise ValueError(f"label={label!r} is not a class of this model; it has {labels}")


def check_overlap(most: Any, similarity: Any, pairs: Any) -> None:
    """Raise a ValueError for what `rule_overlap` cannot take."""
    check_integer("most", most, 1, 10_000)
    check_number("similarity", similarity, 0.0, 1.0)
    check_integer("pairs", pairs, 0)
