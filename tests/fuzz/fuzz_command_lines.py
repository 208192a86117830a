"""Command lines with options that nobody would give: done, refused in one line, or wrong usage."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from targets import Target, _program, quietly, run_command

import cotm

#: Files that are there, or not; nothing but these is written.
_FILES = ("t.csv", "t.parquet", "m.cotm", "r.cotm", "w.cotm", "none.csv", "odd", "folder", "")
_OUT = ("new.cotm", "new.csv", "new.json", "new.c", "new.html", "t.csv", "m.cotm", "folder", "x")
_NUMBERS = ("0", "1", "2", "-1", "1e3", "0.5", "nan", "inf", "1e400", "9" * 30, "", "x", "0x1", "٣")
_WORDS = (
    *("label", "age", "city", "old", "age,city", "auto", "none", "all", "csv", "accuracy", "3x3"),
    *("drawn", "sampled", "one", "paper", "balanced", "words", "jsonl", "votes", "bits", "raw"),
    *("small", "fast", "tpe", "random", "counts", "table", "regressor", "double", "age size"),
    *("3,3", "age=1", "size:0..1", "a b", "\x1b[0m", "é", "*", "[bold]", "../x", "%s{}", "\ud800"),
)
#: Commands that end by themselves; `serve` does not, and `demo` and `reproduce` take minutes.
_COMMANDS = {
    "train": ("t.csv", "--target", "label", "--out", "new.cotm"),
    "tune": ("t.csv", "--target", "label", "--hold-out", "0.5"),
    "predict": ("m.cotm", "t.csv"),
    "evaluate": ("m.cotm", "t.csv", "--target", "label"),
    "explain": ("m.cotm", "t.csv"),
    "rules": ("m.cotm",),
    "report": ("m.cotm", "t.csv", "--out", "new.html"),
    "compress": ("m.cotm", "t.csv", "--target", "label", "--out", "new.cotm"),
    "export": ("m.cotm", "new.json"),
    "generate": ("w.cotm",),
    "info": ("m.cotm",),
}
#: So that what is asked for is done soon, whatever else is asked for.
_SMALL = {
    "train": ("--clauses", "9", "--epochs", "1", "--jobs", "1"),
    "tune": ("--clauses", "9", "--trials", "2", "--max-epochs", "1", "--jobs", "1"),
    "generate": ("--length", "3"),
}
#: Options whose values decide how long it takes, by design.
_LONG = {"--epochs", "--clauses", "--length", "--trials", "--jobs", "--max-epochs", "--folds"}
_LONG |= {"--memory-depth", "--average", "--minutes", "--help", "--backend", "--patience"}
_PATHS = {"--out": _OUT, "--page": _OUT, "--study": ("s.study", "t.csv", "folder")}
_PATHS |= dict.fromkeys(("--eval", "--background", "--data", "--model"), _FILES)


class CommandLines(Target):
    """Every option of every command, with values of every kind."""

    limit = 60.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        age = rng.integers(18, 80, 40)
        frame = pl.DataFrame(
            {
                "age": age,
                "city": rng.choice(["Paris", "Rome", "Oslo"], 40),
                "size": rng.normal(1.7, 0.1, 40).round(2),
                "label": np.where(age > 50, "old", "young"),
            }
        )
        self._originals: dict[str, bytes] = {"odd": b"\x93NUMPY\0\xff"}
        frame.write_csv(folder / "t.csv")
        frame.write_parquet(folder / "t.parquet")
        few: dict[str, Any] = {"n_clauses": 9, "epochs": 1, "random_state": 0}
        X = frame.drop("label")
        with quietly():
            cotm.CoTMClassifier(**few).fit(X, frame["label"].to_numpy()).save(folder / "m.cotm")
            cotm.CoTMRegressor(**few).fit(X, frame["size"].to_numpy()).save(folder / "r.cotm")
            cotm.CoTMLanguageModel(**few).fit(["a cat sat"] * 30).save(folder / "w.cotm")
        for name in ("t.csv", "t.parquet", "m.cotm", "r.cotm", "w.cotm"):
            self._originals[name] = (folder / name).read_bytes()
        (folder / "folder").mkdir()
        self._options = self._found()

    def _found(self) -> dict[str, dict[str, Any]]:
        """The options of each command, as the program has them."""
        import typer.testing

        commands: Any = typer.testing._get_command(_program())
        return {
            name: {o: p for p in commands.commands[name].params for o in p.opts if o[0] == "-"}
            for name in _COMMANDS
        }

    def strategy(self) -> SearchStrategy[bytes]:
        return st.sampled_from(sorted(_COMMANDS)).flatmap(self._lines).map(
            lambda line: json.dumps(line).encode()
        )  # fmt: skip

    def _lines(self, command: str) -> SearchStrategy[list[str]]:
        known = self._options[command]
        options = sorted(option for option in known if option not in _LONG)
        text = st.one_of(
            st.sampled_from(_NUMBERS),
            st.sampled_from(_WORDS),
            st.text(st.characters(exclude_categories=()), max_size=12),
            st.integers().map(str),
            st.floats().map(repr),
        )

        def given(option: str) -> SearchStrategy[list[str]]:
            if getattr(known[option], "is_flag", False):
                return st.just([option])
            value = st.sampled_from(_PATHS[option]) if option in _PATHS else text
            return value.map(lambda word: [option, word])

        parts = st.lists(st.sampled_from(options).flatmap(given), min_size=1, max_size=4)
        first = st.one_of(
            st.just([*_COMMANDS[command]]),
            st.just([*_COMMANDS[command]]),
            st.lists(st.sampled_from(_FILES), max_size=3),
        )

        def line(drawn: tuple[list[str], list[list[str]]]) -> list[str]:
            words, parts = drawn
            small = _SMALL.get(command, ())
            return [command, *words, *small, *(word for part in parts for word in part)]

        return st.tuples(first, parts).map(line)

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        raise NotImplementedError

    def tried(self, data: bytes) -> str:
        for name, content in self._originals.items():
            (self.folder / name).write_bytes(content)
        for path in self.folder.glob("*.study*"):
            path.unlink()
        words = json.loads(data)
        code, _ = run_command(*words)
        return f"{words[0]} {code}"


TARGET = CommandLines
