"""The choice between backends. All of them give the same bits; ``kinds.py`` lists them."""

from __future__ import annotations

import logging
import os
import warnings

import numpy as np
from numpy.typing import NDArray

from ..core.spec import Spec
from .cuda.residency import side_by_side
from .kind import BackendKind, Work
from .kinds import KINDS
from .protocol import Backend, TrainCounts, TrainingSet

__all__ = [
    "Backend",
    "TrainCounts",
    "TrainingSet",
    "backend_names",
    "backends_for",
    "check_backend",
    "describe_backend",
    "device_title",
    "make_backend",
    "side_by_side",
]

_logger = logging.getLogger(__name__)

_warned: set[str] = set()


def backend_names() -> list[str]:
    """Every value the parameter ``backend`` takes; ``"cuda:1"`` is the second device."""
    return ["auto", *(kind.name for kind in reversed(KINDS))]


def check_backend(name: str) -> None:
    """Raise ValueError, with a remedy, for a backend that is unknown or cannot run here."""
    name = _asked_for(name)
    if name != "auto":
        _kind_of(name).require(name)


def backends_for(
    name: str, spec: Spec, rows: int, *, training: bool, sampled: bool = False
) -> list[str]:
    """The backend for this much work, and after it those to take where it has no room.

    For ``"auto"`` these are the ones that are there and gain, or would with any work. One that
    was asked for by its name, or by ``COTM_BACKEND``, is the only one. ``sampled`` says that each
    example asks but some of the outputs.
    """
    name = _asked_for(name)
    if name != "auto":
        kind = _kind_of(name)
        kind.require(name)
        return [name]
    work = Work(spec, rows, training)
    names = []
    for kind in KINDS:
        able = not kind.lacks(spec) and (kind.spares_outputs or not sampled)
        if not able or not kind.gains(work):
            continue
        if kind.is_there():
            names.append(kind.name)
            if kind.gains(None):
                break  # there is none that is better and takes less room
        else:
            _warn_of_loss(kind)
    return names


def describe_backend(name: str) -> str:
    """What is worth knowing of a backend that runs here: its device, its instructions."""
    return _kind_of(name).describe(name)


def device_title(name: str) -> str | None:
    """What the device of a backend calls itself; None where that is the processor."""
    return _kind_of(name).device_title(name)


def make_backend(
    name: str,
    spec: Spec,
    memory: NDArray[np.int8],
    weights: NDArray[np.int32],
    n_jobs: int | None,
) -> Backend:
    """Start a backend from a state; ``"auto"`` is one that suits any work."""
    name = _asked_for(name)
    if name == "auto":
        name = next(kind.name for kind in KINDS if kind.gains(None) and kind.is_there())
    kind = _kind_of(name)
    lacking = kind.lacks(spec)
    if lacking is not None:
        raise ValueError(
            f"backend={name!r} has no {lacking} yet; use backend='native' or backend='auto'"
        )
    return kind.start(name, spec, memory, weights, n_jobs)


def _asked_for(name: str) -> str:
    return os.environ.get("COTM_BACKEND") or name if name == "auto" else name


def _kind_of(name: str) -> BackendKind:
    for kind in KINDS:
        if isinstance(name, str) and kind.takes(name):
            return kind
    raise ValueError(
        f"backend={name!r} is unknown; use one of {', '.join(map(repr, backend_names()))}"
    )


def _warn_of_loss(kind: BackendKind) -> None:
    """Once per process."""
    if kind.name in _warned:
        return
    loss = kind.loss()
    if loss is not None:
        _warned.add(kind.name)
        _logger.warning("backend %s is missing: %s", kind.name, loss)
        warnings.warn(loss, RuntimeWarning, stacklevel=5)
