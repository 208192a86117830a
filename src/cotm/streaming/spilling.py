"""Batches of an iterator that can be read once only, kept in a temporary file."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from ..core.temporary_files import TemporaryFile


class Spilled:
    """The batches of an iterator, which is read while they are asked for the first time."""

    def __init__(
        self, batches: Callable[[], Iterator[Any]], folder: str | os.PathLike[str] | None
    ) -> None:
        self._coming: Iterator[Any] | None = batches()
        self._folder = folder
        self._file: TemporaryFile | None = None
        self._ends: list[int] = []

    def batches(self) -> Iterator[Any]:
        """All of them, from the first one on."""
        if self._file is None:
            self._file = TemporaryFile("the batches of an iterator", self._folder)
        done = 0
        while True:
            if done == len(self._ends) and not self._take_one():
                return
            begin = self._ends[done - 1] if done else 0
            # What this process has written, into a file that no other can open.
            yield pickle.loads(self._file.view(begin, self._ends[done]).data)
            done += 1

    def _take_one(self) -> bool:
        """Write the next batch, if there is one."""
        assert self._file is not None
        if self._coming is None:
            return False
        try:
            batch = next(self._coming)
        except StopIteration:
            self._coming = None
            return False
        self._file.append(pickle.dumps(batch, protocol=5))
        self._ends.append(self._file.size)
        return True
