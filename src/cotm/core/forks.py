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
        self._depth = 0  # how often who holds it has taken it
        tell_after_fork(self)

    def _after_fork(self) -> None:
        self._lock, self._depth = threading.RLock(), 0

    def is_mine(self) -> bool:
        """Whether this thread holds it."""
        return self._lock._is_owned()  # type: ignore[attr-defined, no-any-return]

    def is_outermost(self) -> bool:
        """Whether this thread, which holds it, has taken it once only."""
        return self._depth == 1

    def take(self, *, blocking: bool = True) -> bool:
        """Take it, as entering does; whether it could be had."""
        if self.is_mine():
            self._depth += 1
            return True
        try:
            if not self._lock.acquire(blocking=blocking):
                return False
            self._depth = 1
        except BaseException:  # Ctrl-C, which may come when it has just been taken
            if self.is_mine():
                self._depth = 0
                self._lock.release()
            raise
        return True

    def leave(self) -> None:
        """What leaving does."""
        if self._depth == 0:  # a child that was forked while its parent held it
            return
        self._depth -= 1
        if self._depth == 0:
            self._lock.release()

    def __enter__(self) -> None:
        self.take()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
