"""Arrays that lie on a GPU: CuPy's, PyTorch's, anything that speaks DLPack."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def on_gpu(X: Any) -> bool:
    """Whether X is an array on a CUDA device."""
    if isinstance(X, np.ndarray):
        return False
    device = getattr(X, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in _DLPACK_CUDA


def as_gpu_array(X: Any) -> Any:
    """X as a CuPy array, where it lies, without a copy."""
    try:
        import cupy as cp
    except ImportError as error:
        raise ValueError(
            f"X lies on a GPU, but CuPy cannot be loaded ({error}); install it with "
            "pip install 'cotm[cuda]', or pass X as a NumPy array"
        ) from error
    if isinstance(X, cp.ndarray):
        return X
    try:
        return cp.from_dlpack(X)  # waits for what is still computing X
    except (BufferError, RuntimeError, TypeError):  # types that DLPack does not carry
        return cp.asarray(X)


def on_device_of(X: Any) -> AbstractContextManager[Any]:
    """Where to compute with X: on its device, if it lies on one."""
    return as_gpu_array(X).device if on_gpu(X) else nullcontext()


def to_host(X: Any) -> Any:
    """X as a NumPy array if it lies on a GPU, else as it is."""
    return as_gpu_array(X).get() if on_gpu(X) else X
