"""JavaScript exports, run by node."""

import json
import shutil
import subprocess

import export_models
import numpy as np
import pandas as pd
import pytest

import cotm
from cotm.exporting import CannotExportError, export

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
ROWS = 30
SCRIPT = """
import { readFileSync } from "node:fs";
import model, { Model } from "./m.js";
const text = (key, value) => (typeof value === "bigint" ? `${value}` : value);
const rows = JSON.parse(readFileSync(0, "utf8"));
const found = rows.map((row) => ({
  votes: model.votes(row), label: model.predict(row), probabilities: model.probabilities(row),
}));
if (!(model instanceof Model)) throw new Error("not a model");
console.log(JSON.stringify(found, text));
"""


def node(folder, script, data=None):
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "run.js").write_text(script)
    return subprocess.run(
        ["node", "run.js"], cwd=folder, input=json.dumps(data), capture_output=True, text=True
    )


def found(folder, rows):
    run = node(folder, SCRIPT, rows)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def rows_of(X):
    numbers, texts = export_models.cells(X)
    none = np.isnan(numbers)
    cells = np.where(none, texts, numbers.astype(object)).tolist()
    if isinstance(X, pd.DataFrame):  # by name, in another order
        return [dict(reversed([*zip(X.columns, row, strict=True)])) for row in cells]
    return cells


@pytest.mark.parametrize("name", export_models.MODELS)
def test_outputs_are_the_models(name, tmp_path):
    model, X = export_models.model(name)
    X = X[:ROWS]
    model.export(tmp_path / "m.js")
    outputs = found(tmp_path, rows_of(X))
    votes = [[int(vote) for vote in row["votes"]] for row in outputs]
    assert votes == model.votes(X).tolist()
    expected = model.predict(X).tolist()
    if name == "several labels":
        expected = [[k for k, has in enumerate(row) if has] for row in expected]
    assert [row["label"] for row in outputs] == expected
    probabilities = [row["probabilities"] for row in outputs]
    assert np.allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed)
    export(description, tmp_path / "m.js")
    assert [row["votes"] for row in found(tmp_path, bits.tolist())] == votes.tolist()


def test_clauses_that_fire_give_the_votes(tmp_path):
    model, X = export_models.model("levels, graded")
    model.export(tmp_path / "m.js")
    script = """
    import { readFileSync } from "node:fs";
    import model from "./m.js";
    const add = (row) => model.firing(row).reduce((votes, { member, clause, output }) =>
      votes.map((v, i) => v + output * model.data.members[member].clauses[clause][1][i]),
      model.classes.map(() => 0));
    console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(add)));
    """
    run = node(tmp_path, script, rows_of(X[:5]))
    assert json.loads(run.stdout) == model.votes(X[:5]).tolist()


def test_wrong_rows_are_refused(tmp_path):
    model, X = export_models.model("table")
    model.export(tmp_path / "m.js")
    row = rows_of(X)[0]
    name = export_models.HOSTILE[0]
    for bad, what in (
        ([1, 2], "a row needs 8 cells, not 2"),
        ({k: v for k, v in row.items() if k != name}, "the row has no column"),
        ({**row, name: "1"}, "held numbers in training"),
    ):
        run = node(tmp_path, SCRIPT, [bad])
        assert run.returncode == 1 and what in run.stderr


def test_nothing_in_it_ends_a_script_of_a_page(tmp_path):
    X = pd.DataFrame({"</script><script>alert(1)": ["</script>", "b"] * 20})
    cotm.CoTMClassifier(4, epochs=1).fit(X, ["<!--", "]]>"] * 20).export(tmp_path / "m.js")
    text = (tmp_path / "m.js").read_text()
    assert "</" not in text and "<!--" not in text and text.isascii()
    row = {"</script><script>alert(1)": "</script>"}
    assert found(tmp_path, [row])[0]["label"] in ("<!--", "]]>")


def test_integers_beyond_doubles_are_refused(tmp_path):
    X = pd.DataFrame({"a": pd.Series([2**60 + 1, 2**60, "z"] * 20, dtype=object)})
    model = cotm.CoTMClassifier(4, epochs=1, booleanize=cotm.Categories()).fit(X, [0, 1, 1] * 20)
    with pytest.raises(CannotExportError, match="53 bits"):
        model.export(tmp_path / "m.js")
    assert not [*tmp_path.iterdir()]
