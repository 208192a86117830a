"""The states of a machine in a model file, as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.decoding import expect
from ..core.patches import PatchGrid
from ..core.spec import Spec
from ..core.state import EarlierState, Snapshot
from ..machine import Machine
from .container import Tensors

#: Begins the names of the tensors of the best epoch so far.
BEST = "best."
_NAMES = ("memory", "weights", "earlier.included", "earlier.weights")
TENSORS = {prefix + name for prefix in ("", BEST) for name in _NAMES}


def encode_snapshot(state: Snapshot, prefix: str) -> Tensors:
    """All of a state but its step, which is in the header."""
    tensors: Tensors = {"memory": state.memory, "weights": state.weights}
    if state.earlier:
        tensors["earlier.included"] = np.stack([past.included for past in state.earlier])
        tensors["earlier.weights"] = np.stack([past.weights for past in state.earlier])
    return {prefix + name: tensor for name, tensor in tensors.items()}


def decode_snapshot(
    machine: Machine, grid: PatchGrid, m: int, tensors: Tensors, prefix: str, step: Any
) -> Snapshot:
    """A state that a machine with ``m`` outputs can have; tensors and step may be hostile."""
    memory, weights = tensors[f"{prefix}memory"], tensors[f"{prefix}weights"]
    spec = Spec.of(machine.parameters, grid, m, machine.seed_)
    expect(
        memory.dtype == np.int8 and memory.shape == (spec.n, grid.n_literals),
        f"memory is {memory.dtype} {memory.shape}",
    )
    expect(
        weights.dtype == np.int32 and weights.shape == (spec.n, m),
        f"weights are {weights.dtype} {weights.shape}",
    )
    expect(bool((memory >= -spec.N).all() and (memory < spec.N).all()), "memory out of range")
    expect(np.array_equal(spec.clip_weights(weights), weights), "weights too large")
    expect(type(step) is int and 0 <= step < 2**63, f"step is {step!r:.100}")
    return Snapshot(memory, weights, step, _decode_earlier(machine, spec, tensors, prefix))


def _decode_earlier(
    machine: Machine, spec: Spec, tensors: Tensors, prefix: str
) -> tuple[EarlierState, ...]:
    included = tensors.get(f"{prefix}earlier.included")
    weights = tensors.get(f"{prefix}earlier.weights")
    if included is None or weights is None:
        expect(included is weights, "half of the earlier states is missing")
        return ()
    shape = (len(included), spec.n, -(-spec.grid.n_literals // 8))
    expect(
        included.dtype == np.uint8
        and included.shape == shape
        and len(included) < machine.parameters.average,
        f"earlier states are {included.dtype} {included.shape}",
    )
    expect(
        weights.dtype == np.int32 and weights.shape == (len(included), spec.n, spec.m),
        f"earlier weights are {weights.dtype} {weights.shape}",
    )
    expect(np.array_equal(spec.clip_weights(weights), weights), "earlier weights too large")
    return tuple(EarlierState(*pair) for pair in zip(included, weights, strict=True))
