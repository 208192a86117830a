"""The backends and the choice between them. All of them give the same bits."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.spec import Spec
from .protocol import Backend, TrainCounts
from .threads import prediction_nanoseconds, step_nanoseconds

__all__ = [
    "Backend",
    "TrainCounts",
    "backend_names",
    "choose_backend",
    "device_title",
    "make_backend",
    "resolve_backend",
    "smaller_backend",
]

#: Name of each backend and where it lives; imported when asked for.
_BACKENDS = {
    "reference": ("reference", "ReferenceBackend"),
    "native": ("native", "NativeBackend"),
    "cuda": ("cuda.backend", "CudaBackend"),
}
#: A GPU takes about 3 microseconds per example however few the clauses are, and a second to
#: start. From this much work of one processor on, per example and per pass, it gains; see
#: docs/performance.md.
_CUDA_STEP_NANOSECONDS = 2_000
_CUDA_PASS_SECONDS = 0.1
_CUDA_PREDICTION_SECONDS = 1.0

_warned_about_fallback = False


def backend_names() -> list[str]:
    """Every value the parameter ``backend`` takes; ``"cuda:1"`` is the second device."""
    return ["auto", *_BACKENDS]


def resolve_backend(name: str) -> str:
    """The backend that ``name`` stands for on this machine; an error where it cannot run.

    ``"auto"`` is ``COTM_BACKEND`` where that is set, else the native backend, else, with
    one warning, the reference. :func:`choose_backend` may prefer a GPU to it.
    """
    if name == "auto":
        name = os.environ.get("COTM_BACKEND") or "auto"
    kind = name.partition(":")[0] if isinstance(name, str) else name
    if kind not in backend_names() or (name != kind and not re.fullmatch(r"cuda:\d{1,4}", name)):
        raise ValueError(
            f"backend={name!r} is unknown; use one of {', '.join(map(repr, backend_names()))}"
        )
    if kind == "cuda":
        _load("cuda", name).device_index(name)
    if name != "auto":
        return name
    try:
        # Once it is there, without the import lock, which threads would queue for.
        if sys.modules.get("cotm._native") is None:
            importlib.import_module("cotm._native")
    except ImportError as error:
        _warn_about_fallback(error)
        return "reference"
    return "native"


def choose_backend(name: str, spec: Spec, rows: int, *, training: bool) -> str:
    """The backend for this much work: for ``"auto"`` a GPU where one is there and gains."""
    if name != "auto" or os.environ.get("COTM_BACKEND", "auto") not in ("", "auto"):
        return resolve_backend(name)
    if training:
        step = step_nanoseconds(spec)
        gains = step >= _CUDA_STEP_NANOSECONDS and step * rows >= _CUDA_PASS_SECONDS * 1e9
    else:
        gains = prediction_nanoseconds(spec, rows) >= _CUDA_PREDICTION_SECONDS * 1e9
    return "cuda" if gains and _has_cuda() else resolve_backend(name)


def smaller_backend(name: str, asked: str) -> str | None:
    """What to take where the chosen backend has no room; None where it was asked for by name."""
    processor = resolve_backend("auto")
    return processor if asked == "auto" and name != processor else None


def device_title(name: str) -> str | None:
    """What the GPU of a backend is called; None for backends without one."""
    kind = name.partition(":")[0]
    return str(_load(kind, name).device_title(name)) if kind == "cuda" else None


@functools.cache
def _has_cuda() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        return bool(_load("cuda", "cuda").works("cuda"))
    except ValueError:
        return False


def _warn_about_fallback(error: ImportError) -> None:
    global _warned_about_fallback
    if _warned_about_fallback:
        return
    _warned_about_fallback = True
    warnings.warn(
        f"cotm's native extension could not be loaded ({error}); falling back to the NumPy "
        "reference, which gives the same results hundreds of times slower. Reinstall cotm with "
        "a C++ compiler present to get it.",
        RuntimeWarning,
        stacklevel=4,
    )


def _load(kind: str, name: str) -> Any:
    try:
        return importlib.import_module(f".{_BACKENDS[kind][0]}", __package__)
    except ImportError as error:
        remedy = (
            "install CuPy, for example with pip install 'cotm[cuda]', or use backend='native', "
            "which gives the same result"
            if kind == "cuda"
            else "use backend='reference' or reinstall cotm with a C++ compiler present"
        )
        raise ValueError(f"backend={name!r} is not available: {error}; {remedy}") from error


def make_backend(
    name: str,
    spec: Spec,
    memory: NDArray[np.int8],
    weights: NDArray[np.int32],
    n_jobs: int | None,
) -> Backend:
    """Start a backend from a state."""
    resolved = resolve_backend(name)
    kind = resolved.partition(":")[0]
    backend_class = getattr(_load(kind, resolved), _BACKENDS[kind][1])
    options = {"name": resolved} if kind == "cuda" else {}
    backend: Backend = backend_class(spec, memory, weights, n_jobs, **options)
    return backend
