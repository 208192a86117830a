"""Early stopping by the rows of a file, on the command line."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import fails, make_table, run, same_model

import cotm

SETTINGS = ["--clauses", 40, "--epochs", 8, "--patience", 8, "--seed", 1]


@pytest.fixture
def data(tmp_path: Path) -> list[Any]:
    """What to train on and stop by: the second file has no number where the first has some."""
    table = make_table()
    table[:160].write_csv(tmp_path / "train.csv")
    # Other columns and order; digits only in a column of text.
    rest = table[160:].select("label", pl.lit(7).alias("more"), "größe in m", "city", "age")
    rest.with_columns(pl.lit(5).alias("city")).write_csv(tmp_path / "valid.csv")
    return [tmp_path / "train.csv", "--target", "label", "--eval", tmp_path / "valid.csv"]


def expected(data: list[Any], **parameters: Any) -> cotm.CoTMClassifier:
    """The same through the library."""
    train, valid = (pl.read_csv(data[k]) for k in (0, 4))
    X = train.drop("label")
    model = cotm.CoTMClassifier(40, epochs=8, patience=8, random_state=1, **parameters)
    valid = valid.with_columns(pl.col("city").cast(pl.String))
    eval_set = valid.select(X.columns), valid["label"].to_numpy()
    return model.fit(X, train["label"].to_numpy(), eval_set=eval_set)


def test_training_stops_by_a_file(data: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "m.cotm"
    printed = run("train", *data, *SETTINGS, "--out", out).stdout
    model, by_library = cotm.load(out), expected(data)
    assert np.array_equal(model.memory_, by_library.memory_)
    best = max(record["validation_accuracy"] for record in model.history_)
    assert f"{best:.2%} in epoch" in printed
    printed = run(
        "train", *data, *SETTINGS, "--scoring", "neg_log_loss", "--out", out, "--patience", 2
    ).stdout
    model, by_library = cotm.load(out), expected(data, scoring="neg_log_loss")
    scores = [record["validation_score"] for record in model.history_]
    assert scores == [r["validation_score"] for r in by_library.history_][: len(scores)]
    assert f"validation neg_log_loss  {scores[-1]:.4g} in the last epoch, {max(scores):.4g} in" in (
        printed
    )
    assert model.scoring == "neg_log_loss"
    assert "finished" in fails("train", *data, "--resume", "--epochs", 20, "--out", out)


def test_an_interrupted_training_goes_on_with_the_file(
    data: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = tmp_path / "with space.cotm", tmp_path / "whole.cotm"
    fit = cotm.CoTMClassifier.fit

    def interrupted(self: Any, *arguments: Any, **keywords: Any) -> None:
        def stop(model: Any, record: Any) -> None:
            if record["epoch"] == 3:
                raise KeyboardInterrupt

        self.callbacks = [*self.callbacks, stop]
        fit(self, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(cotm.CoTMClassifier, "fit", interrupted)
        result = run("train", *data, *SETTINGS, "--out", out, code=130)
    assert "interrupted after epoch 3 of 8" in result.stderr
    command = shlex.split(result.stderr.splitlines()[-1])[1:]
    assert str(data[4]) in command
    without = [word for word in command if word not in ("--eval", str(data[4]))]
    assert "there is no eval_set, and training began with one" in fails(*without, "--quiet")
    run(*command, "--quiet")
    run("train", *data, *SETTINGS, "--out", whole, "--quiet")
    assert same_model(out, whole)


def test_arrays(tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, (200, 10))
    y = X[:, 0] ^ X[:, 1]
    np.savez(tmp_path / "train.npz", X=X[:150], y=y[:150])
    np.savez(tmp_path / "valid.npz", X=X[150:], y=y[150:])
    out = tmp_path / "m.cotm"
    files = [tmp_path / "train.npz", "--eval", tmp_path / "valid.npz", "--out", out]
    run("train", *files, *SETTINGS, "--quiet")
    assert cotm.load(out).score(X[150:], y[150:]) == max(
        record["validation_accuracy"] for record in cotm.load(out).history_
    )


def test_what_is_wrong_is_told(data: list[Any], tmp_path: Path) -> None:
    train, valid = data[0], data[4]
    out = tmp_path / "m.cotm"
    words = ["train", train, "--target", "label", "--out", out, "--quiet"]
    table = pl.read_csv(valid)
    table.drop("age").write_csv(tmp_path / "less.csv")
    assert "less.csv has no column 'age'" in fails(*words, "--eval", tmp_path / "less.csv")
    table.with_columns(pl.lit("west").alias("label")).write_csv(tmp_path / "odd.csv")
    assert "eval_set: its y holds the label 'west'" in fails(*words, "--eval", tmp_path / "odd.csv")
    assert "did you mean 'neg_log_loss'" in fails(*words, "--scoring", "log_loss", "--eval", valid)
    assert "none.csv" in fails(*words, "--eval", tmp_path / "none.csv")
    assert "would replace it" in fails(*words[:-2], valid, "--eval", valid)
    assert "standard input" in run(*words, "--eval", "-", code=2).stderr.replace("\n", " ")
    assert not out.exists()
