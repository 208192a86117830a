"""The CUDA backend: compiles cotm.cu for the device at hand, and hands it arrays.

CuPy appears in this file only. It brings its own compiler, so users need no CUDA toolkit.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from ...core.examples import Examples
from ...core.patches import PatchGrid
from ...core.spec import Spec
from ...core.system import format_bytes
from ..protocol import TrainCounts
from .layout import BATCH, HEAD_BYTES, MACHINE, TASK, BatchLayout, Sizes, make_plan

_SOURCE = Path(__file__).with_name("cotm.cu")
_SLICE = 4096  # kSlice of cotm.cu
_THREADS = 256  # of a block, where it does not matter
#: Bytes of batches prepared before a launch.
_BATCH_BYTES = 256 << 20
#: Bytes of X that lie on the device unpacked.
_PACK_BYTES = 64 << 20
#: Sums of votes beyond this would run into the count of arrivals beside them.
_MOST_VOTES = 2**47


def works(name: str) -> bool:
    """Whether kernels can be compiled and run on a device; nothing else says so surely."""
    try:
        with cp.cuda.Device(device_index(name)) as device:
            if int(device.compute_capability) < 70:
                return False
            code = 'extern "C" __global__ void touch(int* x) { *x = 7; }'
            found = cp.zeros(1, dtype=np.int32)
            cp.RawKernel(code, "touch")((1,), (1,), (found,))
            return int(found[0]) == 7
    except Exception:  # of CuPy, its compiler or the driver
        return False


def free_memory() -> int:
    """Bytes that can be had on the current device; CuPy keeps some for itself."""
    return int(cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes())


def device_index(name: str) -> int:
    """The device of ``"cuda"`` or ``"cuda:K"``; a clear error where there is none."""
    try:
        count = cp.cuda.runtime.getDeviceCount()
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(
            f"backend={name!r} found no CUDA device ({error}); use backend='native', which gives "
            "the same result"
        ) from error
    index = int(name.partition(":")[2] or 0)
    if index >= count:
        raise ValueError(
            f"backend={name!r} asks for device {index}, but there are {count}, counted from 0"
        )
    return index


def device_title(name: str) -> str:
    """What the device calls itself."""
    title: bytes = cp.cuda.runtime.getDeviceProperties(device_index(name))["name"]
    return title.decode()


@functools.cache
def _module(device: int, options: tuple[str, ...], cooperative: bool) -> Any:
    """cotm.cu for one device; CuPy keeps what it compiled on disk."""
    capability = cp.cuda.Device(device).compute_capability
    if int(capability) < 70:
        raise ValueError(
            f"CUDA device {device} has compute capability {capability[:-1]}.{capability[-1]}, but "
            "7.0 or newer is needed; use backend='native', which gives the same result"
        )
    return cp.RawModule(
        code=_SOURCE.read_text(),
        options=(
            "-std=c++17",
            *(f"-DCOTM_{option}" for option in options),
            *os.environ.get("COTM_CUDA_FLAGS", "").split(),  # for tools, see the Makefile
        ),
        enable_cooperative_groups=cooperative,
    )


@dataclass(frozen=True)
class DeviceExamples:
    """Examples on the device: words of bits, or rows of column numbers."""

    grid: PatchGrid
    rows: int
    packed: Any = None  # uint32 (rows, words)
    starts: Any = None  # int64 (rows + 1,)
    columns: Any = None  # int32

    def __len__(self) -> int:
        return self.rows


class CudaBackend:
    """Kernels of cotm.cu on one device."""

    def __init__(
        self,
        spec: Spec,
        memory: NDArray[np.int8],
        weights: NDArray[np.int32],
        n_jobs: int | None = 1,
        *,
        name: str = "cuda",
        **plan: Any,
    ) -> None:
        self.name = name
        self.spec = spec
        self._index = device_index(name)
        self._lock = threading.RLock()
        grid = spec.grid
        self._layout = layout = BatchLayout.of(grid)
        offsets = layout.offsets()
        sizes = Sizes.of(spec, layout)
        self._entry = sizes.entry
        with self._on_device():
            attributes = cp.cuda.Device().attributes
            self._most_shared = attributes["MaxSharedMemoryPerBlockOptin"]
            processors = attributes["MultiProcessorCount"]
            self.plan = make_plan(spec, sizes, processors, self._most_shared, **plan)
            self._allocate(sizes)
            self._offsets = cp.asarray(offsets)
            self._weights = cp.asarray(np.ascontiguousarray(weights, dtype=np.int32))
            self._load_rows(memory)
        self._largest = int(np.abs(weights.astype(np.int64)).max(initial=0))
        self._machine = self._parameters(sizes)
        self._lists_current = self._live_current = False

    # The device --------------------------------------------------------------------------

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        with self._lock, cp.cuda.Device(self._index):
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
        n, plan = self.spec.n, self.plan
        per_clause = sizes.row + sizes.lists + 4 * self.spec.m + HEAD_BYTES + 24
        free = free_memory()
        if n * per_clause > free:
            raise MemoryError(
                f"n_clauses={n} with {self.spec.grid.n_literals} literals each needs "
                f"{format_bytes(n * per_clause)} on CUDA device {self._index}, but "
                f"{format_bytes(free)} are free; use fewer clauses or fewer input bits, or "
                "backend='native'"
            )
        self._row_bytes = sizes.row
        self._rows = cp.empty(n * sizes.row, dtype=np.int8)
        self._lists = cp.empty(n * sizes.lists, dtype=np.uint8)
        self._heads = cp.empty(n * HEAD_BYTES, dtype=np.uint8)
        self._ahead = cp.empty(2 * n, dtype=np.uint32)
        self._slots = cp.empty(2 * n, dtype=np.uint32)
        self._is_chosen = cp.empty(n // 32 + plan.blocks + 1, dtype=np.uint32)
        outputs = 0 if plan.holds("outputs") else plan.blocks * sizes.outputs
        self._outputs = cp.empty(outputs, dtype=np.uint8)
        fresh = -(-self.spec.grid.n_features // 64) * 4 * plan.blocks * plan.threads // 32
        self._fresh = cp.empty(fresh if self.spec.max_literals else 0, dtype=np.uint32)
        self._live = cp.empty(n, dtype=np.uint32)
        self._live_count = cp.empty(1, dtype=np.uint32)

    def _parameters(self, sizes: Sizes) -> NDArray[np.void]:
        spec, grid, layout = self.spec, self.spec.grid, self._layout
        values = {
            "rows": self._rows.data.ptr,
            "weights": self._weights.data.ptr,
            "lists": self._lists.data.ptr,
            "heads": self._heads.data.ptr,
            "ahead": self._ahead.data.ptr,
            "slots": self._slots.data.ptr,
            "is_chosen": self._is_chosen.data.ptr,
            "outputs": self._outputs.data.ptr,
            "fresh": self._fresh.data.ptr,
            "offsets": self._offsets.data.ptr,
            "seed": spec.seed,
            "T": spec.T,
            "per_full": 1 / (2 * spec.T),
            "n": spec.n,
            "m": spec.m,
            "features": grid.n_features,
            "positions": grid.n_position_features,
            "grid_rows": grid.rows,
            "grid_columns": grid.columns,
            "stride_rows": grid.stride_rows,
            "stride_columns": grid.stride_columns,
            "pitch_bits": layout.pitch_bits,
            "words": layout.words,
            "row_words": layout.row_words,
            "image_words": layout.image_words,
            "lane_columns": layout.lane_columns,
            "lane_mask": sum(1 << k * grid.stride_columns for k in range(layout.lane_columns)),
            "row_bytes": self._row_bytes,
            "capacity": sizes.capacity,
            "q": spec.q,
            "depth": spec.N,
            "max_literals": spec.max_literals,
            "max_weight": spec.max_weight,
            "boost": spec.boost_true_positive,
            "e_scales_type2": spec.e_scales_type2,
            "sharing": spec.sharing,
            "learn_weights": spec.learn_weights,
        }
        parameters = np.zeros((), dtype=MACHINE)
        for key, value in values.items():
            parameters[key] = value
        return parameters

    def _kernel(self, name: str, terms: int = 0) -> Any:
        """A kernel whose sums hold ``terms`` weights."""
        total = "i32" if terms * self._largest < 2**30 else "i64"
        training = name == "train"
        if training and self.spec.n * self._largest >= _MOST_VOTES:
            raise ValueError(
                f"{self.spec.n} clauses with weights up to {self._largest} could vote beyond "
                "47 bits; set max_weight lower, or use backend='native'"
            )
        options = {
            "ENTRY": self._entry,
            "SUM": total,
            "SHARED": self.plan.in_shared if training else 0,
            "LISTED": int(self.plan.listed and training),
            "THREADS": 512 if self.plan.threads <= 512 else 1024,  # more leave fewer registers
            "SEARCHES": int(self._layout.image_words > 0),
            "LONG_ROWS": int(self._layout.row_words > 1),
            "MANY": int(self.spec.m > 32),
            "LIMITED": int(self.spec.max_literals > 0),
        }
        chosen = tuple(f"{key}={value}" for key, value in options.items())
        return _module(self._index, chosen, training).get_function(name)

    def _launch(self, name: str, threads: int, *arguments: Any) -> None:
        blocks = -(-threads // _THREADS)
        self._kernel(name)((blocks,), (_THREADS,), arguments)

    # State -------------------------------------------------------------------------------

    def _load_rows(self, memory: NDArray[np.int8]) -> None:
        spec = self.spec
        features = np.uint32(spec.grid.n_features)
        public = cp.asarray(np.ascontiguousarray(memory, dtype=np.int8))
        count = spec.n * self._row_bytes
        self._largest = 0
        self._launch(
            "load_rows",
            count,
            public,
            np.uint64(spec.n),
            features,
            np.uint32(self._row_bytes),
            self._rows,
        )

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        spec = self.spec
        with self._on_device():
            public = cp.empty((spec.n, spec.grid.n_literals), dtype=np.int8)
            self._launch(
                "store_rows",
                public.size,
                self._rows,
                np.uint64(spec.n),
                np.uint32(spec.grid.n_features),
                np.uint32(self._row_bytes),
                public,
            )
            return cp.asnumpy(public), cp.asnumpy(self._weights)

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
        bits, grid = examples.bits, examples.grid
        with self._on_device():
            if hasattr(bits, "indptr"):
                return DeviceExamples(
                    grid,
                    len(examples),
                    starts=cp.asarray(bits.indptr, dtype=np.int64),
                    columns=cp.asarray(bits.indices, dtype=np.int32),
                )
            width = self._layout.bits
            words = -(-width // 32)
            packed = cp.empty((len(examples), words), dtype=np.uint32)
            step = max(1, _PACK_BYTES // width)
            for first in range(0, len(examples), step):
                part = bits[first : first + step]
                if getattr(part, "device", None) != cp.cuda.Device():
                    part = cp.array(part, dtype=np.uint8)  # from the host, or another device
                part = cp.ascontiguousarray(part)
                self._launch(
                    "pack",
                    32 * len(part) * words,
                    part,
                    np.uint64(len(part)),
                    np.uint32(width),
                    packed[first:],
                )
            return DeviceExamples(grid, len(examples), packed=packed)

    def _batches(self, data: DeviceExamples, order: NDArray[np.int64]) -> Any:
        """The examples of an order turned inside out, 32 at a time."""
        count, layout, grid = len(order), self._layout, data.grid
        rows = cp.asarray(np.ascontiguousarray(order, dtype=np.int64))
        batches = cp.empty((-(-count // BATCH), layout.words), dtype=np.uint32)
        size = np.uint32(count)
        if data.packed is not None:
            shape = (grid.width, grid.height, grid.channels, layout.pitch_bits)
            self._launch(
                "batch_dense",
                32 * len(batches) * data.packed.shape[1],
                data.packed,
                rows,
                size,
                *map(np.uint32, shape),
                batches,
            )
        else:
            batches.data.memset_async(0, batches.nbytes)
            width = np.uint32(layout.words)
            self._launch(
                "batch_sparse", 32 * count, data.starts, data.columns, rows, size, width, batches
            )
        return batches

    def _images(self, batches: Any) -> Any:
        """The images of batches as rows of bits."""
        layout, grid = self._layout, self.spec.grid
        images = cp.empty((len(batches), BATCH, layout.image_words), dtype=np.uint32)
        if layout.image_words:
            shape = (layout.rows, grid.width, layout.row_words, layout.pitch_bits)
            self._launch(
                "batch_images",
                32 * len(batches) * layout.image_words,
                batches,
                np.uint64(len(batches)),
                *map(np.uint32, shape),
                images,
            )
        return images

    def _batch_rows(self) -> int:
        """Examples whose batches are prepared at a time."""
        return BATCH * max(1, _BATCH_BYTES // (4 * self._layout.words))

    # Training ----------------------------------------------------------------------------

    def train(
        self,
        data: DeviceExamples,
        targets: NDArray[np.uint8],
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        order, step = order[first:last], step + first
        if not len(order):
            return TrainCounts(0, 0)
        with self._on_device():
            self._list_literals()
            self._live_current = False
            counts = cp.zeros(2, dtype=np.uint64)
            size = self._batch_rows()
            for first in range(0, len(order), size):
                part = order[first : first + size]
                self._train_part(data, targets, scales, part, step + first, counts)
            hits, correct = cp.asnumpy(counts)
            return TrainCounts(int(hits), int(correct))

    def _train_part(
        self,
        data: DeviceExamples,
        targets: NDArray[np.uint8],
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        counts: Any,
    ) -> None:
        plan, spec = self.plan, self.spec
        one_scale = len(scales) == 1
        batches = self._batches(data, order)
        arrays = {
            "batches": batches,
            "images": self._images(batches),
            "targets": cp.asarray(targets[order]),
            "scales": cp.asarray(scales if one_scale else scales[order]),
            "ballot": cp.zeros(2 * spec.m, dtype=np.uint64),
            "counts": counts,
        }
        task = np.zeros((), dtype=TASK)
        for key, array in arrays.items():
            task[key] = array.data.ptr
        task["step"], task["count"] = step, len(order)
        task["one_scale"] = one_scale
        self._grow_weights(len(order))
        kernel = self._kernel("train", -(-spec.n // plan.blocks))
        kernel.max_dynamic_shared_size_bytes = self._most_shared  # the same for all machines
        kernel((plan.blocks,), (plan.threads,), (self._machine, task), shared_mem=plan.shared_bytes)

    def _grow_weights(self, steps: int) -> None:
        """Keep a bound on the weights' magnitude; look at them where it would matter."""
        bound = min(self._largest + steps, self.spec.max_weight)
        if self.spec.n * bound >= 2**30:
            bound = min(int(cp.abs(self._weights).max()) + steps, self.spec.max_weight)
        self._largest = bound

    # Prediction --------------------------------------------------------------------------

    def _list_literals(self) -> None:
        """Write down which literals clauses include, after their rows were loaded."""
        if not self._lists_current:
            self._launch("list_literals", 32 * self.spec.n, self._machine)
            self._lists_current = True

    def _list_clauses(self) -> None:
        """Find the clauses that can fire and are heard."""
        self._list_literals()
        if not self._live_current:
            self._live_count.data.memset_async(0, self._live_count.nbytes)
            self._launch("list_clauses", self.spec.n, self._machine, self._live, self._live_count)
            self._live_current = True

    def _predict(self, data: DeviceExamples, name: str, out: Any) -> None:
        """Run a kernel of prediction over batches of examples, into rows of ``out``."""
        shared = 4 * self._layout.words
        copies = shared <= (32 << 10)
        warps = 16
        clauses = _SLICE if name == "vote" else 32 * warps
        kernel = self._kernel(name, _SLICE)
        size = self._batch_rows()
        for first in range(0, len(data), size):
            order = np.arange(first, min(first + size, len(data)))
            batches = self._batches(data, order)
            grid = (len(batches), -(-self.spec.n // clauses))
            arguments = [self._live, self._live_count] if name == "vote" else []
            kernel(
                grid,
                (32 * warps,),
                (
                    self._machine,
                    *arguments,
                    batches,
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

    def clause_outputs(self, data: DeviceExamples, n_jobs: int | None = 1) -> NDArray[np.bool_]:
        with self._on_device():
            self._list_literals()
            fires = cp.empty((len(data), self.spec.n), dtype=np.bool_)
            self._predict(data, "fire", fires)
            return cp.asnumpy(fires)
