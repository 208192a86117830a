"""Where work is done: threads on the processors, threads on a GPU, workers of Dask."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from ..backends import backends_for, check_backend, device_title, side_by_side
from ..core.checks import check_integer
from ..core.spec import Spec
from ..core.system import available_processors
from .folds import Fold, Scorers
from .work import Done, Work, advance

#: Trainings at the same time on a GPU.
_ON_GPU = 8


@dataclass(frozen=True)
class Slot:
    """Room for one training at a time."""

    backend: str
    takes: str = "urgent"  # or the "longest" work or the "shortest", where some are faster

    def choose(self, due: list[Any], epochs: Callable[[Any], int]) -> Any:
        """What of the due work to take here; the most urgent comes first."""
        if self.takes == "urgent":
            return due[0]
        return (max if self.takes == "longest" else min)(due, key=epochs)


class Places(Protocol):
    """Room for several trainings at a time."""

    slots: list[Slot]

    def begin(self, ticket: Any, slot: Slot, work: Work, fold: Callable[[], Fold]) -> None:
        """Start work; its ticket comes back with the result."""
        ...

    def wait(self, seconds: float) -> tuple[Any, Callable[[], Done]] | None:
        """The ticket and the result of work that has ended; None if none has in the time."""
        ...

    def stop(self) -> None:
        """End all work that is under way; nothing comes of it."""
        ...


class _Queued:
    """What has ended comes in a queue, from whichever thread."""

    def __init__(self) -> None:
        self._ended: queue.SimpleQueue[tuple[Any, Callable[[], Done]]] = queue.SimpleQueue()

    def wait(self, seconds: float) -> tuple[Any, Callable[[], Done]] | None:
        """See :class:`Places`."""
        try:
            return self._ended.get(timeout=seconds)
        except queue.Empty:
            return None


class Threads(_Queued):
    """Threads of this process, which share the data."""

    def __init__(self, slots: list[Slot], scorers: Scorers) -> None:
        super().__init__()
        self.slots, self._scorers = slots, scorers
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(len(slots), thread_name_prefix="cotm-tune")

    def begin(self, ticket: Any, slot: Slot, work: Work, fold: Callable[[], Fold]) -> None:
        def do() -> Done:
            with side_by_side() if len(self.slots) > 1 else nullcontext():
                return advance(work, fold(), self._scorers, self._stopped.is_set)

        future = self._pool.submit(do)
        future.add_done_callback(lambda ended: self._ended.put((ticket, ended.result)))

    def stop(self) -> None:
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class DaskWorkers(_Queued):
    """The workers of a Dask cluster; each gets the data of a fold once."""

    def __init__(self, client: Any, scorers: Scorers, backend: str) -> None:
        super().__init__()
        if not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
            raise ValueError(f"client={client!r:.200} must be a dask.distributed.Client, or None")
        self._client = client
        threads = sum(client.nthreads().values())
        if not threads:
            raise ValueError("the Dask client has no workers; start some, or leave client out")
        # Some in waiting, so that no worker is idle while results travel.
        self.slots = [Slot(backend)] * (threads + min(threads, 4))
        self._scorers = client.scatter(dict(scorers), hash=False)
        self._folds: dict[int, Any] = {}
        self._kept: list[Fold] = []  # whose ids are in use
        self._running: set[Any] = set()

    def begin(self, ticket: Any, slot: Slot, work: Work, fold: Callable[[], Fold]) -> None:
        data = fold()
        if id(data) not in self._folds:
            self._kept.append(data)
            self._folds[id(data)] = self._client.scatter(data, hash=False)
        future = self._client.submit(
            advance, work, self._folds[id(data)], self._scorers, pure=False
        )
        self._running.add(future)

        def ended(future: Any) -> None:
            self._ended.put((ticket, future.result))
            self._running.discard(future)

        future.add_done_callback(ended)

    def stop(self) -> None:
        for future in list(self._running):
            future.cancel()
        self._folds.clear()


def slots_for(backend: str, n_jobs: int | None, spec: Spec | None, rows: int) -> list[Slot]:
    """Room on this computer. The results do not depend on it.

    ``spec`` is of a usual candidate. With ``backend="auto"`` all processors take part, and a GPU
    beside them where it gains.
    """
    if n_jobs is not None and n_jobs != -1:
        n_jobs = check_integer("n_jobs", n_jobs, 1)
    processors = available_processors()
    if backend != "auto":
        check_backend(backend)
        count = processors if device_title(backend) is None else _ON_GPU
        return [Slot(backend)] * (n_jobs if n_jobs not in (None, -1) else count)
    named = [] if spec is None else backends_for("auto", spec, rows, training=True)
    count = processors if n_jobs in (None, -1) else n_jobs
    if len(named) < 2 or count == 1:
        return [Slot("auto")] * count
    # What gains most comes first: a device, which is there beside the processors.
    on_gpu = _ON_GPU if n_jobs in (None, -1) else min(_ON_GPU, max(1, count // 3))
    # A training on a GPU keeps a processor busy with launches.
    others = max(1, count - on_gpu)
    return [*[Slot("auto", "longest")] * on_gpu, *[Slot(named[-1], "shortest")] * others]
