"""A machine at work: its state, the backend that has it, and passes that count whole."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .backends import Backend, TrainCounts, TrainingSet, backends_for, check_backend, make_backend
from .backends.feeding import Part, parts_of
from .backends.memory import check_fits_memory
from .backends.packing import PackedExamples
from .backends.threads import step_nanoseconds
from .core.examples import ChangingExamples, Examples, room_beside
from .core.forks import Lock, tell_after_fork
from .core.parameters import MachineParameters
from .core.patches import PatchGrid
from .core.randomness import pass_order
from .core.room import counted
from .core.sparse_targets import SparseTargets, Targets
from .core.spec import Spec, selection_scale
from .core.state import EarlierState, Snapshot, start_state, within_limits
from .core.system import resolve_n_jobs

if TYPE_CHECKING:
    from typing_extensions import Self

_logger = logging.getLogger(__name__)

#: Seconds a backend works before Python looks for Ctrl-C and shows progress.
_SLICE_SECONDS = 0.25
_FIRST_SLICE = 16
#: By how much the first examples may take longer than is to be expected of an example.
_SLOWER = 20


class Moment(NamedTuple):
    """What a machine is at one moment: replaced as a whole, so that nobody sees a mixture."""

    spec: Spec | None = None  # None before it has seen data
    state: Snapshot | None = None  # None while only the backend knows it
    step: int = 0
    earlier: tuple[EarlierState, ...] = ()
    backend: Backend | None = None
    pool: LiveMachine | None = None  # of the clauses of all states that vote, once asked for

    @classmethod
    def at(cls, spec: Spec | None, snapshot: Snapshot) -> Moment:
        return cls(spec, snapshot, snapshot.step, snapshot.earlier)


class LiveMachine:
    """What :class:`cotm.Machine` is made on: state, backend and training passes.

    Other threads may ask for anything at any time. So all that changes together is one
    :class:`Moment`, replaced as a whole, and a pass that fails or is stopped leaves the machine
    as it was before.
    """

    def __init__(
        self, parameters: MachineParameters, backend: str, n_jobs: int | None, seed: int
    ) -> None:
        check_backend(backend)
        resolve_n_jobs(n_jobs)
        self.parameters = parameters
        self.backend = backend
        self.n_jobs = n_jobs
        self.seed_ = seed
        self._slice: int | None = None  # examples; None before anything was timed
        self._live = Moment()
        self._before_pass = self._live
        self._pass_begun = False
        self._lock = Lock()  # for what _live refers to; held for a moment only
        self._training_lock = Lock()  # one pass at a time
        tell_after_fork(self)

    # State ---------------------------------------------------------------------------

    @property
    def spec(self) -> Spec:
        """The definition backends are given; the machine must have seen data."""
        return _trained(self._live)

    @property
    def step_(self) -> int:
        """Examples presented so far."""
        return self._live.step

    @property
    def backend_(self) -> str | None:
        """The backend at work; None before there is any."""
        backend = self._live.backend
        return None if backend is None else backend.name

    def snapshot(self) -> Snapshot:
        """The current state. The arrays are read-only: use :meth:`restore` to change it."""
        with self._lock:
            self._recover()
            if self._live.state is None:
                memory, weights = self._make_live().state()
                live = self._live
                self._live = live._replace(state=Snapshot(memory, weights, live.step, live.earlier))
            assert self._live.state is not None
            return self._live.state

    def snapshot_at(self, step: int) -> Snapshot | None:
        """The state at a step: the current one, or that before a pass that is just over."""
        with self._lock:
            if self._live.step == step:
                return self.snapshot()
            before = self._before_pass
            return before.state if before.step == step else None

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a state."""
        with self._lock:
            self._live = Moment.at(self._live.spec, snapshot)

    def with_state(self, snapshot: Snapshot) -> Self:
        """Another machine with the same parameters and seed, in the given state."""
        other = type(self).__new__(type(self))
        other.__setstate__(self._with_live(Moment.at(self._live.spec, snapshot)))
        return other

    def fresh(self) -> Self:
        """Another machine with the same parameters and seed, at the start."""
        return self.with_state(start_state(self.spec))

    def start(self, grid: PatchGrid, n_outputs: int) -> None:
        """Begin anew for examples of this shape: all literals excluded, weights +-1."""
        spec = Spec.of(self.parameters, grid, n_outputs, self.seed_)
        check_fits_memory(spec, self.parameters.average, self.n_jobs)
        if not spec.sharing and spec.n < spec.m:
            warnings.warn(
                f"n_clauses={spec.n} is fewer than the {spec.m} outputs, so some outputs own no "
                "clause and never get votes; use more clauses",
                UserWarning,
                stacklevel=2,
            )
        with self._lock:
            self._live = Moment.at(spec, start_state(spec))

    def load_state(self, grid: PatchGrid, snapshot: Snapshot) -> None:
        """Take over a state, brought within this machine's depth and caps."""
        spec = Spec.of(self.parameters, grid, snapshot.weights.shape[1], self.seed_)
        with self._lock:
            self._live = Moment.at(spec, within_limits(spec, snapshot, self.parameters.average))

    def adapt(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot, clipped to this machine's depth and caps."""
        return within_limits(self.spec, snapshot, self.parameters.average)

    def is_like(self, other: LiveMachine) -> bool:
        """Whether the other machine has the same parameters, seed and backend."""
        names = ("parameters", "seed_", "backend", "n_jobs")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def _make_live(self, name: str | None = None) -> Backend:
        """The backend at work, or the named one in its place."""
        with self._lock:  # two threads that both miss a backend must not make one each
            backend = self._live.backend
            if backend is None or (name is not None and backend.name != name):
                state = self.snapshot() if self._live.state is None else self._live.state
                backend = make_backend(
                    name or self.backend, self.spec, state.memory, state.weights, self.n_jobs
                )
                self._live = self._live._replace(backend=backend)
                _logger.debug("started the backend %s", backend.name)
            return backend

    def _backend_for(self, rows: int, *, training: bool, sampled: bool = False) -> Backend:
        """Start the backend that suits this much work, or go on with it."""
        *others, last = backends_for(
            self.backend, self.spec, rows, training=training, sampled=sampled
        )
        for name in others:
            try:
                return self._make_live(name)
            except MemoryError:  # the device that was to be faster is too small, or full
                _logger.warning("backend %s has no room for this machine; taking the next", name)
        return self._make_live(last)

    def _after_fork(self) -> None:
        """In a child: whoever was at work on the state has not come along."""
        backend = self._live.backend
        if backend is not None and hasattr(backend, "renew_locks"):
            backend.renew_locks()
        if self._pass_begun:
            self._go_back()

    def __getstate__(self) -> dict[str, Any]:
        # A backend may hold a device; the state starts it again.
        with self._lock:
            spec = self._live.spec
            return self._with_live(Moment() if spec is None else Moment.at(spec, self.snapshot()))

    def _with_live(self, live: Moment) -> dict[str, Any]:
        return {**self.__dict__, "_live": live, "_before_pass": live, "_pass_begun": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._training_lock = Lock(), Lock()
        tell_after_fork(self)

    # Training ------------------------------------------------------------------------

    def prepare(
        self,
        examples: Examples | ChangingExamples | PackedExamples,
        targets: Targets,
        weight: NDArray[np.float64],
    ) -> TrainingSet:
        """Bring checked examples to the backend, once for many passes unless they change or lie
        in a file."""
        sampled = isinstance(targets, SparseTargets)
        backend = self._backend_for(len(examples), training=True, sampled=sampled)
        data: Any = examples
        if isinstance(examples, PackedExamples):
            data = examples.on(backend)
        elif isinstance(examples, Examples) and not examples.are_stored:
            data = backend.prepare(examples)
        scales = selection_scale(self.parameters.e, weight, room_beside(examples))
        if not isinstance(targets, SparseTargets):
            targets = np.ascontiguousarray(targets)
        return TrainingSet(backend.name, data, targets, weight, scales)

    def train_pass(
        self,
        training: TrainingSet,
        *,
        shuffle: bool = True,
        should_stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[int], None] = lambda done: None,
        amend: Callable[[Snapshot, Snapshot], Snapshot] | None = None,
    ) -> TrainCounts | None:
        """One pass. None, with the state from before the pass, if it was stopped midway.

        ``amend`` makes another state of the one that the pass came to and the one before.
        """
        with self._training_lock:
            if self._pass_begun:  # one that was left while it was being undone
                self.undo_pass()
            backend, count = self._make_live(training.backend), len(training)
            room = room_beside(training.data)
            order = (
                pass_order(self.seed_, self.step_, count, room) if shuffle else counted(count, room)
            )
            # A pass of one slice is never left midway, so small batches need no copy of the
            # state but the backend's mark. Whoever asks for the state meanwhile waits.
            if count <= _FIRST_SLICE and self.parameters.average == 1 and amend is None:
                with self._lock:
                    return self._train_at_once(backend, training, order, on_progress)
            return self._train_in_slices(backend, training, order, should_stop, on_progress, amend)

    def undo_pass(self) -> None:
        """Go back to before the last pass. No other may have begun since."""
        with self._training_lock, self._lock:
            self._go_back()

    def _recover(self) -> None:
        """Go back from a pass that was left while it was being undone, if there is one."""
        lock = self._training_lock
        if not self._pass_begun or lock.is_mine():  # or this thread is in the middle of it
            return
        try:
            if lock.acquire(blocking=False) and self._pass_begun:
                self._go_back()
        finally:
            try:  # noqa: SIM105 - Ctrl-C could come between entering `suppress` and the release
                lock.release()
            except RuntimeError:  # somebody else has it, and is training
                pass

    def _go_back(self) -> None:
        before = self._before_pass
        if before.state is None:
            assert before.backend is not None
            before.backend.undo()
            self._live = before
        else:
            self._live = before._replace(backend=None)  # what was trained is not what is wanted
        self._pass_begun = False

    def _train_at_once(
        self,
        backend: Backend,
        training: TrainingSet,
        order: NDArray[np.int64],
        on_progress: Callable[[int], None],
    ) -> TrainCounts:
        backend.mark()
        before = self._before_pass = self._live._replace(state=None)
        self._pass_begun = True
        try:
            with closing(parts_of(training, backend, order, before.step, n_jobs=1)) as parts:
                part = next(parts)  # all of them; what comes after it writes to the order
                counts = _train_slice(backend, part, before.step, 0, len(order))
            on_progress(len(order))
            self._live = before._replace(step=before.step + len(order))
            self._pass_begun = False
        except BaseException:
            self._go_back()
            raise
        return counts

    def _train_in_slices(
        self,
        backend: Backend,
        training: TrainingSet,
        order: NDArray[np.int64],
        should_stop: Callable[[], bool],
        on_progress: Callable[[int], None],
        amend: Callable[[Snapshot, Snapshot], Snapshot] | None,
    ) -> TrainCounts | None:
        state, count = self.snapshot(), len(order)
        self._before_pass = self._live
        self._pass_begun = True
        size = self._slice or self._first_slice()
        total, done = TrainCounts(0, 0), 0
        try:
            with closing(parts_of(training, backend, order, state.step, self.n_jobs)) as parts:
                part = next(parts)
                while done < count:
                    if should_stop():
                        self.undo_pass()
                        return None
                    if done == part.last:
                        part = next(parts)
                    began = time.perf_counter()
                    last = min(done + size, part.last)
                    counts = _train_slice(backend, part, state.step, done, last)
                    total = TrainCounts(*map(sum, zip(total, counts, strict=True)))
                    spent = time.perf_counter() - began
                    wanted = (last - done) * _SLICE_SECONDS / max(spent, 1e-9)
                    size = math.ceil(min(2 * size, max(1, wanted)))
                    done = last
                    on_progress(done)
            self._slice = size
            earlier = state.earlier
            if self.parameters.average > 1 and state.step > 0:
                earlier = (*earlier, state.as_earlier())[1 - self.parameters.average :]
            now = Moment(self.spec, None, state.step + count, earlier, backend)
            if amend is not None:
                after = Snapshot(*backend.state(), now.step, earlier)
                amended = amend(after, state)
                same = amended is after
                now = now._replace(state=after) if same else Moment.at(now.spec, amended)
            with self._lock:
                self._live = now
                self._pass_begun = False
        except BaseException:
            self.undo_pass()  # a pass counts whole or not at all
            raise
        return total

    def _first_slice(self) -> int:
        likely = _SLICE_SECONDS * 1e9 / step_nanoseconds(self.spec)
        return max(_FIRST_SLICE, int(likely / _SLOWER))


def _train_slice(backend: Backend, part: Part, step: int, first: int, last: int) -> TrainCounts:
    """The rows from first to last of the pass that began at a step, all in one part."""
    return backend.train(part.data, part.targets, part.scales, part.order, step, first, last)


def _trained(live: Moment) -> Spec:
    if live.spec is None:
        raise ValueError("this Machine has not been trained yet; call fit or partial_fit first")
    return live.spec
