"""How much memory training takes, and whether this computer has it."""

from __future__ import annotations

from ..core.spec import Spec
from ..core.system import available_memory, format_bytes
from .threads import training_thread_bytes, training_threads


def training_bytes(spec: Spec, average: int = 1, n_jobs: int | None = 1) -> int:
    """Memory a machine takes in training: state, copies of it, include lists, and threads.

    The lists are longest at the start, when a clause includes about half of the literals. With
    ``average``, earlier states are kept as bits, and brought together to predict.
    """
    threads = training_threads(n_jobs, spec)
    entries, weights = spec.n * spec.grid.n_literals, 4 * spec.n * spec.m
    earlier = (average - 1) * (entries // 8 + weights)
    together = average * (3 * entries + 3 * weights) if average > 1 else 0
    own = threads * training_thread_bytes(spec, threads)
    return 6 * entries + 3 * weights + 256 * spec.n + own + earlier + together


def check_fits_memory(spec: Spec, average: int = 1, n_jobs: int | None = 1) -> None:
    """Refuse a machine that this computer cannot hold, with the numbers."""
    needed, available = training_bytes(spec, average, n_jobs), available_memory()
    if available is not None and needed > available:
        states = f" and average={average}" if average > 1 else ""
        fewer = "fewer states, " if average > 1 else ""
        if training_bytes(spec, average) < 0.9 * needed:
            fewer += "fewer threads (n_jobs), "
        raise MemoryError(
            f"n_clauses={spec.n} with {spec.grid.n_literals} literals each{states} needs about "
            f"{format_bytes(needed)}, but {format_bytes(available)} are available; use {fewer}"
            "fewer clauses or fewer input bits"
        )
