"""The machine: parameters, state, and passes over examples on a backend."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .backends import (
    Backend,
    TrainCounts,
    choose_backend,
    make_backend,
    resolve_backend,
    smaller_backend,
)
from .core.examples import Examples, as_examples
from .core.forks import Lock, tell_after_fork
from .core.gpu_arrays import to_host
from .core.interrupts import InterruptFlag
from .core.parameters import (
    MAX_CLAUSES,
    MAX_OUTPUTS,
    MAX_T,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_pair,
    resolve_n_jobs,
)
from .core.patches import MAX_FEATURES, PatchGrid, image_grid
from .core.randomness import new_seed, pass_order
from .core.spec import WEIGHT_LIMIT, Spec, forget_threshold, selection_scale
from .core.state import (
    EarlierState,
    Snapshot,
    check_fits_memory,
    start_state,
    voters,
    within_limits,
)

#: Seconds a backend works before Python looks for Ctrl-C and shows progress.
_SLICE_SECONDS = 0.25
_FIRST_SLICE = 16
#: The most states that vote together; more would take much memory for little.
MAX_AVERAGE = 1000
#: Rows predicted at a time, so that predicting many rows needs little memory.
_PREDICTION_ROWS = 1 << 14


@dataclass(frozen=True)
class TrainingSet:
    """Examples in a backend's form, with their targets and selection factors."""

    backend: str  # whose form it is
    data: Any
    targets: NDArray[np.uint8]
    weight: NDArray[np.float64]  # per example, or one for all
    scales: NDArray[np.uint64]  # of the weights, for the machine's e

    def __len__(self) -> int:
        return len(self.targets)


class _Live(NamedTuple):
    """What a machine is at one moment: replaced as a whole, so that nobody sees a mixture."""

    spec: Spec | None = None  # None before it has seen data
    state: Snapshot | None = None  # None while only the backend knows it
    step: int = 0
    earlier: tuple[EarlierState, ...] = ()
    backend: Backend | None = None
    pool: Machine | None = None  # of the clauses of all states that vote, once asked for

    @classmethod
    def at(cls, spec: Spec | None, snapshot: Snapshot) -> _Live:
        return cls(spec, snapshot, snapshot.step, snapshot.earlier)


class Machine:
    """A Coalesced Tsetlin Machine over bits: any number of outputs, from one up.

    The estimators :class:`cotm.CoTMClassifier` and :class:`cotm.TMClassifier` put labels,
    real-valued data and early stopping around it.

    Parameters
    ----------
    n_clauses : int
        Clauses in the pool that all outputs share.
    T : int
        Voting margin: an output stops asking for feedback once its votes reach it.
    s : float
        Specificity, 1 or more: a literal is forgotten with probability 1/s.
    patch_shape, stride
        Convolution: ``(h, w)`` over X of shape (N, H, W[, C]), or ``(w,)`` over
        (N, length[, C]). None: X is (N, o), dense or scipy.sparse.
    memory_depth : int
        N, from 1 to 128: an entry is in [-N, N - 1] and includes its literal iff >= 0.
    e, e_scales
        Factor on the selection probability of pairs with y = 0 (``"output"``) or of
        Type II pairs (``"type2"``).
    boost_true_positive : bool
        Memorize with probability 1 instead of (s - 1)/s.
    max_literals, max_weight : int or None
        Caps on a clause's literals and on a weight's magnitude.
    average : int
        How many states vote: the current one and those before each of the last passes. Votes
        are their sum. 1: the current one alone.
    sharing, weighted : bool
        Without sharing, clause j belongs to output ``j * m // n``; ``weighted`` says
        whether its weight learns (weighted Tsetlin machine) or stays +-1 (plain).
    backend, n_jobs
        Where and on how many threads it runs; the result is the same everywhere.
    random_state : int or None
        The seed; None draws one.

    Examples
    --------
    XOR, AND and OR of two bits as three outputs that share clauses:

    >>> import numpy as np, cotm
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50)
    >>> a, b = X.T
    >>> Y = np.column_stack([a ^ b, a & b, a | b])
    >>> machine = cotm.Machine(n_clauses=20, T=15, s=3.9, random_state=1)
    >>> machine.fit(X, Y, epochs=40).predict(X[:4])
    array([[0, 0, 0],
           [1, 0, 1],
           [1, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """

    def __init__(
        self,
        n_clauses: int,
        T: int,
        s: float = 10.0,
        *,
        patch_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        memory_depth: int = 128,
        e: float = 1.0,
        e_scales: str = "output",
        boost_true_positive: bool = True,
        max_literals: int | None = None,
        max_weight: int | None = None,
        average: int = 1,
        sharing: bool = True,
        weighted: bool = True,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clauses = check_integer("n_clauses", n_clauses, 1, MAX_CLAUSES)
        self.T = check_integer("T", T, 1, MAX_T)
        self.s = check_number("s", s, 1.0)
        self.patch_shape = (
            None
            if patch_shape is None
            else check_pair("patch_shape", patch_shape, lengths=(1, 2), scalar=False)
        )
        self.stride = check_pair("stride", stride, lengths=(1, 2), scalar=True)
        self.memory_depth = check_integer("memory_depth", memory_depth, 1, 128)
        self.e = check_number("e", e, 0.0)
        self.e_scales = check_choice("e_scales", e_scales, ("output", "type2"))
        self.boost_true_positive = check_flag("boost_true_positive", boost_true_positive)
        self.max_literals = (
            None
            if max_literals is None
            else check_integer("max_literals", max_literals, 1, 2 * MAX_FEATURES)
        )
        self.max_weight = (
            None if max_weight is None else check_integer("max_weight", max_weight, 1, WEIGHT_LIMIT)
        )
        self.average = check_integer("average", average, 1, MAX_AVERAGE)
        self.sharing = check_flag("sharing", sharing)
        self.weighted = check_flag("weighted", weighted)
        resolve_backend(backend)
        self.backend = backend
        self.n_jobs = n_jobs
        resolve_n_jobs(n_jobs)
        self.seed_ = new_seed(random_state)
        self._slice = _FIRST_SLICE
        self._live = _Live()
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
    def memory_(self) -> NDArray[np.int8]:
        """Memory, (n, L): a literal is included iff its entry is >= 0.

        With ``average`` it is of all states that vote, one below the other, the current one
        last; of the others only what is included is known, as 0 and -1.
        """
        return self._pool().snapshot().memory

    @property
    def weights_(self) -> NDArray[np.int32]:
        """Weights, (n, m); with ``average`` of all states that vote, as :attr:`memory_`."""
        return self._pool().snapshot().weights

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
            self._live = _Live.at(self._live.spec, snapshot)

    def with_state(self, snapshot: Snapshot) -> Machine:
        """Another machine with the same parameters and seed, in the given state."""
        other = Machine.__new__(Machine)
        other.__setstate__(self._with_live(_Live.at(self._live.spec, snapshot)))
        return other

    def fresh(self) -> Machine:
        """Another machine with the same parameters and seed, at the start."""
        return self.with_state(start_state(self.spec))

    def start(self, grid: PatchGrid, n_outputs: int) -> None:
        """Begin anew for examples of this shape: all literals excluded, weights +-1."""
        spec = self.make_spec(grid, n_outputs)
        check_fits_memory(spec, self.average, self.n_jobs)
        if not spec.sharing and spec.n < spec.m:
            warnings.warn(
                f"n_clauses={spec.n} is fewer than the {spec.m} outputs, so some outputs own no "
                "clause and never get votes; use more clauses",
                UserWarning,
                stacklevel=2,
            )
        with self._lock:
            self._live = _Live.at(spec, start_state(spec))

    def load_state(self, grid: PatchGrid, snapshot: Snapshot) -> None:
        """Take over a state, brought within this machine's depth and caps."""
        spec = self.make_spec(grid, snapshot.weights.shape[1])
        with self._lock:
            self._live = _Live.at(spec, within_limits(spec, snapshot, self.average))

    def adapt(self, snapshot: Snapshot) -> Snapshot:
        """A state of a machine with other parameters as this one could have it."""
        return within_limits(self.spec, snapshot, self.average)

    def describes(self, other: Machine) -> bool:
        """Whether the other machine is this one, with the same parameters and backend."""
        mine, theirs = self.make_spec(other.spec.grid, other.spec.m), other.spec
        names = ("backend", "n_jobs", "e", "average")
        return mine == theirs and all(getattr(self, k) == getattr(other, k) for k in names)

    def make_spec(self, grid: PatchGrid, n_outputs: int) -> Spec:
        """The machine's definition for examples of this shape."""
        if grid.n_features > MAX_FEATURES:
            raise ValueError(f"X has {grid.n_features} bits per patch; at most {MAX_FEATURES} work")
        return Spec(
            n=self.n_clauses,
            m=check_integer("the number of outputs", n_outputs, 1, MAX_OUTPUTS),
            grid=grid,
            T=self.T,
            q=forget_threshold(self.s),
            N=self.memory_depth,
            boost_true_positive=self.boost_true_positive,
            e_scales_type2=self.e_scales == "type2",
            max_literals=self.max_literals or 0,
            max_weight=self.max_weight or WEIGHT_LIMIT,
            sharing=self.sharing,
            learn_weights=self.sharing or self.weighted,
            seed=self.seed_,
        )

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
            return backend

    def _backend_for(self, rows: int, *, training: bool) -> Backend:
        """The backend for this much work, ready."""
        name = choose_backend(self.backend, self.spec, rows, training=training)
        try:
            return self._make_live(name)
        except MemoryError:  # the device that was to be faster is too small, or full
            other = smaller_backend(name, self.backend)
            if other is None:
                raise
            return self._make_live(other)

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
            return self._with_live(_Live() if spec is None else _Live.at(spec, self.snapshot()))

    def _with_live(self, live: _Live) -> dict[str, Any]:
        return {**self.__dict__, "_live": live, "_before_pass": live, "_pass_begun": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._training_lock = Lock(), Lock()
        tell_after_fork(self)

    # Training ------------------------------------------------------------------------

    def fit(
        self, X: Any, Y: ArrayLike, *, epochs: int = 1, sample_weight: ArrayLike | None = None
    ) -> Machine:
        """Learn from scratch, in ``epochs`` shuffled passes. Ctrl-C keeps the finished ones."""
        epochs = check_integer("epochs", epochs, 0)
        examples, targets, weight = self._check_training(X, Y, sample_weight, grid=None)
        before = self._live
        try:
            self.start(examples.grid, targets.shape[1])
            training = self.prepare(examples, targets, weight)
        except BaseException:
            self._live = before
            raise
        with InterruptFlag() as interrupt:
            for _ in range(epochs):
                if self.train_pass(training, should_stop=interrupt) is None:
                    break
        return self

    def partial_fit(
        self, X: Any, Y: ArrayLike, *, sample_weight: ArrayLike | None = None
    ) -> Machine:
        """One pass over the examples in the given order, from the current state on."""
        before = self._live
        grid = None if before.spec is None else before.spec.grid
        examples, targets, weight = self._check_training(X, Y, sample_weight, grid)
        if before.spec is not None and targets.shape[1] != before.spec.m:
            raise ValueError(
                f"Y has {targets.shape[1]} outputs, but this Machine has {before.spec.m}"
            )
        try:
            if before.spec is None:
                self.start(examples.grid, targets.shape[1])
            training = self.prepare(examples, targets, weight)
        except BaseException:
            if before.spec is None:
                self._live = before
            raise
        with InterruptFlag() as interrupt:
            self.train_pass(training, shuffle=False, should_stop=interrupt)
        return self

    def _check_training(
        self, X: Any, Y: ArrayLike, sample_weight: ArrayLike | None, grid: PatchGrid | None
    ) -> tuple[Examples, NDArray[np.uint8], NDArray[np.float64]]:
        examples = as_examples(X, grid or self.grid_for(X))
        targets = np.asarray(to_host(Y))
        if targets.ndim == 1:
            targets = targets[:, None]
        if targets.ndim != 2 or targets.dtype.kind not in "biuf" or targets.shape[1] < 1:
            raise ValueError(
                f"Y must be (N, outputs) of 0 and 1, not {targets.dtype} {targets.shape}"
            )
        if not ((targets == 0) | (targets == 1)).all():
            raise ValueError("Y holds values other than 0 and 1; it needs one column per output")
        if len(examples) == 0:
            raise ValueError("X holds no examples")
        if len(targets) != len(examples):
            raise ValueError(f"X has {len(examples)} examples, but Y has {len(targets)} rows")
        weight = np.ones(1)
        if sample_weight is not None:
            weight = np.asarray(to_host(sample_weight), dtype=float)
        check_weights(weight, len(examples), given=sample_weight is not None)
        return examples, targets.astype(np.uint8), weight

    def grid_for(self, X: Any) -> PatchGrid:
        """Where patches lie in examples of X's shape."""
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if self.patch_shape is not None:
            return image_grid(tuple(shape[1:]), self.patch_shape, self.stride)
        if len(shape) != 2 or shape[1] < 1:
            raise ValueError(
                f"X has shape {tuple(shape)}; it must be (N, bits), or set patch_shape for images"
            )
        return PatchGrid.flat(shape[1])

    def prepare(
        self, examples: Examples, targets: NDArray[np.uint8], weight: NDArray[np.float64]
    ) -> TrainingSet:
        """Bring checked examples to the backend, once for many passes."""
        backend = self._backend_for(len(examples), training=True)
        data = backend.prepare(examples)
        scales = selection_scale(self.e, weight)
        return TrainingSet(backend.name, data, np.ascontiguousarray(targets), weight, scales)

    def train_pass(
        self,
        training: TrainingSet,
        *,
        shuffle: bool = True,
        should_stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> TrainCounts | None:
        """One pass. None, with the state from before the pass, if it was stopped midway."""
        with self._training_lock:
            if self._pass_begun:  # one that was left while it was being undone
                self.undo_pass()
            backend, count = self._make_live(training.backend), len(training)
            order = (
                pass_order(self.seed_, self.step_, count)
                if shuffle
                else np.arange(count, dtype=np.int64)
            )
            # A pass of one slice is never left midway, so small batches need no copy of the
            # state but the backend's mark. Whoever asks for the state meanwhile waits.
            if count <= _FIRST_SLICE and self.average == 1:
                with self._lock:
                    return self._train_at_once(backend, training, order, on_progress)
            return self._train_in_slices(backend, training, order, should_stop, on_progress)

    def undo_pass(self) -> None:
        """Go back to before the last pass. No other may have begun since."""
        with self._training_lock, self._lock:
            self._go_back()

    def _recover(self) -> None:
        """Go back from a pass that was left while it was being undone, if there is one."""
        if self._pass_begun and self._training_lock.take(blocking=False):
            try:
                if self._pass_begun and self._training_lock.is_outermost():
                    self._go_back()
            finally:
                self._training_lock.leave()

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
            counts = backend.train(
                training.data, training.targets, training.scales, order, before.step
            )
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
    ) -> TrainCounts | None:
        state, count = self.snapshot(), len(order)
        self._before_pass = self._live
        self._pass_begun = True
        size = min(self._slice, max(_FIRST_SLICE, count // 4))
        hits = correct = done = 0
        try:
            while done < count:
                if should_stop():
                    self.undo_pass()
                    return None
                began = time.perf_counter()
                last = min(done + size, count)
                counts = backend.train(
                    training.data, training.targets, training.scales, order, state.step, done, last
                )
                hits, correct = hits + counts.hits, correct + counts.correct
                spent = time.perf_counter() - began
                wanted = (last - done) * _SLICE_SECONDS / max(spent, 1e-9)
                size = math.ceil(min(2 * size, max(1, wanted)))
                done = last
                on_progress(done)
            self._slice = size
            earlier = state.earlier
            if self.average > 1 and state.step > 0:
                earlier = (*earlier, state.past())[1 - self.average :]
            with self._lock:
                self._live = _Live(self.spec, None, state.step + count, earlier, backend)
                self._pass_begun = False
        except BaseException:
            self.undo_pass()  # a pass counts whole or not at all
            raise
        return TrainCounts(hits, correct)

    # Prediction ----------------------------------------------------------------------

    def votes(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Vote sums, (N, m), unclipped, with ``average`` of all states that vote.

        ``n_jobs`` as in the constructor, whose is the default.
        """
        return self._pool()._in_blocks(X, "votes", n_jobs)

    def votes_of_states(
        self, X: Any, *, n_jobs: int | None = None
    ) -> tuple[NDArray[np.int64], int]:
        """Vote sums, and the number of states whose votes they are."""
        pool = self._pool()
        return pool._in_blocks(X, "votes", n_jobs), pool.n_clauses // self.n_clauses

    @property
    def n_states_(self) -> int:
        """How many states vote."""
        return 1 + len(self._live.earlier)

    def _pool(self) -> Machine:
        """A machine whose pool holds the clauses of all states that vote: mostly this one."""
        if not self._live.earlier:
            return self
        with self._lock:
            pool = self._live.pool
            if pool is None:
                state = self.snapshot()
                memory, weights = voters(state)
                pool = Machine(len(memory), self.T, backend=self.backend, n_jobs=self.n_jobs)
                pool.load_state(self.spec.grid, Snapshot(memory, weights, state.step))
                self._live = self._live._replace(pool=pool)
            return pool

    def clause_outputs(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.bool_]:
        """Which clauses fire, (N, n); a clause without literals never does.

        With ``average`` the clauses of all states that vote, as in :attr:`weights_`: the
        product of the two is what :meth:`votes` gives.
        """
        return self._pool()._in_blocks(X, "clause_outputs", n_jobs)

    def predict(self, X: Any) -> NDArray[np.uint8]:
        """Each output, (N, m): 1 where its votes are 0 or more."""
        return (self.votes(X) >= 0).astype(np.uint8)

    def _in_blocks(self, X: Any, call: str, n_jobs: int | None) -> NDArray[Any]:
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        resolve_n_jobs(n_jobs)
        live = self._live
        examples = as_examples(X, _trained(live).grid)
        backend = live.backend or self._backend_for(len(examples), training=False)
        try:
            return self._predict_on(backend, examples, call, n_jobs)
        except RuntimeError:
            # Training failed midway on this backend: wait until the state before it is back.
            with self._training_lock:
                if self._live.backend is backend:
                    raise
                backend = self._backend_for(len(examples), training=False)
            return self._predict_on(backend, examples, call, n_jobs)

    @staticmethod
    def _predict_on(
        backend: Backend, examples: Examples, call: str, n_jobs: int | None
    ) -> NDArray[Any]:
        found: NDArray[Any] | None = None
        for first in range(0, max(1, len(examples)), _PREDICTION_ROWS):
            block = backend.prepare(examples[first : first + _PREDICTION_ROWS])
            part = getattr(backend, call)(block, n_jobs)
            if len(part) == len(examples):
                return np.asarray(part)
            if found is None:
                found = np.empty((len(examples), part.shape[1]), dtype=part.dtype)
            found[first : first + len(part)] = part
        assert found is not None
        return found


def _trained(live: _Live) -> Spec:
    if live.spec is None:
        raise ValueError("this Machine has not been trained yet; call fit or partial_fit first")
    return live.spec


def check_weights(weight: NDArray[np.float64], n_examples: int, *, given: bool) -> None:
    """Example weights: one per example, finite, not negative."""
    if not given:
        return
    if weight.shape != (n_examples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {n_examples} examples")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
