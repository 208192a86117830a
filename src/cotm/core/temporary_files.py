"""Temporary files: large, read again and again, and gone with whoever made them.

The system is told to remove a file as soon as it is open, so that none is left whatever happens,
a kill included; systems that cannot (Windows) remove it when it is closed.
"""

from __future__ import annotations

import errno
import math
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
#: Bytes that are written at a time, of a file that is to be filled.
_PIECE = 1_000_000
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
        return self._mapped(begin, last, mmap.ACCESS_READ)[first - begin :]

    def array(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """All of it as an array that can be written to, for as long as somebody has it."""
        kind = np.dtype(dtype)
        if self._size == 0:
            return np.empty(shape, dtype=kind)
        return self._mapped(0, self._size, mmap.ACCESS_WRITE).view(kind).reshape(shape)

    def _mapped(self, first: int, last: int, access: int) -> NDArray[np.uint8]:
        try:
            window = mmap.mmap(self._file.fileno(), last - first, access=access, offset=first)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise MemoryError(
                f"{self._what} lie in a file, and there is no room to look at "
                f"{format_bytes(last - first)} of it"
            ) from error
        return np.frombuffer(window, dtype=np.uint8)

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


def array_in_file(
    shape: Any, dtype: Any, what: str, folder: str | os.PathLike[str] | None = None
) -> NDArray[Any]:
    """An array in a temporary file, which the system keeps in memory where it has the room."""
    file = TemporaryFile(what, folder)
    left = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    nothing = bytes(min(left, _PIECE))
    while left:  # written, since a file with holes may find the disk full when it is too late
        file.append(nothing[:left])
        left -= min(left, len(nothing))
    return file.array(shape, dtype)


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

    def array(self, dtype: Any) -> NDArray[Any]:
        """All rows as those of an array, (rows, cells), that can be written to."""
        return self._file.array((len(self), -1), dtype)

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
