"""Tables that are read in batches: the same model as of a table in memory, and less memory."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import FAST, fails, hiding, make_table, program, run, same_model

import cotm
from cotm.streaming import arrow, sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table in all kinds of files: with dates, texts for missing numbers, and odd columns."""
    folder = tmp_path_factory.mktemp("streamed")
    random = np.random.default_rng(0)
    table = make_table()
    rows = len(table)
    table = table.with_columns(
        pl.Series("score", [f"{x:.2f}" if x < 1 else "NA" for x in random.normal(size=rows)]),
        pl.Series(
            "day", pl.date_range(pl.date(2024, 1, 1), pl.date(2026, 1, 1), eager=True)[:rows]
        ),
        pl.Series("code", ["?" if n < 3 else f"c{n}" for n in random.integers(0, 9, rows)]),
        pl.Series("number", range(7, rows + 7)),
        pl.Series("price", random.normal(size=rows).round(3)),
    )
    table.write_csv(folder / "table.csv")
    table.write_csv(folder / "table.tsv", separator="\t")
    table.write_parquet(folder / "table.parquet", row_group_size=70)
    table.with_columns(pl.col("day").cast(pl.String)).write_ndjson(folder / "table.jsonl")
    (folder / "parts").mkdir()
    for first in range(0, rows, 100):
        table[first : first + 100].write_parquet(folder / "parts" / f"{first:05}.parquet")
    table.with_columns(day=pl.col("label")).drop("label").write_csv(folder / "other.csv")
    return folder


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(columns: int, batch_rows: int | None) -> int:
        return batch_rows or 33

    monkeypatch.setattr(sources, "rows_of_batch", few)
    monkeypatch.setattr(arrow, "rows_of_batch", few)


def both(data: Path, *options: Any) -> tuple[Any, Any]:
    """What a command says when it streams, and when it does not; the models are the same."""
    said = []
    for how in ("--stream", "--no-stream"):
        out = data.parent / f"{data.name}{how}.cotm"
        words = ["train", data, "--out", out, *FAST[:-1], "--json", how, *options]
        said.append(run(*words))
    streamed, whole = (
        cotm.load(data.parent / f"{data.name}{how}.cotm") for how in ("--stream", "--no-stream")
    )
    assert same_model(
        data.parent / f"{data.name}--stream.cotm", data.parent / f"{data.name}--no-stream.cotm"
    )
    assert streamed._progress.data == whole._progress.data
    assert repr(streamed.booleanizer_.to_state()) == repr(whole.booleanizer_.to_state())
    assert streamed.classes_.dtype == whole.classes_.dtype
    return said[0], said[1]


def aside(said: Any) -> list[str]:
    """Warnings and notes."""
    return [line for line in said.stderr.splitlines() if line.startswith(("warning", "note"))]


@pytest.mark.parametrize(
    "name", ["table.csv", "table.tsv", "table.parquet", "table.jsonl", "parts"]
)
def test_the_same_model(folder: Path, name: str) -> None:
    streamed, whole = both(folder / name, "--target", "label", "--drop", "price")
    assert json.loads(streamed.stdout)["rows"] == json.loads(whole.stdout)["rows"] == 240
    assert aside(streamed) == aside(whole)
    assert any("'number' counts the rows" in line for line in aside(streamed))
    assert any("read as missing" in line and "NA" in line for line in aside(streamed))
    kinds = cotm.load(folder / f"{name}--stream.cotm").booleanizer_.kinds_
    assert kinds == ["number", "category", "number", "number", "number", "category", "number"]


def test_other_targets_and_files_to_stop_by(folder: Path) -> None:
    quantities = ["--model", "quantities", "--target", "price,größe in m", "--drop", "label"]
    both(folder / "table.parquet", *quantities)
    both(folder / "table.jsonl", "--target", "label", "--eval", folder / "table.csv")
    both(folder / "table.csv", "--target", "label", "--early-stopping")
    assert "Date" in fails(
        "train",
        folder / "table.parquet",
        "--target",
        "day",
        "--stream",
        "--out",
        folder / "x.cotm",
        *FAST,
    )


def test_what_is_wrong_is_said_as_for_a_table_in_memory(folder: Path) -> None:
    (folder / "ragged.csv").write_text("a,label\n1,x\n2,y,3\n")
    (folder / "unlabelled.csv").write_text("a,label\n1,x\n2,\n3,y\n")
    (folder / "one.csv").write_text("a,label\n1,x\n2,x\n")
    (folder / "empty.csv").write_text("a,label\n")
    for words in (
        ["table.csv", "--target", "lable"],
        ["table.csv", "--target", "price"],
        ["table.parquet", "--target", "label", "--drop", "none"],
        ["ragged.csv", "--target", "label"],
        ["one.csv", "--target", "label"],
        ["empty.csv", "--target", "label"],
        ["missing.csv", "--target", "label"],
    ):
        words = ["train", folder / words[0], *words[1:], "--out", folder / "x.cotm", *FAST]
        assert fails(*words, "--stream") == fails(*words, "--no-stream")
    said = fails(
        "train",
        folder / "unlabelled.csv",
        "--target",
        "label",
        "--stream",
        "--out",
        folder / "x.cotm",
        *FAST,
    )
    assert "1 of 3 rows (row 2 is the first)" in said
    (folder / "table.csv.gz").write_bytes(b"")
    (folder / "none.npz").write_bytes(b"")
    for name in ("table.csv.gz", "none.npz"):
        said = fails(
            "train", folder / name, "--target", "label", "--stream", "--out", folder / "x.cotm"
        )
        assert "--stream needs a CSV, TSV, Parquet or JSON lines file" in said
    text = ["--text", "city", "--stream", "--out", folder / "x.cotm"]
    assert "leave out --stream" in fails("train", folder / "table.csv", "--target", "label", *text)
    assert not (folder / "x.cotm").exists()


def test_large_tables_are_streamed_by_themselves(folder: Path, monkeypatch: Any) -> None:
    size = arrow.parquet_bytes(folder / "parts")
    words = ["train", folder / "parts", "--target", "label", "--out", folder / "auto.cotm"]
    for times, streams in ((11, True), (13, False)):
        monkeypatch.setattr("cotm.cli.data.streamed.available_memory", lambda n=times: n * size)
        said = run(*words, *FAST[:-1])
        assert ("so it is read in batches" in said.stderr) == streams
        assert "read in batches" not in run(*words, *FAST, "--no-stream").stderr
    whole = folder / "whole.cotm"
    run("train", folder / "parts", "--target", "label", "--out", whole, *FAST)
    assert same_model(folder / "auto.cotm", whole)


def test_resuming_keeps_the_way_of_reading(folder: Path) -> None:
    words = ["--target", "label", "--out", folder / "r.cotm", "--seed", "1", "--clauses", "40"]
    run("train", folder / "table.csv", *words, "--epochs", "2", "--stream", "--quiet")
    resume = ["--resume", "--epochs", "4", "--quiet"]
    run("train", folder / "table.csv", "--target", "label", "--out", folder / "r.cotm", *resume)
    run(
        "train",
        folder / "table.csv",
        *words,
        "--epochs",
        "4",
        "--out",
        folder / "w.cotm",
        "--quiet",
    )
    assert same_model(folder / "r.cotm", folder / "w.cotm")
    from cotm.cli.data.source import Source
    from cotm.cli.fitting import resume_command

    command = resume_command(Source(Path("t.csv"), "label"), None, Path("m.cotm"), stream=True)
    assert command.endswith("--stream")


def test_without_pyarrow(folder: Path, tmp_path: Path) -> None:
    words = ["train", folder / "table.parquet", "--target", "label", "--out", tmp_path / "m.cotm"]
    with program(*words, "--stream", *FAST, before=hiding("pyarrow")) as process:
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1 and "pip install 'cotm[stream]'" in stderr


LIMITED = """
import pathlib, resource, tempfile
import polars, cotm
with tempfile.TemporaryDirectory() as small:  # all is imported, and threads have started
    path = pathlib.Path(small, "small.parquet")
    polars.DataFrame({"x": [1.5, 2, 3] * 9, "y": [0, 1, 0] * 9}).write_parquet(path)
    cotm.CoTMClassifier(4, epochs=1).fit(cotm.Stream(path, "y"))
status = open("/proc/self/status").read().split()
now = int(status[status.index("VmData:") + 1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (now + 100_000_000,) * 2)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits data as Linux does")
def test_a_table_of_more_than_the_memory_there_is(folder: Path, tmp_path: Path) -> None:
    """It streams by itself, to the model that a table in memory gives; which itself fails."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(30)]
    X = pl.DataFrame(rng.integers(0, 9, (200_000, 30)) / 4, schema=names)
    X = X.with_columns(y=(pl.col("x0") > pl.col("x1")).cast(pl.Int8))
    X.write_parquet(tmp_path / "big.parquet", row_group_size=20_000)
    fast = ["--clauses", "10", "--epochs", "1", "--seed", "1", "--quiet"]
    words = ["train", tmp_path / "big.parquet", "--target", "y", *fast]
    results = {}
    for title, before, how in (("limited", LIMITED, []), ("failing", LIMITED, ["--no-stream"])):
        process = program(*words, *how, "--out", tmp_path / f"{title}.cotm", before=before)
        results[title] = process.communicate(timeout=120)[1], process.returncode
    assert results["limited"][1] == 0, results["limited"]
    assert results["failing"][1] != 0, "the table fits into memory, so this test shows nothing"
    run(*words, "--out", tmp_path / "whole.cotm", "--no-stream")
    assert same_model(tmp_path / "limited.cotm", tmp_path / "whole.cotm")
    assert sorted(os.listdir(tmp_path)) == ["big.parquet", "limited.cotm", "whole.cotm"]
