"""Quantities on the command line, from training to predictions with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run

import cotm


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with two quantities, and a model of each kind."""
    folder = tmp_path_factory.mktemp("houses")
    rng = np.random.default_rng(0)
    size, place = rng.uniform(20, 200, 240), rng.choice(["town", "village"], 240)
    price = 3.0 * size + 150 * (place == "town") + rng.normal(0, 10, 240)
    frame = pl.DataFrame({"size": size, "place": place, "price": price, "rent": price / 200})
    frame[:200].write_csv(folder / "train.csv")
    frame[200:].write_csv(folder / "test.csv")
    options = ["--model", "quantities", "--clauses", 60, "--epochs", 8, "--seed", 1]
    run(
        "train", folder / "train.csv", "--target", "price", "--drop", "rent", *options,
        "--eval", folder / "test.csv", "--out", folder / "price.cotm",
    )  # fmt: skip
    run(
        "train", folder / "train.csv", "--target", "price,rent", *options,
        "--out", folder / "both.cotm",
    )  # fmt: skip
    return folder


def test_a_summary_has_r_squared(houses: Path) -> None:
    shown = run("info", houses / "price.cotm").stdout
    assert "CoTMRegressor (quantities)" in shown and "validation R²" in shown
    assert "training D²" in shown and "targets" in shown


def test_evaluation(houses: Path) -> None:
    test = houses / "test.csv"
    one = json.loads(
        run("evaluate", houses / "price.cotm", test, "--target", "price", "--json").stdout
    )
    assert one["rows"] == 40 and one["r2"] > 0.7
    model, frame = cotm.load(houses / "price.cotm"), pl.read_csv(test)
    error = np.abs(model.predict(frame[["size", "place"]]) - frame["price"].to_numpy()).mean()
    assert np.isclose(one["targets"][0]["mean_absolute_error"], error)
    both = run("evaluate", houses / "both.cotm", test, "--target", "rent,price").stdout
    assert "R²" in both and "price" in both and "rent" in both


def test_predictions_and_intervals(houses: Path) -> None:
    result = run("predict", houses / "price.cotm", houses / "test.csv", "--interval", 0.8)
    rows = pl.read_csv(result.stdout.encode())
    assert rows.columns == ["prediction", "low", "high"] and len(rows) == 40
    assert (rows["low"] < rows["prediction"]).all() and (rows["prediction"] < rows["high"]).all()
    both = run("predict", houses / "both.cotm", houses / "test.csv", "--json").stdout
    assert set(json.loads(both.splitlines()[0])["prediction"]) == {"price", "rent"}


def test_what_is_for_classes_only_is_refused(houses: Path) -> None:
    predict = ["predict", houses / "price.cotm", houses / "test.csv"]
    assert "quantities, which have no --proba" in run(*predict, "--proba", code=1).stderr
    train = ["train", houses / "train.csv", "--out", houses / "no.cotm"]
    wrong = run(*train, "--target", "price", "--model", "quantities", "--e", 0.5, code=1)
    assert "--e: for classes only" in wrong.stderr
    wrong = run(*train, "--target", "place", "--model", "quantities", code=1)
    assert "quantities are numbers" in wrong.stderr
    wrong = run(*train, "--target", "price", code=1)
    assert "use --model quantities" in wrong.stderr


def test_a_report_and_rules(houses: Path) -> None:
    report = ["report", houses / "price.cotm", houses / "test.csv", "--out", houses / "page.html"]
    run(*report, "--target", "price")
    assert "mean_absolute_error" in (houses / "page.html").read_text()
    rules = ["rules", houses / "price.cotm", "--data", houses / "test.csv", "--top", 2]
    assert "fires on" in run(*rules).stdout
    refused = run(*rules, "--target", "price", code=2).stderr
    assert "--target" in refused and "quantities" in refused
