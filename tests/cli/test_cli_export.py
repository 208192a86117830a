"""``cotm export``."""

import json
import sqlite3

import pytest
from command_line import fails, hiding, program, run

import cotm


def test_all_formats_are_written(model, tmp_path):
    for name in ("m.json", "m.c", "m.onnx", "m.js"):
        said = run("export", model, tmp_path / name).stderr
        size = (tmp_path / name).stat().st_size
        assert said.startswith(f"wrote {tmp_path / name} (") and said.count(name) == 1
        told = json.loads(run("export", model, tmp_path / name, "--json").stdout)
        assert told == {"file": str(tmp_path / name), "bytes": size}
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"m.json", "m.c", "m.h", "m.onnx", "m.js", "m.d.ts"}
    classes = cotm.load(model).classes_.tolist()
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == classes


def test_options_reach_the_format(model, tmp_path):
    run("export", model, tmp_path / "m.c", "--form", "fast", "--name", "rules")
    assert "rules_predict" in (tmp_path / "m.h").read_text()
    bits = ["--inputs", "bits"]
    run("export", model, tmp_path / "m.v", *bits)
    assert "module m_clocked(" in (tmp_path / "m.v").read_text()
    words = [*bits, "--table", "t", "--keep", "id", "--keep", "at"]
    run("export", model, tmp_path / "m.sql", *words)
    loaded = cotm.load(model)
    names = loaded.booleanizer_.get_feature_names_out().tolist()
    with sqlite3.connect(":memory:") as connection:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in [*names, "id", "at"])
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.execute(f"INSERT INTO t VALUES ({', '.join(['0'] * (len(names) + 2))})")
        row = connection.execute((tmp_path / "m.sql").read_text()).fetchone()
    assert row[:2] == (0, 0) and row[-1] in loaded.classes_.tolist()


@pytest.mark.parametrize(
    "words, what",
    [
        (["m.txt"], "is no format of exports"),
        (["m.json", "--form", "fast"], "got the option 'form', but takes none"),
        (["m.c", "--form", "odd"], "must be one of"),
        (["m.c", "--inputs", "odd"], "must be one of"),
        (["no/m.c"], "No such file"),
        (["m.v"], "which Verilog cannot hold exactly"),
    ],
)
def test_mistakes_are_told_and_leave_nothing(words, what, model, tmp_path):
    message = fails("export", model, tmp_path / words[0], *words[1:])
    assert what in message or what.replace("form", "--form") in message, message
    assert not [*tmp_path.iterdir()]


def test_the_model_is_not_replaced(model):
    assert "is the file that is read" in fails("export", model, model)


def test_onnx_is_asked_for_where_it_is_missing(model, tmp_path):
    process = program("export", model, tmp_path / "m.onnx", before=hiding("onnx"))
    _, said = process.communicate()
    assert process.returncode == 1 and 'pip install "cotm[onnx]"' in said


def test_polars_is_not_needed(model, tmp_path):
    process = program("export", model, tmp_path / "m.json", before=hiding("polars"))
    assert process.wait() == 0
