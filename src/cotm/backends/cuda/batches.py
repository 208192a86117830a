"""Examples on a CUDA device: packed once, and brought into batches for each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from ...core.examples import Examples
from ...core.patches import PatchGrid
from . import device
from .layout import BATCH, BatchLayout

#: Bytes of batches prepared before a launch.
_BATCH_BYTES = 256 << 20
#: Bytes of X that lie on the device unpacked.
_PACK_BYTES = 64 << 20


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


def prepare(index: int, layout: BatchLayout, examples: Examples) -> DeviceExamples:
    """Bring examples to the current device, which has this index, on the current stream."""
    bits, grid = examples.bits, examples.grid
    if hasattr(bits, "indptr"):
        return DeviceExamples(
            grid,
            len(examples),
            starts=cp.asarray(bits.indptr, dtype=np.int64),
            columns=cp.asarray(bits.indices, dtype=np.int32),
        )
    width = layout.bits
    words = -(-width // 32)
    packed = cp.empty((len(examples), words), dtype=np.uint32)
    step = max(1, _PACK_BYTES // width)
    for first in range(0, len(examples), step):
        part = bits[first : first + step]
        if getattr(part, "device", None) != cp.cuda.Device():
            part = cp.array(part, dtype=np.uint8)  # from the host, or another device
        part = cp.ascontiguousarray(part)
        shape = np.uint64(len(part)), np.uint32(width)
        device.launch(index, "pack", 32 * len(part) * words, part, *shape, packed[first:])
    return DeviceExamples(grid, len(examples), packed=packed)


def rows_of_batches(layout: BatchLayout) -> int:
    """Examples whose batches are prepared at a time."""
    return BATCH * max(1, _BATCH_BYTES // (4 * layout.words))


def sliced(index: int, layout: BatchLayout, data: DeviceExamples, order: NDArray[np.int64]) -> Any:
    """The examples of an order in bit-sliced batches, 32 examples each."""
    count, grid = len(order), data.grid
    rows = cp.asarray(np.ascontiguousarray(order, dtype=np.int64))
    batches = cp.empty((-(-count // BATCH), layout.words), dtype=np.uint32)
    size = np.uint32(count)
    if data.packed is not None:
        height, width, channels = grid.image_shape
        shape = (width, height, channels, layout.pitch_bits)
        threads = 32 * len(batches) * data.packed.shape[1]
        device.launch(
            index, "batch_dense", threads, data.packed, rows, size, *map(np.uint32, shape), batches
        )
    else:
        batches.data.memset_async(0, batches.nbytes)
        arrays, words = (data.starts, data.columns, rows), np.uint32(layout.words)
        device.launch(index, "batch_sparse", 32 * count, *arrays, size, words, batches)
    return batches


def packed(index: int, data: DeviceExamples, order: NDArray[np.int64]) -> Any:
    """The bits of the examples of an order in words, an example after the other."""
    rows = cp.asarray(np.ascontiguousarray(order, dtype=np.int64))
    if data.packed is not None:
        return data.packed[rows]
    words = -(-data.grid.n_features // 32)
    bits = cp.zeros((len(order), words), dtype=np.uint32)
    shape = np.uint32(len(order)), np.uint32(words)
    arrays = data.starts, data.columns, rows
    device.launch(index, "pack_sparse", 32 * len(order), *arrays, *shape, bits)
    return bits


def images(index: int, layout: BatchLayout, batches: Any) -> Any:
    """The images of batches as rows of bits; none where a patch is the whole image."""
    found = cp.empty((len(batches), BATCH, layout.image_words), dtype=np.uint32)
    if layout.image_words:
        shape = (layout.rows, layout.grid.width, layout.row_words, layout.pitch_bits)
        threads = 32 * len(batches) * layout.image_words
        count = np.uint64(len(batches))
        device.launch(index, "batch_images", threads, batches, count, *map(np.uint32, shape), found)
    return found
