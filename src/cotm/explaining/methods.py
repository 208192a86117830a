"""The methods by which classifiers and composites explain themselves."""

from __future__ import annotations

from typing import Any

from .explaining import explain
from .explanation import Explanation
from .voters import Voters


class Explaining:
    """What fitted models say about their predictions."""

    def _voters(self) -> Voters:
        """All that vote, at one moment."""
        raise NotImplementedError

    def explain(
        self, X: Any, background: Any = None, *, rules: bool = True, random_state: Any = 0
    ) -> Explanation:
        """Tell why examples are predicted as they are.

        For each example: the rules that spoke, their votes, and what each column of X contributed
        to the votes. Contributions are Shapley values, exact but for the rounding of floats: the
        votes, less the mean votes of the background, are shared by the columns in the only way
        that treats them all alike. Where images are read by patches, votes go to the pixels that
        the rules look at, and no background is needed.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in ``fit``.
        background : like X, optional
            Examples that columns take their other values from, best some of the training data; a
            hundred are usual. By default at most 100 rows of X, which must be two or more.
        rules : bool, default=True
            False: leave out the rules that spoke.
        random_state : int, default=0
            Which rows of X stand for all, where they do.

        Returns
        -------
        :class:`cotm.Explanation`

        Examples
        --------
        >>> from cotm import CoTMClassifier
        >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
        >>> y = ["no", "no", "no", "yes"] * 50
        >>> model = CoTMClassifier(10, T=20, s=3, random_state=0).fit(X, y)
        >>> why = model.explain([[1, 1], [1, 0]], background=X)
        >>> bool((abs(why.base + why.contributions.sum(axis=1) - why.votes) < 1e-9).all())
        True
        >>> print(why[1].sentence())  # doctest: +ELLIPSIS
        no (... %): mainly because not x1 (+... votes); against it speaks x0 (-...).
        """
        return explain(self._voters(), X, background, rules=rules, random_state=random_state)
