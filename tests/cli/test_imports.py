"""What is imported, and when: less to wait for, and less that must be installed."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from command_line import FAST, hiding, run

import cotm

#: Whatever needs a classifier cannot do without these.
FLOOR = "import numpy, scipy.sparse, sklearn.base, safetensors.numpy, typer.core"
#: Parts of them that are imported on top: for checks of data, for probabilities, and what typer
#: parses options with.
ON_TOP = (
    *("cotm", "numpy", "scipy.optimize", "scipy.special", "sklearn.utils"),
    *("typer", "click", "pydantic", "pydantic_core", "annotated_types", "annotated_doc"),
    *("typing_extensions", "typing_inspection", "shellingham"),
)


class Result(NamedTuple):
    code: int
    stdout: str
    stderr: str


def run_python(code: str) -> str:
    """What a program prints in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@functools.cache
def modules_after(code: str) -> frozenset[str]:
    """The modules there are when a program ends, but for those of Python."""
    names = run_python(f"{code}\nimport sys\nprint(*sys.modules)").split()
    return frozenset(n for n in names if n.split(".")[0] not in sys.stdlib_module_names)


def beyond_the_floor(code: str) -> set[str]:
    found = modules_after(code) - modules_after(FLOOR)
    inside = tuple(f"{name}." for name in ON_TOP)
    return {name for name in found if name not in ON_TOP and not name.startswith(inside)}


def commands(*lines: list[object]) -> str:
    """A program that gives commands one after the other."""
    words = [[*map(str, line)] for line in lines]
    return f"""
from typer.testing import CliRunner
from cotm.cli import app
results = [CliRunner().invoke(app, line) for line in {words}]
"""


def without_data_frames(*lines: list[object]) -> list[Result]:
    report = "print(json.dumps([[r.exit_code, r.stdout, r.stderr] for r in results]))"
    printed = run_python(
        f"{hiding('polars', 'pandas', 'pyarrow')}{commands(*lines)}\nimport json\n{report}"
    )
    return [Result(*parts) for parts in json.loads(printed)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples as arrays and as a table, and a model trained on each."""
    folder = tmp_path_factory.mktemp("data")
    X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
    y = np.where(X[:, 0] > 0, "up", "down")
    np.savez(folder / "data.npz", X=X, y=y)
    lines = [f"{a},{b},{c},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    (folder / "data.csv").write_text("\n".join(["a,b,c,kind", *lines, ""]))
    run("train", folder / "data.npz", "--out", folder / "arrays.cotm", *FAST)
    run("train", folder / "data.csv", "--out", folder / "table.cotm", "--target", "kind", *FAST)
    return folder


# Less to wait for --------------------------------------------------------------------


def test_help_takes_nothing_that_computes() -> None:
    code = commands(["--help"], ["train", "--help"], ["--version"])
    packages = {name.split(".")[0] for name in modules_after(code)}
    assert packages & {"numpy", "scipy", "sklearn", "joblib", "polars", "pandas"} == set()


def test_a_classifier_takes_little_beside_scikit_learn() -> None:
    assert beyond_the_floor("from cotm import CoTMClassifier, load") == set()


def test_a_machine_takes_no_scikit_learn() -> None:
    code = "from cotm import Machine\nMachine(1, T=1).fit([[0], [1]], [[0], [1]])"
    packages = {name.split(".")[0] for name in modules_after(code)}
    assert packages & {"joblib", "pandas", "polars", "rich", "safetensors", "sklearn"} == set()


def test_commands_without_tables_take_no_more_than_a_classifier(folder: Path) -> None:
    model = folder / "table.cotm"
    code = commands(
        ["predict", model, folder / "data.npz"],
        ["predict", model, folder / "data.npz", "--proba", "--votes", "--json"],
        ["rules", model],
        ["info", model],
        ["info"],
    )
    assert beyond_the_floor(f"{code}assert not any(r.exit_code for r in results)") == set()


def test_prediction_from_a_table_takes_polars(folder: Path) -> None:
    found = beyond_the_floor(commands(["predict", folder / "table.cotm", folder / "data.csv"]))
    assert "polars" in found
    others = found - modules_after("import polars")
    assert all(name.startswith(("polars", "_polars")) for name in others)


# Without polars ----------------------------------------------------------------------


def test_what_reads_no_table_needs_no_data_frames(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    lines: list[list[object]] = [
        ["train", folder / "data.npz", "--out", out, *FAST],
        ["train", folder / "data.npz", "--out", out, *FAST, "--resume", "--epochs", "5"],
        ["evaluate", folder / "table.cotm", folder / "data.npz"],
        ["rules", folder / "table.cotm"],
        ["info", folder / "table.cotm"],
        ["info"],
        ["demo", "--quick", "--out", tmp_path / "demo.cotm"],
    ]
    for line, (code, stdout, stderr) in zip(lines, without_data_frames(*lines), strict=True):
        assert code == 0, stderr
        assert "error" not in stderr and "warning" not in stderr
        assert stdout or "--quiet" in line
    assert cotm.load(tmp_path / "demo.cotm").feature_names_in_[9] == "row1col1"


def test_predictions_are_the_same_without_polars(folder: Path) -> None:
    """From a table they are written by polars, from arrays they are not."""
    models = [folder / "arrays.cotm", folder / "table.cotm"]
    ends = [["--proba", "--votes", *form] for form in ([], ["--json"])]
    results = without_data_frames(
        *(["predict", model, folder / "data.npz", *end] for model in models for end in ends)
    )
    for model in models:
        for end in ends:
            code, stdout, stderr = results.pop(0)
            assert (code, stderr) == (0, "")
            assert stdout.count("\n") == (60 if "--json" in end else 61)
            assert (
                run("predict", model, folder / "data.csv", "--drop", "kind", *end).stdout == stdout
            )


def test_a_table_without_polars_says_what_to_install(folder: Path, tmp_path: Path) -> None:
    table, model = folder / "data.csv", folder / "table.cotm"
    lines: dict[str, list[object]] = {
        "reading csv files": ["predict", model, table],
        "reading tsv files": ["evaluate", model, table, "--from", "tsv", "--target", "kind"],
        "reading parquet files": [
            *("train", table, "--from", "parquet", "--target", "kind", "--out", tmp_path / "m.cotm")
        ],
        "writing these predictions as parquet": [
            *("predict", model, folder / "data.npz", "--out", tmp_path / "p.parquet")
        ],
    }
    results = without_data_frames(*lines.values())
    for doing, result in zip(lines, results, strict=True):
        message = f'error: {doing} needs polars; pip install "cotm[tables]"\n'
        assert result == (1, "", message)


# Names -------------------------------------------------------------------------------


def test_public_names_are_typed_and_resolve() -> None:
    """Type checkers read the imports, Python the table of homes: they name the same things."""
    tree = ast.parse(Path(cotm.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {
        name.asname: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert homes == cotm._HOMES
    assert set(cotm.__all__) == set(homes)
    assert all(hasattr(cotm, name) for name in homes)
