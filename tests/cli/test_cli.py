"""The command line, mostly in this process, where it matters as a real program."""

from __future__ import annotations

import inspect
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import polars as pl
import pytest
import typer.main
from command_line import FAST, ROWS, make_table, program, run

import cotm
from cotm import cli
from cotm.cli.data.missing import MISSING_TEXTS
from cotm.cli.options import PARAMETER_OPTIONS
from cotm.core.parameters import OPTIONS

# The way through -----------------------------------------------------------------------


def test_train_summary(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    result = run(
        "train", folder / "table.csv", "--target", "label", "--out", out,
        "--clauses", 40, "--epochs", 3, "--seed", 1, "--early-stopping",
    )  # fmt: skip
    model = cotm.load(out)
    facts = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    assert facts["rows"] == str(ROWS)
    assert facts["features"] == "3"
    assert facts["bits"] == str(model.memory_.shape[1] // 2)
    assert facts["epochs"] == "3 of 3"
    assert facts["training accuracy"].startswith(f"{model.history_[-1]['train_accuracy']:.2%}")
    last = model.history_[-1]["validation_accuracy"]
    assert facts["validation accuracy"].startswith(f"{last:.2%}")
    assert str(out) in facts["model"]
    assert "epoch 3/3" in result.stderr
    assert "epoch 3/3" not in result.stdout


def test_quiet_says_nothing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    result = run("train", folder / "table.csv", "--target", "label", "--out", out, *FAST)
    assert (result.stdout, result.stderr) == ("", "")


def test_predict_matches_library(folder: Path, model: Path) -> None:
    table = make_table()
    result = run("predict", model, folder / "table.csv", "--proba", "--votes")
    printed = pl.read_csv(io.StringIO(result.stdout))
    classifier, X = cotm.load(model), table.drop("label")
    names = ["north", "old", "south"]
    assert printed.columns == [
        "prediction", *(f"p_{n}" for n in names), *(f"votes_{n}" for n in names)
    ]  # fmt: skip
    assert printed["prediction"].to_list() == classifier.predict(X).tolist()
    probabilities = printed.select(f"p_{n}" for n in names).to_numpy()
    np.testing.assert_allclose(probabilities, classifier.predict_proba(X))
    votes = printed.select(f"votes_{n}" for n in names).to_numpy()
    np.testing.assert_array_equal(votes, classifier.votes(X))


@pytest.mark.parametrize("name", ["predictions.csv", "predictions.parquet"])
def test_predict_to_file(folder: Path, model: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    result = run("predict", model, folder / "table.csv", "--out", out, "--jobs", 2)
    assert result.stdout == ""
    assert str(ROWS) in result.stderr
    written = (pl.read_csv if out.suffix == ".csv" else pl.read_parquet)(out)
    expected = cotm.load(model).predict(make_table().drop("label"))
    assert written["prediction"].to_list() == expected.tolist()


def test_jobs_of_predict(folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    votes, threads = cotm.Machine.votes, []

    def noting(self: Any, X: Any, *, n_jobs: int | None) -> Any:
        threads.append(n_jobs)
        return votes(self, X, n_jobs=n_jobs)

    monkeypatch.setattr(cotm.Machine, "votes", noting)
    run("predict", model, folder / "table.csv", "--jobs", 2)
    run("predict", model, folder / "table.csv")
    run("evaluate", model, folder / "table.csv", "--target", "label", "--jobs", 3)
    assert threads == [2, None, 3]


def test_predict_finds_columns_by_name(model: Path, tmp_path: Path) -> None:
    table = make_table()
    shuffled = table.select("größe in m", pl.lit(7).alias("extra"), "city", "age")
    shuffled.write_csv(tmp_path / "new.csv")
    result = run("predict", model, tmp_path / "new.csv")
    expected = cotm.load(model).predict(table.drop("label"))
    assert result.stdout.splitlines()[1:] == expected.tolist()


def test_evaluate_json(folder: Path, model: Path) -> None:
    report = json.loads(
        run("evaluate", model, folder / "table.csv", "--target", "label", "--json").stdout
    )
    truth = make_table()["label"].to_numpy()
    predicted = cotm.load(model).predict(make_table().drop("label"))
    assert report["rows"] == ROWS
    assert report["accuracy"] == pytest.approx((truth == predicted).mean())
    assert report["confusion_matrix"]["labels"] == ["north", "old", "south"]
    counts = np.array(report["confusion_matrix"]["true_by_predicted"])
    assert counts[1, 2] == ((truth == "old") & (predicted == "south")).sum()
    old = report["classes"][1]
    assert old["class"] == "old"
    assert old["support"] == (truth == "old").sum() == counts[1].sum()
    assert old["recall"] == pytest.approx(counts[1, 1] / counts[1].sum())
    assert old["precision"] == pytest.approx(counts[1, 1] / counts[:, 1].sum())


def test_evaluate_tables(folder: Path, model: Path) -> None:
    words = ["evaluate", model, folder / "table.parquet", "--target", "label"]
    report = json.loads(run(*words, "--json").stdout)
    printed = run(*words).stdout
    assert f"{report['accuracy']:.2%}" in printed
    for row in report["classes"]:
        cells = [row["class"], f"{row['precision']:.3f}", f"{row['recall']:.3f}"]
        assert any(all(cell in line for cell in cells) for line in printed.splitlines())
    assert "true \\ predicted" in printed


def test_evaluate_counts_unknown_labels_as_wrong(model: Path, tmp_path: Path) -> None:
    table = make_table()
    changed = pl.when(pl.int_range(ROWS) < 5).then(pl.lit("new")).otherwise(pl.col("label"))
    table.with_columns(changed.alias("label")).write_csv(tmp_path / "test.csv")
    result = run("evaluate", model, tmp_path / "test.csv", "--target", "label", "--json")
    predicted = cotm.load(model).predict(table.drop("label"))
    right = (predicted[5:] == table["label"].to_numpy()[5:]).sum()
    assert json.loads(result.stdout)["accuracy"] == pytest.approx(right / ROWS)
    assert "5 rows" in result.stderr


def test_evaluate_many_classes_lists_confusions(tmp_path: Path) -> None:
    y = np.repeat(np.arange(15), 10)
    np.savez(tmp_path / "many.npz", X=np.random.default_rng(0).integers(0, 2, (150, 6)), y=y)
    run("train", tmp_path / "many.npz", "--out", tmp_path / "m.cotm", *FAST)
    printed = run("evaluate", tmp_path / "m.cotm", tmp_path / "many.npz").stdout
    assert "taken for" in printed
    assert "true \\ predicted" not in printed


def test_rules(model: Path) -> None:
    classifier = cotm.load(model)
    printed = run("rules", model, "--top", 3, "--label", "old").stdout
    expected = classifier.rules(label="old", top=3)
    assert printed.splitlines() == [f"{k}. {rule}" for k, rule in enumerate(expected, start=1)]
    assert len(expected) == 3
    found = json.loads(run("rules", model, "--top", 5, "--json").stdout)
    rules = classifier.rules(top=5)
    assert [rule["clause"] for rule in found] == [rule.clause for rule in rules]
    assert found[0]["weights"] == rules[0].weights
    condition = rules[0].conditions[0]
    assert found[0]["conditions"][0] == {
        "column": condition.feature.column,
        "op": condition.feature.op,
        "value": condition.feature.value,
        "negated": condition.negated,
        "text": str(condition),
    }


def test_info_of_a_model(model: Path) -> None:
    classifier = cotm.load(model)
    printed = run("info", model).stdout
    literals = (classifier.memory_ >= 0).sum(axis=1)
    for text in (
        "CoTMClassifier (coalesced)",
        "north, old, south",
        "age, city, größe in m",
        f"{(literals == 0).sum()} empty, {literals[literals > 0].mean():.1f} literals",
        "4 of 4",
        f"{4 * ROWS} examples presented",
        f"format 1, written by cotm {cotm.__version__}",
    ):
        assert text in printed
    assert ["seed", "1"] in [line.split() for line in printed.splitlines()]
    assert ["parameter", "n_clauses", "40"] in [line.split() for line in printed.splitlines()]


def test_info_of_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTM_EXAMPLE", "seen")
    lines = [line.split() for line in run("info").stdout.splitlines()]
    assert ["cotm", cotm.__version__] in lines
    assert ["COTM_EXAMPLE", "seen"] in lines
    assert ["backend", "reference", "available"] in lines
    assert any(line[:2] == ["backend", "native"] for line in lines)


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == f"cotm {cotm.__version__}"
    assert "130  interrupted" in run("--help").stdout
    for command in typer.main.get_command(cli.app).commands:  # type: ignore[attr-defined]
        assert f"cotm {command} " in run(command, "--help").stdout.split("Example")[1]


def test_demo(tmp_path: Path) -> None:
    out = tmp_path / "demo.cotm"
    printed = run("demo", "--quick", "--out", out).stdout
    shown = {line.rsplit("  ", 1)[0].strip(): line for line in printed.splitlines()}
    accuracy = float(shown["100 rules"].split()[-1].rstrip("%"))
    other = float(shown["logistic regression"].split()[-1].rstrip("%"))
    assert accuracy > 80
    assert other > 95
    rules = cotm.load(out).rules(label=7, top=3)
    assert all(f"- {rule}" in printed for rule in rules)
    assert f"cotm rules {shlex.quote(str(out))}" in printed


# Options -------------------------------------------------------------------------------


def test_every_option_reaches_the_classifier(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    run(
        "train", folder / "pixels.parquet", "--target", "kind", "--out", out, "--quiet",
        "--clauses", 30, "--margin", 20, "--specificity", 4.5, "--epochs", 2,
        "--max-literals", 6, "--max-weight", 50, "--memory-depth", 64, "--e", 0.5, "--average", 2,
        "--e-scales", "type2", "--no-boost", "--class-weight", "balanced",
        "--patch-shape", "3,4", "--image-shape", "8,8", "--stride", "2,1", "--early-stopping",
        "--scoring", "roc_auc", "--patience", 7, "--validation-fraction", 0.25, "--jobs", 2,
        "--backend", "native", "--seed", 9, "--augment", "shift=1,flip", "--preset", "paper",
    )  # fmt: skip
    expected = {
        "n_clauses": 30, "T": 20, "s": 4.5, "epochs": 2, "max_literals": 6, "max_weight": 50,
        "average": 2, "memory_depth": 64, "e": 0.5, "e_scales": "type2",
        "boost_true_positive": False, "class_weight": "balanced",
        "patch_shape": (3, 4), "image_shape": (8, 8),
        "stride": (2, 1), "early_stopping": True, "scoring": "roc_auc", "patience": 7,
        "validation_fraction": 0.25,
        "n_jobs": 2, "backend": "native", "random_state": 9,
        "augment": cotm.Augmentation(shift=1, flip=True), "preset": "paper",
    }  # fmt: skip
    parameters = cotm.load(out).get_params()
    assert {name: parameters[name] for name in expected} == expected
    # Learning options that are not here are tested one by one in tests/core/test_parameters.py.
    assert set(PARAMETER_OPTIONS) - set(OPTIONS) <= set(expected)


def test_options_are_those_that_messages_name() -> None:
    train = typer.main.get_command(cli.app).commands["train"]  # type: ignore[attr-defined]
    options = {parameter.name: parameter.opts[0] for parameter in train.params}
    assert {name: options[name] for name in PARAMETER_OPTIONS} == PARAMETER_OPTIONS


def test_help_shows_the_library_defaults() -> None:
    hints = get_type_hints(cli.train, include_extras=True)
    defaults = inspect.signature(cotm.CoTMClassifier).parameters
    checked = 0
    for name in PARAMETER_OPTIONS:
        default = defaults[name].default
        if isinstance(default, int | float | str) and not isinstance(default, bool):
            shown = hints[name].__metadata__[0].show_default
            assert str(shown).split(",")[0] == str(default), name
            checked += 1
    assert checked >= 12
    assert hints["missing"].__metadata__[0].show_default == ", ".join(MISSING_TEXTS[1:])


@pytest.mark.parametrize(
    ("kind", "name", "weighted"),
    [("coalesced", "CoTMClassifier", None), ("weighted", "TMClassifier", True),
     ("plain", "TMClassifier", False)],
)  # fmt: skip
def test_model_kinds(folder: Path, tmp_path: Path, kind: str, name: str, weighted: Any) -> None:
    out = tmp_path / "model.cotm"
    words = ["train", folder / "table.csv", "--target", "label", "--out", out, *FAST]
    run(*words, "--model", kind, "--margin", "auto")
    model = cotm.load(out)
    assert type(model).__name__ == name
    assert getattr(model, "weighted", None) is weighted
    assert kind in run("info", out).stdout


@pytest.mark.parametrize(
    "words",
    [
        ["train", "data.csv"],
        ["evaluate", "model.cotm", "data.csv"],
        ["train", "data.csv", "--target", "y", "--clauses", "0"],
        ["train", "data.csv", "--target", "y", "--margin", "many"],
        ["train", "data.csv", "--target", "y", "--patch-shape", "3x3"],
        ["train", "data.csv", "--target", "y", "--model", "deep"],
        ["train", "data.csv", "--target", "y", "--separator", "::"],
        ["predict", "model.cotm", "data.csv", "--out", "predictions.txt"],
        ["rules", "model.cotm", "--top", "0"],
        ["guess"],
    ],
)
def test_wrong_usage(words: list[str]) -> None:
    result = run(*words, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


# The real program ----------------------------------------------------------------------


def test_program_separates_results_from_messages(folder: Path, tmp_path: Path) -> None:
    process = program(
        "train", folder / "table.csv", "--target", "label", "--epochs", 2, cwd=tmp_path
    )
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert "epoch 2/2" in stderr
    assert stdout.splitlines()[-1].startswith("model ")
    assert len(cotm.load(tmp_path / "model.cotm").history_) == 2


def test_program_reports_errors(tmp_path: Path) -> None:
    process = program("predict", "none.cotm", "none.csv", cwd=tmp_path)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (1, "")
    assert stderr == "error: none.cotm: No such file or directory\n"


def test_broken_pipe_ends_quietly(model: Path, tmp_path: Path) -> None:
    pl.concat([make_table()] * 500).write_csv(tmp_path / "long.csv")
    # One breaks while it writes, the other when it flushes what little it wrote.
    for words in (["predict", model, tmp_path / "long.csv", "--votes"], ["info"]):
        process = program(*words)
        assert process.stdout is not None
        assert process.stderr is not None
        if words != ["info"]:
            assert process.stdout.readline().startswith("prediction")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 1


def test_heavy_imports_wait() -> None:
    heavy = {"numpy", "polars", "rich", "scipy", "sklearn"}
    code = f"import sys, cotm.cli; print(*({heavy} & {{*sys.modules}}))"
    imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert imported == []
