"""Columns of texts on the command line, from training to predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run

import cotm


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reviews")
    rng = np.random.default_rng(0)
    label = rng.choice(["praise", "blame"], 160)
    words = {"praise": ["good", "fun"], "blame": ["bad", "dull"]}
    texts = [
        " ".join(
            rng.permutation([*rng.choice(["a", "film", "it", "was"], 4), rng.choice(words[y])])
        )
        for y in label
    ]
    frame = pl.DataFrame({"number": np.arange(160), "review": texts, "verdict": label})
    frame[:120].write_csv(folder / "train.csv")
    frame[120:].write_csv(folder / "test.csv")
    frame[120:].with_columns(pl.lit("2021").alias("review")).write_csv(folder / "digits.csv")
    frame.with_columns(
        (pl.col("verdict") == "praise").cast(int).alias("liked"),
        pl.col("review").str.contains("fun").cast(int).alias("funny"),
    ).drop("verdict").write_csv(folder / "several.csv")
    return folder


TRAIN = ["--text", "review", "--clauses", 40, "--seed", 1]


@pytest.mark.parametrize("kind", ["words", "characters", "hypervectors", "windows"])
def test_texts_are_learned_from(reviews: Path, kind: str) -> None:
    out = reviews / f"{kind}.cotm"
    run(
        "train", reviews / "train.csv", "--target", "verdict", *TRAIN, "--epochs", 20,
        "--specificity", 4, "--text-as", kind, "--eval", reviews / "test.csv", "--out", out,
    )  # fmt: skip
    X = pl.read_csv(reviews / "test.csv")
    assert cotm.load(out).score(X[["review"]], X["verdict"].to_numpy()) > 0.9
    shown = run("predict", out, reviews / "test.csv").stdout
    assert "praise" in shown
    run("predict", out, reviews / "digits.csv")  # digits are text here
    if kind == "words":
        assert "good" in run("rules", out).stdout
        assert "bits" in run("info", out).stdout
        assert "because" in run("explain", out, reviews / "test.csv").stdout
        run("report", out, reviews / "test.csv", "--target", "verdict", "--out", reviews / "r.html")
        assert (reviews / "r.html").stat().st_size > 10_000


def test_a_training_of_texts_goes_on(reviews: Path) -> None:
    whole, parts = reviews / "whole.cotm", reviews / "parts.cotm"
    begin = ["train", reviews / "train.csv", "--target", "verdict"]
    run(*begin, *TRAIN, "--epochs", 4, "--out", whole)
    run(*begin, *TRAIN, "--epochs", 2, "--out", parts)
    run(*begin, "--epochs", 4, "--resume", "--out", parts)
    X = pl.read_csv(reviews / "test.csv")[["review"]]
    assert (cotm.load(whole).votes(X) == cotm.load(parts).votes(X)).all()
    refused = run(*begin, "--epochs", 5, "--resume", "--text", "number", "--out", parts, code=2)
    assert "begun with other settings" in refused.stderr


def test_several_targets_choose_words_by_count(reviews: Path) -> None:
    out = reviews / "several.cotm"
    run(
        "train", reviews / "several.csv", "--target", "liked,funny", *TRAIN, "--epochs", 3,
        "--out", out,
    )  # fmt: skip
    assert cotm.load(out).booleanizer_.select == "count"


def test_what_does_not_fit_is_refused(reviews: Path) -> None:
    train = ["train", reviews / "train.csv", "--target", "verdict", "--out", reviews / "x.cotm"]
    for options, words, code in (
        (["--text-as", "words"], "name the column of texts with --text", 2),
        (["--text", "film"], "film", 1),
        (["--text", "review", "--patch-shape", "2"], "texts have no patches", 2),
    ):
        assert words in run(*train, *options, code=code).stderr
        assert not (reviews / "x.cotm").exists()
