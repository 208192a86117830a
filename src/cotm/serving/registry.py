"""The models of a server, and their files, which may change while it runs."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from .batching import Batcher
from .problems import Problem
from .served import ServedModel
from .settings import Settings

_logger = logging.getLogger(__name__)

#: Seconds after which a file that could not be read is tried again, if it has not changed.
_AGAIN = 30.0

Signature = tuple[int, int, int, int]


class Entry:
    """A model by its name: the one that answers now, and what is known of its file."""

    def __init__(self, name: str, path: Path, model: ServedModel, signature: Signature) -> None:
        self.name = name
        self.path = path
        self.signature = signature  # of the file that was looked at last
        self.problem: str | None = None  # why the file as it is now does not answer
        self.tried_at = time.monotonic()
        self.told: Callable[[int], None] = lambda rows: None
        self.lock = asyncio.Lock()
        self.take(model)

    def take(self, model: ServedModel) -> None:
        """Answer by this model from here on; requests under way keep the one they began with."""
        self.model, self.batcher = model, Batcher(model, lambda rows: self.told(rows))

    def describe(self) -> dict[str, Any]:
        """The model, and whether its file is in order."""
        return {**self.model.describe(), "problem_with_new_file": self.problem}


class Registry:
    """All models by their names."""

    def __init__(self, settings: Settings) -> None:
        """Read them; an OSError or a ValueError says which cannot be served."""
        self._settings = settings
        self.reloads = self.failures = 0
        self.on_reload: Callable[[Entry, bool], None] = lambda entry, done: None
        self.entries: dict[str, Entry] = {}
        for name, path in settings.models.items():
            signature, model = self._read(name, path)
            self.entries[name] = Entry(name, path, model, signature)

    def __iter__(self) -> Iterable[Entry]:  # type: ignore[misc]
        return iter(self.entries.values())

    def entry(self, name: str) -> Entry:
        """A model, or the answer that there is none."""
        found = self.entries.get(name)
        if found is None:
            raise Problem(
                404, "there is no model of this name", "GET /v1/models lists those there are", name
            )
        return found

    def _read(self, name: str, path: Path) -> tuple[Signature, ServedModel]:
        signature = _signature(path)  # before: what is written meanwhile makes another one
        data = path.read_bytes()
        rows, reader = self._settings.backgrounds.get(name), self._settings.read_background
        read = None if rows is None or reader is None else partial(_flipped, reader, rows)
        return signature, ServedModel(name, data, str(path), read)

    # Changed files -------------------------------------------------------------------

    async def look(self, executor: Executor) -> None:
        """Read the files that have changed."""
        for entry in self.entries.values():
            try:
                signature = _signature(entry.path)
            except OSError as error:
                self._fail(entry, entry.signature, f"{entry.path}: {error.strerror}")
                continue
            failed = entry.problem is not None
            waited = time.monotonic() - entry.tried_at > _AGAIN
            if signature != entry.signature or (failed and waited):
                await self.reload(entry, executor)

    async def reload(self, entry: Entry, executor: Executor) -> bool:
        """Read a file anew; a broken one leaves the old model. True where it is read."""
        async with entry.lock:
            loop = asyncio.get_running_loop()
            entry.tried_at = time.monotonic()
            signature = entry.signature
            try:
                signature = _signature(entry.path)
                signature, model = await loop.run_in_executor(
                    executor, self._read, entry.name, entry.path
                )
            except Exception as error:
                self._fail(entry, signature, f"{type(error).__name__}: {error!s:.500}")
                return False
            before = entry.model.version
            entry.signature, entry.problem = signature, None
            entry.take(model)
            self.reloads += 1
            _logger.info(
                "model %s read anew: %s instead of %s",
                entry.name,
                model.version,
                before,
                extra={"model": entry.name, "version": model.version},
            )
            self.on_reload(entry, True)
            return True

    def _fail(self, entry: Entry, signature: Signature, problem: str) -> None:
        known = entry.problem == problem and entry.signature == signature
        entry.signature, entry.problem = signature, problem
        if known:
            return
        self.failures += 1
        _logger.error(
            "model %s cannot be read anew, and %s goes on answering: %s",
            entry.name,
            entry.model.version,
            problem,
            extra={"model": entry.name, "version": entry.model.version},
        )
        self.on_reload(entry, False)


def _flipped(read: Callable[[Any, Path], Any], path: Path, model: Any) -> Any:
    return read(model, path)


def _signature(path: Path) -> Signature:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
