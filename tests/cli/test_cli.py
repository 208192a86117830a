"""The command line, mostly in this process, where it matters as a real program."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import polars as pl
import pytest
import typer.main
from command_line import FAST, ROWS, fails, make_table, program, run, same_model

import cotm
from cotm import cli
from cotm.cli.data.missing import MISSING_TEXTS
from cotm.cli.options import PARAMETER_OPTIONS
from cotm.core.parameters import OPTIONS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that tests read and leave as they are."""
    folder = tmp_path_factory.mktemp("with space")
    table = make_table()
    table.write_csv(folder / "table.csv")
    table.write_parquet(folder / "table.parquet")
    table.write_csv(folder / "table.tsv", separator="\t")
    table.write_csv(folder / "semicolons.csv", separator=";")
    (folder / "table.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))
    table.with_columns(
        ((pl.col("label") == "old").cast(int)).alias("z_old"),
        (pl.col("größe in m") > 1.7).alias("a_tall"),
    ).drop("label").write_csv(folder / "several.csv")
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 120)
    X = random.integers(0, 100, (120, 8, 8), dtype=np.uint8)
    X[y == 1, 2:5, 2:5] = 255
    np.savez(folder / "images.npz", X=X, y=y)
    np.savez(folder / "other names.npz", pictures=X, kinds=y)
    pixels = pl.DataFrame(X.reshape(120, 64), schema=[f"p{k}" for k in range(64)])
    pixels.with_columns(pl.Series("kind", y)).write_parquet(folder / "pixels.parquet")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    out = folder / "model.cotm"
    run("train", folder / "table.csv", "--target", "label", "--out", out, *FAST)
    return out


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
        "--patience", 7, "--validation-fraction", 0.25, "--jobs", 2, "--backend", "native",
        "--seed", 9, "--augment", "shift=1,flip",
    )  # fmt: skip
    expected = {
        "n_clauses": 30, "T": 20, "s": 4.5, "epochs": 2, "max_literals": 6, "max_weight": 50,
        "average": 2, "memory_depth": 64, "e": 0.5, "e_scales": "type2",
        "boost_true_positive": False, "class_weight": "balanced",
        "patch_shape": (3, 4), "image_shape": (8, 8),
        "stride": (2, 1), "early_stopping": True, "patience": 7, "validation_fraction": 0.25,
        "n_jobs": 2, "backend": "native", "random_state": 9,
        "augment": cotm.Augmentation(shift=1, flip=True),
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
    model = cotm.CoTMClassifier(1000, epochs=0).fit([[0], [1]], [0, 1])
    margin = model.T_ / 1000
    assert f", {margin:g} per clause" in hints["T"].__metadata__[0].show_default


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


# Files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [("table.parquet", []), ("table.tsv", []), ("table.csv.gz", []),
     ("semicolons.csv", ["--separator", ";"]), ("table.tsv", ["--separator", "\\t"])],
)  # fmt: skip
def test_file_kinds_hold_the_same(
    folder: Path, model: Path, tmp_path: Path, name: str, options: list[str]
) -> None:
    out = tmp_path / "model.cotm"
    run("train", folder / name, "--target", "label", "--out", out, *FAST, *options)
    assert same_model(out, model)
    printed = run("predict", out, folder / name, *options).stdout
    assert printed == run("predict", model, folder / "table.csv").stdout


def test_texts_for_missing_values(model: Path, tmp_path: Path) -> None:
    lines = make_table().write_csv().splitlines()
    marks = iter(MISSING_TEXTS * ROWS)
    lines[1:] = [",".join(cell or next(marks) for cell in line.split(",")) for line in lines[1:]]
    (tmp_path / "marked.csv").write_text("\n".join(lines))
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "marked.csv", "--target", "label", "--out", out, *FAST)
    assert same_model(out, model)


def test_drop(folder: Path, model: Path, tmp_path: Path) -> None:
    table = make_table().with_columns(
        pl.int_range(ROWS).alias("id"), pl.int_range(ROWS).cast(pl.String).alias("a,b")
    )
    table.write_csv(tmp_path / "table.csv")
    out = tmp_path / "model.cotm"
    words = ["train", tmp_path / "table.csv", "--target", "label", "--out", out, *FAST]
    run(*words, "--drop", "id", "--drop", "a,b")
    assert same_model(out, model)
    run(*words, "--drop", "city,age", "--drop", "größe in m")
    assert cotm.load(out).feature_names_in_.tolist() == ["id", "a,b"]


def test_column_that_names_rows_gets_a_warning(tmp_path: Path) -> None:
    names = pl.Series("name", [f"person {k}" for k in range(ROWS)])
    make_table().with_columns(names, pl.int_range(ROWS).alias("")).write_csv(tmp_path / "table.csv")
    out = tmp_path / "model.cotm"
    words = ["train", tmp_path / "table.csv", "--target", "label", "--out", out, *FAST]
    warnings = run(*words).stderr.splitlines()
    assert [line.split(" --drop ")[1] for line in warnings] == ["name", "''"]
    assert run(*words, "--drop", "name", "--drop", "").stderr == ""


def test_images(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "images.cotm"
    run("train", folder / "images.npz", "--patch-shape", "4,4", "--out", out, *FAST)
    archive = np.load(folder / "images.npz")
    model = cotm.load(out)
    assert model.patch_shape == (4, 4)
    printed = run("predict", out, folder / "images.npz").stdout.split()
    assert printed[1:] == [str(label) for label in model.predict(archive["X"])]
    report = json.loads(run("evaluate", out, folder / "images.npz", "--json").stdout)
    assert report["accuracy"] == pytest.approx(model.score(archive["X"], archive["y"]))
    assert report["accuracy"] > 0.9

    named = tmp_path / "named.cotm"
    other = folder / "other names.npz"
    words = ["--patch-shape", "4,4", "--out", named, *FAST]
    run("train", other, "--x", "pictures", "--y", "kinds", *words)
    assert same_model(out, named)
    run("train", other, "--x", "pictures", "--target", "kinds", *words)
    assert same_model(out, named)


def test_images_in_a_table(folder: Path, tmp_path: Path) -> None:
    out, pixels = tmp_path / "images.cotm", folder / "pixels.parquet"
    shapes = ["--patch-shape", "4,4", "--image-shape", "8,8"]
    run("train", pixels, "--target", "kind", "--out", out, *shapes, *FAST)
    printed = run("predict", out, pixels).stdout.split()
    X = np.load(folder / "images.npz")["X"]
    assert printed[1:] == [str(label) for label in cotm.load(out).predict(X)]

    text, other = tmp_path / "pixels.csv", tmp_path / "other.cotm"
    pl.read_parquet(pixels).write_csv(text)
    run("train", text, "--target", "kind", "--out", other, *shapes, *FAST)
    assert same_model(out, other)
    assert run("predict", other, text).stdout.split() == printed
    from_arrays = tmp_path / "arrays.cotm"
    run("train", folder / "images.npz", "--out", from_arrays, *shapes, *FAST)
    assert "--drop" in fails("predict", from_arrays, pixels)
    assert run("predict", from_arrays, pixels, "--drop", "kind").stdout.split() == printed


def test_array_for_a_model_with_names_and_table_for_one_without(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 3)).round(2)
    y = (X[:, 0] > X[:, 1]).astype(int)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(pl.Series("y", y))
    frame.write_csv(tmp_path / "data.csv")
    for name, options in (("data.npz", []), ("data.csv", ["--target", "y"])):
        out = tmp_path / f"{name}.cotm"
        run("train", tmp_path / name, *options, "--out", out, *FAST)
        from_array = run("predict", out, tmp_path / "data.npz")
        from_table = run("predict", out, tmp_path / "data.csv", "--drop", "y")
        assert from_array.stdout == from_table.stdout
        assert from_array.stderr == from_table.stderr == ""


def test_linked_output(folder: Path, model: Path, tmp_path: Path) -> None:
    words = ["train", folder / "table.csv", "--target", "label", *FAST, "--out"]
    link = tmp_path / "link.cotm"
    link.symlink_to(tmp_path / "linked.cotm")
    run(*words, link)
    assert link.is_symlink()
    assert same_model(tmp_path / "linked.cotm", model)
    lost = tmp_path / "lost.cotm"
    lost.symlink_to(tmp_path / "nowhere" / "model.cotm")
    assert "nowhere: No such" in fails(*words, lost)


# Labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([3, 11], pl.Int64), ([0.0, 2.0], pl.Float64), ([False, True], pl.Boolean),
     (["01", "1"], pl.String)],
)  # fmt: skip
def test_labels_keep_their_type(tmp_path: Path, labels: list[Any], kind: Any) -> None:
    table = pl.DataFrame({"x": [0, 1] * 30, "label": labels * 30})
    table.write_parquet(tmp_path / "table.parquet")
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "table.parquet", "--target", "label", "--out", out, *FAST)
    classes = cotm.load(out).classes_.tolist()
    assert classes == labels
    assert [type(value) for value in classes] == [type(value) for value in labels]
    predictions = tmp_path / "predictions.parquet"
    run("predict", out, tmp_path / "table.parquet", "--out", predictions)
    written = pl.read_parquet(predictions)["prediction"]
    assert written.dtype == kind
    assert written.to_list() == labels * 30
    report = run("evaluate", out, tmp_path / "table.parquet", "--target", "label", "--json")
    assert json.loads(report.stdout)["confusion_matrix"]["labels"] == labels
    assert run("rules", out, "--label", str(labels[1]), "--top", 1).stdout.startswith("1. if")


def test_categorical_labels_are_text(tmp_path: Path) -> None:
    label = pl.Series("label", ["b", "a"] * 30, dtype=pl.Categorical)
    pl.DataFrame({"x": [0, 1] * 30}).with_columns(label).write_parquet(tmp_path / "t.parquet")
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "t.parquet", "--target", "label", "--out", out, *FAST)
    assert cotm.load(out).classes_.tolist() == ["a", "b"]


def test_labels_of_bytes_are_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=[[0], [1]] * 20, y=[b"no", b"yes"] * 20)
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "data.npz", "--out", out, *FAST)
    assert cotm.load(out).classes_.tolist() == ["no", "yes"]


def test_text_stays_text_where_a_file_has_digits_only(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": ["1", "2", "z"] * 30, "label": ["1", "2", "z"] * 30})
    table.write_csv(tmp_path / "train.csv")
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "train.csv", "--target", "label", "--out", out, *FAST)
    table.filter(pl.col("x") != "z").write_csv(tmp_path / "digits.csv")
    printed = run("predict", out, tmp_path / "digits.csv").stdout.split()
    assert printed[1:] == ["1", "2"] * 30
    words = ["evaluate", out, tmp_path / "digits.csv", "--target", "label", "--json"]
    assert json.loads(run(*words).stdout)["accuracy"] == 1


def test_several_labels(folder: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "model.cotm", folder / "several.csv"
    run("train", data, "--target", "z_old,a_tall", "--out", out, *FAST)
    model = cotm.load(out)
    frame = pl.read_csv(data)
    predicted = model.predict(frame.drop("z_old", "a_tall"))
    printed = pl.read_csv(io.StringIO(run("predict", out, data, "--proba").stdout))
    names = ["a_tall", "z_old"]
    assert printed.columns == [f"prediction_{n}" for n in names] + [f"p_{n}" for n in names]
    np.testing.assert_array_equal(printed.to_numpy()[:, :2], predicted)
    truth = frame.select(names).to_numpy().astype(int)
    words = ["evaluate", out, data, "--target", "z_old,a_tall"]
    report = json.loads(run(*words, "--json").stdout)
    assert report["accuracy"] == pytest.approx((truth == predicted).mean())
    assert report["accuracy"] > 0.8
    assert report["all_labels_right"] == pytest.approx((truth == predicted).all(axis=1).mean())
    tall, old = report["labels"]
    assert (tall["label"], old["label"]) == ("a_tall", "z_old")
    assert old["support"] == truth[:, 1].sum()
    assert old["true_positives"] == (truth[:, 1] & predicted[:, 1]).sum()
    assert "all labels right" in run(*words).stdout
    assert "z_old +" in run("rules", out, "--label", "z_old", "--top", 1).stdout
    assert "a_tall, z_old" in run("info", out).stdout


def test_several_labels_from_arrays(folder: Path, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, (80, 5))
    np.savez(tmp_path / "data.npz", X=X, y=X[:, :2])
    out = tmp_path / "model.cotm"
    run("train", tmp_path / "data.npz", "--out", out, *FAST)
    report = json.loads(run("evaluate", out, tmp_path / "data.npz", "--json").stdout)
    assert [label["label"] for label in report["labels"]] == [0, 1]
    assert report["accuracy"] > 0.9
    names = ["a", "b", "c", "d", "e", "first", "second"]
    table = pl.DataFrame(np.hstack([X, X[:, :2]]), schema=names)
    table.write_csv(tmp_path / "data.csv")
    from_table = run("evaluate", out, tmp_path / "data.csv", "--target", "first,second", "--json")
    assert json.loads(from_table.stdout) == report


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
        ("train quantity.csv --target label", ["'label'", "0.5", "ranges"]),
        ("train dates.parquet --target label", ["'label'", "Date"]),
        ("train table.csv --target label,city", ["'city'", "no label"]),
        ("train several.csv --target z_old,größe\\ in\\ m", ["'größe in m'", "0 and 1 only"]),
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
        ("evaluate model.cotm several.csv --target z_old,a_tall", ["one label per row"]),
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
    assert "--specificity 5.0 (was 10.0)" in message
    assert "--clauses" not in message
    assert "--model plain" in fails(*words, "--model", "plain")
    assert model.read_bytes() == before


def test_resume_after_early_stopping(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    words = ["train", folder / "table.csv", "--target", "label", "--out", out]
    run(*words, *FAST, "--early-stopping")
    assert "best epoch" in fails(*words, "--resume", "--epochs", 9)


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
