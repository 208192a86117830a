"""Ctrl-C during training: noted at once, acted on where the state is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class InterruptFlag:
    """Within this context SIGINT sets a flag; leaving it raises KeyboardInterrupt if set.

    Calling the flag asks whether to stop. Signals reach the main thread alone, so in any
    other thread the context changes nothing.
    """

    def __init__(self) -> None:
        self._interrupted = False
        self._previous: Any = None
        self._installed = False

    def __call__(self) -> bool:
        return self._interrupted

    def __enter__(self) -> InterruptFlag:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            # Where the program ignores SIGINT or handles it itself, that stands.
            if handler is signal.default_int_handler:
                self._previous = signal.signal(signal.SIGINT, self._note)
                self._installed = True
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)
        if self._interrupted and kind is None:
            raise KeyboardInterrupt
