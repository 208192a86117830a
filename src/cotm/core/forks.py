"""Forked processes: a child has the locks of its parent's threads, but not the threads."""

from __future__ import annotations

import os
import weakref
from _thread import RLock
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


class Lock(RLock):  # type: ignore[misc]
    """A reentrant lock that a forked child finds open, and so does whoever unpickles it.

    Entering and leaving are the interpreter's own: with methods in Python, Ctrl-C could come
    between taking the lock and the block, or just before it is left, and leave it closed for ever.
    """

    def __init__(self) -> None:
        self._inherited = False
        tell_after_fork(self)

    def _after_fork(self) -> None:
        if self._owned():  # by the thread that goes on in the child, and will leave it
            self._inherited = True
        else:
            self._at_fork_reinit()  # type: ignore[attr-defined]

    def _owned(self) -> bool:
        return self._is_owned()  # type: ignore[attr-defined, no-any-return]

    def is_mine(self) -> bool:
        """Whether this thread has taken it, in this process."""
        if not self._owned():
            self._inherited = False
            return False
        return not self._inherited

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
