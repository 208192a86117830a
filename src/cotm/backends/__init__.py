"""The backends and the choice between them. All of them give the same bits."""

from __future__ import annotations

import importlib
import os
import warnings

import numpy as np
from numpy.typing import NDArray

from ..spec import Spec
from .protocol import Backend, TrainCounts

__all__ = ["Backend", "TrainCounts", "backend_names", "make_backend", "resolve_backend"]

#: Name of each backend and where it lives; imported when asked for.
_BACKENDS = {
    "reference": ("reference", "ReferenceBackend"),
    "native": ("native", "NativeBackend"),
}

_warned_about_fallback = False


def backend_names() -> list[str]:
    """Every value the parameter ``backend`` takes."""
    return ["auto", *_BACKENDS, "cuda"]


def resolve_backend(name: str) -> str:
    """The backend that ``name`` stands for on this machine.

    ``"auto"`` is ``COTM_BACKEND`` where that is set, else the native backend, else, with
    one warning, the reference.
    """
    if name == "auto":
        name = os.environ.get("COTM_BACKEND") or "auto"
    if name not in backend_names():
        raise ValueError(
            f"backend={name!r} is unknown; use one of {', '.join(map(repr, backend_names()))}"
        )
    if name == "cuda":
        raise ValueError(
            "backend='cuda' is not available: this version of cotm has no CUDA backend; "
            "use backend='native', which gives the same result"
        )
    if name != "auto":
        return name
    try:
        importlib.import_module("cotm._native")
    except ImportError as error:
        _warn_about_fallback(error)
        return "reference"
    return "native"


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


def make_backend(
    name: str,
    spec: Spec,
    memory: NDArray[np.int8],
    weights: NDArray[np.int32],
    n_jobs: int | None,
) -> Backend:
    """Start a backend from a state."""
    resolved = resolve_backend(name)
    module, class_name = _BACKENDS[resolved]
    try:
        backend_class = getattr(importlib.import_module(f".{module}", __package__), class_name)
    except ImportError as error:
        raise ValueError(
            f"backend={resolved!r} is not available: {error}; use backend='reference' or "
            "reinstall cotm with a C++ compiler present"
        ) from error
    backend: Backend = backend_class(spec, memory, weights, n_jobs)
    return backend
