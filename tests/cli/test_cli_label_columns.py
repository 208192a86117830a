"""Several columns of labels on the command line, from training to predictions."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import fails, run
from sklearn.datasets import load_iris

import cotm


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose rows have a species, a colour that some do not say, and a code."""
    folder = tmp_path_factory.mktemp("flowers")
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["sl", "sw", "pl", "pw"]).with_columns(
        species=pl.Series(["setosa", "versicolor", "virginica"]).gather(y),
        colour=pl.Series([None if k % 5 == 0 else "blue" if y[k] else "red" for k in range(150)]),
        code=pl.Series([1 + int(row[1] > 3) for row in X]),
    )
    frame[::2].write_csv(folder / "train.csv")
    frame[1::2].write_csv(folder / "test.csv")
    run(
        "train", folder / "train.csv", "--target", "species,colour,code", "--clauses", 60,
        "--epochs", 8, "--seed", 1, "--eval", folder / "test.csv", "--out", folder / "m.cotm",
    )  # fmt: skip
    return folder


def test_evaluation_has_a_part_for_each_column(flowers: Path) -> None:
    test, model = flowers / "test.csv", cotm.load(flowers / "m.cotm")
    args = ("evaluate", flowers / "m.cotm", test, "--target", "colour,species,code")
    said = json.loads(run(*args, "--json").stdout)
    frame = pl.read_csv(test)
    predicted = model.predict(frame[["sl", "sw", "pl", "pw"]])
    names = [column["column"] for column in said["columns"]]
    assert names == ["code", "colour", "species"] and said["rows"] == 75
    for k, column in enumerate(said["columns"]):
        known = frame[names[k]].is_not_null().to_numpy()
        right = predicted[known, k] == frame[names[k]].to_numpy()[known]
        assert column["accuracy"] == right.mean() > 0.8 and column["rows"] == known.sum()
    assert said["all_columns_right"] <= said["accuracy"]
    shown = run(*args).stdout
    assert "rows with all columns right" in shown and "versicolor" in shown
    assert "species" in fails("evaluate", flowers / "m.cotm", test, "--target", "species,colour")


def test_predictions_have_a_column_for_each(flowers: Path) -> None:
    model, test = cotm.load(flowers / "m.cotm"), flowers / "test.csv"
    X = pl.read_csv(test)[["sl", "sw", "pl", "pw"]]
    rows = pl.read_csv(
        run("predict", flowers / "m.cotm", test, "--proba", "--votes").stdout.encode()
    )
    asked = ["prediction_code", "prediction_colour", "prediction_species"]
    assert rows.columns[:3] == asked and rows["prediction_code"].dtype == pl.Int64
    assert (rows[asked].to_numpy() == model.predict(X)).all()
    assert (rows["votes_species=setosa"].to_numpy() == model.votes(X)[:, 4]).all()
    assert (rows["p_colour=red"].to_numpy() == model.predict_proba(X)[1][:, 1]).all()
    line = json.loads(run("predict", flowers / "m.cotm", test, "--json").stdout.splitlines()[0])
    assert line["prediction"] == {"code": 1, "colour": "red", "species": "setosa"}


def test_what_is_told_of_such_a_model(flowers: Path) -> None:
    said = json.loads(run("info", flowers / "m.cotm", "--json").stdout)
    assert said["label_columns"] == {
        "code": [1, 2], "colour": ["blue", "red"], "species": ["setosa", "versicolor", "virginica"],
    }  # fmt: skip
    assert "species=setosa" in run("info", flowers / "m.cotm").stdout
    rules = run("rules", flowers / "m.cotm", "--label", "species=setosa", "--top", 3).stdout
    assert "species=setosa" in rules
    assert "did you mean" in fails("rules", flowers / "m.cotm", "--label", "species=setos")
    small, target = flowers / "small.cotm", "species,colour,code"
    run("compress", flowers / "m.cotm", flowers / "train.csv", "--target", target, "--out", small)
    assert "each of 3 columns" in fails("export", small, flowers / "m.sql")
