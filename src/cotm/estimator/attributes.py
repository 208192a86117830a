"""The attributes of a fitted classifier, each read from the one object that fitting makes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ..machine import Machine
from ..model.fitted import Fitted, Record
from ..model.presets import chosen


class FittedAttributes:
    """What a classifier shows of what it has learned."""

    def _fitted_or_none(self) -> Fitted | None:
        return self.__dict__.get("_fitted")

    def _now(self) -> Fitted:
        """What has been learned. Ask once per call, so that all parts are of the same moment."""
        fitted = self._fitted_or_none()
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_or_none() is not None

    @property
    def machine_(self) -> Machine:
        """The machine at work."""
        return self._now().machine

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """The labels, in the order of the outputs; of several columns of labels a list with those
        of each."""
        fitted = self._now()
        return fitted.classes if fitted.columns is None else [*fitted.columns.classes]

    @property
    def output_names_(self) -> NDArray[Any]:
        """What the outputs are called: as the labels, of several columns ``column=label``."""
        return self._now().classes

    @property
    def n_features_in_(self) -> int:
        """Columns of X, or values of an image."""
        return self._now().reader.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns; there is no such attribute where they were no text."""
        names = self._now().reader.names
        if names is None:
            raise AttributeError(f"this {type(self).__name__} was fitted without feature names")
        return np.array(names, dtype=object)

    @property
    def memory_(self) -> NDArray[np.int8]:
        """Memory, int8 (n_clauses, L): a literal is included iff its entry is >= 0.

        With ``average`` of all states that vote, one below the other, the current one last.
        """
        return self._now().machine.memory_

    @property
    def weights_(self) -> NDArray[np.int32]:
        """Weights, int32 (n_clauses, outputs); with ``average`` as :attr:`memory_`."""
        return self._now().machine.weights_

    @property
    def T_(self) -> int:
        """The margin in use."""
        return self._now().machine.parameters.T

    @property
    def s_(self) -> float:
        """The specificity in use."""
        return self._now().machine.parameters.s

    @property
    def epochs_(self) -> int:
        """Epochs that training has come to, or is on its way to."""
        return self._now().progress.until_epoch

    @property
    def preset_(self) -> str:
        """The preset that says what was left "auto"."""
        return self._now().preset

    @property
    def chosen_(self) -> dict[str, Any]:
        """What each parameter that was left "auto" came to be."""
        return chosen(self, self._now())  # type: ignore[arg-type]

    @property
    def step_(self) -> int:
        """Examples presented so far."""
        return self._now().machine.step_

    @property
    def seed_(self) -> int:
        """The 64-bit seed that ``random_state`` was resolved to."""
        return self._now().machine.seed_

    @property
    def history_(self) -> list[Record]:
        """One record for each of the last 10,000 epochs: ``epoch``, ``train_accuracy``,
        ``seconds`` and, with early stopping, ``validation_accuracy`` and ``validation_score``.
        Training accuracy is of the votes before each update.
        """
        return list(self._now().progress.history)

    @property
    def booleanizer_(self) -> Any:
        """The fitted transformer from X to bits, or None where X holds bits already."""
        return self._now().reader.booleanizer
