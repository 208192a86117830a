"""Tables as the command line reads them: kinds of files, missing values, dates, odd cells."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import threading
from datetime import date, time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import FAST, ROWS, fails, make_table, run, same_model
from typer.testing import CliRunner

import cotm
from cotm.cli import app
from cotm.cli.data.missing import MISSING_TEXTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    make_table().write_csv(folder / "table.csv")
    make_table().write_parquet(folder / "table.parquet")
    make_table().write_ndjson(folder / "table[1].jsonl")
    run("train", folder / "table.csv", "--target", "label", "--out", folder / "m.cotm", *FAST)
    return folder


def train(data: Path, *options: Any) -> Any:
    out = data.parent / f"{data.name}.cotm"
    run("train", data, "--target", "label", "--out", out, *FAST, *options)
    return cotm.load(out)


# Standard input, JSON lines, columns that are kept -------------------------------------


def piped(*words: Any, data: bytes, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(word) for word in words], input=data)
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def test_standard_input(folder: Path) -> None:
    model = folder / "m.cotm"
    expected = run("predict", model, folder / "table.csv", "--proba").stdout
    csv = (folder / "table.csv").read_bytes()
    for options, data in (
        ([], csv),
        (["--from", "csv"], gzip.compress(csv)),
        (["--from", "parquet"], (folder / "table.parquet").read_bytes()),
        (["--from", "jsonl"], (folder / "table[1].jsonl").read_bytes()),
        (["--from", "tsv"], make_table().write_csv(separator="\t").encode()),
        (["--separator", ";"], make_table().write_csv(separator=";").encode()),
    ):
        assert piped("predict", model, "-", "--proba", *options, data=data).stdout == expected
    report = run("evaluate", model, folder / "table.csv", "--target", "label", "--json").stdout
    words = ["evaluate", model, "-", "--target", "label", "--json"]
    assert piped(*words, data=csv).stdout == report
    result = run("train", "-", "--target", "label", code=2)
    assert "resumed" in result.stderr


def test_messages_about_standard_input(folder: Path) -> None:
    for data, part in ((b"", "standard input cannot be read as csv"),
                       (b"a,b\n", "standard input holds no rows"),
                       (b"a,b\n1,2\n", "standard input has no column 'age', 'city'")):  # fmt: skip
        result = piped("predict", folder / "m.cotm", "-", data=data, code=1)
        assert part in result.stderr
        assert result.stderr.count("\n") == 1


def test_pipes_with_a_name(folder: Path, tmp_path: Path) -> None:
    """As a shell makes them for <(...)."""
    os.mkfifo(tmp_path / "pipe.csv")
    data = (folder / "table.csv").read_bytes()
    thread = threading.Thread(target=lambda: (tmp_path / "pipe.csv").write_bytes(data))
    thread.start()
    printed = run("predict", folder / "m.cotm", tmp_path / "pipe.csv").stdout
    thread.join()
    assert printed == run("predict", folder / "m.cotm", folder / "table.csv").stdout


def test_devices_are_no_data(folder: Path) -> None:
    for device in ("/dev/zero", "/dev/null"):
        assert "device" in fails("predict", folder / "m.cotm", device, "--from", "csv")


def test_json_lines_are_a_table(folder: Path) -> None:
    data = folder / "table[1].jsonl"
    train(data)
    assert same_model(data.parent / f"{data.name}.cotm", folder / "m.cotm")
    model = folder / "m.cotm"
    assert run("predict", model, data).stdout == run("predict", model, folder / "table.csv").stdout
    (folder / "junk.jsonl").write_text('{"a": 1}\nhello\n')
    assert "junk.jsonl cannot be read as jsonl" in fails("predict", model, folder / "junk.jsonl")


def test_what_a_file_is(folder: Path, tmp_path: Path) -> None:
    odd = tmp_path / "table.txt"
    odd.write_bytes((folder / "table.csv").read_bytes())
    assert "--from" in fails("predict", folder / "m.cotm", odd)
    printed = run("predict", folder / "m.cotm", odd, "--from", "csv").stdout
    assert printed == run("predict", folder / "m.cotm", folder / "table.csv").stdout


def test_json_lines_of_predictions(folder: Path, tmp_path: Path) -> None:
    words = ["predict", folder / "m.cotm", folder / "table.csv", "--proba", "--votes"]
    flat = pl.read_csv(io.StringIO(run(*words).stdout))
    rows = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
    assert len(rows) == ROWS
    for expected, row in zip(flat.iter_rows(named=True), rows, strict=True):
        assert [*row] == ["prediction", "proba", "votes"]
        assert row["prediction"] == expected["prediction"]
        assert row["proba"] == pytest.approx({n: expected[f"p_{n}"] for n in row["proba"]})
        assert row["votes"] == {n: expected[f"votes_{n}"] for n in ("north", "old", "south")}
    out = tmp_path / "p.jsonl"
    run(*words, "--out", out)
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows
    run(*words, "--json", "--out", out)
    run(*words, "--json", "--out", tmp_path / "p.csv", code=2)


def test_json_lines_of_several_labels(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [0, 1] * 30, "a": [0, 1] * 30, "b": [1, 0] * 30})
    table.write_csv(tmp_path / "t.csv")
    run("train", tmp_path / "t.csv", "--target", "a,b", "--out", tmp_path / "m.cotm", *FAST)
    lines = run("predict", tmp_path / "m.cotm", tmp_path / "t.csv", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines[:2]] == [
        {"prediction": {"a": 0, "b": 1}}, {"prediction": {"a": 1, "b": 0}}
    ]  # fmt: skip


def test_kept_columns(folder: Path, tmp_path: Path) -> None:
    codes = [f"{k:03d}" for k in range(ROWS)]
    notes = ["NA", "None", "2020-01-01", "1.50"] * (ROWS // 4)
    table = make_table().with_columns(
        pl.Series("code", codes), pl.Series("note, or not", notes), pl.Series("id", [*range(ROWS)])
    )
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    predicted = cotm.load(folder / "m.cotm").predict(make_table().drop("label")).tolist()
    for name in ("t.csv", "t.parquet"):
        words = ["predict", folder / "m.cotm", tmp_path / name, "--quiet"]
        words += ["--keep", "id,code", "--keep", "note, or not", "--keep", "age"]
        for out in (tmp_path / "p.parquet", tmp_path / "p.jsonl", tmp_path / "p.csv"):
            run(*words, "--out", out)
        written = pl.read_parquet(tmp_path / "p.parquet")
        assert written.columns == ["id", "code", "note, or not", "age", "prediction"]
        assert written["id"].to_list() == [*range(ROWS)]
        assert written["code"].to_list() == codes
        assert written["note, or not"].to_list() == notes
        assert written["age"].equals(table["age"])
        assert written["prediction"].to_list() == predicted
        row = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[5])
        assert row == {"id": 5, "code": "005", "note, or not": "None", "age": table["age"][5],
                       "prediction": predicted[5]}  # fmt: skip
        lines = (tmp_path / "p.csv").read_text().splitlines()
        assert lines[0] == 'id,code,"note, or not",age,prediction'
        assert lines[6].startswith("5,005,None,")


def test_columns_that_cannot_be_kept(folder: Path, tmp_path: Path) -> None:
    lists = pl.Series("lists", [[1, 2]] * ROWS)
    table = make_table().with_columns(
        pl.lit(1).alias("prediction"), pl.lit(2).alias("p_old"), lists
    )
    table.write_parquet(tmp_path / "t.parquet")
    words = ["predict", folder / "m.cotm", tmp_path / "t.parquet"]
    assert "'prediction'" in fails(*words, "--keep", "prediction")
    assert "'p_old'" in fails(*words, "--keep", "p_old", "--proba")
    run(*words, "--keep", "p_old")
    assert "did you mean 'city'" in fails(*words, "--keep", "citi")
    message = fails(*words, "--keep", "lists")
    assert "List(Int64) cannot be written as csv" in message
    run(*words, "--keep", "lists", "--out", tmp_path / "p.parquet")
    np.savez(tmp_path / "t.npz", X=[[1]])
    assert "NPZ" in fails("predict", folder / "m.cotm", tmp_path / "t.npz", "--keep", "a")


# Missing values ------------------------------------------------------------------------


def test_missing_texts_are_the_same_in_every_kind_of_table(tmp_path: Path) -> None:
    marks = iter([*MISSING_TEXTS] * ROWS)
    table = make_table().with_columns(
        pl.Series("city", [city or next(marks) for city in make_table()["city"]])
    )
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ndjson(tmp_path / "t.jsonl")
    category = table.with_columns(pl.col("city").cast(pl.Categorical))
    category.write_parquet(tmp_path / "categories.parquet")
    models = {path: train(path) for path in [*tmp_path.iterdir()]}
    for path, model in models.items():
        features = [str(feature) for feature in model.booleanizer_.describe()]
        assert "city is missing" in features
        assert "city = NA" not in features
        assert (model.memory_ == models[tmp_path / "t.csv"].memory_).all(), path


def test_missing_texts_are_counted(tmp_path: Path) -> None:
    table = make_table().with_columns(
        pl.Series("age", ["NA", "?", "NA", "", "41"] * (ROWS // 5)),
        pl.Series("unused", ["None"] * ROWS),
    )
    table.write_csv(tmp_path / "t.csv")
    out = tmp_path / "m.cotm"
    words = ["train", tmp_path / "t.csv", "--target", "label", "--drop", "unused", "--out", out]
    note = f"note: {3 * ROWS // 5} cells were read as missing (NA {2 * ROWS // 5}, ? {ROWS // 5})"
    assert run(*words, "--epochs", 2).stderr.splitlines()[0] == note
    assert run(*words, "--epochs", 2, "--quiet").stderr == ""
    assert run("predict", out, tmp_path / "t.csv").stderr.splitlines() == [note]
    assert run("predict", out, tmp_path / "t.csv", "--quiet").stderr == ""
    words = ["evaluate", out, tmp_path / "t.csv", "--target", "label"]
    assert run(*words).stderr.splitlines() == [note]
    assert run(*words, "--quiet").stderr == ""


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_missing_texts_of_choice(tmp_path: Path, name: str) -> None:
    cities = ["NA", "-", "Oslo", "n.a.", ""] * (ROWS // 5)
    table = make_table().with_columns(pl.Series("city", cities))
    path = tmp_path / name
    {"csv": table.write_csv, "parquet": table.write_parquet, "jsonl": table.write_ndjson}[
        path.suffix[1:]
    ](path)
    model = train(path, "--missing", "-", "--missing", "n.a.")
    features = [str(feature) for feature in model.booleanizer_.describe()]
    assert [f for f in features if "city" in f] == ["city = NA", "city = Oslo", "city is missing"]
    out = f"{path}.cotm"
    words = ["--missing", "-", "--missing", "n.a."]
    part = f"(- {ROWS // 5}, n.a. {ROWS // 5})"
    assert part in run("predict", out, path, *words).stderr
    assert part in run("evaluate", out, path, "--target", "label", *words).stderr


def test_labels_that_look_missing(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [0, 1] * 30, "label": ["None", "some"] * 30})
    table.write_csv(tmp_path / "t.csv")
    words = ["train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m.cotm"]
    assert "--missing" in run(*words, code=1).stderr
    assert train(tmp_path / "t.csv", "--missing", "").classes_.tolist() == ["None", "some"]


def test_resume_command_repeats_how_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_table().write_csv(tmp_path / "t.txt")
    fit = cotm.CoTMClassifier.fit

    def stop_after_two(self: Any, *arguments: Any, **keywords: Any) -> None:
        self.callbacks = [*self.callbacks, lambda model, record: record["epoch"] == 2]
        fit(self, *arguments, **keywords)
        raise KeyboardInterrupt

    options = ["--from", "csv", "--missing", "Oslo", "--missing", "two words"]
    words = ["train", tmp_path / "t.txt", "--target", "label", "--out", tmp_path / "m.cotm"]
    with monkeypatch.context() as patch:
        patch.setattr(cotm.CoTMClassifier, "fit", stop_after_two)
        result = run(*words, *FAST, *options, code=130)
    command = shlex.split(result.stderr.splitlines()[-1])
    assert shlex.join(options) in shlex.join(command)
    run(*command[1:], "--quiet")
    run(*words[:-1], tmp_path / "whole.cotm", *FAST, *options)
    assert same_model(tmp_path / "m.cotm", tmp_path / "whole.cotm")


# Dates ---------------------------------------------------------------------------------


def dated() -> pl.DataFrame:
    """Dates, moments and times, the first of which decide the label."""
    days = [date(2020, 1 + k % 12, 1 + k % 28) for k in range(ROWS)]
    return pl.DataFrame(
        {
            "day": days,
            "moment": pl.Series(days).cast(pl.Datetime("us")).dt.offset_by("10h"),
            "time": [time(k % 24, 30) for k in range(ROWS)],
            "label": ["late" if day.month > 6 else "early" for day in days],
        }
    )


def test_dates_are_learned_as_dates(tmp_path: Path) -> None:
    table = dated()
    table.write_csv(tmp_path / "t.csv", datetime_format="%Y-%m-%dT%H:%M:%S")
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ndjson(tmp_path / "t.jsonl")
    models = [train(tmp_path / f"t.{kind}") for kind in ("csv", "parquet", "jsonl")]
    assert models[0].booleanizer_.kinds_ == ["number"] * 3
    for model in models[1:]:
        assert (model.memory_ == models[0].memory_).all()
    # Days that training never saw come after those it saw.
    later = [pl.col(name).dt.offset_by("400d") for name in ("day", "moment")]
    new = table.with_columns(*later)
    new.write_csv(tmp_path / "new.csv")
    printed = run("predict", tmp_path / "t.csv.cotm", tmp_path / "new.csv").stdout.split()
    assert {*printed[1:]} == {"late"}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_labels_that_look_like_dates_are_text(tmp_path: Path, kind: str) -> None:
    table = pl.DataFrame({"x": [0, 1] * 30, "label": ["2020-01-01", "2021-12-31"] * 30})
    path = tmp_path / f"t.{kind}"
    (table.write_csv if kind == "csv" else table.write_ndjson)(path)
    assert train(path).classes_.tolist() == ["2020-01-01", "2021-12-31"]
    words = ["evaluate", f"{path}.cotm", path, "--target", "label", "--json"]
    assert json.loads(run(*words).stdout)["accuracy"] == 1


def test_text_stays_text_where_a_file_has_dates_only(tmp_path: Path) -> None:
    texts = ["2020-01-01", "2020-01-02", "never"]
    table = pl.DataFrame({"x": texts * 30, "label": ["a", "b", "c"] * 30})
    table.write_csv(tmp_path / "t.csv")
    train(tmp_path / "t.csv")
    new = table.filter(pl.col("x") != "never")
    new.write_csv(tmp_path / "new.csv")
    new.write_ndjson(tmp_path / "new.jsonl")
    for name in ("new.csv", "new.jsonl"):
        printed = run("predict", tmp_path / "t.csv.cotm", tmp_path / name).stdout.split()
        assert printed[1:] == ["a", "b"] * 30


# Odd cells -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "bad"),
    [("number", "abc"), ("number", "1,5"), ("day", "yesterday"), ("day", "2020-02-30"),
     ("moment", "noon"), ("time", "25:99"), ("flag", "maybe")],
)  # fmt: skip
@pytest.mark.parametrize("row", [0, 7])
def test_a_bad_cell_is_named(tmp_path: Path, column: str, bad: str, row: int) -> None:
    table = dated().with_columns(
        pl.Series("number", [k / 4 for k in range(ROWS)]),
        pl.Series("flag", [True, False, None] * (ROWS // 3)),
    )
    table.write_csv(tmp_path / "t.csv")
    out = tmp_path / "m.cotm"
    run("train", tmp_path / "t.csv", "--target", "label", "--out", out, *FAST)
    texts = pl.read_csv(tmp_path / "t.csv", infer_schema=False)
    cells = texts[column].to_list()
    cells[row] = bad
    texts.with_columns(pl.Series(column, cells)).write_csv(tmp_path / "new.csv")
    message = fails("predict", out, tmp_path / "new.csv")
    assert f"column '{column}'" in message
    assert f"row {row + 1} holds {bad!r}" in message
    option = shlex.split(message[message.index("--missing") :])
    run("predict", out, tmp_path / "new.csv", *option, "--quiet")


def test_a_bad_pixel_is_named(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (60, 9))
    table = pl.DataFrame(pixels, schema=[f"p{k}" for k in range(9)])
    table = table.with_columns(pl.Series("label", [0, 1] * 30))
    table.write_csv(tmp_path / "t.csv")
    train(tmp_path / "t.csv", "--patch-shape", "2,2", "--image-shape", "3,3")
    texts = table.cast(pl.String)
    texts[3, "p4"] = "dark"
    texts.write_csv(tmp_path / "new.csv")
    message = fails("predict", tmp_path / "t.csv.cotm", tmp_path / "new.csv")
    assert "'p4'" in message
    assert "row 4 holds 'dark'" in message


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_long_integers_as_labels(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def write(labels: list[int]) -> None:
        column = pl.Series("label", labels * 30, dtype=pl.Int128)
        table = pl.DataFrame({"x": [0, 1] * 30}).with_columns(column)
        (table.write_csv if path.suffix == ".csv" else table.write_parquet)(path)

    write([1, 2**63 + 5])
    assert train(path).classes_.tolist() == [1, 2**63 + 5]
    write([-1, 7])
    assert train(path).classes_.tolist() == [-1, 7]
    for labels in ([1, 2**64], [-1, 2**63]):
        write(labels)
        message = fails("train", path, "--target", "label", "--out", tmp_path / "n.cotm", *FAST)
        assert "'label'" in message
        assert str(labels[1]) in message
    words = ["evaluate", tmp_path / f"{name}.cotm", path, "--target", "label"]
    assert str(2**63) in fails(*words)


# Arrays --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [np.array(["2020-01-01", "2020-01-02"] * 20, "datetime64[D]"),
     np.array([1, 2] * 20, "timedelta64[s]"), np.array([1j, 2j] * 20),
     np.array([0, 1] * 20, np.longdouble), np.array([(1, 2)] * 40, "i4,i4")],
    ids=lambda y: str(y.dtype),
)  # fmt: skip
def test_labels_that_no_model_file_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, y: Any
) -> None:
    np.savez(tmp_path / "t.npz", X=[[0], [1]] * 20, y=y)
    monkeypatch.setattr(cotm.CoTMClassifier, "fit", lambda *_, **__: pytest.fail("it trained"))
    message = fails("train", tmp_path / "t.npz", "--out", tmp_path / "m.cotm", *FAST)
    assert "array 'y'" in message
    assert str(y.dtype) in message


def test_labels_of_utf8_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=[[0], [1]] * 20, y=["é".encode(), b"e"] * 20)
    run("train", tmp_path / "t.npz", "--out", tmp_path / "m.cotm", *FAST)
    assert cotm.load(tmp_path / "m.cotm").classes_.tolist() == ["e", "é"]
    np.savez(tmp_path / "t.npz", X=[[0], [1]] * 20, y=[b"\xff", b"e"] * 20)
    assert "UTF-8" in fails("train", tmp_path / "t.npz", "--out", tmp_path / "n.cotm")


# Names of columns ----------------------------------------------------------------------


def test_columns_are_matched_by_name_or_not_at_all(tmp_path: Path) -> None:
    """Bits pass through without a booleanizer's help, and still have names."""
    X = np.random.default_rng(0).integers(0, 2, (90, 3))
    table = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(pl.Series("label", X[:, 0]))
    table.write_csv(tmp_path / "t.csv")
    model = train(tmp_path / "t.csv", "--epochs", 10)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    table.select("c", "label", "b", "a").write_csv(tmp_path / "other.csv")
    printed = run("predict", tmp_path / "t.csv.cotm", tmp_path / "other.csv").stdout.split()
    assert printed[1:] == [str(label) for label in model.predict(table.drop("label"))]
    table.rename({"a": "d"}).write_csv(tmp_path / "renamed.csv")
    assert "'a'" in fails("predict", tmp_path / "t.csv.cotm", tmp_path / "renamed.csv")


# Numbers as options --------------------------------------------------------------------


def test_whole_numbers_as_people_write_them(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cotm"
    words = ["train", folder / "table.csv", "--target", "label", "--out", out, "--quiet"]
    run(*words, "--clauses", "1e2", "--epochs", "2.0", "--margin", "4e1", "--seed", "1e3")
    model = cotm.load(out)
    numbers = [model.n_clauses, model.epochs, model.T, model.random_state]
    assert numbers == [100, 2, 40, 1000]
    assert all(type(number) is int for number in numbers)
    for value in ("1.5", "many", "0", "-3", "1e400", "nan", "inf", ""):
        assert "--clauses" in run(*words, "--clauses", value, code=2).stderr
    assert "between 1 and 128" in run(*words, "--memory-depth", 129, code=2).stderr
    assert "--margin" in run(*words, "--margin", 0, code=2).stderr
