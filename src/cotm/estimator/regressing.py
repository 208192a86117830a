"""What a regressor has beyond other estimators: predictions in y's units, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length

from ..core.checks import check_number
from ..explaining.dependence import QuantityDependence, partial_dependence
from ..explaining.explaining import explain
from ..explaining.explanation import Explanation
from ..model.fitted import Fitted
from ..model.inputs import QUANTITY_BITS
from ..model.quantities import Scaling
from ..reporting import Reporting
from .base import TsetlinEstimator
from .tasks import Regression, sorted_errors

if TYPE_CHECKING:
    from typing_extensions import Self


def check_interval(errors: NDArray[np.float64] | None, coverage: float) -> NDArray[np.float64]:
    """The errors on held-out examples that intervals are made of, or a ValueError."""
    check_number("coverage", coverage, 0.0, 1.0)
    if errors is None:
        raise ValueError(
            "no errors on held-out examples are known, so intervals would be guesses; call "
            "conformalize(X, y) with examples that were not trained on, or fit with "
            "early_stopping=True or an eval_set"
        )
    return errors


def interval(
    scaling: Scaling,
    errors: NDArray[np.float64] | None,
    predicted: NDArray[np.float64],
    coverage: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds for predicted quantities, in the form that y had."""
    errors = check_interval(errors, coverage)
    rank = math.ceil(coverage * (len(errors) + 1))
    width: NDArray[np.float64] = np.full(predicted.shape[1], np.inf)
    if rank <= len(errors):
        width = errors[max(0, rank - 1)]
    return scaling.in_form(predicted - width), scaling.in_form(predicted + width)


class TsetlinRegressor(Reporting, RegressorMixin, TsetlinEstimator):  # type: ignore[misc]
    """Base of regressors."""

    _kind = "TsetlinRegressor"
    _task = Regression()
    _number_bits = QUANTITY_BITS

    # What classifiers have as parameters, and quantities have no use for.
    preset = "auto"
    e = 1.0
    e_scales = "output"
    negatives = "all"
    class_weight = None

    def _unchanging(self) -> Any:
        return self._still()

    def _machine_kind(self) -> dict[str, bool]:
        return {"sharing": True, "weighted": True, "regression": True}

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict quantities.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`: (N, features), or images.

        Returns
        -------
        float64 (N,), or (N, m) where y had columns
            ``votes / unit_ + offset_``, with ``average`` the mean of all states.
        """
        fitted = self._now()
        assert fitted.scaling is not None
        return fitted.scaling.in_form(self._quantities(fitted, X))

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict between which values a quantity lies, as often as ``coverage`` says.

        The intervals are conformal: as wide as errors on examples that were not trained on, those
        that early stopping held out (or ``eval_set``), or those given to :meth:`conformalize`.
        Where new examples are like these, they cover at least so many on average.

        Parameters
        ----------
        X : array, sparse matrix, or frame
            As in :meth:`fit`.
        coverage : float, default=0.9
            Above 0 and below 1.

        Returns
        -------
        tuple of two float64 arrays, lower and upper bounds, shaped as predictions
            Infinite, where there were too few examples to promise so much.
        """
        fitted = self._now()
        check_interval(fitted.errors, coverage)
        assert fitted.scaling is not None
        return interval(fitted.scaling, fitted.errors, self._quantities(fitted, X), coverage)

    def conformalize(self, X: Any, y: Any) -> Self:
        """Learn how wide intervals must be from examples that were not trained on."""
        with self._alone():
            fitted = self._now()
            answers = self._task.read(y)
            self._task.same_classes(answers, fitted)
            predicted = self._quantities(fitted, X)
            check_consistent_length(predicted, answers.values)
            self._fitted = replace(fitted, errors=sorted_errors(predicted, answers.values))
        return self

    def _quantities(self, fitted: Fitted, X: Any) -> NDArray[np.float64]:
        assert fitted.scaling is not None
        examples = fitted.reader.read(X)
        votes, states = fitted.machine.votes_of_states(examples, n_jobs=self.n_jobs)
        return fitted.scaling.quantities(votes, states)

    def explain(
        self, X: Any, background: Any = None, *, rules: bool = True, random_state: Any = 0
    ) -> Explanation:
        """Tell why examples are predicted as they are.

        As :meth:`cotm.CoTMClassifier.explain`, in the units of y: ``base``, the mean prediction
        for the background, and the contributions of the columns of X add up to the prediction.
        """
        voters = self._voters()
        said = explain(voters, X, background, rules=rules, random_state=random_state)
        fitted = voters.members[0].fitted
        assert fitted.scaling is not None
        return said.in_quantities(fitted.scaling, fitted.machine.n_states_)

    def partial_dependence(  # type: ignore[override]
        self, feature: int | str, X: Any, grid: Sequence[Any] | None = None
    ) -> QuantityDependence:
        """The mean predictions if all examples had the same cell in a column.

        As :meth:`cotm.CoTMClassifier.partial_dependence`, in the units of y.

        Returns
        -------
        tuple of ``feature``, ``grid`` and ``predictions``, float64 (cells, targets)
        """
        voters = self._voters()
        found = partial_dependence(voters, feature, X, grid)
        fitted = voters.members[0].fitted
        assert fitted.scaling is not None
        predictions = fitted.scaling.quantities(found.votes, fitted.machine.n_states_)
        return QuantityDependence(found.feature, found.grid, predictions)

    @property
    def offset_(self) -> NDArray[np.float64]:
        """What is predicted at 0 votes, for each output."""
        scaling = self._now().scaling
        assert scaling is not None
        return np.array(scaling.offset)

    @property
    def unit_(self) -> NDArray[np.float64]:
        """Votes for a difference of 1, for each output; with ``average`` of all states."""
        fitted = self._now()
        assert fitted.scaling is not None
        return np.array(fitted.scaling.unit) * fitted.machine.n_states_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
