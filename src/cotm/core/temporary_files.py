"""Temporary files: large, read again and again, and gone with whoever made them.

The system is told to remove a file as soon as it is open, so that none is left whatever happens,
a kill included; systems that cannot (Windows) remove it when it is closed.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .system import format_bytes

#: Bytes of a file that are mapped at a time: limits of a process count what is mapped.
_WINDOW = 32_000_000
#: A full disk, a quota, a limit on the size of files.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class TemporaryFile:
    """Bytes that are appended, in a file without a name.

    ``what`` is their name in errors, such as "the bits of the examples".
    """

    def __init__(self, what: str, folder: str | os.PathLike[str] | None = None) -> None:
        self._what = what
        self._folder = os.fspath(folder or tempfile.gettempdir())
        self._size = 0
        try:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 - it is closed with this object
                dir=self._folder, prefix="cotm-", buffering=0
            )
        except OSError as error:
            raise self._failed(error) from error

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return self._size

    def append(self, data: Any) -> None:
        """Write bytes, all of them or an error."""
        rest = memoryview(data).cast("B")
        try:
            while len(rest):
                written = self._file.write(rest) or 0
                rest, self._size = rest[written:], self._size + written
        except OSError as error:
            raise self._failed(error) from error

    def view(self, first: int, last: int) -> NDArray[np.uint8]:
        """The bytes from one place to another, as long as somebody looks at them."""
        if first == last:
            return np.empty(0, dtype=np.uint8)
        begin = first - first % mmap.ALLOCATIONGRANULARITY
        window = mmap.mmap(self._file.fileno(), last - begin, access=mmap.ACCESS_READ, offset=begin)
        return np.frombuffer(window, dtype=np.uint8)[first - begin :]

    def _failed(self, error: OSError) -> OSError:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            reason = f"{reason}, after {format_bytes(self._size)}"
        return type(error)(
            error.errno,
            f"{self._what} cannot be kept in a temporary file ({reason}); make room there, or "
            "choose another folder: Stream(..., folder=...), --temp, or the variable TMPDIR",
            self._folder,
        )


class RowFile:
    """Rows of so many bytes in a temporary file."""

    def __init__(
        self, row_bytes: int, what: str, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.row_bytes = row_bytes
        self._file = TemporaryFile(what, folder)

    def __len__(self) -> int:
        return self._file.size // self.row_bytes

    def append(self, rows: NDArray[np.uint8]) -> None:
        """Write rows behind those that are there."""
        self._file.append(np.ascontiguousarray(rows).reshape(-1))

    def read(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
        """These rows, in this order; from the file's beginning to its end, a piece at a time."""
        found = np.empty((len(rows), self.row_bytes), dtype=np.uint8)
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        for first, last in self._pieces(ordered):
            wanted = ordered[first:last]
            begin = int(wanted[0])
            view = self._file.view(
                begin * self.row_bytes, (int(wanted[-1]) + 1) * self.row_bytes
            ).reshape(-1, self.row_bytes)
            found[order[first:last]] = view[wanted - begin]
        return found

    def _pieces(self, ordered: NDArray[np.integer[Any]]) -> Iterator[tuple[int, int]]:
        """Which of rows in ascending order lie within one window."""
        window, first = max(1, _WINDOW // self.row_bytes), 0
        while first < len(ordered):
            last = int(np.searchsorted(ordered, int(ordered[first]) + window))
            yield first, last
            first = last
