"""What workers do: look at parts, make bits of them, and go a step of a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import distributed
import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ..booleanize import Recount
from ..core.state import Snapshot
from ..model.input_parts import PartLooks, count_again
from ..model.inputs import InputReader
from ..model.labels import Labels, example_weights, make_targets, read_labels
from ..pools.course import Course, check_labels
from ..pools.shares import Rows, require_rows


def _bytes_of_state(state: Snapshot) -> int:
    earlier = sum(past.included.nbytes + past.weights.nbytes for past in state.earlier)
    return int(state.memory.nbytes + state.weights.nbytes + earlier)


# Dask moves what is smaller to where the rest is: the states of machines, and not rows.
sizeof.register(Rows, lambda rows: rows.nbytes)
sizeof.register(Snapshot, _bytes_of_state)


class LabelLooks(NamedTuple):
    """What labels a part has."""

    multilabel: bool
    names: list[str] | None  # of columns
    classes: NDArray[Any]  # those that are there
    counts: NDArray[np.int64]
    columns: int


class Looks(NamedTuple):
    """What must be known of a part before anything is done with it."""

    X: PartLooks
    y: LabelLooks | None  # None where there are no rows
    weight: float  # in all; 1 where all rows count the same


@dataclass(frozen=True)
class Meanings:
    """What rows and labels become: all that was learned from looking at them."""

    reader: InputReader
    classes: Any  # an array
    class_weight: dict[Any, float] | None


def look(learner: Any, number: int, X: Any, y: Any, weight: Any) -> Looks:
    """Look at a part, and summarise it where a booleanizer learns from that."""
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is not None and len(values) != X.shape[0]:
            raise ValueError(
                f"partition {number} of X has {X.shape[0]:,} rows, but that of {name} has "
                f"{len(values):,}; they must belong together, row by row"
            )
    seen = PartLooks.of(learner, X)
    if not seen.n_rows:
        return Looks(seen, None, 0.0)
    labels = check_labels(read_labels(y))
    if labels.multilabel:
        known = np.empty(0), np.empty(0, dtype=np.int64)
    else:
        known = np.unique(labels.values, return_counts=True)
    columns = labels.values.shape[1] if labels.multilabel else 1
    total = 1.0 if weight is None else float(_factors(labels, None, weight, None).sum())
    return Looks(seen, LabelLooks(labels.multilabel, labels.names, *known, columns), total)


def look_at_bits(learner: Any, X: Any) -> PartLooks:
    """Summarise a part of bits, too, since others hold other numbers."""
    return PartLooks.of(learner, X, also_bits=True)


def recount(learner: Any, X: Any, empty: Recount) -> Recount:
    """Look at a part more closely."""
    return count_again(learner, X, empty)


def make_rows(meanings: Meanings, X: Any, y: Any, weight: Any) -> Rows:
    """The bits, targets and weights of a part."""
    labels = read_labels(y)
    factors = _factors(labels, meanings.classes, weight, meanings.class_weight)
    targets: Any = make_targets(labels, meanings.classes)
    return Rows.of(meanings.reader.read(X), targets, factors)


def _factors(labels: Labels, classes: Any, weight: Any, class_weight: Any) -> NDArray[np.float64]:
    """What ``example_weights`` gives, also where no row of a part counts, but some of others."""
    if weight is None:
        return example_weights(labels, classes, None, class_weight)
    longer = labels._replace(values=np.concatenate([labels.values, labels.values[:1]]))
    weight = np.append(np.asarray(weight, dtype=np.float64), 1.0)
    return example_weights(longer, classes, weight, class_weight)[:-1]


def share(n_pools: int, n_rows: int, *pieces: Rows) -> Rows:
    """All rows of a share, from what each part has of it."""
    return require_rows(Rows.join(pieces), n_pools, n_rows)


def step(function: Callable[..., Any], *given: Any) -> Any:
    """A step of a training: a pool's on one thread, that of all clauses on all of a worker's."""
    course, *others = given
    if not isinstance(course, Course):
        return function(*given)
    alone = function is Course.visit and others[2] is None
    threads = distributed.get_worker().state.nthreads if alone else 1
    return function(replace(course, n_jobs=course.learner.n_jobs or threads), *others)
