"""One classifier, or several whose votes are added up, as what explanations are made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from ..exporting.describing import clauses_of
from ..model.fitted import Fitted
from ..model.joining import UNIT, joined_votes
from ..model.label_columns import LabelColumns, outputs_for
from ..model.outputs import Outputs, Votes
from ..model.probabilities import Sharpness
from .features import Features, features_of
from .shapley import Pool


def _all_of(X: Any) -> Any:
    return X


@dataclass(frozen=True, eq=False)
class Voter:
    """A classifier as it was at one moment."""

    name: str  # that a composite has for it
    model: Any  # the classifier; it does not go on learning
    part_of: Callable[[Any], Any] = _all_of  # what it reads of an X
    transformed: bool = False  # whether that is no part of X, but made of one

    @property
    def fitted(self) -> Fitted:
        """What it has learned."""
        fitted: Fitted = self.model._now()
        return fitted

    @cached_property
    def features(self) -> Features:
        """What its clauses read."""
        return features_of(self.fitted.reader)

    @property
    def same_as(self) -> Hashable:
        """What is equal for classifiers that read the same columns of an X; None: nobody does."""
        known = not self.transformed or self.fitted.reader.bit_features is not None
        return self.features.same_as if known else None

    @cached_property
    def pool(self) -> Pool:
        """Its clauses that can vote, equal ones as one."""
        machine, grid = self.fitted.machine, self.fitted.reader.grid
        assert grid is not None
        tolerance = machine.parameters.tolerance
        clauses = clauses_of(machine.memory_ >= 0, machine.weights_, tolerance, grid)
        lengths = np.array([len(clause.literals) for clause in clauses], dtype=np.int64)
        literals = np.array([k for clause in clauses for k in clause.literals], dtype=np.int64)
        owner = np.repeat(np.arange(len(clauses)), lengths)
        negated, features = np.divmod(literals, grid.n_features)
        # The players of images are not single columns, but there are none to sort by.
        players = features if self.features.image_shape else self.features.of_bits[features]
        order = np.lexsort((features, players, owner))
        weights = [clause.weights for clause in clauses]
        return Pool(
            numbers=tuple(clause.numbers for clause in clauses),
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            features=features[order].astype(np.int32),
            negated=negated[order].astype(np.uint8),
            players=players[order].astype(np.int32),
            most=np.minimum(tolerance, lengths).astype(np.int32),
            weights=np.array(weights, dtype=np.int64).reshape(len(clauses), machine.spec.m),
        )

    @property
    def read_bits(self) -> NDArray[np.bool_]:
        """Which bits of an example any clause may read."""
        grid = self.fitted.reader.grid
        assert grid is not None
        found = np.full(np.prod(grid.image_shape), self.features.image_shape is not None)
        if self.features.image_shape is None:
            found[self.pool.features] = True
        return found

    def read(self, X: Any) -> Examples:
        """The bits of its part of X."""
        return self.fitted.reader.read(self.part_of(X)).on_host()

    def votes(self, examples: Examples) -> Votes:
        """Its own votes."""
        return self.fitted.machine.votes(examples, n_jobs=self.model.n_jobs)


@dataclass(frozen=True, eq=False)
class Voters:
    """All that vote, and what their votes mean."""

    members: tuple[Voter, ...]
    divisors: tuple[int, ...] | None
    classes: NDArray[Any]
    multilabel: bool
    margin: int
    sharpness: Sharpness
    columns: LabelColumns | None = None  # of labels, where y has several

    @classmethod
    def of(cls, model: Any) -> Voters:
        """A single classifier, which does not go on learning."""
        now = model._now()
        margin = now.machine.parameters.T * now.machine.n_states_
        return cls(
            (Voter("", model),),
            None,
            now.classes,
            now.multilabel,
            margin,
            now.sharpness,
            now.columns,
        )

    @property
    def outputs(self) -> Outputs:
        """How votes are read."""
        return outputs_for(self.multilabel, self.columns)

    @property
    def unit(self) -> int:
        """What one vote counts."""
        return 1 if self.divisors is None else UNIT

    def joined(self, votes: Sequence[Votes]) -> Votes:
        """The members' votes as one."""
        return joined_votes(votes, self.divisors)

    def votes(self, X: Any) -> Votes:
        """The joined votes for X."""
        return self.joined([member.votes(member.read(X)) for member in self.members])

    def labels(self, votes: Votes) -> NDArray[Any]:
        """What is predicted."""
        return self.outputs.labels(votes, self.classes)
