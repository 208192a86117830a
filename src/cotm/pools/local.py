"""Training by pools on this computer: the definition of what is done on others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from ..backends import TrainCounts
from ..classifier import CoTMClassifier
from ..estimator.progress import make_reporter
from ..estimator.settings import start
from ..model.bounds import within
from ..model.fitted import Record
from ..model.inputs import InputReader
from ..model.presets import preset_for
from ..model.probabilities import Sample
from .course import N_POOLS, REFINE, Course, PoolOptions, check_labels
from .shares import Rows, require_rows
from .training import train


def fit_pools(
    classifier: CoTMClassifier,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    n_pools: int = N_POOLS,
    pool_rows: str = "turns",
    refine: int = REFINE,
) -> CoTMClassifier:
    """Train a classifier by pools: the model that ``cotm.dask.CoTMClassifier`` comes to.

    ``n_pools`` machines share the clauses and the margin, and learn from shares of the rows, which
    are drawn by their numbers. Then their clauses are one pool, which learns from all rows for
    ``refine`` passes.

    Parameters
    ----------
    classifier : CoTMClassifier
        Its parameters say how to learn; it is left as it is.
    X, y, sample_weight
        As in ``CoTMClassifier.fit``.
    n_pools : int, default=4
        Machines that learn apart from each other.
    pool_rows : {"turns", "share", "all"}, default="turns"
        What each learns from in an epoch: one share of the rows, the next one in each epoch; its
        own one, always; or all of them, one after the other.
    refine : int, default=10
        Passes of all clauses over all rows at the end.

    Returns
    -------
    CoTMClassifier
        Fitted, with the same parameters. ``history_`` has the epochs of the pools, with the mean of
        their accuracies, and then those of all clauses; no seconds, since nothing in a model says
        how it was come to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier
    >>> from cotm.pools import fit_pools
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fit_pools(CoTMClassifier(100, random_state=0), X, y, n_pools=2)
    >>> bool(model.score(X, y) > 0.9)
    True
    """
    options = PoolOptions.checked(classifier, n_pools, pool_rows, refine)
    learner = clone(classifier)
    task = learner._task
    answers = check_labels(task.read(y))
    reader = InputReader.from_parameters(learner)
    examples = reader.fit(X, answers.values)
    check_consistent_length(examples, answers.values)
    classes = task.first_classes(answers, None)
    weight = task.weights(answers, classes, sample_weight, learner)
    task.check_whole(answers, classes, weight)
    fitted = start(learner, reader, task, answers, classes, preset_for(learner, examples))
    fitted = within(fitted, learner.constraints)
    targets = task.targets(answers, fitted)
    course = Course.of(learner, options, fitted, len(examples))
    shares = Rows.of(examples, targets, weight).split(course.seed, 0, options.n_pools)
    for share in shares:
        require_rows(share, options.n_pools, len(examples))
    sample = Sample.of(examples, targets, weight)
    epochs = Epochs(course)
    with epochs.reporter:
        state = train(course, shares, lambda function, *given: function(*given), epochs.done)
    learner._fitted = course.finished(fitted, state, epochs.history, sample)
    return learner


class Epochs:
    """The epochs of a course as they are finished."""

    def __init__(self, course: Course) -> None:
        self.history: list[Record] = []
        self._course, self._began = course, time.perf_counter()
        options = course.options
        self.reporter = make_reporter(
            int(course.learner.verbose),
            course.last_epoch,
            course.n_rows,
            f"{course.learner.n_clauses:,} clauses in {options.n_pools:,} pools, "
            f"{course.n_rows:,} examples, {course.epochs:,} epochs apart and {options.refine:,} "
            "as one",
        )

    def done(self, epoch: int, counts: Sequence[TrainCounts]) -> None:
        """One more, with what its passes came to."""
        record = self._course.record(epoch, counts)
        self.history.append(record)
        now = time.perf_counter()
        self.reporter.epoch_done({**record, "seconds": now - self._began})
        self._began = now
