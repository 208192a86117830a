"""What both classifiers share beyond other estimators: labels, scores and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from ..model.label_cells import row_accuracy
from ..model.labels import Labels
from ..model.probabilities import margins_of, probabilities
from ..reporting import Reporting
from .base import TsetlinEstimator
from .compressing import Compressing
from .tasks import Classification


class TsetlinClassifier(Compressing, Reporting, ClassifierMixin, TsetlinEstimator):  # type: ignore[misc]
    """Base of the classifiers; they differ in whether outputs share clauses."""

    _kind = "TsetlinClassifier"
    _task = Classification()

    def _unchanging(self) -> Any:
        return self._still()

    def _check_first_part(self, answers: Labels, classes: ArrayLike | None) -> None:
        if classes is None and not answers.multilabel:
            raise ValueError("classes must be passed on the first call to partial_fit.")

    @property
    def compression_(self) -> dict[str, Any]:
        """What :meth:`compress` did: ``max_loss``, ``examples`` and how many of them are right
        (``right_before``, ``right_after``), and of ``clauses``, ``literals`` and ``weight_bits``
        the number before and after.
        """
        compression = self._now().compression
        if compression is None:
            raise AttributeError(f"this {type(self).__name__} was not made by compress")
        return dict(compression)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        array (N,), or (N, outputs) with several labels, (N, columns) with columns of labels
            The class with the most votes, the first of equals. With several labels 1 where an
            output has 0 votes or more. With columns of labels the class of each column; objects,
            where columns are of several types.
        """
        fitted = self._now()
        return fitted.outputs.labels(self._votes(fitted, X), fitted.classes)

    def decision_function(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Tell how sure predictions are, in votes.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        float64 (N, outputs), or (N,) with two classes
            The votes; with two classes those for the second less those for the first. With
            several labels ``votes + 0.5``, whose sign is the prediction. With columns of labels a
            list of such arrays, one for each column.
        """
        fitted = self._now()
        votes = self._votes(fitted, X)
        if fitted.columns is not None:
            return fitted.columns.column_scores(votes)
        return fitted.outputs.scores(votes)

    def predict_proba(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Predict probabilities: a squashed ranking of the votes.

        They are the softmax of votes in units of the margin T (with several labels, the logistic
        function of each), times a sharpness that makes them about as often right as they say.
        Early stopping learns it from the validation examples; otherwise a second, smaller machine
        learns it from a sample of the training examples, the first time it is needed. That takes
        a fraction of what fitting took, or with few examples about as long. ``partial_fit`` alone
        leaves it at a usual value.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        float64 (N, outputs)
            In the order of :attr:`classes_`. With several labels each is a probability of its own.
            With columns of labels a list of such arrays, one for each column.
        """
        fitted = self._now()
        examples = fitted.reader.read(X)
        margins = margins_of(fitted.machine, examples, fitted.outputs, self.n_jobs)
        found = probabilities(margins, fitted.sharpness, fitted.outputs)
        return found if fitted.columns is None else fitted.columns.split(found)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of examples that are predicted right, with several labels or columns of
        labels all of them.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.
        y : array
            As in :meth:`fit`. With columns of labels a row counts for those that it has.
        sample_weight : array of (N,), optional
            How much each example counts.
        """
        fitted = self._now()
        if fitted.columns is None:
            return float(super().score(X, y, sample_weight))
        return row_accuracy(fitted.columns, self._votes(fitted, X), y, sample_weight)

    @property
    def n_outputs_(self) -> int:
        """How many columns of labels there are, as scikit-learn's estimators count outputs: 1
        where each example has one label, and with several labels as many as there are."""
        fitted = self._now()
        if fitted.columns is not None:
            return len(fitted.columns.classes)
        return len(fitted.classes) if fitted.multilabel else 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags
