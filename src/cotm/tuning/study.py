"""The study file: candidates, scores and the states of those that may go on, each written when it
is known. A search that was killed goes on from there."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from ..core.state import EarlierState, Snapshot
from ..files.snapshots import encode_snapshot
from .dimensions import Code
from .stored import read_codes, read_done, read_place
from .work import Done

_FORMAT = 1
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE candidates (number INTEGER PRIMARY KEY, codes TEXT NOT NULL);
CREATE TABLE results (
  candidate INTEGER, rung INTEGER, fold INTEGER, result TEXT NOT NULL,
  PRIMARY KEY (candidate, rung, fold)
);
CREATE TABLE states (
  candidate INTEGER, rung INTEGER, fold INTEGER, step INTEGER, state BLOB,
  PRIMARY KEY (candidate, rung, fold)
);
"""
#: What may not differ when a study goes on, and how to say so.
_PARTS = {
    "data": "X, y, the weights or the folds are others",
    "estimator": "the estimator was {before}, and is {now}",
    "space": "the space was {before}, and is {now}",
    "scoring": "scoring was {before}, and is {now}",
    "halving": "the halving was {before}, and is {now}",
    "sampler": "the sampler was {before}, and is {now}",
}


class Study:
    """What a search knows. Without a path it is kept in memory alone."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.candidates: list[dict[str, Code] | None] = []  # None: the estimator as it was given
        self.results: dict[tuple[int, int, int], Done] = {}  # by candidate, rung and fold
        self._stored: set[tuple[int, int, int]] = set()  # whose states the file has
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # The file ------------------------------------------------------------------------

    def open(self, facts: dict[str, str]) -> None:
        """Read the file if it is there, or begin it; other facts than its own are refused."""
        if self.path is None:
            return
        try:
            self._file = sqlite3.connect(self.path, timeout=0.2, check_same_thread=False)
            self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
            if not self._tables():
                self._file.execute("PRAGMA auto_vacuum = FULL")
            with self._file:
                self._file.execute("BEGIN EXCLUSIVE")  # nobody else may write from here on
                found = self._tables()
                if not found:
                    self._begin(facts)
            if found:
                self._read(facts)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self.__exit__()
            raise _in_words(error, self.path) from error
        except BaseException:
            self.__exit__()
            raise

    def _tables(self) -> list[Any]:
        assert self._file is not None
        return self._file.execute("SELECT name FROM sqlite_master").fetchall()

    def _begin(self, facts: dict[str, str]) -> None:
        assert self._file is not None
        for statement in _TABLES.split(";"):
            self._file.execute(statement)
        facts = {"format": str(_FORMAT), **facts}
        self._file.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())

    def _read(self, facts: dict[str, str]) -> None:
        assert self._file is not None
        known = dict(self._file.execute("SELECT name, value FROM facts").fetchall())
        if known.get("format") != str(_FORMAT):
            raise ValueError(
                f"{self.path} has format {known.get('format', 'none')!s:.20}, but this version of "
                f"cotm reads format {_FORMAT}; begin another study file"
            )
        for part, text in _PARTS.items():
            if known.get(part) != facts[part]:
                said = text.format(before=known.get(part), now=facts[part])
                raise ValueError(
                    f"{self.path} is the study of another search: {said:.600}; go on with the same "
                    "settings and data, or begin another study file"
                )
        try:
            rows = self._file.execute("SELECT number, codes FROM candidates ORDER BY number")
            for number, codes in rows.fetchall():
                if number != len(self.candidates):
                    raise ValueError("a candidate is missing")
                self.candidates.append(read_codes(codes))
            rows = self._file.execute("SELECT candidate, rung, fold, result FROM results")
            for *place, result in rows.fetchall():
                self.results[read_place(tuple(place))] = read_done(result)
            rows = self._file.execute("SELECT candidate, rung, fold FROM states")
            self._stored = {read_place(place) for place in rows.fetchall()}
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{self.path} is damaged: {error}; begin another one") from error

    def seed(self, given: int | None, drawn: int) -> int:
        """The seed of the search: what is given, or what the file has, or else one just drawn."""
        if given is not None or self.path is None or not self.path.exists():
            return drawn if given is None else given
        with contextlib.suppress(sqlite3.DatabaseError, TypeError, ValueError):
            file = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            with contextlib.closing(file):
                row = file.execute("SELECT value FROM facts WHERE name = 'seed'").fetchone()
                return int(row[0])
        return drawn

    def _write(self, statement: str, *rows: tuple[Any, ...]) -> None:
        if self._file is None:
            return
        try:
            with self._lock, self._file:
                self._file.executemany(statement, rows)
        except sqlite3.DatabaseError as error:
            assert self.path is not None
            raise _in_words(error, self.path) from error

    # What is known -------------------------------------------------------------------

    def add_candidates(self, candidates: list[dict[str, Code] | None]) -> None:
        """Of a whole batch, so that a file never has a part of one."""
        first = len(self.candidates)
        rows = [(first + place, json.dumps(codes)) for place, codes in enumerate(candidates)]
        self._write("INSERT INTO candidates VALUES (?, ?)", *rows)
        self.candidates += candidates

    def add_result(self, place: tuple[int, int, int], done: Done, *, keep: bool) -> None:
        """A result; ``keep`` its state, from which the candidate may go on."""
        fields = {
            "scores": done.scores,
            "seconds": round(done.seconds, 6),
            "scoring_seconds": round(done.scoring_seconds, 6),
            "error": done.error,
        }
        if keep and done.state is not None and self._file is not None:
            blob = save_tensors(
                {
                    name: np.ascontiguousarray(t)
                    for name, t in encode_snapshot(done.state, "").items()
                }
            )
            row = (*place, done.state.step, blob)
            self._write("INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)", row)
            self._stored.add(place)
        self._write(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)", (*place, json.dumps(fields))
        )
        self.results[place] = done if keep else _without_state(done)

    def state(self, place: tuple[int, int, int]) -> Snapshot | None:
        """Where a training stood, or None where nobody knows any more."""
        known = self.results.get(place)
        if known is not None and known.state is not None:
            return known.state
        if self._file is None:
            return None
        row = self._file.execute(
            "SELECT step, state FROM states WHERE candidate = ? AND rung = ? AND fold = ?", place
        ).fetchone()
        if row is None:
            return None
        try:
            tensors = load_tensors(row[1])
            earlier = zip(
                tensors.get("earlier.included", ()), tensors.get("earlier.weights", ()), strict=True
            )
            return Snapshot(
                tensors["memory"], tensors["weights"], int(row[0]),
                tuple(EarlierState(*pair) for pair in earlier),
            )  # fmt: skip
        except (ValueError, TypeError, LookupError, safetensors.SafetensorError):
            return None  # then it is trained again, to the same bits

    def stored(self) -> list[tuple[int, int, int]]:
        """Whose states the file has."""
        return sorted(self._stored)

    def forget_state(self, place: tuple[int, int, int]) -> None:
        """Where nobody will go on from."""
        known = self.results.get(place)
        if known is not None and known.state is not None:
            self.results[place] = _without_state(known)
        if place in self._stored:
            self._stored.discard(place)
            self._write("DELETE FROM states WHERE candidate = ? AND rung = ? AND fold = ?", place)


def _without_state(done: Done) -> Done:
    return Done(done.scores, None, done.seconds, done.scoring_seconds, done.error)


def _in_words(error: Exception, path: Path) -> Exception:
    """What is wrong with a study file, and what to do."""
    text = str(error)
    if "locked" in text:
        return ValueError(
            f"{path} is in use by another search; wait until it has ended, or begin another study "
            "file"
        )
    if any(sign in text for sign in ("not a database", "malformed", "no such", "decode")):
        return ValueError(f"{path} is no study file ({text}); name another one")
    return OSError(f"{path}: {text}; the study cannot be kept there")
