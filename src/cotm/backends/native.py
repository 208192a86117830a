"""The native backend: hands arrays to the C++ core and takes the results."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..core.examples import Examples
from ..core.patches import PatchGrid
from ..core.sparse_targets import SparseTargets, Targets
from ..core.spec import Spec
from .protocol import ClauseOutputs, TrainCounts, output_type
from .threads import TrainingThreads, prediction_threads


def _flat_if_whole(grid: PatchGrid) -> PatchGrid:
    """Flat examples are matched faster than images of one patch."""
    return PatchGrid.flat(grid.n_features) if grid.is_whole else grid


def _as_asked(targets: Targets) -> tuple[tuple[Any, Any] | None, NDArray[np.uint8 | np.int32]]:
    """Where the outputs are not all asked, the starts of rows and their outputs; and targets."""
    if isinstance(targets, SparseTargets):
        return (targets.starts, targets.outputs), targets.values[:, None]
    return None, targets


@dataclass
class _Pass:
    """A pass over examples that has begun, with what its threads have made of them so far."""

    arrays: tuple[Any, ...]
    step: int
    training: _native.Training
    done: int = 0

    def goes_on(self, arrays: tuple[Any, ...], step: int, first: int) -> bool:
        same = all(mine is given for mine, given in zip(self.arrays, arrays, strict=True))
        return same and self.step == step and self.done == first > 0


class NativeBackend:
    """C++ kernels for the widest instructions of this processor, or those of ``COTM_ISA``."""

    name = "native"

    def __init__(
        self,
        spec: Spec,
        memory: NDArray[np.int8],
        weights: NDArray[np.int32],
        n_jobs: int | None = 1,
    ) -> None:
        self.spec = spec
        flat = replace(spec, grid=_flat_if_whole(spec.grid))
        self._threads = TrainingThreads(n_jobs, flat)
        self._pass: _Pass | None = None
        self._machine = _native.Machine(
            flat,
            memory=np.ascontiguousarray(memory, dtype=np.int8),
            weights=np.ascontiguousarray(weights, dtype=np.int32),
            isa=os.environ.get("COTM_ISA", ""),
        )

    @property
    def isa(self) -> str:
        """The instruction set in use."""
        return str(self._machine.isa)

    def prepare(self, examples: Examples) -> Any:
        bits, grid = examples.on_host().bits, _flat_if_whole(examples.grid)
        if isinstance(bits, np.ndarray):
            rows = np.ascontiguousarray(bits, dtype=np.uint8)
            height, width, channels = grid.image_shape
            shape = len(rows), height, width * channels
            return _native.Examples.dense(rows.reshape(shape))
        return _native.Examples.sparse(
            np.ascontiguousarray(bits.indptr, dtype=np.int64),
            np.ascontiguousarray(bits.indices, dtype=np.int32),
            bits.shape[1],
        )

    def train(
        self,
        data: Any,
        targets: Targets,
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        last = len(order) if last is None else last
        arrays = data, targets, scales, order
        # Only a pass that this call continues, to its end without an error, is kept.
        current, self._pass = self._pass, None
        began = time.perf_counter()
        if current is None or not current.goes_on(arrays, step, first):
            current = None  # frees the memory of a pass that was left, before the next takes more
            asked, values = _as_asked(targets)
            training = _native.Training(self._machine, data, values, scales, order, step, asked)
            current = _Pass(arrays, step, training)
        hits, correct, missed, anew = current.training.run(first, last, self._threads.next())
        # What a pass pays once says nothing about its pace, unless this slice is all there is.
        if not anew or last == len(order):
            self._threads.note(last - first, time.perf_counter() - began)
        if last < len(order):
            current.done = last
            self._pass = current
        return TrainCounts(hits, correct, missed)

    def mark(self) -> None:
        self._machine.mark()

    def undo(self) -> None:
        self._pass = None
        self._machine.undo()

    def renew_locks(self) -> None:
        """In a forked child: the threads that held them have not come along."""
        self._pass = None
        self._machine.renew_locks()

    def votes(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.int64]:
        votes = np.empty((len(data), self.spec.m), dtype=np.int64)
        self._machine.votes(data, prediction_threads(n_jobs, self.spec, len(data)), votes)
        return votes

    def clause_outputs(self, data: Any, n_jobs: int | None = 1) -> ClauseOutputs:
        outputs = np.empty((len(data), self.spec.n), dtype=output_type(self.spec))
        threads = prediction_threads(n_jobs, self.spec, len(data))
        self._machine.clause_outputs(data, threads, outputs)
        return outputs

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        memory = np.empty((self.spec.n, self.spec.grid.n_literals), dtype=np.int8)
        weights = np.empty((self.spec.n, self.spec.m), dtype=np.int32)
        self._machine.state(memory, weights)
        return memory, weights
