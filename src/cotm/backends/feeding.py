"""The examples of a pass, part by part: those that change are made, and those that lie in a file
are read, while others are trained on."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.examples import ChangingExamples, Examples
from ..core.patches import PatchGrid
from ..core.sparse_targets import Targets
from ..core.system import resolve_n_jobs
from .protocol import Backend, TrainingSet

#: The first part is small, so that training begins at once. Each is twice the one before it, up
#: to so many rows and bytes of bits: more at a time would make nothing faster, and Ctrl-C slower.
_FIRST_ROWS, _MOST_ROWS, _MOST_BYTES = 64, 4096, 64_000_000
#: Of examples in a file, which takes them at the less the more they are.
_MOST_STORED_ROWS, _MOST_STORED_BYTES = 1 << 16, 16_000_000


class Part(NamedTuple):
    """What a backend gets for rows of a pass: up to ``last``, from where the part before ended."""

    data: Any
    targets: Targets
    scales: NDArray[np.uint64]
    order: NDArray[np.int64]  # of the pass, in rows of the data; what was presented before is 0
    last: int


def parts_of(
    training: TrainingSet,
    backend: Backend,
    order: NDArray[np.int64],
    step: int,
    n_jobs: int | None,
) -> Generator[Part, None, None]:
    """The parts of the pass that begins at ``step``; one of what the backend has in its form.

    To be closed, so that nothing is made any more for a pass that was left. ``order`` is written
    to.
    """
    count, data = len(order), training.data
    make: Callable[[NDArray[np.int64]], Examples]
    most = _MOST_ROWS, _MOST_BYTES
    if isinstance(data, ChangingExamples):
        make = partial(data.of_pass, step)
    elif isinstance(data, Examples) and data.are_stored:
        make, most = data.__getitem__, (_MOST_STORED_ROWS, _MOST_STORED_BYTES)
    else:
        yield Part(data, training.targets, training.scales, order, count)
        return
    one_scale = len(training.scales) == 1
    borders = _borders(count, data.grid, *most)
    parts = [order[first:last] for first, last in borders]
    with closing(_made_ahead(make, parts, n_jobs)) as made:
        for (first, last), rows, examples in zip(borders, parts, made, strict=True):
            part_of_data = backend.prepare(examples)
            targets = (
                data.targets_of_pass(step, rows, training.targets)
                if isinstance(data, ChangingExamples)
                else training.targets[rows]
            )
            scales = training.scales if one_scale else training.scales[rows]
            rows[:] = np.arange(last - first)
            yield Part(part_of_data, targets, scales, order[:last], last)
            rows[:] = 0


def _borders(count: int, grid: PatchGrid, most_rows: int, most_bytes: int) -> list[tuple[int, int]]:
    """Where parts of so many examples begin and end."""
    fitting = most_bytes // int(np.prod(grid.image_shape))
    most = max(_FIRST_ROWS, min(most_rows, fitting))
    borders, first, size = [], 0, _FIRST_ROWS
    while first < count:
        last = min(first + min(size, most), count)
        borders.append((first, last))
        first, size = last, 2 * size
    return borders


def _made_ahead(
    make: Callable[[NDArray[np.int64]], Examples],
    parts: Sequence[NDArray[np.int64]],
    n_jobs: int | None,
) -> Generator[Examples, None, None]:
    """What ``make`` gives for one part after the other, each while the one before is in use."""
    if resolve_n_jobs(n_jobs, useful=2) == 1:
        yield from map(make, parts)
        return
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(make, parts[0])
        for following in parts[1:]:
            examples, coming = coming.result(), thread.submit(make, following)
            yield examples
        yield coming.result()
