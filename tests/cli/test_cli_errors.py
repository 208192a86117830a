"""What commands say of errors, and how trainings that were interrupted go on."""

from __future__ import annotations

import os
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import FAST, ROWS, fails, make_table, program, run, same_model

import cotm

# Errors --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken(folder: Path) -> Path:
    """Files with something wrong with them."""
    texts = {
        "empty.csv": "",
        "no rows.csv": "a,b\n",
        "ragged.csv": "a,b\n1,2,3\n",
        "one column.csv": "label\nx\ny\n",
        "one class.csv": "a,label\n1,x\n2,x\n",
        "unlabelled.csv": "a,label\n1,x\n2,\n3,y\n4,\n",
        "quantity.csv": "a,label\n1,0.5\n2,0.75\n",
        "crowd.csv": "\n".join(["a,label", *(f"1,{k}" for k in range(100))]),
        "lists.txt": "a",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes("a,b\né,1\n".encode("latin-1"))
    for name in ("junk.parquet", "junk.npz", "junk.cotm"):
        (folder / name).write_bytes(bytes(range(256)) * 2)
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe")
    whole = (folder / "images.npz").read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    (folder / "damaged.npz").write_bytes(bytes(damaged))
    # The magic number in its list of files: the reader goes by the one at its end.
    (folder / "listless.npz").write_bytes(whole.replace(b"PK\x01\x02", b"PK\x01\x00"))
    np.savez(folder / "objects.npz", X=np.array([[1], ["a"]], dtype=object), y=[0, 1])
    np.savez(folder / "unlabelled.npz", X=[[0], [1], [2]], y=[0, 1, np.nan])
    np.savez(folder / "longer.npz", X=[[0], [1], [2]], y=[0, 1])
    dates = pl.Series("label", [1, 2]).cast(pl.Date)
    pl.DataFrame({"a": [1, 2]}).with_columns(dates).write_parquet(folder / "dates.parquet")
    make_table().drop("age", "city").write_csv(folder / "fewer.csv")
    make_table().with_columns(pl.lit("tall").alias("größe in m")).write_csv(folder / "texts.csv")
    return folder


def identities(folder: Path) -> dict[Path, tuple[int, ...]]:
    """What changes when a file is written, replaced or removed."""
    states = {path: path.lstat() for path in folder.iterdir()}
    return {path: (s.st_mode, s.st_ino, s.st_mtime_ns) for path, s in states.items()}


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("train missing.csv --target a", ["missing.csv", "No such file"]),
        ("train empty.csv --target a", ["empty.csv", "empty"]),
        ("train 'no rows.csv' --target a", ["no rows.csv", "no rows"]),
        ("train ragged.csv --target a", ["ragged.csv", "more cells than the header"]),
        ("train latin.csv --target a", ["latin.csv", "UTF-8"]),
        ("train junk.parquet --target a", ["junk.parquet", "cannot be read as parquet"]),
        ("train junk.npz", ["junk.npz", "not an NPZ file"]),
        ("train damaged.npz --patch-shape 3,3", ["damaged.npz", "array 'X' cannot be read"]),
        ("train listless.npz --patch-shape 3,3", ["listless.npz", "cannot be read as npz"]),
        ("train objects.npz", ["objects.npz", "array 'X' cannot be read"]),
        ("train unlabelled.npz", ["unlabelled.npz", "1 of 3 rows"]),
        ("train folder.csv --target a", ["folder.csv", "Is a directory"]),
        ("train lists.txt --target a", ["lists.txt", ".parquet"]),
        ("train table.csv --target lable", ["'lable'", "did you mean 'label'?"]),
        ("train table.csv --target LABEL", ["'LABEL'", "did you mean 'label'?"]),
        ("train table.csv --target xyz", ["'xyz'", "'age', 'city', 'größe in m', 'label'"]),
        ("train table.csv --target label --drop citi", ["'citi'", "'city'"]),
        ("train semicolons.csv --target label", ["--separator"]),
        ("train 'one column.csv' --target label", ["no columns to learn from"]),
        ("train 'one class.csv' --target label", ["'label'", "one class", "'x'"]),
        ("train unlabelled.csv --target label", ["'label'", "2 of 4 rows", "row 2", "remove"]),
        ("train crowd.csv --target label", ["'label'", "100 different labels", "right column"]),
        ("train longer.npz", ["longer.npz", "3 examples", "2 labels"]),
        ("train quantity.csv --target label", ["'label'", "0.5", "--model quantities"]),
        ("train dates.parquet --target label", ["'label'", "Date"]),
        ("train several.csv --target z_old,größe\\ in\\ m", ["'größe in m'", "quantities such as"]),
        ("train table.csv --target label --patch-shape 2,2", ["'age'", "missing values"]),
        ("train fewer.csv --target label --image-shape 1,1", ["--image-shape", "--patch-shape"]),
        ("train images.npz", ["--patch-shape"]),
        ("train images.npz --patch-shape 9,9", ["--patch-shape (9, 9)", "(8, 8)"]),
        ("train images.npz --target kind", ["'kind'", "'X', 'y'"]),
        ("train 'other names.npz'", ["'X'", "--x", "'pictures'"]),
        ("train images.npz --drop X", ["--drop"]),
        ("train table.csv --target label --clauses 2000000000", ["--clauses", "available"]),
        ("train table.csv --target label --backend abacus", ["--backend 'abacus'", "'native'"]),
        ("train table.csv --target label --out nowhere/model.cotm", ["nowhere", "No such"]),
        ("train table.csv --target label --out folder.csv", ["folder.csv", "no regular file"]),
        ("train table.csv --target label --out pipe", ["pipe", "no regular file"]),
        ("train table.csv --target label --out junk.cotm --resume", ["junk.cotm", "not a model"]),
        ("train table.csv --target label --out none.cotm --resume", ["none.cotm", "No such"]),
        ("predict junk.cotm table.csv", ["junk.cotm", "not a model file"]),
        ("predict table.csv table.csv", ["table.csv", "not a model file"]),
        ("predict folder.csv table.csv", ["folder.csv", "Is a directory"]),
        ("predict model.cotm missing.csv", ["missing.csv", "No such file"]),
        ("predict model.cotm fewer.csv", ["'age', 'city'"]),
        ("predict model.cotm texts.csv", ["'größe in m'", "'tall'"]),
        ("predict model.cotm images.npz", ["(120, 8, 8)", "3 features"]),
        ("predict model.cotm table.csv --out nowhere/p.csv", ["nowhere", "No such"]),
        ("predict model.cotm table.csv --jobs 0", ["--jobs 0"]),
        ("evaluate model.cotm table.csv --target lable", ["did you mean 'label'?"]),
        ("evaluate model.cotm table.csv --target city", ["'city'", "the model learns from"]),
        ("evaluate model.cotm images.npz", ["(120, 8, 8)"]),
        ("evaluate model.cotm quantity.csv --target label", ["'age'"]),
        ("evaluate model.cotm several.csv --target z_old,a_tall", ["z_old", "one value per row"]),
        ("rules model.cotm --label odl", ["'odl'", "did you mean 'old'?"]),
        ("rules missing.cotm", ["missing.cotm", "No such file"]),
        ("info missing.cotm", ["missing.cotm", "No such file"]),
        ("info junk.cotm", ["junk.cotm", "not a model file"]),
        ("demo --out nowhere/demo.cotm", ["nowhere", "No such"]),
    ],
)
def test_errors_name_the_problem(
    broken: Path, model: Path, monkeypatch: pytest.MonkeyPatch, words: str, parts: list[str]
) -> None:
    monkeypatch.chdir(broken)
    files = identities(broken)
    message = fails(*shlex.split(words))
    for part in parts:
        assert part in message
    assert identities(broken) == files


def test_labels_of_another_type(folder: Path, model: Path, tmp_path: Path) -> None:
    numbers = make_table().with_columns(pl.int_range(ROWS).alias("label"))
    numbers.write_parquet(tmp_path / "numbers.parquet")
    message = fails("evaluate", model, tmp_path / "numbers.parquet", "--target", "label")
    assert "'north'" in message
    several = tmp_path / "several.cotm"
    data = folder / "several.csv"
    run("train", data, "--target", "z_old,a_tall", "--out", several, *FAST)
    assert "'a_tall', 'z_old'" in fails("evaluate", several, data, "--target", "z_old")


def test_unexpected_errors_are_said_to_be_ours(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise RuntimeError("oh dear")

    monkeypatch.setattr(cotm, "load", fail)
    result = run("rules", model, code=1)
    assert result.stderr.startswith("error: this is a mistake in cotm (RuntimeError: oh dear)")
    assert "Traceback" not in result.stderr
    debugged = run("--debug", "rules", model, code=1)
    assert "Traceback" in debugged.stderr
    assert "error: this is a mistake" in debugged.stderr


def test_warnings_are_one_line(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=[[0], [1]] * 20, y=[[0], [1]] * 20)  # y is a column
    out = tmp_path / "model.cotm"
    result = run("train", tmp_path / "data.npz", "--out", out, *FAST)
    assert result.stderr.startswith("warning: A column-vector y was passed")
    assert result.stderr.count("\n") == 1


# Interruption --------------------------------------------------------------------------


def test_interrupted_training_resumes_to_the_same_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (3000, 60))
    np.savez(tmp_path / "data.npz", X=X, y=X[:, 0] ^ X[:, 1])
    data, out, whole = tmp_path / "data.npz", tmp_path / "part.cotm", tmp_path / "whole.cotm"
    settings = ["--clauses", 300, "--epochs", 150, "--seed", 5, "--quiet"]

    process = program("train", data, "--out", out, *settings, "--checkpoint-every", 1)
    deadline = time.monotonic() + 60
    while not out.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    history = cotm.load(out).history_
    finished = len(history)
    assert 1 <= finished < 150
    assert f"epoch {finished} of 150" in stderr

    command = shlex.split(stderr.splitlines()[-1])
    assert command[:2] == ["cotm", "train"]
    run(*command[1:])
    run("train", data, "--out", whole, *settings)
    resumed = cotm.load(out).history_
    assert len(resumed) == 150
    assert resumed[:finished] == history  # with their seconds: these epochs did not run again
    assert same_model(out, whole)


def interrupt(*arguments: Any, **keywords: Any) -> None:
    raise KeyboardInterrupt


def test_interrupted_before_the_first_epoch(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cotm.CoTMClassifier, "fit", interrupt)
    out = tmp_path / "model.cotm"
    result = run("train", folder / "table.csv", "--target", "label", "--out", out, code=130)
    assert "nothing was written" in result.stderr
    assert not out.exists()


def test_interrupted_elsewhere(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cotm, "load", interrupt)
    result = run("rules", model, code=130)
    assert result.stderr == "interrupted\n"


def test_checkpoints_of_several_labels_keep_names(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = tmp_path / "model.cotm", tmp_path / "whole.cotm"
    words = ["train", folder / "several.csv", "--target", "z_old,a_tall", *FAST]
    fit = cotm.CoTMClassifier.fit

    def stop_after_two(self: Any, *arguments: Any, **keywords: Any) -> None:
        self.callbacks = [*self.callbacks, lambda model, record: record["epoch"] == 2]
        fit(self, *arguments, **keywords)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cotm.CoTMClassifier, "fit", stop_after_two)
        result = run(*words, "--out", out, code=130)
    assert "epoch 2 of 4" in result.stderr
    assert cotm.load(out).classes_.tolist() == ["a_tall", "z_old"]
    run(*shlex.split(result.stderr.splitlines()[-1])[1:], "--quiet")
    run(*words, "--out", whole)
    assert same_model(out, whole)
    assert cotm.load(out).classes_.tolist() == ["a_tall", "z_old"]


def test_resume_further(folder: Path, model: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "model.cotm", tmp_path / "whole.cotm"
    out.write_bytes(model.read_bytes())
    words = ["train", folder / "table.csv", "--target", "label"]
    assert "--epochs" in fails(*words, "--out", out, "--resume")
    run(*words, "--out", out, "--resume", "--epochs", 6, "--quiet")
    run(*words, "--out", whole, "--clauses", 40, "--seed", 1, "--epochs", 6, "--quiet")
    assert same_model(out, whole)


def test_resume_with_other_settings(folder: Path, model: Path) -> None:
    before = model.read_bytes()
    words = ["train", folder / "table.csv", "--target", "label", "--out", model, "--resume"]
    message = fails(*words, "--specificity", 5, "--clauses", 40, "--epochs", 9)
    assert "--specificity 5.0 (was auto)" in message
    assert "--clauses" not in message
    assert "--model plain" in fails(*words, "--model", "plain")
    assert model.read_bytes() == before


def test_resume_after_early_stopping(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    words = ["train", folder / "table.csv", "--target", "label", "--out", out]
    run(*words, *FAST, "--early-stopping")
    assert "best epoch" in fails(*words, "--resume", "--epochs", 9)
