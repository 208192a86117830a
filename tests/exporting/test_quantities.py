"""Exports of regressors predict what Python predicts, to the last bit."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
import schema
from c_exports import COMPILERS, Export, compiled

from cotm import CannotExportError, CoTMClassifier, CoTMRegressor

NAMES = ['a*/"', "b--\n"]


@pytest.fixture(scope="module", params=["one", "several"])
def regressor(request):
    """A model of several states, and rows with missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({NAMES[0]: rng.normal(size=200), NAMES[1]: rng.integers(0, 5, 200) / 1.0})
    X.iloc[::7, 0] = np.nan
    y = X[NAMES[0]].fillna(0) * 3 + X[NAMES[1]]
    if request.param == "several":
        y = np.column_stack([y, -1e6 * y])
    return CoTMRegressor(30, epochs=4, average=3, random_state=0).fit(X, y), X


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("form", ["small", "fast"])
def test_c(regressor, tmp_path, form):
    model, X = regressor
    model.export(tmp_path / "it.c", form=form)
    export = Export.of(tmp_path / "it.c")
    assert (export.votes(X) == model.votes(X)).all()
    found = export.call("predict", np.float64, export.n_outputs, X, None)
    assert (found == model.predict(X).reshape(found.shape)).all()


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
def test_the_program_of_c_prints_quantities(regressor, tmp_path):
    model, X = regressor
    model.export(tmp_path / "it.c")
    program = compiled(tmp_path / "it.c", "-DIT_MAIN")
    row = "\t".join("" if cell != cell else repr(cell) for cell in X.iloc[3])
    told = subprocess.run([program], input=row, text=True, capture_output=True, check=True)
    numbers = [*map(float, told.stdout.split("\t"))]
    assert numbers == [*model.votes(X)[3].tolist(), *np.ravel(model.predict(X)[3]).tolist()]


def test_json_and_javascript(regressor, tmp_path):
    model, X = regressor
    model.export(tmp_path / "it.json")
    data = json.loads((tmp_path / "it.json").read_text())
    rows = [[None if cell != cell else cell for cell in row] for row in X.to_numpy().tolist()]
    scale = data["quantities"]
    found = [
        [v / u + o for v, u, o in zip(votes, scale["unit"], scale["offset"], strict=True)]
        for votes in (schema.votes(data, row) for row in X.to_numpy().tolist())
    ]
    expected = model.predict(X)
    assert [row[0] if scale["one"] else row for row in found] == expected.tolist()
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    model.export(tmp_path / "it.js")
    script = (
        'import model from "./it.mjs";'
        f"const rows = {json.dumps(rows)};"
        "console.log(JSON.stringify(rows.map((row) => model.predict(row))));"
        "try { model.probabilities(rows[0]); } catch (error) { console.log(error.message); }"
    )
    (tmp_path / "it.js").rename(tmp_path / "it.mjs")
    (tmp_path / "use.mjs").write_text(script)
    told = subprocess.run(
        ["node", tmp_path / "use.mjs"], text=True, capture_output=True, check=True
    ).stdout.splitlines()
    assert json.loads(told[0]) == expected.tolist()
    assert "have no probabilities" in told[1]


def test_onnx(regressor, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, X = regressor
    model.export(tmp_path / "it.onnx")
    session = runtime.InferenceSession(tmp_path / "it.onnx")
    assert [output.name for output in session.get_outputs()] == ["prediction", "votes"]
    found, votes = session.run(None, {"X": X.to_numpy()})
    assert (votes == model.votes(X)).all()
    assert found.shape == model.predict(X).shape
    assert (found == model.predict(X)).all()


def test_sql(regressor, tmp_path):
    model, X = regressor
    model.export(tmp_path / "it.sql", keep=["id"])
    database = sqlite3.connect(":memory:")
    X.assign(id=np.arange(len(X))).to_sql("examples", database, index=False)
    found = pd.read_sql((tmp_path / "it.sql").read_text(), database).sort_values("id")
    predicted = found[[name for name in found if name.startswith("prediction")]].to_numpy()
    assert (predicted.reshape(model.predict(X).shape) == model.predict(X)).all()


def test_verilog_refuses(regressor, tmp_path):
    with pytest.raises(CannotExportError, match="float64"):
        regressor[0].export(tmp_path / "it.v")


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("several", [False, True])
def test_the_program_of_c_prints_a_line_a_row_whatever_the_labels(tmp_path, several):
    X = np.eye(2, dtype=np.uint8)[[0, 1] * 40]
    y = np.array(["one\nline", "back\\slash\t"])[X[:, 0]]
    if several:
        y = pd.DataFrame(np.column_stack([X[:, 0], X[:, 1]]), columns=["one\nline", "b\t"])
    model = CoTMClassifier(10, epochs=3, random_state=0).fit(X, y)
    model.export(tmp_path / "it.c")
    program = compiled(tmp_path / "it.c", "-DIT_MAIN")
    told = subprocess.run([program], input="1\t0\n0\t1\n", text=True, capture_output=True)
    lines = told.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.count("\t") == 2 for line in lines)
    if not several:
        assert [line.split("\t")[2] for line in lines] == ["back\\x5cslash\\x09", "one\\x0aline"]


def test_pmml_is_refused_with_the_reason(regressor, tmp_path):
    with pytest.raises(ValueError, match="single precision"):
        regressor[0].export(tmp_path / "it.pmml")
