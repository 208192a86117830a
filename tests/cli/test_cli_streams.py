"""What the command line prints and writes: safe for terminals and files, whatever is closed."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import FAST, fails, make_table, program, run

import cotm
from cotm.cli.output import visible
from cotm.estimator.progress import make_reporter

#: A title for the terminal, its bell, text to the left, a hidden line end, and Python's C1.
HOSTILE = "\x1b]0;title\x07 \u202egnp\u2066 \x9b2J\x7f"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    make_table().write_csv(folder / "table.csv")
    run("train", folder / "table.csv", "--target", "label", "--out", folder / "m.cotm", *FAST)
    return folder


# Inputs are never replaced -------------------------------------------------------------


def names_of(file: Path) -> list[str]:
    """Other ways to name a file in the current folder."""
    os.link(file, "hard" + file.suffix)
    os.symlink(file, "soft" + file.suffix)
    links = [name + file.suffix for name in ("hard", "soft")]
    return [str(file), f"../{file.parent.name}/{file.name}", *links]


def test_out_is_never_an_input(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, model = tmp_path / "data.csv", tmp_path / "model.parquet"
    data.write_bytes((folder / "table.csv").read_bytes())
    model.write_bytes((folder / "m.cotm").read_bytes())
    before = {path: path.read_bytes() for path in (data, model)}
    for name in names_of(data):
        assert "would replace it" in fails("train", data, "--target", "label", "--out", name)
        assert "would replace it" in fails("predict", model, name, "--out", data)
        assert "would replace it" in fails("predict", model, data, "--out", name)
    for name in names_of(model):
        assert "would replace it" in fails("predict", model, data, "--out", name)
    with data.open() as file:
        process = program("predict", model, "-", "--out", data, stdin=file)
        assert "standard input" in process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert {path: path.read_bytes() for path in before} == before


def test_train_replaces_models_only(folder: Path, tmp_path: Path) -> None:
    words = ["train", folder / "table.csv", "--target", "label", *FAST, "--out"]
    thesis = tmp_path / "thesis.cotm"
    other = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    for text in (b"words", bytes(range(256)), len(other).to_bytes(8, "little") + other + b"0"):
        thesis.write_bytes(text)
        for command in (words, ["demo", "--quick", "--out"]):
            message = fails(*command, thesis)
            assert "is not a model file" in message
            assert "delete it" in message
        assert thesis.read_bytes() == text
    model = tmp_path / "model.cotm"
    model.touch()  # as mktemp does
    run(*words, model)
    run(*words, model)
    model.write_bytes(model.read_bytes()[:-9])  # damaged, but a model
    run(*words, model)
    cotm.load(model)


# Whole or not at all -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.csv", "p.parquet", "p.jsonl"])
def test_predictions_on_a_full_disk(folder: Path, tmp_path: Path, name: str) -> None:
    pl.concat([make_table()] * 100).write_csv(tmp_path / "long.csv")
    out = tmp_path / name
    out.write_text("old")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

    words = ["predict", folder / "m.cotm", tmp_path / "long.csv", "--proba", "--out", out]
    process = program(*words, preexec_fn=limit)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (1, "")
    assert stderr.startswith(f"error: {out}")
    assert "not saved (File too large)" in stderr
    assert stderr.count("\n") == 1
    assert out.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"long.csv", name}


# Closed, full and broken streams -------------------------------------------------------


def without(*numbers: int) -> Any:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


@pytest.mark.parametrize(
    "words", [["predict", "m.cotm", "table.csv"], ["info", "m.cotm"], ["rules", "m.cotm"],
              ["evaluate", "m.cotm", "table.csv", "--target", "label"], ["--help"]],
)  # fmt: skip
def test_closed_output(folder: Path, words: list[str]) -> None:
    process = program(*words, preexec_fn=without(1), cwd=folder)
    assert process.communicate(timeout=60)[1] == "error: standard output: it is closed\n"
    assert process.returncode == 1


def test_full_output(folder: Path) -> None:
    for words in (["predict", "m.cotm", "table.csv"], ["info", "m.cotm"]):
        with open("/dev/full", "w") as full:
            process = program(*words, stdout=full, cwd=folder)
            stderr = process.communicate(timeout=60)[1]
        assert stderr == "error: standard output: No space left on device\n"
        assert process.returncode == 1


def test_closed_input(folder: Path) -> None:
    process = program("predict", "m.cotm", "-", preexec_fn=without(0), cwd=folder)
    assert process.communicate(timeout=60) == ("", "error: standard input: it is closed\n")
    assert process.returncode == 1


@pytest.mark.parametrize("numbers", [(1,), (2,), (1, 2), (0, 1, 2)])
def test_training_without_streams(folder: Path, tmp_path: Path, numbers: tuple[int, ...]) -> None:
    out = tmp_path / "m.cotm"
    words = ["train", "table.csv", "--target", "label", "--epochs", 3, "--out", out]
    process = program(*words, preexec_fn=without(*numbers), cwd=folder)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(cotm.load(out).history_) == 3
    assert ("epoch 3/3" in stderr) == (2 not in numbers)
    assert ("model " in stdout) == (1 not in numbers)
    assert "epoch" not in stdout.replace("epochs", "").replace("last epoch", "")


def test_training_whose_reader_leaves(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cotm"
    words = ["train", "table.csv", "--target", "label", "--epochs", 300, "--out", out]
    process = program(*words, stderr=subprocess.STDOUT, cwd=folder)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert len(cotm.load(out).history_) == 300


def test_interrupted_training_whose_reader_left(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cotm"
    words = ["train", "table.csv", "--target", "label", "--epochs", 10**6, "--out", out]
    process = program(*words, stderr=subprocess.STDOUT, cwd=folder)
    assert process.stdout is not None
    while "epoch 2/" not in process.stdout.readline():
        pass
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert len(cotm.load(out).history_) >= 2


@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_without_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verbose: int
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    record = {"epoch": 1, "train_accuracy": 0.5, "seconds": 0.1}
    for stream in (None, Terminal()):
        with monkeypatch.context() as patch:
            patch.setattr("sys.stderr", stream)
            with make_reporter(verbose, 2, 100, "about") as reporter:
                reporter.examples_done(50)
                reporter.epoch_done(record)
    assert capsys.readouterr().out == ""


# Text from files on terminals ----------------------------------------------------------


def assert_harmless(text: str) -> None:
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert hidden <= {"\n"}, hidden


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a model in which every name tries to act on the terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    column = [f"{k % 3}{HOSTILE}" for k in range(90)]
    label = [f"{'ab'[k % 3 > 0]}{HOSTILE}" for k in range(90)]
    table = pl.DataFrame({f"x{HOSTILE}": column, f"n{HOSTILE}": [*range(90)], "y": label})
    table.write_csv(folder / "table.csv")
    shown = run("train", folder / "table.csv", "--target", "y", "--out", folder / "m.cotm",
                "--epochs", 3, "--seed", 1)  # fmt: skip
    assert "\\x1b" in shown.stderr  # the column that counts rows gets a warning
    assert_harmless(shown.stdout + shown.stderr)
    return folder


@pytest.mark.parametrize(
    "words", ["rules m.cotm", "rules m.cotm --json", "info m.cotm",
              "evaluate m.cotm table.csv --target y", "evaluate m.cotm table.csv --target y --json"]
)  # fmt: skip
def test_results_act_on_no_terminal(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(hostile)
    shown = run(*words.split())
    assert_harmless(shown.stdout + shown.stderr)
    if "--json" in words:
        text = json.dumps(json.loads(shown.stdout), ensure_ascii=False)
        assert json.dumps(HOSTILE, ensure_ascii=False)[1:-1] in text  # nothing is lost
    else:
        assert visible(HOSTILE) in shown.stdout


def test_errors_act_on_no_terminal(hostile: Path, tmp_path: Path) -> None:
    table = pl.read_csv(hostile / "table.csv")
    spoiled = table.with_columns(pl.lit(HOSTILE).alias(f"n{HOSTILE}"))
    spoiled.write_csv(tmp_path / "spoiled.csv")
    for words in (
        ["predict", hostile / "m.cotm", tmp_path / "spoiled.csv"],
        ["train", hostile / "table.csv", "--target", "z", "--out", tmp_path / "m.cotm"],
        ["rules", hostile / "m.cotm", "--label", "z"],
        ["info", tmp_path / f"{HOSTILE}.cotm"],
        ["evaluate", hostile / "m.cotm", hostile / "table.csv", "--target", f"x{HOSTILE}"],
    ):
        result = run(*words, code=1)
        assert_harmless(result.stderr)
        assert "x1b]0;title" in result.stderr + result.stdout


def test_predictions_are_exact(hostile: Path, tmp_path: Path) -> None:
    """Data are data: what would be escaped on a terminal, or run in a spreadsheet, stays."""
    labels = [f"a{HOSTILE}", "=1+1", "@SUM(1)", 'say "x, y"', "two\nlines"]
    table = pl.DataFrame({"x": labels * 30, "y": labels * 30})
    table.write_csv(tmp_path / "t.csv")
    model = tmp_path / "m.cotm"
    run("train", tmp_path / "t.csv", "--target", "y", "--out", model, *FAST, "--epochs", 30)
    process = program("predict", model, tmp_path / "t.csv", text=False)
    stdout = process.communicate(timeout=60)[0]
    rows = [*csv.reader(io.StringIO(stdout.decode(), newline=""))]  # type: ignore[attr-defined]
    assert [row[0] for row in rows[1:]] == labels * 30
    lines = run("predict", model, tmp_path / "t.csv", "--json").stdout.splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == labels * 30


def test_terminal_of_another_alphabet(folder: Path) -> None:
    process = program("info", "m.cotm", cwd=folder, before="import sys\n"
                      "sys.stdout.reconfigure(encoding='ascii')")  # fmt: skip
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    assert "gr\\xf6\\xdfe in m" in stdout


def test_odd_numbers_in_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = cotm.load(folder / "m.cotm")
    model.history_[-1]["train_accuracy"] = 10**400
    monkeypatch.setattr("cotm.loading.restored", lambda saved: model)
    assert "too large to show" in run("info", folder / "m.cotm").stdout
