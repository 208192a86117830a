"""A training by pools on the workers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import distributed
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from ..classifier import CoTMClassifier
from ..estimator.settings import start
from ..model.bounds import within
from ..model.fitted import Fitted
from ..model.presets import COUNTED_ROWS, preset_for
from ..model.probabilities import Sample
from ..pools.course import Course, PoolOptions
from ..pools.local import Epochs
from ..pools.shares import Rows
from ..pools.training import train
from .collections import Part, parts_of
from .looking import meanings_of
from .work import look, make_rows, share, step

_logger = logging.getLogger(__name__)


class Workers:
    """The workers of a cluster, that do what is asked or nothing."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client

    def all_of(self, promises: Sequence[Any]) -> list[Any]:
        """What comes of promises; none is worked on any more if one fails, or on Ctrl-C."""
        futures = self._client.compute(list(promises))
        try:
            return list(self._client.gather(futures))
        except BaseException:
            self._client.cancel(futures)
            raise

    def in_turn(self, promises: Sequence[Any], done: Callable[[int, Any], None]) -> Any:
        """As :meth:`all_of`, each told with its number as it comes, in their order; the last one
        is returned."""
        futures = self._client.compute(list(promises))
        try:
            for number, future in enumerate(futures[:-1]):
                done(number, future.result())
            return futures[-1].result()
        except BaseException:
            self._client.cancel(futures)
            raise

    def keep(self, promises: Sequence[Any]) -> list[Any]:
        """Promises whose results stay on the workers, and are made again where one is lost."""
        return list(self._client.persist(list(promises)))


def fit(
    learner: CoTMClassifier,
    options: PoolOptions,
    client: distributed.Client,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Fitted:
    """What ``cotm.pools.fit_pools`` learns, learned by workers."""
    workers, parts = Workers(client), parts_of(X, y, sample_weight)
    told = delayed(learner, traverse=False)
    looks = workers.all_of(
        [delayed(look)(told, number, *part) for number, part in enumerate(parts)]
    )

    def on_all(function: Any, given: Sequence[Any], *more: Any) -> list[Any]:
        also = [delayed(each, traverse=False) for each in more]
        return workers.all_of([delayed(function)(told, each, *also) for each in given])

    meanings, labels = meanings_of(learner, parts, looks, on_all)
    n_rows = sum(seen.X.n_rows for seen in looks)
    _logger.info("%d rows in %d partitions are known", n_rows, len(parts))
    rows = _Made(parts, [seen.X.n_rows for seen in looks], meanings, workers)

    some = rows.taken(np.linspace(0, n_rows - 1, min(n_rows, COUNTED_ROWS)).astype(np.int64))
    preset = preset_for(learner, some.bits.examples)
    fitted = start(learner, meanings.reader, learner._task, labels, meanings.classes, preset)
    fitted = within(fitted, learner.constraints)
    course = Course.of(learner, options, fitted, n_rows)
    wanted = Sample.rows_of(n_rows, course.n_outputs, course.grid, sparse=some.bits.is_sparse)
    few = rows.taken(wanted)
    sample = Sample(few.bits.examples, few.all_targets(), few.weight, n_rows)
    state, epochs = _trained(course, rows.shares(course), workers)
    return course.finished(fitted, state, epochs.history, sample)


class _Made:
    """All rows as bits, on the workers."""

    def __init__(
        self, parts: Sequence[Part], counts: Sequence[int], meanings: Any, workers: Workers
    ) -> None:
        self._workers = workers
        told = delayed(meanings, traverse=False)
        filled = [number for number, count in enumerate(counts) if count]
        self._parts = workers.keep([delayed(make_rows)(told, *parts[n]) for n in filled])
        self._ends = np.cumsum([counts[number] for number in filled])

    def taken(self, rows: NDArray[np.int64]) -> Rows:
        """Some rows, by their numbers in ascending order."""
        part = np.searchsorted(self._ends, rows, side="right")
        begin = np.concatenate([[0], self._ends[:-1]])
        return Rows.join(
            self._workers.all_of(
                [
                    delayed(Rows.take)(self._parts[number], rows[part == number] - begin[number])
                    for number in np.unique(part).tolist()
                ]
            )
        )

    def shares(self, course: Course) -> list[Any]:
        """Promises of the shares."""
        count, n_rows = course.options.n_pools, course.n_rows
        begin = [0, *self._ends[:-1].tolist()]
        pieces = [
            delayed(Rows.split, nout=count)(part, course.seed, first, count)
            for part, first in zip(self._parts, begin, strict=True)
        ]
        return [
            delayed(share)(count, n_rows, *(piece[number] for piece in pieces))
            for number in range(count)
        ]


def _trained(course: Course, shares: Sequence[Any], workers: Workers) -> tuple[Any, Epochs]:
    """The state in the end, and the epochs."""
    told, counts = delayed(course, traverse=False), []
    promised = delayed(step)

    def do(function: Any, *given: Any) -> Any:
        return promised(function, *(told if each is course else each for each in given))

    state = train(course, shares, do, lambda epoch, passes: counts.append(delayed(list)(passes)))
    epochs = Epochs(course)
    with epochs.reporter:
        return workers.in_turn(
            [*counts, state], lambda number, passes: epochs.done(number + 1, passes)
        ), epochs
