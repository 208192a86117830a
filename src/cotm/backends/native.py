"""The native backend: hands arrays to the C++ core and takes the results."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..literals import Examples
from ..spec import Spec
from .protocol import TrainCounts
from .threads import TrainingThreads, prediction_threads


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
        self._threads = TrainingThreads(n_jobs, spec)
        grid = spec.grid
        self._machine = _native.Machine(
            n=spec.n,
            m=spec.m,
            grid=np.array(
                [
                    grid.height,
                    grid.width,
                    grid.channels,
                    grid.patch_height,
                    grid.patch_width,
                    grid.stride_rows,
                    grid.stride_columns,
                ],
                dtype=np.uint32,
            ),
            T=spec.T,
            q=spec.q,
            depth=spec.N,
            boost_true_positive=spec.boost_true_positive,
            e_scales_type2=spec.e_scales_type2,
            max_literals=spec.max_literals or 0,
            max_weight=spec.max_weight,
            sharing=spec.sharing,
            learn_weights=spec.learn_weights,
            seed=spec.seed,
            memory=np.ascontiguousarray(memory, dtype=np.int8),
            weights=np.ascontiguousarray(weights, dtype=np.int32),
            isa=os.environ.get("COTM_ISA", ""),
        )

    @property
    def isa(self) -> str:
        """The instruction set in use."""
        return str(self._machine.isa)

    def prepare(self, examples: Examples) -> Any:
        bits = examples.bits
        if isinstance(bits, np.ndarray):
            rows = np.ascontiguousarray(bits, dtype=np.uint8)
            return _native.Examples.dense(rows.reshape(len(rows), examples.grid.height, -1))
        return _native.Examples.sparse(
            np.ascontiguousarray(bits.indptr, dtype=np.int64),
            np.ascontiguousarray(bits.indices, dtype=np.int32),
            bits.shape[1],
        )

    def train(
        self,
        data: Any,
        targets: NDArray[np.uint8],
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        order, step = order[first:last], step + first
        began = time.perf_counter()
        counts = self._machine.train(data, targets, scales, order, step, self._threads.next())
        self._threads.note(len(order), time.perf_counter() - began)
        return TrainCounts(*counts)

    def votes(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.int64]:
        votes = np.empty((len(data), self.spec.m), dtype=np.int64)
        self._machine.votes(data, prediction_threads(n_jobs, self.spec, len(data)), votes)
        return votes

    def clause_outputs(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.bool_]:
        outputs = np.empty((len(data), self.spec.n), dtype=bool)
        threads = prediction_threads(n_jobs, self.spec, len(data))
        self._machine.clause_outputs(data, threads, outputs)
        return outputs

    def mark(self) -> None:
        self._marked = self.state()

    def undo(self) -> None:
        self.__init__(self.spec, *self._marked)

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        memory = np.empty((self.spec.n, self.spec.grid.n_literals), dtype=np.int8)
        weights = np.empty((self.spec.n, self.spec.m), dtype=np.int32)
        self._machine.state(memory, weights)
        return memory, weights
