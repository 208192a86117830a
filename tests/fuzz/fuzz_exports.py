"""Models with hostile names and odd shapes, exported to each format, and read back.

JSON, SQL and ONNX are read in this process; JavaScript and C now and then, as programs.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import export_models
import numpy as np
import pandas as pd
import schema
from c_exports import COMPILERS, Export
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from targets import CrashError, Target, quietly, refusing
from test_javascript import found as run_javascript
from test_javascript import rows_of as javascript_rows
from test_json import rows_of as json_rows
from test_onnx import run as run_onnx
from test_sql import in_sqlite, readable

import cotm
from cotm.exporting import export

_FORMATS = ("json", "sql", "onnx", "js", "c", "v")
_KINDS = ("number", "bit", "text", "whole", "date", "few")


class Exports(Target):
    """``model.export`` to every format."""

    limit = 60.0
    _written = 0

    def strategy(self) -> SearchStrategy[bytes]:
        name = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
            [*export_models.HOSTILE, "", "x", "votes_1", "label", "__proto__", "0", "a.b", "\0"]
        )
        cell = st.text(max_size=4) | st.sampled_from(["", "NA", "1", "-0", "true", "é", "\0"])
        column = st.fixed_dictionaries(
            {
                "name": name,
                "kind": st.sampled_from(_KINDS),
                "texts": st.lists(cell, min_size=1, max_size=4, unique=True),
                "missing": st.booleans(),
                "scale": st.sampled_from([1.0, 1e-300, 1e300, 1e-3, 2.0**53]),
            }
        )
        table = st.fixed_dictionaries(
            {
                "columns": st.lists(column, min_size=1, max_size=4, unique_by=lambda c: c["name"]),
                "labels": st.lists(name, min_size=2, max_size=3, unique=True),
                "seed": st.integers(0, 10**6),
                "tolerance": st.sampled_from([1, 1, 3]),
                "average": st.sampled_from([1, 1, 2]),
            }
        )
        shape = st.integers(0, 10**6).map(lambda seed: {"odd": seed})
        case = st.tuples(st.sampled_from(_FORMATS), table | table | shape)
        return case.map(lambda drawn: json.dumps(drawn).encode())

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        raise NotImplementedError

    def tried(self, data: bytes) -> str:
        ending, case = json.loads(data)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        with quietly():
            if "odd" in case:
                return f"{ending}: {self._odd(ending, case['odd'])}"
            return f"{ending}: {self._table(ending, case)}"

    def _path(self, ending: str) -> Path:
        """A name of its own for each C file: a library of a known name is not loaded again."""
        self._written += 1
        return self.folder / (f"m{self._written}.c" if ending == "c" else f"m.{ending}")

    def _odd(self, ending: str, seed: int) -> str:
        """A machine over bits."""
        description, bits, votes = export_models.odd(seed, largest=600, most_weights=2000)
        path = self._path(ending)
        with refusing(ValueError) as told:
            export(description, path)
        if told:
            return "refused"
        if ending == "sql":
            found = in_sqlite(path.read_text(), readable(bits)).filter(like="votes_").to_numpy()
        elif ending == "onnx":
            found = run_onnx(path, bits)[1]
        elif ending == "json":
            data = json.loads(path.read_text())
            found = np.array([schema.votes(data, row) for row in bits.tolist()])
        elif ending == "js":
            found = np.array([row["votes"] for row in run_javascript(self.folder, bits.tolist())])
        elif ending == "c" and COMPILERS:
            found = Export.of(path).votes(bits)
        else:
            return "written"
        _same(found, votes)
        return "read back"

    def _table(self, ending: str, case: dict[str, Any]) -> str:
        X, y = table_of(case)
        if ending == "sql" and any(not name or "\0" in name for name in X):
            return "not in a table"  # pandas writes no such columns
        few = {"n_clauses": 12, "epochs": 2, "random_state": case["seed"], "preset": "paper"}
        with refusing(ValueError) as told:
            model = cotm.CoTMClassifier(
                **few, tolerance=case["tolerance"], average=case["average"], T=20
            ).fit(X, y)
        if told:
            return "not learned"
        path = self._path(ending)
        with refusing(ValueError) as told:
            model.export(path)
        if told:
            return "refused"
        return self._read(ending, path, model, X)

    def _read(self, ending: str, path: Path, model: Any, X: pd.DataFrame) -> str:
        X = X[:12]
        votes, labels = model.votes(X), model.predict(X).tolist()
        if ending == "json":
            data = json.loads(path.read_text())
            found = [schema.votes(data, row) for row in json_rows(X)]
            _same(found, votes)
            _same([schema.labels(data, row) for row in found], labels)
        elif ending == "sql":
            try:
                result = in_sqlite(path.read_text(), readable(X))
            except Exception as error:
                if "duplicate column" in str(error):
                    return "written"  # SQLite takes names that differ in their case for one
                raise
            _same(result[[name for name in result if name.startswith("votes_")]], votes)
            _same(result["label"].tolist(), labels)
        elif ending == "onnx":
            numbers, texts = export_models.cells(X)
            has_texts = any(isinstance(cell, str) for cell in texts.ravel())
            _same(run_onnx(path, numbers, texts if has_texts else None)[1], votes)
        elif ending == "js":
            rows = run_javascript(self.folder, javascript_rows(X))
            _same([[int(vote) for vote in row["votes"]] for row in rows], votes)
            _same([row["label"] for row in rows], labels)
        elif ending == "c" and COMPILERS:
            numbers, texts = export_models.cells(X)
            library = Export.of(path)
            takes_texts = "const char *const *texts" in path.with_suffix(".h").read_text()
            cells = (numbers, texts) if takes_texts else (numbers,)
            _same(library.votes(*cells), votes)
            _same(model.classes_[library.classes(*cells)], labels)
        else:
            return "written"
        return "read back"


def table_of(case: dict[str, Any]) -> tuple[pd.DataFrame, np.ndarray]:
    """What a case describes."""
    rng, rows = np.random.default_rng(case["seed"]), 60
    made = {}
    for column in case["columns"]:
        values: Any = rng.normal(size=rows) * column["scale"]
        if column["kind"] == "bit":
            values = rng.random(rows) < 0.5
        elif column["kind"] == "text":
            values = rng.choice(np.array(column["texts"], dtype=object), rows)
        elif column["kind"] == "whole":
            values = rng.integers(-(2**40), 2**40, rows)
        elif column["kind"] == "date":
            values = pd.to_datetime("2021-03-05") + pd.to_timedelta(rng.integers(0, 9, rows), "D")
        elif column["kind"] == "few":
            values = rng.integers(0, 3, rows)
        series = pd.Series(values)
        if column["missing"] and column["kind"] in ("number", "text", "date"):
            series = series.mask(rng.random(rows) < 0.2)
            series = series.where(series.notna(), None) if column["kind"] == "text" else series
        made[column["name"]] = series
    y = np.array(case["labels"], dtype=object)[rng.integers(0, len(case["labels"]), rows)]
    return pd.DataFrame(made), y


def _same(found: Any, expected: Any) -> None:
    if not np.array_equal(np.array(found), np.array(expected)):
        raise CrashError(f"the export says {found!r:.200}, the model {expected!r:.200}")


TARGET = Exports
