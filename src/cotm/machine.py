"""The public machine: bits in, outputs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from .backends import Backend
from .core.checks import check_integer, check_pair
from .core.examples import Examples, as_examples
from .core.gpu_arrays import to_host
from .core.interrupts import InterruptFlag
from .core.limits import MAX_T
from .core.parameters import OPTIONS, MachineParameters, takes_options
from .core.patches import PatchGrid, image_grid
from .core.randomness import new_seed
from .core.sparse_targets import SparseTargets, Targets
from .core.state import Snapshot, voters
from .core.system import resolve_n_jobs
from .live import LiveMachine

if TYPE_CHECKING:
    from typing_extensions import Self

#: Rows predicted at a time, so that predicting many rows needs little memory.
_PREDICTION_ROWS = 1 << 14


class Machine(LiveMachine):
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
        Convolution: ``(h, w)`` over X of shape (N, H, W[, C]), ``(w,)`` over (N, length[, C]),
        or ``(d, h, w)`` over (N, D, H, W[, C]). None: X is (N, o), dense or scipy.sparse.
    backend, n_jobs
        Where and on how many threads it runs; the result is the same everywhere.
    random_state : int or None
        The seed; None draws one.
    **options
        The other learning options, by the names that :class:`cotm.CoTMClassifier` has for them;
        their defaults are in the signature. ``average`` counts passes here. Two more say what
        classifiers say by their class: without ``sharing``, clause j belongs to output
        ``j * m // n``, and ``weighted`` says whether its weight is learned or stays at 1.

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

    @takes_options
    def __init__(
        self,
        n_clauses: int,
        T: int,
        s: float = 10.0,
        *,
        patch_shape: tuple[int, ...] | None = None,
        stride: int | tuple[int, ...] = 1,
        backend: str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = None,
        **options: Any,
    ) -> None:
        unknown = [name for name in options if name not in OPTIONS]
        if unknown:
            raise TypeError(
                f"Machine got an unexpected option {unknown[0]!r}; it has {', '.join(OPTIONS)}"
            )
        parameters = MachineParameters(n_clauses, T, s, **options)
        self.patch_shape = (
            None
            if patch_shape is None
            else check_pair("patch_shape", patch_shape, lengths=(1, 2, 3), scalar=False)
        )
        self.stride = check_pair("stride", stride, lengths=(1, 2, 3), scalar=True)
        super().__init__(parameters, backend, n_jobs, new_seed(random_state))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The parameters by their names."""
            if name in OPTIONS:
                return getattr(self.parameters, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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

    # Training ------------------------------------------------------------------------

    def fit(
        self, X: Any, Y: ArrayLike, *, epochs: int = 1, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from scratch, in ``epochs`` shuffled passes. Ctrl-C keeps the finished ones.

        Y is (N, m) of 0 and 1. An example may ask some of the outputs only: then Y has NaN where
        a target is not known, or is a scipy.sparse matrix that stores the targets that are, zeros
        too. The others learn nothing from the example, and a step costs no more for them.
        """
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

    def partial_fit(self, X: Any, Y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Self:
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
    ) -> tuple[Examples, Targets, NDArray[np.float64]]:
        examples = as_examples(X, grid or self.grid_for(X))
        targets = self._check_targets(Y)
        if len(examples) == 0:
            raise ValueError("X holds no examples")
        if len(targets) != len(examples):
            raise ValueError(f"X has {len(examples)} examples, but Y has {len(targets)} rows")
        if sample_weight is None:
            weight = np.ones(1)
        else:
            weight = np.asarray(to_host(sample_weight), dtype=float)
            _check_weights(weight, len(examples))
        return examples, targets, weight

    def _check_targets(self, Y: Any) -> Targets:
        """Targets of all outputs, or of those that are known."""
        sampled = scipy.sparse.issparse(Y)
        targets: Any = Y if sampled else np.asarray(to_host(Y))
        if targets.ndim == 1 and not sampled:
            targets = targets[:, None]
        if targets.ndim != 2 or targets.dtype.kind not in "biuf" or targets.shape[1] < 1:
            raise ValueError(
                f"Y must be (N, outputs) of 0 and 1, not {targets.dtype} {targets.shape}"
            )
        known = targets.data if sampled else targets
        unknown = np.isnan(known) if known.dtype.kind == "f" else np.zeros(1, dtype=bool)
        if sampled and unknown.any():
            raise ValueError("Y stores NaN; of a sparse Y leave out what is not known")
        given = known[~unknown] if unknown.any() else known
        if self.parameters.regression:
            check_aims(given)
        elif not ((given == 0) | (given == 1)).all():
            raise ValueError("Y holds values other than 0 and 1; it needs one column per output")
        kind = np.int32 if self.parameters.regression else np.uint8
        if sampled:
            return SparseTargets.of(targets, kind)
        if unknown.any():
            return SparseTargets.where(~unknown, np.where(unknown, 0, known).astype(kind))
        return np.asarray(known, dtype=kind)

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

    # Prediction ----------------------------------------------------------------------

    def votes(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Vote sums, (N, m), unclipped; with ``average`` those of all states that vote.

        ``n_jobs`` is as in the constructor, and None is what was given there.
        """
        return self._pool()._predict(X, n_jobs, lambda backend: backend.votes)

    def votes_of_states(
        self, X: Any, *, n_jobs: int | None = None
    ) -> tuple[NDArray[np.int64], int]:
        """Vote sums, and the number of states whose votes they are."""
        pool = self._pool()
        votes = pool._predict(X, n_jobs, lambda backend: backend.votes)
        return votes, pool.parameters.n_clauses // self.parameters.n_clauses

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
                as_here = {
                    name: getattr(self.parameters, name)
                    for name, option in OPTIONS.items()
                    if option.pooled is None and not option.is_kind
                }
                pool = Machine(
                    len(memory),
                    self.parameters.T,
                    **as_here,
                    backend=self.backend,
                    n_jobs=self.n_jobs,
                )
                pool.load_state(self.spec.grid, Snapshot(memory, weights, state.step))
                self._live = self._live._replace(pool=pool)
            assert isinstance(pool, Machine)
            return pool

    def clause_outputs(self, X: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Which clauses fire, (N, n); a clause without literals never does.

        With a tolerance above 1 these are numbers: what each clause says.

        With ``average`` the clauses of all states that vote, as in :attr:`weights_`: the
        product of the two is what :meth:`votes` gives.
        """
        return self._pool()._predict(X, n_jobs, lambda backend: backend.clause_outputs)

    def predict(self, X: Any) -> NDArray[np.uint8]:
        """Each output, (N, m): 1 where its votes are 0 or more."""
        return (self.votes(X) >= 0).astype(np.uint8)

    def _predict(
        self, X: Any, n_jobs: int | None, call_of: Callable[[Backend], _Call]
    ) -> NDArray[Any]:
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        resolve_n_jobs(n_jobs)
        backend = self._live.backend
        examples = as_examples(X, self.spec.grid)
        backend = backend or self._backend_for(len(examples), training=False)
        try:
            return _predict_in_parts(backend, examples, call_of(backend), n_jobs)
        except RuntimeError:
            # Training failed midway on this backend: wait until the state before it is back.
            with self._training_lock:
                if self._live.backend is backend:
                    raise
                backend = self._backend_for(len(examples), training=False)
            return _predict_in_parts(backend, examples, call_of(backend), n_jobs)


#: A backend's votes or clause_outputs.
_Call = Callable[[Any, int | None], NDArray[Any]]


def _predict_in_parts(
    backend: Backend, examples: Examples, call: _Call, n_jobs: int | None
) -> NDArray[Any]:
    """What a call gives for examples, prepared for the backend some at a time."""
    found: NDArray[Any] | None = None
    for first in range(0, max(1, len(examples)), _PREDICTION_ROWS):
        part = call(backend.prepare(examples[first : first + _PREDICTION_ROWS]), n_jobs)
        if len(part) == len(examples):
            return np.asarray(part)
        if found is None:
            found = np.empty((len(examples), part.shape[1]), dtype=part.dtype)
        found[first : first + len(part)] = part
    assert found is not None
    return found


def check_aims(targets: NDArray[Any]) -> None:
    """Targets of quantities: whole numbers of votes."""
    wrong = targets[(targets != np.rint(targets)) | (np.abs(targets.astype(float)) > MAX_T)]
    if wrong.size:
        raise ValueError(
            f"Y holds {wrong.flat[0]}; with regression=True it must hold whole numbers of votes "
            f"from -{MAX_T} to {MAX_T}"
        )


def _check_weights(weight: NDArray[np.float64], n_examples: int) -> None:
    """Example weights: one per example, finite, not negative."""
    if weight.shape != (n_examples,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {n_examples} examples")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
