"""The examples that early stopping goes by, held out or given, and the score on them."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from ..core.examples import Examples, room_beside
from ..core.gpu_arrays import on_gpu
from ..machine import Machine
from ..model.fitted import Fitted
from ..model.inputs import InputReader
from ..model.resuming import NOT_SCORED
from ..streaming import Stream
from .held_out import HeldOut
from .streamed import read_stream
from .tasks import Task

if TYPE_CHECKING:
    from .base import TsetlinEstimator

#: What ``scoring`` holds if it is no name: called with estimator, X and y; more is better.
Scorer = Callable[[Any, Any, Any], float]


class _KnowingReader(InputReader):
    """The reader of an estimator, which knows these examples and need not read them again."""

    def __init__(self, reader: InputReader, held: HeldOut) -> None:
        self.__dict__.update(reader.__dict__)
        self._held = held

    def read(self, X: Any) -> Examples:
        return self._held.examples if X is self._held.X else super().read(X)


def read_eval_set(eval_set: Any, task: Task, fitted: Fitted) -> HeldOut:
    """The examples and answers of ``eval_set``, or a ValueError that says what is wrong there."""
    try:
        if isinstance(eval_set, Stream):
            X = None
            examples, answers, _ = read_stream(eval_set, task, fitted.reader, fitting=False)
            task.check_held(answers, fitted)
        else:
            X, y = eval_pair(eval_set)
            answers = task.read(y)
            task.check_held(answers, fitted)
            examples = fitted.reader.read(X)
        check_consistent_length(examples.bits, answers.values)
        targets = task.targets(answers, fitted, room_beside(examples))
        return HeldOut(examples, targets, answers, X, answers.values)
    except ValueError as error:
        raise ValueError(f"eval_set: {error}") from error


def eval_pair(eval_set: Any) -> tuple[Any, Any]:
    """X and y; a list may be around them, as other libraries want it."""
    pair = eval_set
    if isinstance(pair, list | tuple):
        if len(pair) == 1:
            pair = pair[0]
        elif pair and all(isinstance(part, tuple) and len(part) == 2 for part in pair):
            raise ValueError(
                f"eval_set holds {len(pair)} pairs, but early stopping goes by one; pass (X, y)"
            )
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        what = f"{len(pair)} parts" if isinstance(pair, list | tuple) else type(pair).__name__
        raise ValueError(f"eval_set is no pair but {what}; pass (X, y)")
    return pair[0], pair[1]


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some examples of X, whatever it is."""
    if on_gpu(X):
        return X[rows]
    return _safe_indexing(X.tocsr() if scipy.sparse.issparse(X) else X, rows)


def check_scoring(estimator: TsetlinEstimator) -> None:
    """Raise ValueError if ``scoring`` is no scorer."""
    scoring = estimator.scoring
    if scoring is None:
        return
    from sklearn import metrics  # only here: it takes a while to import

    if not isinstance(scoring, str):
        if not callable(scoring):
            raise ValueError(
                f"scoring={scoring!r:.200} must be the name of a scikit-learn scorer, a callable "
                "scorer(estimator, X, y), or None"
            )
        metrics.check_scoring(estimator, scoring=scoring)  # metrics such as accuracy_score are none
    elif scoring not in metrics.get_scorer_names():
        near = difflib.get_close_matches(scoring, metrics.get_scorer_names(), n=3)
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise ValueError(
            f"scoring={scoring!r:.200} is no scorer of scikit-learn; {meant}"
            "sklearn.metrics.get_scorer_names() lists all"
        )


def scoring_title(scoring: Any) -> str:
    """By what a scorer is known again. The same function has the same name in other processes."""
    if scoring is None:
        return NOT_SCORED
    if isinstance(scoring, str):
        return scoring
    if hasattr(scoring, "__qualname__"):
        return f"{scoring.__module__}.{scoring.__qualname__}"
    return repr(scoring) if type(scoring).__module__.startswith("sklearn.") else str(type(scoring))


def scorer_on(
    estimator: TsetlinEstimator, fitted: Fitted, held: HeldOut
) -> Callable[[Machine], float] | None:
    """What scores a machine by ``scoring``; None where that is the accuracy."""
    if estimator.scoring is None:
        return None
    from sklearn.metrics import get_scorer

    title = repr(estimator.scoring)[:200]
    scorer = get_scorer(estimator.scoring)
    reader = _KnowingReader(fitted.reader, held)

    def score(machine: Machine) -> float:
        # As the machine would be if training ended here.
        state = replace(estimator._task.while_scored(fitted, machine, held), reader=reader)
        try:
            found = scorer(estimator._with(state), held.X, held.y)
        except ValueError as error:
            raise ValueError(
                f"scoring={title} fails on the validation examples: {error}"
            ) from error
        return _checked(found, title)

    return score


def _checked(score: Any, title: str) -> float:
    if isinstance(score, np.ndarray) and score.ndim == 0:
        score = score.item()
    if not isinstance(score, numbers.Real):
        raise ValueError(
            f"scoring={title} gives {score!r:.200}; it must give one number, the higher the better"
        )
    if not math.isfinite(score):
        raise ValueError(
            f"scoring={title} gives {score} on the validation examples, by which no epoch is "
            "better than another; choose another scorer, or validation examples of every class"
        )
    return float(score)
