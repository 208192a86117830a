"""The native backend: hands arrays to the C++ core and takes the results."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..literals import Examples
from ..parameters import resolve_n_jobs
from ..spec import Spec
from .protocol import TrainCounts

#: Nanoseconds of work that make a thread worth its meetings with the others, once per example
#: in training, and its start, once per prediction.
_STEP_WORTH = 4_000
_START_WORTH = 500_000


def useful_training_threads(spec: Spec) -> float:
    """How many threads the clauses of a machine keep busy; measured, see docs/performance.md."""
    return spec.n * (8 + spec.grid.n_literals / 100) / _STEP_WORTH


def useful_prediction_threads(spec: Spec, rows: int) -> float:
    """The same for the rows of one prediction."""
    return spec.n * rows * (0.2 if spec.grid.is_flat else 3.0) / _START_WORTH


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
        self.n_jobs = n_jobs
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
    ) -> TrainCounts:
        threads = resolve_n_jobs(self.n_jobs, useful_training_threads(self.spec))
        return TrainCounts(*self._machine.train(data, targets, scales, order, step, threads))

    def votes(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.int64]:
        votes = np.empty((len(data), self.spec.m), dtype=np.int64)
        self._machine.votes(data, self._prediction_threads(data, n_jobs), votes)
        return votes

    def clause_outputs(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.bool_]:
        outputs = np.empty((len(data), self.spec.n), dtype=bool)
        self._machine.clause_outputs(data, self._prediction_threads(data, n_jobs), outputs)
        return outputs

    def _prediction_threads(self, data: Any, n_jobs: int | None) -> int:
        return resolve_n_jobs(n_jobs, useful_prediction_threads(self.spec, len(data)))

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        memory = np.empty((self.spec.n, self.spec.grid.n_literals), dtype=np.int8)
        weights = np.empty((self.spec.n, self.spec.m), dtype=np.int32)
        self._machine.state(memory, weights)
        return memory, weights
