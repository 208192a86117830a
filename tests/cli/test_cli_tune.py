"""``cotm tune``: a search from a file to a model, and what happens when it is interrupted."""

from __future__ import annotations

import json
import shlex
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fails, hiding, program, run, same_model

import cotm

SEARCH: list[Any] = [
    *("--clauses", 20, "--trials", 6, "--max-epochs", 4, "--seed", 1),
    *("--sampler", "random"),
]
FOLDS = ["--folds", 2]


def tuned(path: Path, *words: Any) -> dict[str, Any]:
    found = run("tune", path, *SEARCH, "--json", *words)
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def test_the_printed_command_trains_the_same_model(folder: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "model.cotm", tmp_path / "search.html"
    words = ["--target", "label", "--drop", "city", "--out", out, "--page", page, *FOLDS]
    found = tuned(folder / "table.csv", *words, "--specificity", 5)
    assert found["settings"]["epochs"] in (1, 4) and found["candidates"] == 6
    assert "n_clauses" not in found["settings"] and "s" not in found["settings"]
    assert b"<svg" in page.read_bytes()
    kept = out.rename(tmp_path / "kept.cotm")
    command = shlex.split(found["command"])
    assert command[:2] == ["cotm", "train"]
    run(*command[1:])
    assert same_model(out, kept)
    assert found["python"].startswith("import cotm; model = cotm.CoTMClassifier(n_clauses=20, ")


def test_the_printed_line_of_python_makes_the_same_model(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    found = tuned(folder / "images.npz", "--patch-shape", "4,4", "--out", out, "--hold-out", 0.3)
    with np.load(folder / "images.npz") as arrays:
        names = dict(arrays)
    exec(found["python"], names)
    names["model"].save(tmp_path / "again.cotm")
    assert same_model(out, tmp_path / "again.cotm")


def test_a_study_goes_on_and_options_that_were_given_are_kept(folder: Path, tmp_path: Path) -> None:
    words = ["--target", "label", "--out", tmp_path / "m.cotm", "--drop-clauses", 0, *FOLDS]
    whole = tuned(folder / "table.parquet", *words)
    assert "drop_clauses" not in whole["settings"]
    study = ["--study", tmp_path / "a.study"]
    run("tune", folder / "table.parquet", *SEARCH, *words, *study, "--trials", 4, "--quiet")
    again = tuned(folder / "table.parquet", *words, *study)
    assert {**again, "trials_per_hour": 0} == {**whole, "trials_per_hour": 0}


def test_quantities_and_values_of_ones_own(folder: Path, tmp_path: Path) -> None:
    words = ["--model", "quantities", "--target", "größe in m", "--out", tmp_path / "m.cotm"]
    space = ["--search", "specificity=2:9:log", "--search", "max-literals=3,none", "--metric",
             "neg_mean_absolute_error"]  # fmt: skip
    found = tuned(folder / "table.csv", *words, *space)
    assert set(found["settings"]) <= {"s", "max_literals", "epochs"} and found["score"] < 0
    assert "--model quantities" in found["command"]
    assert isinstance(cotm.load(tmp_path / "m.cotm"), cotm.CoTMRegressor)


def test_what_is_found_is_printed(folder: Path, tmp_path: Path) -> None:
    words = ["--target", "label", "--out", tmp_path / "m.cotm"]
    found = run("tune", folder / "table.csv", *SEARCH, *words)
    assert found.stderr.count("candidate ") > 6 and "as given" in found.stderr
    for name in ("best score", "as given", "python", "command", "T "):
        assert f"\n{name}" in f"\n{found.stdout}"


def test_ctrl_c_trains_the_best_so_far(folder: Path, tmp_path: Path) -> None:
    out, study = tmp_path / "m.cotm", tmp_path / "a.study"
    words = ["tune", folder / "table.csv", *SEARCH, "--trials", 100_000, "--target", "label",
             "--out", out, "--study", study]  # fmt: skip
    process = program(*words)
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any("candidate 12/" in line for line in lines)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "interrupted; fitting the best so far" in stderr
    assert f"the search is kept in {study}" in stderr and "python" in stdout
    assert cotm.load(out).n_clauses == 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--search", "s"], "is not like specificity=2:20:log"),
        (["--search", "specifcity=1,2"], "did you mean 'specificity'"),
        (["--search", "specificity=9:2"], "swap the limits"),
        (["--search", "forgetting=1:2"], "no range"),
        (["--search", "clauses=1,x"], "invalid literal"),
        (["--folds", "1"], "1 is not at least 2"),
        (["--hold-out", "0.3", "--folds", "2"], "name one of --folds and --hold-out"),
    ],
)
def test_wrong_usage_is_said(folder: Path, words: list[str], message: str) -> None:
    result = run("tune", folder / "table.csv", *SEARCH, "--target", "label", *words, code=2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_what_cannot_be_is_said(folder: Path, tmp_path: Path) -> None:
    table = folder / "table.csv"
    words = ["tune", table, *SEARCH, *FOLDS, "--quiet", "--target", "label"]
    out = ["--out", tmp_path / "m.cotm"]
    assert "would replace it" in fails(*words, *out, "--page", table)
    assert "is no study file" in fails(*words, *out, "--study", table)
    assert "acuracy" in fails(*words, *out, "--metric", "acuracy")
    assert "sampler='grid'" in fails(*words, *out, "--sampler", "grid")
    assert not (tmp_path / "m.cotm").exists()


def test_without_optuna_it_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    words = ["tune", folder / "table.csv", *SEARCH[:-2], "--target", "label", "--quiet"]
    process = program(*words, "--out", tmp_path / "m.cotm", before=hiding("optuna"))
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert stderr == (
        'error: the sampler "tpe" needs Optuna; pip install "cotm[tune]", or set sampler="random"\n'
    )


def test_texts_are_read_as_in_training(tmp_path: Path) -> None:
    lines = [f"{'good fine' if k % 2 else 'bad poor'} film {k},{k % 2}" for k in range(60)]
    (tmp_path / "reviews.csv").write_text("\n".join(["review,stars", *lines, ""]))
    words = ["--target", "stars", "--text", "review", "--out", tmp_path / "m.cotm", *FOLDS]
    found = tuned(tmp_path / "reviews.csv", *words)
    assert found["score"] > 0.9
    kept = (tmp_path / "m.cotm").rename(tmp_path / "kept.cotm")
    run(*shlex.split(found["command"])[1:])
    assert same_model(tmp_path / "m.cotm", kept)
