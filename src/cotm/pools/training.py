"""The way of a training by pools, step by step, wherever each step is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .course import Course, united

#: Does a step, or promises to: ``do(function, *arguments)``, of which some may be promises.
Do = Callable[..., Any]
#: Told of an epoch, with the counts of its passes, or promises of them.
EpochDone = Callable[[int, list[Any]], None]


def train(course: Course, shares: Sequence[Any], do: Do, epoch_done: EpochDone) -> Any:
    """The state in the end, or the promise of it.

    Steps depend on each other by what they take and give and by nothing else, so they may be done
    anywhere, in any order in which that is there, and again where it is lost.
    """
    options = course.options
    states = [do(Course.start, course, pool) for pool in range(options.n_pools)]
    for epoch in range(1, course.epochs + 1):
        counts: list[Any] = []
        for pool, state in enumerate(states):
            turns = [shares[share] for share in options.shares_of(pool, epoch)]
            states[pool] = _in_epoch(course, state, turns, pool, epoch, do, counts)
        epoch_done(epoch, counts)
    whole = do(united, *states)
    for epoch in range(course.epochs + 1, course.last_epoch + 1):
        counts = []
        # No share is the last one every time.
        turns = [shares[(epoch + turn) % options.n_pools] for turn in range(options.n_pools)]
        whole = _in_epoch(course, whole, turns, None, epoch, do, counts)
        epoch_done(epoch, counts)
    return whole


def _in_epoch(
    course: Course,
    state: Any,
    turns: Sequence[Any],
    pool: int | None,
    epoch: int,
    do: Do,
    counts: list[Any],
) -> Any:
    for turn, rows in enumerate(turns):
        after = do(Course.visit, course, state, rows, pool, epoch, turn == 0)
        state = after[0]
        counts.append(after[1])
    return state
