"""Ctrl-C during training: noted at once, acted on where the state is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class _Handler:
    """A context with a handler of SIGINT of its own.

    Signals reach the main thread alone, so in any other thread the context changes nothing.
    Where the program ignores SIGINT or handles it itself, that stands.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._previous: Any = None

    def __enter__(self) -> Any:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if handler is signal.default_int_handler or self._goes_within(handler):
                self._previous = handler
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _goes_within(self, handler: Any) -> bool:
        """Whether it may take over from this handler for a while."""
        return False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True


class InterruptFlag(_Handler):
    """Within this context SIGINT sets a flag; leaving it raises KeyboardInterrupt if set.

    Calling the flag asks whether to stop.
    """

    def __enter__(self) -> InterruptFlag:
        super().__enter__()
        guard = _guard_of(self._previous)
        if guard is not None and guard.interrupted:  # just before this took over
            self.interrupted = True
        return self

    def __call__(self) -> bool:
        return self.interrupted

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        if self.interrupted and kind is None:
            raise KeyboardInterrupt

    def _goes_within(self, handler: Any) -> bool:
        guard = _guard_of(handler)
        if guard is not None:
            guard.hold()
        return guard is not None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if _guard_of(self._previous) is not None:
            self._previous(number, frame)


class InterruptGuard(_Handler):
    """Around a training and the saving of what it has learned.

    SIGINT ends the program as usual until the training begins, which is when an
    :class:`InterruptFlag` is entered. From then on it is noted only: the training stops, and
    the rest of this context, where the work of hours is written, runs to its end however
    often it comes.

    Once one was noted the program is about to end, and after the context ignores them.

    ``notice`` is called when the first one is noted. It runs between any two steps of the
    program, in the middle of a print even, so it must not print through Python's streams.
    """

    def __init__(self, notice: Callable[[], None]) -> None:
        super().__init__()
        self._notice = notice
        self._holds = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.interrupted:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        else:
            super().__exit__(kind, error, trace)

    def hold(self) -> None:
        """From now on SIGINT is noted only."""
        self._holds = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._holds:
            signal.default_int_handler(number, frame)
        first, self.interrupted = not self.interrupted, True
        if first:
            self._notice()


def _guard_of(handler: Any) -> InterruptGuard | None:
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, InterruptGuard) else None
