"""The kinds of files that commands read and write, and labels in them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import FAST, ROWS, fails, make_table, run, same_model

import cotm
from cotm.cli.data.missing import MISSING_TEXTS

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
