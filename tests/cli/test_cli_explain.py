"""``cotm explain`` says what the library says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import FAST, fails, make_table, run

import cotm


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("explain")
    make_table().write_csv(folder / "table.csv")
    make_table()[100:].write_csv(folder / "other.csv")
    run("train", folder / "table.csv", "--target", "label", "--out", folder / "m.cotm", *FAST)
    return folder


def test_sentences_are_those_of_the_library(folder: Path) -> None:
    model, data = folder / "m.cotm", folder / "table.csv"
    result = run("explain", model, data, "--rows", "3,100-101", "--top", 2)
    lines = result.stdout.splitlines()
    classifier, X = cotm.load(model), pl.read_csv(data).drop("label")
    assert len(lines) == 3 and lines[1].startswith("100. ")
    # Against all of a background: the whole file is larger, so rows of it stand for all.
    few = run("explain", model, data, "--rows", 3, "--background", folder / "other.csv", "--quiet")
    rows = sorted(cotm.core.randomness.split_order(0, 140)[:100].tolist())
    why = classifier.explain(X[3:4], X[100:][rows])
    assert few.stdout == f"3. {why.sentence()}\n"
    first = run("explain", model, data)
    assert len(first.stdout.splitlines()) == 10
    assert "the first 10 of 240 rows; --rows chooses others" in first.stderr
    label = run("explain", model, data, "--rows", 0, "--label", "north").stdout
    assert "north (" in label


def test_json(folder: Path) -> None:
    words = ["explain", folder / "m.cotm", folder / "table.csv", "--rows", "5", "--json"]
    (found,) = json.loads(run(*words, "--change", "--top", 3).stdout)
    classifier = cotm.load(folder / "m.cotm")
    X = pl.read_csv(folder / "table.csv").drop("label")
    assert found["row"] == 5 and found["prediction"] == classifier.predict(X[5:6])[0]
    assert [*found["votes"].values()] == classifier.votes(X[5:6])[0].tolist()
    assert len(found["rules"]) <= 3 and set(found["reasons"]) == {"north", "old", "south"}
    assert found["change"]["before"] == found["prediction"]
    (plain,) = json.loads(run(*words).stdout)
    assert "change" not in plain


def test_changes(folder: Path) -> None:
    words = ["explain", folder / "m.cotm", folder / "table.csv", "--rows", "0"]
    classifier = cotm.load(folder / "m.cotm")
    x = pl.read_csv(folder / "table.csv").drop("label")[:1]
    lines = run(*words, "--change").stdout.splitlines()
    assert lines[1] == f"   {classifier.counterfactual(x)}"
    found = classifier.counterfactual(x, keep=["age"])
    kept = run(*words, "--change", "--keep", "age").stdout.splitlines()[1]
    expected = found or "No change was found that changes the prediction."
    assert kept == f"   {expected}"
    other = next(str(label) for label in classifier.classes_ if label != classifier.predict(x)[0])
    assert f"   {other} instead of" in run(*words, "--change", "--to", other).stdout


def test_arrays_without_names(folder: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, (30, 5))
    np.savez(folder / "bits.npz", X=X, y=X[:, 0])
    out = folder / "bits.cotm"
    run("train", folder / "bits.npz", "--out", out, *FAST)
    lines = run("explain", out, folder / "bits.npz", "--rows", "2", "--change").stdout.splitlines()
    assert lines[0].startswith(f"2. {X[2, 0]} (") and "x0" in lines[0]
    assert "if x0 were" in lines[1]


def test_what_is_refused(folder: Path) -> None:
    words = ["explain", folder / "m.cotm", folder / "table.csv"]
    assert "row 240 does not exist" in fails(*words, "--rows", 240)
    assert "the model has no class 'x'" in fails(*words, "--label", "x")
    for wrong in (["--rows", "a"], ["--to", "old"], ["--keep", "age"], ["--top", 0]):
        assert run(*words, *wrong, code=2).stdout == ""
    make_table()[:1].write_csv(folder / "one.csv")
    assert "pass some rows of the training data as background" in fails(
        "explain", folder / "m.cotm", folder / "one.csv"
    )
