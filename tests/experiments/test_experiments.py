"""Experiments run, keep what is finished, and tell the truth in their tables."""

import csv
import dataclasses
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from cotm.booleanize import AdaptiveGaussianThreshold
from cotm.cli import app
from cotm.experiments import (
    EXPERIMENTS,
    Options,
    Runs,
    baselines,
    better_settings,
    cifar10_imbalance,
    clauses_table,
    gray_images,
    imdb_imbalance,
    learning_speed,
    paper,
    runs,
    unfinished,
)
from cotm.experiments.cifar10_imbalance import halve_by_rank
from cotm.experiments.forms import FORMS
from cotm.experiments.imdb_imbalance import remove_positive
from cotm.experiments.interpret_xor import train_xor, truth

RUNNER = CliRunner()


def small_images(name, level=None):
    rng = np.random.default_rng(3)
    y = np.arange(120) % 10
    x = (rng.random((120, 28, 28)) < 0.1).astype(np.uint8)
    x[np.arange(120), 2 * y, 14] = 1
    return x[:100], y[:100], x[100:], y[100:]


@pytest.fixture
def no_data(monkeypatch):
    for module in (clauses_table, learning_speed, better_settings, baselines):
        monkeypatch.setattr(module, "load_bits", small_images)


def reproduce(folder, *arguments):
    result = RUNNER.invoke(app, ["reproduce", *arguments, "--out", str(folder), "--jobs", "1"])
    return result.exit_code, result.output


def test_experiments_are_listed():
    result = RUNNER.invoke(app, ["reproduce"])
    assert all(name in result.output for name in EXPERIMENTS)
    for name in ("mnist", "fashion-mnist", "kmnist", "learning-speed", "baselines",
                 "imdb-imbalance", "cifar10-imbalance", "interpret-xor"):  # fmt: skip
        assert name in EXPERIMENTS


def test_unknown_experiments_and_columns_are_told(tmp_path, no_data):
    code, output = reproduce(tmp_path, "imagenet")
    assert code == 1 and "there is no experiment 'imagenet'; there are mnist" in output
    code, output = reproduce(tmp_path, "mnist", "--clauses", "77")
    assert code == 1 and "--clauses 77 is no column" in output
    for name in ("baselines", "learning-speed", "better-mnist"):
        code, output = reproduce(tmp_path, name, "--clauses", "77")
        assert code == 1 and "--clauses 77 is no column" in output
        code, output = reproduce(tmp_path, name, "--clauses", "50", "--clauses", "100")
        assert code == 1 and f"{name} takes one --clauses, not 2" in output
    code, output = reproduce(tmp_path, "imdb-imbalance", "--clauses", "50")
    assert code == 1 and "leave --clauses out" in output
    assert not list(tmp_path.iterdir())


def test_a_table_holds_what_was_measured(tmp_path, no_data):
    arguments = ("mnist", "--clauses", "50", "--epochs", "4", "--repeats", "2")
    code, output = reproduce(tmp_path, *arguments)
    assert code == 0, output
    folder = tmp_path / "mnist"
    report = json.loads((folder / "results.json").read_text())
    (row,) = report["rows"]
    stored = [json.loads(path.read_text()) for path in (tmp_path / "runs").iterdir()]
    assert len(stored) == 4
    for kind in ("coalesced", "weighted"):
        last = [
            run["epochs"][-1]["test_accuracy"] for run in stored if run["settings"]["kind"] == kind
        ]
        assert row[f"{kind} %"] == pytest.approx(100 * np.mean(last))
        assert row[f"{kind} difference"] == pytest.approx(row[f"{kind} %"] - row[f"paper {kind} %"])
    assert row["model kB"] == row["paper model kB"] == 22
    assert {run["settings"]["T"] for run in stored} == {625}
    assert report["command"] == "cotm reproduce mnist --epochs 4 --repeats 2 --jobs 1 --clauses 50"
    with open(folder / "results.csv") as file:
        assert float(next(csv.DictReader(file))["coalesced %"]) == pytest.approx(row["coalesced %"])
    table = (folder / "table.md").read_text()
    assert f"{row['coalesced %']:.2f}" in table and "98.33" in table and "100 training" in table
    assert "Fewer epochs than the paper's" in table and "Only 100 of the 60,000" in table
    assert table in output
    for ending in ("png", "svg"):
        assert (folder / f"figure.{ending}").stat().st_size > 1000


def test_a_table_as_the_released_programs_make_it(tmp_path, no_data, monkeypatch):
    levels = []
    monkeypatch.setattr(
        clauses_table, "load_bits", lambda name, level: levels.append(level) or small_images(name)
    )
    arguments = ("mnist", "--clauses", "50", "--epochs", "4", "--as", "released")
    code, output = reproduce(tmp_path, *arguments)
    assert code == 0, output
    assert levels == [75]
    report = json.loads((tmp_path / "mnist-released" / "results.json").read_text())
    assert report["command"].endswith("--clauses 50 --as released")
    (row,) = report["rows"]
    stored = [json.loads(path.read_text()) for path in (tmp_path / "runs").iterdir()]
    learnt = {(run["settings"]["kind"], run["settings"].get("negatives")): run for run in stored}
    assert len(learnt) == len(stored) == 3
    machines = {
        "coalesced": (("coalesced", None), 625, 10.0, None),
        "weighted": (("weighted", None), 125, 5.0, 255),
        "weighted, one drawn": (("weighted", "drawn"), 125, 5.0, None),
    }
    for title, (key, T, s, max_weight) in machines.items():
        settings, last = learnt[key]["settings"], learnt[key]["epochs"][-1]
        assert settings["T"] == row.get(f"{title} T", row["T"]) == T
        assert settings["s"] == s
        assert settings["shuffle"] is False and settings.get("max_weight") == max_weight
        assert row.get(f"{title} s", row["s"]) == s
        assert row[f"{title} %"] == pytest.approx(100 * last["test_accuracy"])
        assert row[f"{title}, clipped %"] == pytest.approx(100 * last["clipped_accuracy"])
    assert row["paper weighted, one drawn %"] == row["paper weighted %"] == 97.86
    table = (tmp_path / "mnist-released" / "table.md").read_text()
    assert "pixels from 75 on" in stored[0]["settings"]["data"] and "clipped to T" in table


@pytest.mark.parametrize(
    ("data_set", "title", "expected"),
    [
        ("mnist", "coalesced", [(625, 10), (25_000, 10), (5000, 5), (10_000, 5)]),
        ("mnist", "weighted", [(125, 5), (5000, 5), (5000, 5), (10_000, 5)]),
        ("fashion-mnist", "coalesced", [(625, 10), (2500, 10), (5000, 10), (10_000, 10)]),
        ("fashion-mnist", "weighted", [(62, 10), (2500, 10), (5000, 10), (10_000, 10)]),
        ("kmnist", "weighted, one drawn", [(625, 10), (2500, 10), (5000, 10), (10_000, 10)]),
    ],
)
def test_the_demos_settings_in_columns_of_the_tables(data_set, title, expected):
    (machine,) = (m for m in FORMS["released"].machines if m.title == title)
    found = [machine.settings(data_set, column) for column in (50, 2000, 4000, 8000)]
    assert [(each["T"], each["s"]) for each in found] == expected


def test_the_text_and_the_released_programs_share_no_runs(tmp_path, no_data):
    arguments = ("kmnist", "--clauses", "50", "--epochs", "1")
    for form in ((), ("--as", "text"), ("--as", "released")):
        code, output = reproduce(tmp_path, *arguments, *form)
        assert code == 0, output
    assert len(list((tmp_path / "runs").iterdir())) == 2 + 3


def test_only_tables_of_images_have_forms(tmp_path, no_data):
    code, output = reproduce(tmp_path, "mnist", "--as", "printed")
    assert code == 1 and "--as printed: a table is made as text or released" in output
    code, output = reproduce(tmp_path, "interpret-xor", "--as", "released")
    assert code == 1 and "interpret-xor has one form; leave --as out" in output
    assert "mnist, fashion-mnist, kmnist" in output
    assert not list(tmp_path.iterdir())


def test_levels_and_thresholds_make_bits(monkeypatch):
    gray = np.array([[[0, 74], [75, 255]]], np.uint8)
    images = gray, np.zeros(1, np.uint8), gray[:, ::-1], np.ones(1, np.uint8)
    monkeypatch.setitem(gray_images._LOADERS, "mnist", lambda: images)
    X, y, X_test, y_test = gray_images.load_bits("mnist", 75)
    assert X.tolist() == [[[0, 0], [1, 1]]] and X_test.tolist() == [[[1, 1], [0, 0]]]
    assert y.tolist() == [0] and y_test.tolist() == [1]
    by_thresholds = gray_images.load_bits("mnist")[0]
    assert np.array_equal(by_thresholds, AdaptiveGaussianThreshold().fit_transform(gray))


def test_clipped_votes_tie(tmp_path):
    """With T of 1 nearly all votes are clipped: the first of the outputs at T is then predicted."""
    run = dataclasses.replace(tiny_run(), clips_votes=True, epochs=3)
    trained = []
    trainer = Runs(Options(folder=tmp_path, n_jobs=1))
    monkey = trainer._model
    trainer._model = lambda run: trained.append(monkey(run)) or trained[-1]
    curve = trainer.train(run, verbose=0)
    X, y = run.data[2:]
    votes = trained[0].votes(X)
    expected = np.mean(np.argmax(np.clip(votes, -1, 1), axis=1) == y)
    assert curve.epochs[-1]["clipped_accuracy"] == expected
    assert (np.abs(votes) > 1).any()


def tiny_run():
    x, y, x_test, y_test = small_images("mnist")
    return runs.Run(
        label="tiny",
        kind="weighted",
        data=(x, y, x_test, y_test),
        data_name="tiny",
        parameters={"n_clauses": 20, "T": 1, "s": 3.0, "patch_shape": (10, 10)},
        epochs=5,
        seed=1,
    )


@pytest.mark.parametrize("moment", ["between epochs", "while a test is under way"])
def test_an_interrupted_run_goes_on_to_the_same_figures(tmp_path, monkeypatch, moment):
    run = tiny_run()
    whole = Runs(Options(folder=tmp_path / "whole", n_jobs=1)).train(run, verbose=0)

    trainer = Runs(Options(folder=tmp_path / "parts", n_jobs=1))
    measured = []

    def interrupted(predicted, expected):
        measured.append(1)
        if moment == "while a test is under way" and len(measured) == 3:
            raise KeyboardInterrupt
        return runs.measure_accuracy(predicted, expected)

    def keep(self, model, records):
        if moment == "between epochs" and len(records) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(runs.UnfinishedRun, "keep_now_and_then", keep)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(dataclasses.replace(run, measure=interrupted), verbose=0)
    folder = tmp_path / "parts" / "runs"
    assert not list(folder.glob("*.json"))
    monkeypatch.setattr(runs.UnfinishedRun, "keep_now_and_then", lambda *_: None)
    begun = []
    monkeypatch.setattr(Runs, "_model", lambda self, run: begun.append(1))
    curve = trainer.train(run, verbose=0)
    assert not begun, "it began anew"
    accuracies = [[epoch["test_accuracy"] for epoch in c.epochs] for c in (whole, curve)]
    assert accuracies[0] == accuracies[1] and len(accuracies[0]) == 5
    assert [epoch["epoch"] for epoch in curve.epochs] == [1, 2, 3, 4, 5]
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_a_run_that_was_killed_goes_on_from_what_was_kept(tmp_path, monkeypatch):
    """Killed between two files: the model is of an earlier epoch than the records."""
    run = tiny_run()
    monkeypatch.setattr(unfinished, "_SECONDS", 0.0)
    save = unfinished.write_whole
    kept = []

    def killed(path, text):
        save(path, text)
        kept.append(path)
        if len(kept) == 4:
            raise RuntimeError("killed")

    monkeypatch.setattr(unfinished, "write_whole", killed)
    trainer = Runs(Options(folder=tmp_path, n_jobs=1))
    with pytest.raises(RuntimeError, match="killed"):
        trainer.train(run, verbose=0)
    monkeypatch.setattr(unfinished, "write_whole", save)
    model, records = unfinished.UnfinishedRun(trainer._path(run)).find()
    assert len(records) == len(model.history_) == 3
    curve = trainer.train(run, verbose=0)
    whole = Runs(Options(folder=tmp_path / "whole", n_jobs=1)).train(run, verbose=0)
    assert [e["test_accuracy"] for e in curve.epochs] == [e["test_accuracy"] for e in whole.epochs]


def test_finished_runs_are_not_run_again(tmp_path, no_data, monkeypatch):
    arguments = ("mnist", "--clauses", "50", "--epochs", "2")
    reproduce(tmp_path, *arguments)
    first = (tmp_path / "mnist" / "table.md").read_text()
    trained = []
    fit = runs.CoTMClassifier.fit
    monkeypatch.setattr(
        runs.CoTMClassifier, "fit", lambda *a, **k: trained.append(1) or fit(*a, **k)
    )
    code, _ = reproduce(tmp_path, *arguments)
    assert code == 0 and not trained
    assert (tmp_path / "mnist" / "table.md").read_text() == first
    reproduce(tmp_path, *arguments, "--seed", "5")
    assert len(trained) == 1


def test_runs_of_earlier_versions_are_found_again(tmp_path):
    """Names and contents of the files are the cache of results that took hours."""
    x = np.zeros((3, 28, 28), np.uint8)
    run = runs.Run(
        label="mnist 50",
        kind="coalesced",
        data=(x, np.arange(3), x[:2], np.arange(2)),
        data_name="mnist",
        parameters={"n_clauses": 500, "T": 625, "s": 10.0, "patch_shape": (10, 10)},
        epochs=2,
        seed=1,
    )
    path = tmp_path / "runs" / "mnist-50-coalesced-1-4ee53f2b1b.json"
    computer = {"processor": "a processor", "cores": 2, "gpu": None, "cotm": "0.1.0"}
    stored = {"settings": run.settings(), "epochs": [{"test_accuracy": 0.5}], "machine": computer}
    path.parent.mkdir()
    path.write_text(json.dumps(stored))
    trainer = Runs(Options(folder=tmp_path))
    (curve,) = trainer.train_all({"only": run}).values()
    assert curve.mean("test_accuracy") == 0.5
    assert curve.computer == computer and trainer.computers == [computer]
    assert json.loads(curve.to_json()) == json.loads(json.dumps(stored))


def test_an_interrupted_run_leaves_nothing_half_done(tmp_path, no_data, monkeypatch):
    def interrupted(self, X, y, resume=False):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs.TMClassifier, "fit", interrupted)
    code, output = reproduce(tmp_path, "mnist", "--clauses", "50", "--epochs", "2")
    assert code == 130 and "the same command continues" in output
    assert [path.name.split("-")[2] for path in (tmp_path / "runs").iterdir()] == ["coalesced"]
    assert not (tmp_path / "mnist" / "table.md").exists()


def test_learning_speed_counts_epochs(tmp_path, no_data):
    code, output = reproduce(tmp_path, "learning-speed", "--quick", "--epochs", "3")
    assert code == 0, output
    assert "first epoch above 99.3 %" in output and "50 clauses per class, 3 epochs" in output


def test_interpret_xor_learns_all_three(tmp_path):
    code, output = reproduce(tmp_path, "interpret-xor")
    assert code == 0, output
    report = json.loads((tmp_path / "interpret-xor" / "results.json").read_text())
    literals = {row["literals"] for row in report["rows"]}
    assert literals == {"x1 AND x2", "x1 AND NOT x2", "x2 AND NOT x1", "NOT x1 AND NOT x2"}
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert np.array_equal(train_xor(1).predict(X), truth(X))


def test_better_settings_are_chosen_without_the_test_set(tmp_path, no_data):
    code, output = reproduce(tmp_path, "better-mnist", "--quick", "--epochs", "2")
    assert code == 0, output
    rows = json.loads((tmp_path / "better-mnist-quick" / "results.json").read_text())["rows"]
    assert rows[0]["held-out %"] == max(row["held-out %"] for row in rows)
    assert rows[0]["test %"] is not None
    stored = [json.loads(path.read_text())["settings"] for path in (tmp_path / "runs").iterdir()]
    assert {tuple(run["rows"]) for run in stored} == {(84, 16), (100, 20)}


def test_baselines_stand_beside_scikit_learn(tmp_path, no_data, monkeypatch):
    monkeypatch.setattr(baselines, "XOR", {**baselines.XOR, "n_clauses": 20, "T": 100})
    monkeypatch.setattr(baselines, "_QUICK_ROUNDS", 2)
    monkeypatch.setattr(baselines, "_QUICK_ROWS", 500)
    code, output = reproduce(tmp_path, "baselines", "--quick", "--epochs", "2")
    assert code == 0, output
    rows = json.loads((tmp_path / "baselines-quick" / "results.json").read_text())["rows"]
    table = {row["model"]: row for row in rows}
    assert 50 < table["random forest"]["2D Noisy XOR %"] < 100
    assert table["simple CNN"]["MNIST %"] is None and table["simple CNN"]["paper MNIST %"] == 99.06
    assert table["CoTM (peak)"]["MNIST %"] >= table["CoTM (mean)"]["MNIST %"]


def test_imdb_with_reviews_removed(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(30)])
    y = np.repeat([0, 1], 200).astype(np.uint8)
    texts = [
        " ".join(["bad", "good"][label : label + 1] + list(rng.choice(words, 8))) for label in y
    ]
    monkeypatch.setattr(imdb_imbalance, "load_imdb", lambda: (texts, y, texts[::4], y[::4]))
    code, output = reproduce(tmp_path, "imdb-imbalance", "--quick", "--epochs", "3")
    assert code == 0, output
    rows = json.loads((tmp_path / "imdb-imbalance-quick" / "results.json").read_text())["rows"]
    assert [row["removed"] for row in rows] == [0.0, 0.5, 0.9]
    assert rows[0]["coalesced %"] > 90 and rows[0]["coalesced loss"] == 0
    assert rows[2]["paper plain loss"] == 30.5


def test_cifar10_with_classes_of_halving_size(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 10).astype(np.uint8)
    x = rng.integers(0, 256, (400, 32, 32, 3), dtype=np.uint8)
    monkeypatch.setattr(cifar10_imbalance, "load_cifar10", lambda: (x, y, x[:100], y[:100]))
    code, output = reproduce(tmp_path, "cifar10-imbalance", "--quick", "--epochs", "1")
    assert code == 0, output
    rows = json.loads((tmp_path / "cifar10-imbalance-quick" / "results.json").read_text())["rows"]
    assert [row["examples"] for row in rows] == [40, 20, 10, 5, 2, 1, 1, 1, 1, 1]
    assert all(0 <= row["plain F1"] <= 1 for row in rows)


def test_removal_leaves_the_share_it_says():
    y = np.repeat([0, 1], 1000)
    for share in paper.IMDB_REMOVED:
        rows = remove_positive(y, share, seed=1)
        assert np.bincount(y[rows]).tolist()[:2] == [1000, *([round(1000 * (1 - share))])]
        assert len(set(rows.tolist())) == len(rows)
        assert abs(y[rows[: len(rows) // 2]].mean() - y[rows].mean()) < 0.1, "not shuffled"
    ranks = halve_by_rank(np.repeat(np.arange(10), 5000), seed=1)
    assert np.bincount(ranks // 5000).tolist() == [5000, 2500, 1250, 625, 312, 156, 78, 39, 20, 10]


def test_the_papers_tables_are_whole():
    for table in paper.CLAUSES.values():
        assert all(len(values) == len(paper.COLUMNS) for values in table.values())
    for column, expected in zip(paper.COLUMNS, paper.MODEL_KB, strict=True):
        assert clauses_table.model_kilobytes(10 * column) == pytest.approx(expected, rel=0.003)


def test_flags_in_reports_are_options_of_the_command(tmp_path):
    options = Options(
        epochs=3,
        repeats=2,
        seed=4,
        backend="native",
        n_jobs=1,
        clauses=(50, 100),
        form="released",
    )
    help_text = RUNNER.invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).output
    flags = options.flags().split()
    assert [flag for flag in flags if flag.startswith("--")] == [
        "--epochs", "--repeats", "--seed", "--backend", "--jobs", "--clauses", "--clauses",
        "--as",
    ]  # fmt: skip
    assert all(flag in help_text for flag in flags if flag.startswith("--"))


def test_the_mean_is_over_the_last_epochs():
    epochs = [{"test_accuracy": float(k)} for k in range(100)]
    assert runs.Curve({}, epochs).mean("test_accuracy") == np.mean(range(75, 100))
    assert runs.Curve({}, epochs[:8]).mean("test_accuracy") == 6.5
    assert Runs(Options(quick=True)).epochs(100, 8) == 8
    assert Runs(Options(quick=True, epochs=3)).epochs(100, 8) == 3


def test_workers_give_the_same_table(tmp_path, no_data):
    arguments = ("mnist", "--clauses", "50", "--epochs", "2", "--repeats", "2")
    rows = []
    for folder, workers in (("one", "1"), ("two", "2")):
        code, output = reproduce(tmp_path / folder, *arguments, "--workers", workers)
        assert code == 0, output
        report = json.loads((tmp_path / folder / "mnist" / "results.json").read_text())
        kept = sorted(path.name for path in (tmp_path / folder / "runs").iterdir())
        accuracies = {key: value for key, value in report["rows"][0].items() if "%" in key}
        rows.append((accuracies, kept))
    assert rows[0] == rows[1] and len(rows[0][1]) == 4
    assert "--workers 2" in report["command"]
