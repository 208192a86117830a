"""The bench of tables measures once, keeps what it measured, and ranks it rightly."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def folder(tmp_path):
    """A table of numbers and text with missing cells, whose class is in its columns."""
    rng = np.random.default_rng(0)
    rows = ["width,colour,class"]
    for label in ["yes", "no"] * 30:
        width = "" if rng.random() < 0.1 else f"{rng.normal() + 5 * (label == 'yes'):.2f}"
        rows.append(f"{width},{'?' if rng.random() < 0.1 else rng.choice(['red', 'blue'])},{label}")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "made.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "tables"


def run(folder, *options):
    command = [sys.executable, BENCHMARKS / "tables.py", folder, "--data", "tables", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tables_are_measured_once(folder, tmp_path):
    output = tmp_path / "results.jsonl"
    options = ["--output", output, "--methods", "short", "forest", "boosting", "logistic"]

    def settings(epochs):
        return ["--settings", json.dumps({"short": {"n_clauses": 20, "T": 15, "epochs": epochs}})]

    assert "12 folds to measure" in run(folder, *options, *settings(5))
    lines = [json.loads(line) for line in output.read_text().splitlines()][1:]
    assert len(lines) == 12
    assert min(line["accuracy"] for line in lines) > 0.7
    assert all(line["log_loss"] < 0.6 and line["auc"] > 0.8 for line in lines)
    assert all((line["rules"] > 0) for line in lines if line["method"] == "short")

    again = run(folder, *options, *settings(5))
    assert "0 folds to measure" in again and "| short | " in again
    # A line that was cut off is measured again, and so is another setting of the same name.
    *others, last = output.read_text().splitlines()
    assert json.loads(last)["method"] != "short"
    output.write_text("\n".join([*others, last[:-20]]))
    assert "4 folds to measure" in run(folder, *options, *settings(6))
    assert "0 folds to measure" in run(folder, *options, *settings(6))


def test_a_table_is_read_as_it_is(folder):
    from tables_data import load

    table = load("tables/made", folder)
    assert table.X.dtype == object and table.X.shape == (60, 2)
    kinds = [{type(cell) for cell in table.X[:, k]} for k in range(2)]
    assert kinds == [{float}, {str, type(None)}]
    assert any(np.isnan(cell) for cell in table.X[:, 0])
    assert set(table.y) == {"yes", "no"}


def test_critical_difference():
    from tables_report import critical_difference, indistinct

    # Demšar (2006): four methods on 14 data sets.
    assert critical_difference(14, 4) == pytest.approx(1.25, abs=0.005)
    assert list(indistinct(np.array([1.0, 1.5, 2.4, 3.9, 4.0]), 1.0)) == [(0, 1), (1, 2), (3, 4)]


def test_ranks():
    from tables_report import Results

    measured = {"a": (0.9, 0.3), "b": (0.9, 0.2), "c": (0.8, None)}
    lines = {
        ("t", method, 0): {"accuracy": accuracy, **({"log_loss": loss} if loss else {})}
        for method, (accuracy, loss) in measured.items()
    }
    results = Results(lines, [*measured], ["t"], 1)
    names, ranks = results.ranked("accuracy")
    assert names == ["a", "b", "c"] and ranks.tolist() == [[1.5, 1.5, 3.0]]
    names, ranks = results.ranked("log_loss")
    assert names == ["a", "b"] and ranks.tolist() == [[2.0, 1.0]]


def test_probabilities_of_classes_that_training_did_not_see():
    from tables_methods import judged

    y = np.array(["a", "b", "c", "a", "c"])
    found = judged(
        np.array([[0.5, 0.5], [0.2, 0.8]]), np.array(["a", "c"]), y, test=np.array([3, 4])
    )
    assert found["log_loss"] == pytest.approx(-(np.log(0.5) + np.log(0.8)) / 2)
    assert found["auc"] == 1.0


@pytest.mark.parametrize("percent", [10, 40])
def test_as_many_labels_are_wrong_as_said(percent):
    from tables_data import wrong_labels

    y = np.repeat(np.arange(4), 250)
    changed = wrong_labels(y, percent, np.random.default_rng(0))
    assert (changed != y).mean() == percent / 100
    assert np.unique(changed).tolist() == [0, 1, 2, 3]
