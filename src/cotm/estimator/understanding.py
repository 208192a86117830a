"""What a classifier says about what it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..rules import Rule, rules
from .attributes import FittedAttributes


class Understanding(FittedAttributes):
    """The methods by which a fitted classifier is read, not used."""

    if TYPE_CHECKING:

        def _still(self) -> Any: ...

    def rules(
        self,
        label: Any = None,
        top: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> list[Rule]:
        """The clauses that can vote as rules, strongest first.

        With ``average`` those of all states that vote; equal ones are one rule with the sum of
        their votes.

        Parameters
        ----------
        label : optional
            Rank by the votes for this class only, and leave out clauses that vote against it.
        top : int, optional
            How many at the most.
        feature_names : sequence of str, optional
            What to call the bits of X where the model has not seen names, as with the sparse
            matrix of a vectorizer.

        Returns
        -------
        list of :class:`cotm.Rule`
            Each has the conditions, the votes for each class, and a text.
        """
        still = self._still()
        return rules(still, label, top, feature_names, merge=still.machine_.n_states_ > 1)
