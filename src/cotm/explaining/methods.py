"""The methods by which classifiers and composites explain themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import SequenceBooleanizer
from .counterfactuals import Counterfactual, counterfactual
from .dependence import PartialDependence, partial_dependence
from .explaining import explain
from .explanation import Explanation
from .importance import class_importances, reads_columns
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

    def counterfactual(
        self,
        x: Any,
        label: Any = None,
        *,
        features: Any = None,
        keep: Any = (),
        values: Any = None,
        missing: bool = False,
        max_changes: int = 6,
        max_tries: int = 100_000,
    ) -> Counterfactual | None:
        """Find the smallest change of an example after which something else is predicted.

        As few columns as possible change, and of changes of as many columns the one that crosses
        the fewest thresholds. All changes of one column are tried, and all of two where they are
        no more than ``max_tries``; beyond that the most promising ones, each with one column
        more. ``is_smallest`` says whether a smaller change is ruled out.

        Parameters
        ----------
        x : array, sparse matrix, or frame of one row
            The example. Images must be of bits, which are then what changes.
        label : optional
            What is to be predicted; by default anything else. With several labels the one that is
            to come or to go, which must be named.
        features : optional
            Names or numbers of the columns that may change; by default all.
        keep : optional
            Names or numbers of columns that may not.
        values : like X, optional
            Examples whose cells may be taken. By default numbers lie just beyond a threshold, and
            any category that the model knows will do.
        missing : bool, default=False
            Whether cells may become missing.
        max_changes : int, default=6
            Columns that may change at the most.
        max_tries : int, default=100_000
            How many changes of two columns are tried, and of any more.

        Returns
        -------
        :class:`cotm.Counterfactual`, or None where no such change was found

        Examples
        --------
        >>> from cotm import CoTMClassifier
        >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 50
        >>> y = ["no", "no", "no", "yes"] * 50
        >>> model = CoTMClassifier(10, T=20, s=3, random_state=0).fit(X, y)
        >>> print(model.counterfactual([1, 0]))
        yes instead of no, if x1 were 1 instead of 0.
        """
        return counterfactual(
            self._voters(),
            x,
            label,
            features=features,
            keep=keep,
            values=values,
            missing=missing,
            max_changes=max_changes,
            max_tries=max_tries,
        )

    @property
    def class_importances_(self) -> NDArray[np.float64]:
        """How much of what clauses can say is by each column, for each output.

        Of all votes, for or against, that clauses can give, the share that is by a column: a
        clause's votes are shared evenly by the columns that it reads. No data are looked at. All
        entries add up to 1. Of images features are the pixels, row by row.
        """
        return class_importances(self._voters())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The importance of each column of X, :attr:`class_importances_` of all outputs added up.

        There is no such attribute where X is texts, which have no columns, or where a transformer
        that is not cotm's makes the bits.
        """
        voters = self._voters()
        for voter in voters.members:
            maker = voter.fitted.reader.booleanizer
            if not reads_columns(voter):
                why = (
                    "texts have no columns"
                    if isinstance(maker, SequenceBooleanizer)
                    else f"it is not known which bits {type(maker).__name__} makes of which column"
                )
                raise AttributeError(f"{why}; class_importances_ has those of the bits")
        return np.asarray(class_importances(voters).sum(axis=1))

    def partial_dependence(
        self, feature: int | str, X: Any, grid: Sequence[Any] | None = None
    ) -> PartialDependence:
        """The mean votes if all examples had the same cell in a column.

        Parameters
        ----------
        feature : int or str
            The column, by its number or name.
        X : array, sparse matrix, or frame
            Examples, as in ``fit``; in all other columns they stay as they are.
        grid : sequence, optional
            Cells of the column. By default those that X has, a hundred at the most.

        Returns
        -------
        tuple of ``feature``, ``grid`` and ``votes``, float64 (cells, outputs)
        """
        return partial_dependence(self._voters(), feature, X, grid)
