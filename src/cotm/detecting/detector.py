"""The detector of outliers, the scikit-learn way."""

from __future__ import annotations

import numbers
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.exceptions import NotFittedError

from .. import files
from ..booleanize.frames import read_table
from ..classifier import CoTMClassifier
from ..core.checks import check_integer, check_number
from ..core.randomness import new_seed, split_order
from ..estimator.validation import rows_of
from .made_up import KINDS, REAL, with_made_up

if TYPE_CHECKING:
    from typing_extensions import Self

#: Clauses of the classifier, where users give none.
_CLAUSES = 300
#: The share of rows that say where outliers begin, and of outliers among them.
_HELD_OUT, _ODD = 0.2, 0.05


class CoTMOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Tell rows that belong to a table from rows that do not, by rules.

    A classifier learns what tells the rows of X from rows that are made up of their cells: of
    columns that were shuffled each by itself, of cells drawn evenly from the range of each column,
    and of both. The score of a row is how many more votes "real" has for it than the made-up kinds
    on average, times three: a whole number. Nothing but X is needed; X is a table.

    Parameters
    ----------
    estimator : CoTMClassifier, default=None
        What learns, as a copy; None is ``CoTMClassifier(300)``. Its ``random_state``, where there
        is none, comes from the detector's.
    contamination : "auto" or float, default="auto"
        The share of outliers in X, above 0 and up to 0.5, which says where they begin
        (:attr:`offset_`). Rows that were learned from score higher than new ones, so that of new
        rows more are outliers. "auto": so that of new rows like those of X one in twenty is one,
        by the scores that a fifth of X has of a classifier which has not seen it.
    copies : int, default=4
        How many rows of each kind are made up of every row of X. Time and memory grow with it.
    random_state : int, RandomState or None, default=None
        The seed of all that is drawn.

    Attributes
    ----------
    classifier_ : CoTMClassifier
        What tells them apart. It has the rules (``classifier_.rules(label="real")``), and says why
        a row is odd (``classifier_.explain(rows, background=X)``).
    offset_ : float
        Rows with a lower score are outliers.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Names of X's columns; there is no such attribute where they were no text.

    See Also
    --------
    sklearn.ensemble.IsolationForest, sklearn.neighbors.LocalOutlierFactor

    Examples
    --------
    >>> import numpy as np
    >>> from cotm import CoTMOutlierDetector
    >>> across = np.random.default_rng(0).uniform(size=400)
    >>> X = np.column_stack([across, across + 0.05])
    >>> detector = CoTMOutlierDetector(random_state=0).fit(X)
    >>> detector.predict([[0.3, 0.35], [0.3, 0.9]])  # neither cell is odd, but both together
    array([ 1, -1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        contamination: str | float = "auto",
        copies: int = 4,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.contamination = contamination
        self.copies = copies
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what rows of X are like; most of them should belong.

        Parameters
        ----------
        X : array, or pandas or polars frame
            (N, features): numbers, categories, dates, with missing cells.
        y : ignored

        Returns
        -------
        self
        """
        copies = check_integer("copies", self.copies, 1)
        if self.contamination != "auto":
            check_number("contamination", self.contamination, 0.0, 0.5)
        learner = CoTMClassifier(_CLAUSES) if self.estimator is None else clone(self.estimator)
        if not isinstance(learner, CoTMClassifier) or learner.patch_shape is not None:
            raise ValueError(
                f"estimator={self.estimator!r:.200} must be a CoTMClassifier that reads tables, "
                "without patch_shape, or None"
            )
        X = _table(X)
        table = read_table(X)
        if table.shape[1] < 1:
            raise ValueError(
                f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
            )
        if table.shape[0] < 2:
            raise ValueError(
                f"X has {table.shape[0]} sample, and n_samples of 2 or more are needed to make up "
                "others of them"
            )
        seed = new_seed(self.random_state)
        if learner.random_state is None:
            learner.set_params(random_state=seed)
        rows, kinds = with_made_up(X, table, copies, seed)
        classifier = learner.fit(rows, kinds)
        if self.contamination == "auto":
            scores, share = _scores_of_new(clone(classifier), X, copies, seed), _ODD
        else:
            scores, share = _scores(classifier, X), float(self.contamination)
        self.classifier_, self.offset_ = classifier, float(np.percentile(scores, 100.0 * share))
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Tell how usual rows are: the higher, the more. Whole numbers of votes.

        Parameters
        ----------
        X : array or frame
            As in :meth:`fit`.
        """
        return _scores(self._fitted(), _table(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score less :attr:`offset_`: below 0 are outliers.

        Parameters
        ----------
        X : array or frame
            As in :meth:`fit`.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows that belong, and -1 for outliers.

        Parameters
        ----------
        X : array or frame
            As in :meth:`fit`.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def n_features_in_(self) -> int:
        """Columns of X."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns; there is no such attribute where they were no text."""
        return self._fitted().feature_names_in_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the detector to a file, whole or not at all; :func:`cotm.load` reads it.

        What is read has a copy of :attr:`classifier_` as its ``estimator``.
        """
        classifier = self._fitted()
        seed, share = self.random_state, self.contamination
        parameters = {
            "contamination": "auto" if share == "auto" else float(share),
            "copies": int(self.copies),
            "random_state": int(seed) if isinstance(seed, numbers.Integral) else None,
        }
        saved = classifier._still()._saved_model()
        files.save(files.SavedDetector(saved, parameters, self.offset_), path)

    @classmethod
    def _restored(cls, saved: files.SavedDetector, classifier: Any) -> Self:
        """What a file holds."""
        detector = cls(clone(classifier), **saved.parameters)
        detector.classifier_, detector.offset_ = classifier, saved.offset
        return detector

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_")

    def _fitted(self) -> CoTMClassifier:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        classifier: CoTMClassifier = self.classifier_
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _table(X: Any) -> Any:
    if scipy.sparse.issparse(X):
        raise TypeError(
            "X is sparse, but a detector makes up rows of dense tables; pass X.toarray()"
        )
    return X if hasattr(X, "columns") or isinstance(X, list | tuple) else np.asanyarray(X)


def _scores_of_new(classifier: CoTMClassifier, X: Any, copies: int, seed: int) -> NDArray[Any]:
    """The scores that some rows of X have where a classifier learns from the others."""
    order = split_order(seed, len(X))
    count = max(1, round(_HELD_OUT * len(X)))
    held, others = np.sort(order[:count]), np.sort(order[count:])
    rest = rows_of(X, others)
    classifier.fit(*with_made_up(rest, read_table(rest), copies, seed))
    return _scores(classifier, rows_of(X, held))


def _scores(classifier: CoTMClassifier, X: Any) -> NDArray[np.float64]:
    votes = classifier.votes(X)
    real = votes[:, int(np.flatnonzero(classifier.output_names_ == REAL)[0])]
    return np.asarray((len(KINDS) + 1) * real - votes.sum(axis=1), dtype=np.float64)
