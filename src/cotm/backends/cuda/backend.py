"""The CUDA backend: keeps a machine on a device, and launches the kernels on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from ...core.examples import Examples
from ...core.gpu_arrays import on_gpu
from ...core.sparse_targets import SparseTargets, Targets
from ...core.spec import Spec
from ...core.system import format_bytes
from ..protocol import ClauseOutputs, TrainCounts, output_type
from ..reference import awake_literals
from . import batches, device
from .batches import DeviceExamples
from .layout import (
    BATCH,
    HEAD,
    PATCH,
    BatchLayout,
    LaunchLayout,
    Sizes,
    awake_mask,
    fill_spec,
    fill_struct,
)
from .residency import Need, are_side_by_side
from .sources import CONSTANTS

_SLICE = CONSTANTS["kSlice"]
#: Sums of votes beyond this would run into the count of arrivals beside them.
_MOST_VOTES = 2**47
#: Of targets of some outputs that are made dense at a time.
_DENSE_BYTES = 2**28


class CudaBackend:
    """A machine on one CUDA device."""

    def __init__(
        self,
        spec: Spec,
        memory: NDArray[np.int8],
        weights: NDArray[np.int32],
        n_jobs: int | None = 1,
        *,
        name: str = "cuda",
        **launch: Any,
    ) -> None:
        self.name = name
        self.spec = spec
        self._beside = are_side_by_side()
        self._index = device.device_index(name)
        self._lock = threading.RLock()
        # Machines of several threads share a device: each has a stream of its own.
        with cp.cuda.Device(self._index):
            self._stream = cp.cuda.Stream(non_blocking=True)
        grid = spec.grid
        self._layout = layout = BatchLayout.of(grid)
        offsets = layout.offsets()
        self._sizes = sizes = Sizes.of(spec, layout)
        with self._on_device():
            attributes = cp.cuda.Device().attributes
            self._most_shared = attributes["MaxSharedMemoryPerBlockOptin"]
            processors = attributes["MultiProcessorCount"]
            self.launch = LaunchLayout.of(spec, sizes, processors, self._most_shared, **launch)
            self._allocate(sizes)
            self._offsets = cp.asarray(offsets)
            self._weights = cp.asarray(np.ascontiguousarray(weights, dtype=np.int32))
            self._load_rows(memory)
        self._largest = int(np.abs(weights.astype(np.int64)).max(initial=0))
        self._machine = self._parameters(sizes)
        self._lists_current = self._live_current = False
        self._slept_at: int | None = -1  # the pass whose literals sleep; -1: not known yet

    # The device --------------------------------------------------------------------------

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        with self._lock, cp.cuda.Device(self._index), self._stream:
            try:
                yield
            except cp.cuda.memory.OutOfMemoryError as error:
                free, total = cp.cuda.runtime.memGetInfo()
                raise MemoryError(
                    f"CUDA device {self._index} has {format_bytes(free)} of "
                    f"{format_bytes(total)} free, which is not enough for n_clauses={self.spec.n} "
                    f"with {self.spec.grid.n_literals} literals each and these examples "
                    f"({error}); use fewer clauses, fewer input bits, fewer examples at a time, "
                    "or backend='native'"
                ) from error

    def _allocate(self, sizes: Sizes) -> None:
        """Make room for the arrays of struct Machine, and for the list of live clauses."""
        n, launch = self.spec.n, self.launch
        warps = launch.blocks * launch.threads // 32
        fresh = -(-self.spec.grid.n_features // 64) * 4 * warps
        sizes_of = {
            "rows": n * sizes.row,
            "lists": n * sizes.lists,
            "heads": n * HEAD.itemsize,
            "misses": n * sizes.misses,
            "depths": n * sizes.depths,
            "missed": n * BATCH * 4 if sizes.counts else 0,
            "ahead": n * 2 * 4 * sizes.planes,
            "slots": n * PATCH.itemsize,
            "is_chosen": (n // 32 + launch.blocks + 1) * 4,
            "outputs": 0 if launch.holds("outputs") else launch.blocks * sizes.outputs,
            "fresh": fresh * 4 if self.spec.max_literals else 0,
            "awake": sizes.awake if self.spec.has_sleepers else 0,
            "live": n * 4,
        }
        needed, free = sum(sizes_of.values()) + 4 * n * self.spec.m, device.free_memory()
        if needed > free:
            raise MemoryError(
                f"n_clauses={n} with {self.spec.grid.n_literals} literals each needs "
                f"{format_bytes(needed)} on CUDA device {self._index}, but "
                f"{format_bytes(free)} are free; use fewer clauses or fewer input bits, or "
                "backend='native'"
            )
        self._arrays = {name: cp.empty(size, dtype=np.uint8) for name, size in sizes_of.items()}
        self._rows, self._live = self._arrays["rows"], self._arrays.pop("live")
        self._live_count = cp.empty(1, dtype=np.uint32)

    def _parameters(self, sizes: Sizes) -> NDArray[np.void]:
        spec, grid, layout = self.spec, self.spec.grid, self._layout
        arrays = {**self._arrays, "weights": self._weights, "offsets": self._offsets}
        values = {
            **{name: array.data.ptr for name, array in arrays.items()},
            "spec": fill_spec(spec),
            "per_full": 1 / (2 * spec.T),
            "features": grid.n_features,
            "positions": grid.n_position_features,
            "grid_rows": grid.rows,
            "grid_columns": grid.columns,
            "stride_rows": grid.stride_rows,
            "stride_columns": grid.stride_columns,
            "grid_depths": grid.depths,
            "grid_lines": grid.depths * grid.rows,
            "inverse_rows": (2**32 - 1) // grid.rows,
            "depth_step": layout.depth_step,
            "pitch_bits": layout.pitch_bits,
            "words": layout.words,
            "row_words": layout.row_words,
            "image_words": layout.image_words,
            "lane_columns": layout.lane_columns,
            "lane_mask": sum(1 << k * grid.stride_columns for k in range(layout.lane_columns)),
            "row_bytes": sizes.row,
            "capacity": sizes.capacity,
        }
        return fill_struct("Machine", values)

    def _kernel(self, name: str, terms: int = 0, heavy: bool = False, partly: bool = False) -> Any:
        """A kernel whose sums hold ``terms`` weights.

        ``heavy``: of examples above weight 1; ``partly``: that ask some of the outputs.
        """
        training = name == "train"
        if training and self.spec.n * self._largest * self.spec.most >= _MOST_VOTES:
            times = f" times {self.spec.most}" if self.spec.most > 1 else ""
            raise ValueError(
                f"{self.spec.n} clauses with weights up to {self._largest}{times} could vote "
                "beyond 47 bits; limit the weights, or use backend='native'"
            )
        threads = 512 if self.launch.threads <= 512 or not training else 1024
        options = {
            "ENTRY": self._sizes.entry,
            "SUM": "i32" if terms * self._largest * self.spec.most < 2**30 else "i64",
            "OUTPUT": "u8" if self.spec.tolerance == 1 else "i32",
            "PLANES": self._sizes.planes,
            "SAMPLED": self.spec.picks >= 0,
            "BOUNDED": self.spec.growth_limit > 0,
            "DROPS": training and self.spec.drop_clauses > 0,
            "QUANTITIES": training and self.spec.regression,
            "TARGET": "i32" if training and self.spec.regression else "u8",
            "SLEEPS": self.spec.drop_literals > 0 or not self.spec.negations,
            "ONE_NEGATIVE": training and self.spec.negatives > 0,
            "SEARCHES": int(self._layout.image_words > 0),
            "VOLUMES": self.spec.grid.depths > 1,
            # What only training asks for is left alike, so that prediction is compiled less often.
            "SHARED": training and self.launch.in_shared,
            "LISTED": training and self.launch.listed,
            "TEAM_WARPS": self.launch.team_warps if training else 1,
            "THREADS": threads,
            "RESIDENT": 2 if training and self._beside and threads == 512 else 1,
            "LONG_ROWS": training and self._layout.row_words > 1,
            "MANY": training and self.spec.m > 32,
            "LIMITED": training and self.spec.max_literals > 0,
            "HEAVY": heavy,
            "PARTLY": partly,
        }
        chosen = tuple(
            f"{key}={value if isinstance(value, str) else int(value)}"
            for key, value in options.items()
        )
        file = "train.cu" if training else "predict.cu"
        # The blocks of a training launch wait for each other, so all must run at once.
        cooperative = training and not self._beside
        module = device.module(self._index, file, chosen, cooperative=cooperative)
        return module.get_function(name)

    # State -------------------------------------------------------------------------------

    def _load_rows(self, memory: NDArray[np.int8]) -> None:
        public = cp.asarray(np.ascontiguousarray(memory, dtype=np.int8))
        device.launch(self._index, *self._row_kernel("load"), public, *self._row_shape, self._rows)

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        with self._on_device():
            public = cp.empty((self.spec.n, self.spec.grid.n_literals), dtype=np.int8)
            kernel, shape = self._row_kernel("store"), self._row_shape
            device.launch(self._index, *kernel, self._rows, *shape, public)
            return cp.asnumpy(public), cp.asnumpy(self._weights)

    def _row_kernel(self, verb: str) -> tuple[str, int]:
        """The kernel that brings rows into the device's form or back, and its threads."""
        units, largest = self._sizes.unit_words, max(self._sizes.row, self.spec.grid.n_literals)
        return f"{verb}_{'planes' if units else 'rows'}", self.spec.n * (units or largest)

    @property
    def _row_shape(self) -> tuple[Any, ...]:
        n, features = np.uint64(self.spec.n), np.uint32(self.spec.grid.n_features)
        return n, features, np.uint32(self._sizes.row)

    def mark(self) -> None:
        with self._on_device():
            self._marked = self._rows.copy(), self._weights.copy(), self._largest

    def undo(self) -> None:
        with self._on_device():
            rows, weights, self._largest = self._marked
            cp.copyto(self._rows, rows)
            cp.copyto(self._weights, weights)
            self._lists_current = self._live_current = False

    # Data --------------------------------------------------------------------------------

    def prepare(self, examples: Examples) -> DeviceExamples:
        with self._on_device():
            if on_gpu(examples.bits):
                cp.cuda.Device().synchronize()  # another stream may still be writing it
            data = batches.prepare(self._index, self._layout, examples)
            self._stream.synchronize()  # other machines may read it
            return data

    # Training ----------------------------------------------------------------------------

    def train(
        self,
        data: DeviceExamples,
        targets: Targets,
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        pass_step, order, step = step, order[first:last], step + first
        if not len(order):
            return TrainCounts(0, 0)
        with self._on_device():
            self._live_current = False
            counts = cp.zeros(3, dtype=np.uint64)
            size = batches.rows_of_batches(self._layout)
            if isinstance(targets, SparseTargets):  # which are made dense, a part at a time
                rows = _DENSE_BYTES // self.spec.m
                size = min(size, BATCH * max(1, rows // BATCH))
            for first in range(0, len(order), size):
                part = order[first : first + size]
                steps = {"step": step + first, "pass_step": pass_step}
                self._train_part(data, targets, scales, part, steps, counts)
            return TrainCounts(*map(int, cp.asnumpy(counts)))

    def _train_part(
        self,
        data: DeviceExamples,
        targets: Targets,
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        steps: dict[str, int],
        counts: Any,
    ) -> None:
        launch, spec = self.launch, self.spec
        self._list_literals(steps["pass_step"])
        one_scale = len(scales) == 1
        sliced = batches.sliced(self._index, self._layout, data, order)
        none = cp.empty(0, dtype=np.uint32)
        part, partly = targets[order], isinstance(targets, SparseTargets)
        wanted, asked = part.both() if isinstance(part, SparseTargets) else (part, none)
        arrays = {
            "batches": sliced,
            "images": batches.images(self._index, self._layout, sliced),
            "packed": batches.packed(self._index, data, order) if self._sizes.counts else none,
            "targets": cp.asarray(wanted),
            "asked": cp.asarray(asked),
            "scales": cp.asarray(scales if one_scale else scales[order]),
            "ballot": cp.zeros(2 * spec.m, dtype=np.uint64),
            "counts": counts,
        }
        values = {name: array.data.ptr for name, array in arrays.items()}
        values |= {**steps, "count": len(order), "one_scale": one_scale}
        task = fill_struct("Task", values)
        self._grow_weights(len(order))
        heavy = bool((scales > 2**32).any())
        kernel = self._kernel("train", -(-spec.n // launch.blocks), heavy, partly)
        kernel.max_dynamic_shared_size_bytes = self._most_shared  # the same for all machines
        with self._room_for(kernel):
            kernel(
                (launch.blocks,),
                (launch.threads,),
                (self._machine, task),
                shared_mem=launch.shared_bytes,
            )
            if self._beside:
                self._stream.synchronize()
        self._lists_current = not self._sizes.counts

    def _room_for(self, kernel: Any) -> AbstractContextManager[None]:
        """Room for a launch beside those of other machines, where the driver does not see to it."""
        if not self._beside:
            return nullcontext()
        launch = self.launch
        # Multiprocessors divide their memory anew only when nothing is on them: all launches want
        # the same, the most of it shared.
        kernel.preferred_shared_memory_carveout = 100
        shared = launch.shared_bytes + kernel.shared_size_bytes
        block = Need.of_block(launch.threads, kernel.num_regs, shared)
        return device.room(self._index).take(launch.blocks, block)

    def _grow_weights(self, steps: int) -> None:
        """Keep a bound on the weights' magnitude; look at them where it would matter."""
        bound = self._largest + steps
        if self.spec.n * self.spec.most * self._clipped(bound) >= 2**30:
            bound = int(cp.abs(self._weights).max()) + steps
        self._largest = self._clipped(bound)

    def _clipped(self, weight: int) -> int:
        return int(self.spec.clip_weights(np.array(weight)))

    # Prediction --------------------------------------------------------------------------

    def _launch(self, name: str, threads: int, *arguments: Any) -> None:
        device.launch_kernel(self._kernel(name), threads, self._machine, *arguments)

    def _list_literals(self, pass_step: int | None = None) -> None:
        """Make the include lists of all clauses, if their rows were loaded since.

        Those of a pass are without the literals that sleep in it.
        """
        if self.spec.has_sleepers and pass_step != self._slept_at:
            known = np.ones(self.spec.grid.n_literals, dtype=np.bool_)
            if pass_step is not None:
                known = awake_literals(self.spec, pass_step)
            cp.copyto(self._arrays["awake"], cp.asarray(awake_mask(self._sizes, known)))
            self._slept_at, self._lists_current = pass_step, False
        if not self._lists_current:
            self._launch("list_literals", 32 * self.spec.n)
            self._lists_current = True

    def _list_clauses(self) -> None:
        """List the live clauses: those that can fire and have a weight other than 0."""
        self._list_literals()
        if not self._live_current:
            self._live_count.data.memset_async(0, self._live_count.nbytes)
            self._launch("list_clauses", self.spec.n, self._live, self._live_count)
            self._live_current = True

    def _predict(self, data: DeviceExamples, name: str, out: Any) -> None:
        """Run a kernel of prediction over batches of examples, into rows of ``out``."""
        shared = 4 * self._layout.words
        copies = shared <= (32 << 10)
        warps = 16
        live = _SLICE // self._sizes.planes
        clauses = live if name == "vote" else 32 * warps
        kernel = self._kernel(name, live)
        size = batches.rows_of_batches(self._layout)
        for first in range(0, len(data), size):
            order = np.arange(first, min(first + size, len(data)))
            sliced = batches.sliced(self._index, self._layout, data, order)
            grid = (len(sliced), -(-self.spec.n // clauses))
            arguments = [self._live, self._live_count] if name == "vote" else []
            kernel(
                grid,
                (32 * warps,),
                (
                    self._machine,
                    *arguments,
                    sliced,
                    np.uint32(len(order)),
                    np.uint32(copies),
                    out[first:],
                ),
                shared_mem=shared if copies else 0,
            )

    def votes(self, data: DeviceExamples, n_jobs: int | None = 1) -> NDArray[np.int64]:
        with self._on_device():
            self._list_clauses()
            votes = cp.zeros((len(data), self.spec.m), dtype=np.int64)
            self._predict(data, "vote", votes)
            return cp.asnumpy(votes)

    def clause_outputs(self, data: DeviceExamples, n_jobs: int | None = 1) -> ClauseOutputs:
        with self._on_device():
            self._list_literals()
            outputs = cp.empty((len(data), self.spec.n), dtype=output_type(self.spec))
            self._predict(data, "say", outputs)
            return cp.asnumpy(outputs)
