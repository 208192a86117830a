"""Forked processes: a child has the locks of its parent's threads, but not the threads."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Any

_everyone: weakref.WeakSet[Any] = weakref.WeakSet()


def tell_after_fork(thing: Any) -> None:
    """Have ``thing._after_fork()`` called in every child that is forked from now on."""
    _everyone.add(thing)


def _tell_everyone() -> None:
    for thing in list(_everyone):
        thing._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell_everyone)


class Lock:
    """A reentrant lock that a forked child finds open, and so does whoever unpickles it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        tell_after_fork(self)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
