"""How many threads the native backend takes where it may choose."""

from __future__ import annotations

from ..core.spec import Spec
from ..core.system import resolve_n_jobs

#: Nanoseconds of work that make a thread worth its meetings with the others, once per example
#: in training, and its start, once per prediction. Measured, see docs/performance.md; the
#: nanoseconds per clause below, too.
_STEP_WORTH = 4_000
_START_WORTH = 500_000

_SHORTEST = 0.005  # seconds that say something about speed
_FASTER = 0.9  # what counts as faster, in times per example
_FIRST_TRIAL, _LAST_TRIAL = 4, 64  # slices between two trials


def step_nanoseconds(spec: Spec) -> float:
    """What one example of training costs one thread, about."""
    return spec.n * (8 + spec.grid.n_literals / 100)


def prediction_nanoseconds(spec: Spec, rows: int) -> float:
    """What a prediction of so many rows costs one thread, about."""
    return spec.n * rows * (0.2 if spec.grid.is_flat else 3.0)


def prediction_threads(n_jobs: int | None, spec: Spec, rows: int) -> int:
    """Threads for one prediction."""
    return resolve_n_jobs(n_jobs, prediction_nanoseconds(spec, rows) / _START_WORTH)


def training_threads(n_jobs: int | None, spec: Spec) -> int:
    """The most threads that train; one without a clause would have nothing to do."""
    return min(spec.n, resolve_n_jobs(n_jobs, step_nanoseconds(spec) / _STEP_WORTH))


def training_thread_bytes(spec: Spec, threads: int) -> int:
    """Memory that one of so many threads takes for itself while a pass lasts."""
    grid, clauses, literals = spec.grid, -(-spec.n // threads), spec.grid.n_literals
    if grid.is_flat:  # a block of 512 examples, and the forgetting that clauses put off
        groups, pixels = 8, 8 * grid.n_features
        per_clause = 0 if spec.picks >= 0 else literals // 8 + 136
    else:  # a block of 64, in columns as many as the strides make
        stride = min(grid.stride_columns, grid.width)
        groups, row = 1, -(-grid.width // stride) * stride * grid.channels
        pixels = grid.depth * grid.height * row

        per_clause = 0
    if grid.is_flat and spec.picks >= 0 and literals > 4032:  # what is forgotten later
        per_clause += 8 * min(spec.picks // 65536, 8192) + literals // 64 + 128
    # Which fire, or a count of misses per example, and which are selected.
    per_clause += 1088 if grid.is_flat and spec.tolerance > 1 else 2 * 8 * groups
    per_clause += 8 + 3 * spec.m // 8
    return 16 * pixels + clauses * per_clause + literals + 4 * grid.n_patches + 32 * spec.m


class TrainingThreads:
    """Threads for one slice of training after the other.

    Asked for a number, it is that number. Left the choice, it begins with what the work could
    keep busy and now and then tries half as many or twice as many, because other processes may
    hold the processors that threads would wait for. The result does not depend on it.
    """

    def __init__(self, n_jobs: int | None, spec: Spec) -> None:
        self.most = training_threads(n_jobs, spec)
        self.current = self.most
        self._free = (n_jobs is None or n_jobs < 0) and self.most > 1
        self._pace: float | None = None  # seconds per example with the current number
        self._trial: int | None = None
        self._until_trial = self._between = _FIRST_TRIAL
        self._more = False

    def next(self) -> int:
        """The number for the slice to come."""
        if self._free and self._pace is not None:
            self._until_trial -= 1
            if self._until_trial <= 0:
                other = self.current * 2 if self._more else self.current // 2
                self._more = not self._more
                other = min(self.most, max(1, other))
                self._until_trial = self._between
                self._trial = other if other != self.current else None
        return self._trial or self.current

    def note(self, examples: int, seconds: float) -> None:
        """What the slice took."""
        if not self._free or seconds < _SHORTEST or not examples:
            return
        pace = seconds / examples
        if self._trial is None:
            self._pace = pace
        elif self._pace is not None and pace < _FASTER * self._pace:
            self.current, self._pace, self._between = self._trial, pace, _FIRST_TRIAL
        else:
            self._between = min(2 * self._between, _LAST_TRIAL)
        self._trial = None
