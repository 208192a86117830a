"""Study files of searches, spoilt: the search goes on, or one error says what is wrong."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import numpy as np
from mutations import ODD, changed_value, flipped
from targets import Target, quietly, refusing

from cotm import CoTMClassifier, CoTMSearchCV

_TABLES = {
    "facts": ("name", "value"),
    "candidates": ("number", "codes"),
    "results": ("candidate", "rung", "fold", "result"),
    "states": ("candidate", "rung", "fold", "step", "state"),
}
_ODD = [value for value in ODD if isinstance(value, str | int | float | None) and value != 2**63]
_ODD = [value for value in _ODD if not isinstance(value, int) or abs(value) < 2**63]


class StudyFiles(Target):
    """``CoTMSearchCV(study=...)``, as ``cotm tune`` calls it."""

    led_by = ("cotm.tuning",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        self.X, self.y = rng.integers(0, 3, (24, 3)), rng.integers(0, 2, 24)

    def _search(self, path: Path, trials: int) -> CoTMSearchCV:
        return CoTMSearchCV(
            CoTMClassifier(4, backend="native", n_jobs=1),
            {"s": [2.0, 4.0], "T": [5, 9]},
            n_trials=trials,
            batch_size=3,
            max_epochs=3,
            cv=2,
            sampler="random",
            study=path,
            random_state=3,
            n_jobs=1,
            refit=False,
        )

    def seeds(self) -> list[bytes]:
        """A study that is done, and one that was stopped in the middle."""
        files = []
        with quietly():
            for stop in (False, True):
                path = self.folder / "seed.study"
                path.unlink(missing_ok=True)
                self._search(path, 4).fit(self.X, self.y)
                if stop:
                    with sqlite3.connect(path) as file:
                        file.execute("DELETE FROM results WHERE rung > 0 OR candidate > 1")
                    file.close()
                files.append(path.read_bytes())
        return files

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        if dice.random() < 0.3:
            return flipped(data, dice)
        path = self.folder / "changed.study"
        path.write_bytes(data)
        try:
            with sqlite3.connect(path) as file:
                self._change(file, dice)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            return data
        finally:
            file.close()
        return path.read_bytes()

    def _change(self, file: sqlite3.Connection, dice: random.Random) -> None:
        table = dice.choice(sorted(_TABLES))
        column, draw = dice.choice(_TABLES[table]), dice.random()
        rows = file.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        if draw < 0.05 or not rows:
            file.execute(dice.choice((f"DROP TABLE {table}", f"ALTER TABLE {table} ADD extra")))
            return
        row, value = dice.choice(rows)
        if draw < 0.2:
            file.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            return
        if isinstance(value, str) and draw < 0.7:
            try:
                value = json.dumps(changed_value(json.loads(value), dice))
            except ValueError:
                value = flipped(value.encode(), dice).decode("utf-8", "replace")
        elif isinstance(value, bytes) and draw < 0.7:
            value = flipped(value, dice)
        elif isinstance(value, int) and draw < 0.5:
            value = dice.choice((value + 1, value - 1, 0, 10**6))
        else:
            value = dice.choice(_ODD)
        file.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))

    def tried(self, data: bytes) -> str:
        for path in self.folder.glob("a.study*"):
            path.unlink()
        path = self.folder / "a.study"
        path.write_bytes(data)
        with quietly(), refusing(ValueError, OSError) as told:
            self._search(path, 4).fit(self.X, self.y)
        return "refused" if told else "goes on"


TARGET = StudyFiles
