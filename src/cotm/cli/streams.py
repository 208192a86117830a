"""Standard output and standard error as streams that may be closed, full or cut off.

A result that cannot be printed is an error. A message that cannot be printed is dropped: it
must not end the work it is about.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

import typer


class OutputError(OSError):
    """Standard output takes no more."""

    @property
    def reader_left(self) -> bool:
        """Whether nobody reads it any longer, as after ``head``, or from the beginning."""
        return self.errno in (errno.EPIPE, errno.EBADF)


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that was closed when the program began."""

    def write(self, text: str) -> int:
        """Fail."""
        raise OutputError(errno.EBADF, "it is closed")


def open_closed_streams() -> None:
    """Give the standard streams their descriptors, which files would get otherwise."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def put(text: str) -> None:
    """Print lines of a result."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    # A terminal of another alphabet shows what it cannot write as \x escapes.
    _write(sys.stdout, text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def put_data(data: bytes) -> None:
    """Print a result that is data, byte by byte."""
    if isinstance(sys.stdout, ClosedOutput):
        sys.stdout.write("")
    _write(sys.stdout.buffer, data)


def _write(stream: Any, part: Any) -> None:
    try:
        stream.write(part)
        stream.flush()
    except OutputError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise OutputError(error.errno, error.strerror) from error


def put_message(text: str) -> None:
    """Print lines to standard error, where they can be printed."""
    try:
        typer.echo(text, err=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def settle_messages() -> None:
    """Drop what standard error did not take; Python would fail with it when it exits."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: Any) -> None:
    """Point a stream that failed at the null device, with what it still buffers."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # it has none, so nothing is written when Python exits
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
