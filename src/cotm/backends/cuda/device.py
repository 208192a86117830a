"""CUDA devices: whether there is one that works, what it is called, and kernels compiled for it.

CuPy brings its own compiler, so that users need no CUDA toolkit. It is imported here, in
batches.py and in backend.py alone.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import cupy as cp
import numpy as np

from .residency import Need, Room
from .sources import inlined, size_checks


def works(name: str) -> bool:
    """Whether kernels can be compiled and run on a device: the only sure way is to do it."""
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
def module(
    device: int, file: str, options: tuple[str, ...] = (), *, cooperative: bool = False
) -> Any:
    """A file of kernels, compiled for one device; CuPy keeps what it compiled on disk."""
    capability = cp.cuda.Device(device).compute_capability
    if int(capability) < 70:
        raise ValueError(
            f"CUDA device {device} has compute capability {capability[:-1]}.{capability[-1]}, but "
            "7.0 or newer is needed; use backend='native', which gives the same result"
        )
    return cp.RawModule(
        code=inlined(file) + size_checks(),
        options=(
            "-std=c++17",
            *(f"-DCOTM_{option}" for option in options),
            *os.environ.get("COTM_CUDA_FLAGS", "").split(),  # for tools, see the Makefile
        ),
        enable_cooperative_groups=cooperative,
    )


@functools.cache
def room(device: int) -> Room:
    """The room for training launches on a device."""
    attributes = cp.cuda.Device(device).attributes
    each = Need(
        attributes["MaxRegistersPerMultiprocessor"],
        attributes["MaxSharedMemoryPerMultiprocessor"],
        attributes["MaxThreadsPerMultiProcessor"],
        attributes["MaxBlocksPerMultiprocessor"],
    )
    return Room(attributes["MultiProcessorCount"], each)


_THREADS = 256  # of a block, where it does not matter


def launch_kernel(kernel: Any, threads: int, *arguments: Any) -> None:
    """Run a kernel that does not mind how its threads are spread over blocks."""
    kernel((-(-threads // _THREADS),), (_THREADS,), arguments)


def launch(index: int, name: str, threads: int, *arguments: Any) -> None:
    """Run a kernel of data.cu, which need no options and so are compiled once."""
    launch_kernel(module(index, "data.cu").get_function(name), threads, *arguments)
