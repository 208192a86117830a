"""What a long training shows: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from types import TracebackType
from typing import IO, Any, cast

from ..model.fitted import Record


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def examples_done(self, done: int) -> None:
        """Within the current epoch."""

    def epoch_done(self, record: Record) -> None:
        """An epoch is finished."""


class Messages(io.TextIOBase):
    """Standard error as it is now, where what cannot be written is dropped.

    A log whose reader has left must not end a training.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr  # None where the program has none

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"


class Lines(Silent):
    """One line per epoch, for logs."""

    def __init__(self, epochs: int, examples: int, description: str) -> None:
        self.epochs, self.examples = epochs, examples
        self._began = time.perf_counter()
        self._first: int | None = None
        self._messages = Messages()
        if description:
            print(description, file=self._messages)

    def epoch_done(self, record: Record) -> None:
        self._first = record["epoch"] - 1 if self._first is None else self._first
        per_epoch = (time.perf_counter() - self._began) / (record["epoch"] - self._first)
        left = per_epoch * (self.epochs - record["epoch"])
        print(
            f"epoch {record['epoch']}/{self.epochs}  {describe(record)}  "
            f"{self.examples / max(record['seconds'], 1e-9):,.0f} examples/s  "
            f"{format_seconds(left)} left",
            file=self._messages,
        )


class Bar(Silent):
    """A bar with epoch, accuracies, examples per second and time left."""

    def __init__(self, epochs: int, examples: int, description: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(file=cast(IO[str], Messages()))
        if description:
            console.print(description, highlight=False)
        self.epochs, self.examples = epochs, examples
        self._began = time.perf_counter()
        self._presented = 0
        self._finished: int | None = None
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            TextColumn("{task.fields[accuracy]}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task(
            "", total=epochs * examples, epoch=f"0/{epochs}", accuracy="", speed=""
        )

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *stop: Any) -> None:
        self._progress.stop()

    def examples_done(self, done: int) -> None:
        finished = self._finished or 0
        speed = (self._presented + done) / max(time.perf_counter() - self._began, 1e-9)
        self._progress.update(
            self._task,
            completed=finished * self.examples + done,
            epoch=f"{min(finished + 1, self.epochs)}/{self.epochs}",
            speed=f"{speed:,.0f} examples/s",
        )

    def epoch_done(self, record: Record) -> None:
        self._finished = record["epoch"]
        self._presented += self.examples
        self._progress.update(
            self._task,
            completed=record["epoch"] * self.examples,
            accuracy=describe(record),
        )


def make_reporter(verbose: int, epochs: int, examples: int, description: str) -> Silent:
    """For verbosity 0 nothing, for 1 a bar on a terminal and lines elsewhere, for 2 lines.

    The bar is drawn by rich; without it there are lines.
    """
    if not verbose:
        return Silent()
    if verbose == 1 and Messages().isatty():
        with contextlib.suppress(ImportError):  # rich comes with the command line only
            return Bar(epochs, examples, description)
    return Lines(epochs, examples, description)


def describe(record: Record) -> str:
    """An epoch's accuracies as text, and its score where that is not the accuracy."""
    text = f"train {record['train_accuracy']:.2%}"
    if "validation_accuracy" in record:
        text += f"  validation {record['validation_accuracy']:.2%}"
        if (
            record.get("validation_score", record["validation_accuracy"])
            != (record["validation_accuracy"])
        ):
            text += f", score {record['validation_score']:.4g}"
    return text


def format_seconds(seconds: float) -> str:
    """A human-readable duration.

    >>> format_seconds(0.31), format_seconds(75), format_seconds(7300)
    ('0.3 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
