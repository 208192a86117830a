"""Checkpoints: a model file written while training goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..core.checks import check_integer, check_number
from ..core.whole_files import check_replaceable
from ..files import check_saveable


class Checkpoint:
    """Callback that saves the model every so many epochs or seconds.

    ``cotm.load(path)`` and ``fit(X, y, resume=True)`` then finish the training, to the
    same bits as if it had never stopped. Each file replaces the one before it whole.

    Parameters
    ----------
    path : str or path
    every : int, optional
        Epochs between two checkpoints; 1 unless ``seconds`` is given.
    seconds : float, optional
        Seconds after which the next finished epoch is saved.

    Examples
    --------
    >>> import os, tempfile, cotm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.cotm")
    >>> callbacks = [cotm.Checkpoint(path, every=2)]
    >>> model = cotm.CoTMClassifier(50, epochs=4, callbacks=callbacks, random_state=0).fit(X, y)
    >>> len(cotm.load(path).history_)
    4
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.path = path
        self.every = None if every is None else check_integer("every", every, 1)
        self.seconds = None if seconds is None else check_number("seconds", seconds, 0)
        if every is None and seconds is None:
            self.every = 1
        self._saved_at = time.monotonic()

    def check(self, parameters: dict[str, Any], classes: NDArray[Any], booleanizer: Any) -> None:
        """Before training: raise what saving would raise after the first epochs.

        ``parameters`` are the classifier's, ``classes`` its labels, ``booleanizer`` the fitted
        transformer from X to bits, or None.
        """
        check_saveable(parameters, classes, booleanizer)
        check_replaceable(Path(self.path), "the model")

    def __call__(self, estimator: Any, record: dict[str, Any]) -> None:
        epochs = self.every is not None and record["epoch"] % self.every == 0
        elapsed = time.monotonic() - self._saved_at
        if epochs or (self.seconds is not None and elapsed >= self.seconds):
            estimator.save(self.path)
            self._saved_at = time.monotonic()
