"""What is installed, and what there is without the rest."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from command_line import hiding
from test_layers import MODULES, ROOT, SOURCE

import cotm

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: What the library takes along, by the name one imports.
FLOOR = {
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "sklearn",
    "safetensors": "safetensors",
}


def bare(requirement: str) -> str:
    return requirement.partition("[")[0].partition(">")[0]


def run(code: str, *hidden: str) -> subprocess.CompletedProcess[str]:
    """A program of its own, without some libraries."""
    command = [sys.executable, "-c", f"{hiding(*hidden)}\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_library_takes_four_others_along():
    assert {bare(requirement) for requirement in PROJECT["dependencies"]} == {*FLOOR}


def test_all_means_every_extra_but_those_of_developers_and_of_one_system():
    extras = PROJECT["optional-dependencies"]
    (whole,) = extras["all"]
    assert whole.startswith("cotm[") and {*whole[5:-1].split(",")} == {*extras} - {
        *("all", "cuda", "docs", "lint", "release", "test")
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_what_is_always_there_is_imported_at_once(path):
    """But in the command line; whatever else is wanted is imported where it is used."""
    if path.relative_to(SOURCE).parts[0] == "cli" or "cuda" in path.parts:
        return
    for node in ast.parse(path.read_text()).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        roots = {name.partition(".")[0] for name in names}
        assert roots <= {*sys.stdlib_module_names, *FLOOR.values()}


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_the_program_without_the_command_line_says_what_to_install(missing):
    done = run("from cotm.__main__ import main\nmain()", missing)
    message = f'error: the command line needs {missing}; pip install "cotm[cli]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_the_module_is_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "cotm", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("cotm ")


def test_without_rich_a_training_on_a_terminal_writes_lines(tmp_path):
    done = run(
        f"""
import sys
sys.stderr.isatty = lambda: True
from cotm import CoTMClassifier, load
model = CoTMClassifier(4, epochs=2, T=2, verbose=1).fit([[0, 1], [1, 0]] * 10, [0, 1] * 10)
model.save({str(tmp_path / "model.cotm")!r})
assert load({str(tmp_path / "model.cotm")!r}).rules()
""",
        "rich",
    )
    assert done.returncode == 0, done.stderr
    assert "epoch 2/2  train " in done.stderr


def test_without_rich_a_download_on_a_terminal_writes_a_line():
    done = run(
        """
import sys
sys.stderr.isatty = lambda: True
from cotm.datasets.fetch import _shown
with _shown("a.gz", 0, 1_500_000) as advance:
    advance(7)
""",
        "rich",
    )
    assert (done.returncode, done.stderr) == (0, "downloading a.gz (1.5 MB)\n")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sources as they are published, made where there is no git: names and contents."""
    building = pytest.importorskip(
        "scikit_build_core.build", reason="the build's tools are missing"
    )
    pytest.importorskip("hatch_fancy_pypi_readme", reason="the build's tools are missing")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    if listed.returncode:
        pytest.skip("this is no clone")
    tree, built = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("built")
    names = {name for name in listed.stdout.decode().split("\0") if name}
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    before = os.getcwd()
    os.chdir(tree)
    try:
        path = built / building.build_sdist(str(built))
    finally:
        os.chdir(before)
    with tarfile.open(path) as archive:
        found = {m.name.partition("/")[2]: m for m in archive.getmembers() if m.isfile()}
        about = archive.extractfile(found["PKG-INFO"]).read().decode()
    return names, {*found}, about


def test_the_sdist_is_complete_without_git(sdist):
    tracked, found, _ = sdist
    left_out = {name for name in tracked if name.startswith((".ci/", ".github/"))}
    assert found == tracked - left_out | {"PKG-INFO"}


def test_what_is_published_says_what_it_is(sdist):
    *_, about = sdist
    head, _, description = about.partition("\n\n")
    assert f"Version: {cotm.__version__}\n" in head and "License-Expression: MIT" in head
    assert "Author: " in head and "Requires-Python: >=3.10" in head
    for target in re.findall(r"\]\(([^)]*)\)", description):
        assert target.startswith("https:"), f"the description links to {target}, which is nowhere"
    assert "# cotm" in description and "](docs" not in description
