"""Files of examples, spoilt: what commands make of them, or one line that says what is wrong."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from mutations import changed_value, flipped
from targets import Target, quietly, run_command

import cotm

_CELLS = [
    *("", "NA", "nan", "inf", "-inf", "1e400", "1e-400", "0x10", "1_000", "1,5", "true", "FALSE"),
    *('"', '""', '"a\nb"', "\0", "\ufeff", "é", "\ud7ff", "2021-13-45", "0000-00-00", "99:99", "'"),
    *("9" * 400, "x" * 5000, " 5", "5 ", "+5", "--5", "2021-03-05T00:00:00Z", "\x1b[31m", "=1+1"),
]
_MARKS = [",", "\n", "\r", "\r\n", ";", "\t", '"', "\0", "\ufeff", "\\", ",,,,", "\n\n"]
#: A file's first byte says what it is, so that a spoilt one is read as the same.
_KINDS = {b"c": "csv", b"t": "tsv", b"j": "jsonl", b"p": "parquet", b"n": "npz"}


class Tables(Target):
    """The readers of ``cli/data``, by ``predict``, ``evaluate`` and ``train``."""

    led_by = ("cotm.cli.data", "cotm.cli.predictions", "cotm.booleanize.frames")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        age = rng.integers(18, 80, 40)
        self.frame = pl.DataFrame(
            {
                "age": [None if k % 9 == 0 else int(value) for k, value in enumerate(age)],
                "city": rng.choice(["Paris", "Rome", "Oslo"], 40),
                "day": [f"2021-03-{1 + k % 28:02d}" for k in range(40)],
                "at": [f"{k % 24:02d}:30:00" for k in range(40)],
                "size": rng.normal(1.7, 0.1, 40).round(2),
                "ok": rng.random(40) < 0.5,
                "label": np.where(age > 50, "old", "young"),
            }
        )
        few = {"n_clauses": 10, "epochs": 1, "random_state": 0}
        self.models = {"table": folder / "table.cotm", "arrays": folder / "arrays.cotm"}
        typed = self.frame.with_columns(pl.col("day").str.to_date(), pl.col("at").str.to_time())
        X, y = typed.drop("label"), typed["label"].to_numpy()
        with quietly():
            cotm.CoTMClassifier(**few).fit(X, y).save(self.models["table"])
            self.arrays = {"X": rng.integers(0, 5, (30, 4)), "y": rng.integers(0, 2, 30)}
            cotm.CoTMClassifier(**few).fit(*self.arrays.values()).save(self.models["arrays"])

    def seeds(self) -> list[bytes]:
        csv, tsv = self.frame.write_csv(), self.frame.write_csv(separator="\t")
        parquet, npz = io.BytesIO(), io.BytesIO()
        self.frame.write_parquet(parquet)
        np.savez_compressed(npz, **self.arrays)
        lines = self.frame.write_ndjson()
        written = [csv.encode(), tsv.encode(), lines.encode(), parquet.getvalue(), npz.getvalue()]
        return [kind + content for kind, content in zip(_KINDS, written, strict=True)]

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        kind, content = data[:1], data[1:]
        if kind not in _KINDS or dice.random() < 0.1:
            return dice.choice((b"c", b"j", b"p")) + flipped(content, dice)
        if kind in b"pn":
            return kind + self._binary(kind, content, dice)
        text = content.decode("utf-8", "replace")
        if kind == b"j" and dice.random() < 0.7:
            lines = text.splitlines() or ["{}"]
            at = dice.randrange(len(lines))
            try:
                value = changed_value(json.loads(lines[at]), dice)
                lines[at] = json.dumps(value, ensure_ascii=dice.random() < 0.5)
            except ValueError:
                lines[at] = dice.choice(_CELLS)
            return kind + "\n".join(lines).encode("utf-8", "replace")
        lines = text.split("\n")
        at, draw = dice.randrange(len(lines)), dice.random()
        mark = "\t" if kind == b"t" else ","
        if draw < 0.6:
            cells = lines[at].split(mark)
            cells[dice.randrange(len(cells))] = dice.choice(_CELLS)
            lines[at] = mark.join(cells)
        elif draw < 0.7:
            del lines[at]
        elif draw < 0.8:
            lines = lines[: at + 1]
        else:
            place = dice.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + dice.choice(_MARKS) + lines[at][place:]
        content = "\n".join(lines).encode("utf-8", "replace")
        return kind + (flipped(content, dice) if dice.random() < 0.1 else content)

    def _binary(self, kind: bytes, content: bytes, dice: random.Random) -> bytes:
        """Flipped, or written anew of odd types."""
        if dice.random() < 0.5:
            return flipped(content, dice)
        out = io.BytesIO()
        if kind == b"n":
            odd: list[Any] = [
                np.zeros(()),
                np.zeros((30, 0)),
                np.array(["a", "b"] * 15),
                np.full(30, np.nan),
                np.zeros((30, 4), complex),
                np.array([b"\xff"] * 30),
                np.arange("2021-01-01", "2021-01-31", dtype="datetime64[D]"),
                np.zeros((2, 3, 4, 5)),
                np.zeros(30, dtype=[("a", "i4"), ("b", "f8")]),
                np.full((30, 4), 1e300),
                np.zeros((30, 4), np.longdouble),
            ]
            named = {**self.arrays, dice.choice(("X", "y", "é", "/")): dice.choice(odd)}
            np.savez(out, **named)
            return out.getvalue()
        frame = self.frame
        name = dice.choice(frame.columns)
        other = dice.choice(
            [
                pl.Series([[1, 2]] * 40),
                pl.Series([{"a": 1}] * 40),
                pl.Series([b"\xff"] * 40),
                pl.Series([None] * 40),
                pl.Series([10**30] * 40, dtype=pl.Decimal(38, 0)),
                pl.Series(["a"] * 40, dtype=pl.Categorical),
                pl.Series([2**63] * 40, dtype=pl.UInt64),
                pl.Series([float("nan"), float("inf")] * 20),
                pl.Series([5] * 40, dtype=pl.Duration("ns")),
                pl.Series([5] * 40, dtype=pl.Datetime("us", "Europe/Oslo")),
                pl.Series([[]] * 40, dtype=pl.List(pl.Int8)),
                pl.Series(["x", None] * 20),
            ]
        )
        frame = frame.with_columns(other.alias(name))
        if dice.random() < 0.2:
            frame = frame.head(dice.choice((0, 1)))
        if dice.random() < 0.2:
            frame = frame.drop(dice.choice(frame.columns))
        frame.write_parquet(out)
        return out.getvalue()

    def tried(self, data: bytes) -> str:
        kind = _KINDS.get(data[:1], "csv")
        path = self.folder / f"data.{kind}"
        path.write_bytes(data[1:])
        model = self.models["arrays" if kind == "npz" else "table"]
        options = [] if kind == "npz" else ["--target", "label"]
        draw = len(data) % 4
        if draw == 0:
            out = self.folder / "out.cotm"
            few = ["--clauses", 10, "--epochs", 1, "--seed", 1, "--jobs", 1, "--out", out]
            code, _ = run_command("train", path, *options, *few)
        elif draw == 1:
            code, _ = run_command("evaluate", model, path, *options)
        else:
            more = ["--json", "--votes"] if draw == 2 else ["--proba"]
            keep = [] if kind == "npz" or data[-1] % 2 else ["--keep", "city"]
            code, _ = run_command("predict", model, path, *more, *keep)
        return f"{('train', 'evaluate', 'predict', 'predict')[draw]} {code}"


TARGET = Tables
