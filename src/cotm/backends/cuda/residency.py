"""Room for training launches of several machines on a device at the same time. Needs no device.

The blocks of a training launch wait for each other, so all of them must be on the device at once.
A cooperative launch has the driver see to that, for one launch at a time. Where launches are
ordinary ones, this does: it lets so many begin that each block has its place, whichever
multiprocessor it comes to. Which of both a machine has, depends on where it was made.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

_WARP, _REGISTER_UNIT = 32, 256  # threads; registers that a warp takes at a time
_SHARED_UNIT, _SHARED_OWN = 128, 1024  # bytes; those that a block takes for the system

#: Where its daemon has its pipes: what the environment says, or else its default.
_MPS_PIPES = "CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"

_side_by_side = ContextVar("side_by_side", default=False)


@contextmanager
def side_by_side() -> Iterator[None]:
    """Machines made in here, by this thread, train at the same time as those of other threads.

    One alone is slower by a little. The result is the same.
    """
    token = _side_by_side.set(True)
    try:
        yield
    finally:
        _side_by_side.reset(token)


def are_side_by_side() -> bool:
    """Whether a machine that is made now has ordinary launches.

    Not where NVIDIA's MPS puts launches of other processes, which nobody here knows, on the device
    at the same time.
    """
    wanted = _side_by_side.get() or os.environ.get("COTM_CUDA_LAUNCH") == "ordinary"
    return wanted and not Path(os.environ.get(*_MPS_PIPES)).exists()


class Need(NamedTuple):
    """What a block of a launch takes of a multiprocessor, or what that has."""

    registers: int
    shared: int  # bytes
    threads: int
    blocks: int = 1

    @classmethod
    def of_block(cls, threads: int, registers: int, shared: int) -> Need:
        """Of so many threads with so many registers each, rounded up as devices do."""
        warps = -(-threads // _WARP)
        of_warp = -(-registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
        whole = -(-(shared + _SHARED_OWN) // _SHARED_UNIT) * _SHARED_UNIT
        return cls(warps * of_warp, whole, warps * _WARP)


class Room:
    """A device's multiprocessors, and the launches that are on them."""

    def __init__(self, processors: int, each: Need) -> None:
        self._processors, self._each = processors, each
        self._taken: list[tuple[int, Need]] = []
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    def fits(self, blocks: int, block: Need) -> bool:
        """Whether a launch has room beside those that are there.

        A multiprocessor that holds fewer blocks than it could hold of the largest kind, has room
        for one of any kind; so all are placed, in whatever order.
        """
        launches = [*self._taken, (blocks, block)]
        largest = [max(parts) for parts in zip(*(need for _, need in launches), strict=True)]
        held = min(has // needs for has, needs in zip(self._each, largest, strict=True))
        return sum(count for count, _ in launches) <= held * self._processors

    @contextmanager
    def take(self, blocks: int, block: Need) -> Iterator[None]:
        """Wait until there is room, and hold it; who came first goes first."""
        ticket, launch = object(), (blocks, block)
        with self._changed:
            self._waiting.append(ticket)
            try:
                # One that is alone is no larger than the device: its layout has seen to that.
                self._changed.wait_for(
                    lambda: (
                        self._waiting[0] is ticket and (not self._taken or self.fits(blocks, block))
                    )
                )
                self._taken.append(launch)
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._taken.remove(launch)
                self._changed.notify_all()
