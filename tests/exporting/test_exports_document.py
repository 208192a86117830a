"""What docs/exports.md shows does run."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from c_exports import STRICT
from sklearn.datasets import load_iris

import cotm
from cotm.exporting import ENDINGS

TEXT = (Path(__file__).parents[2] / "docs" / "exports.md").read_text()
ROW = [6.1, 2.8, 4.7, 1.2]


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    names = data.target_names[data.target]
    return cotm.CoTMClassifier(60, epochs=5, random_state=0).fit(data.data, names)


def frame(model):
    return pd.DataFrame([ROW], columns=model.feature_names_in_)


def block(language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return found


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_c(flowers, tmp_path):
    (tmp_path / "main.c").write_text(block("c"))
    flowers.export(tmp_path / "flowers.c")
    sources = ["main.c", "flowers.c"]
    subprocess.run(["gcc", *STRICT, *sources, "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True).stdout
    row = frame(flowers)
    votes, (label,) = flowers.votes(row)[0], flowers.predict(row)
    assert said == f"{label} with {votes.max()} votes\n"
    build, call = re.findall(r"^    (cc .*|printf .*)$", TEXT, re.MULTILINE)
    run = subprocess.run(f"{build} && {call}", shell=True, cwd=tmp_path, capture_output=True)
    line = "\t".join([*map(str, votes), label])
    assert run.stdout.decode() == f"{line}\n"


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_javascript(flowers, tmp_path):
    flowers.export(tmp_path / "flowers.js")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    code = re.sub(r"^(model\.[^;]*);", r"console.log(\1);", block("js"), flags=re.MULTILINE)
    (tmp_path / "run.js").write_text(code)
    run = subprocess.run(["node", "run.js"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[:2] == [flowers.predict(frame(flowers))[0]] * 2


def test_every_format_is_in_it():
    for ending in ENDINGS:
        assert f"| `{ending}` |" in TEXT
