"""What is installed, and what there is without the rest."""

from __future__ import annotations

import ast
import importlib.util
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


#: Extras of those who work on cotm.
DEVELOPERS = {"docs", "engines", "fuzz", "lint", "release", "test"}


def test_the_document_names_every_extra_of_users():
    text = (ROOT / "docs" / "installing.md").read_text()
    named = {*re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)}
    assert named == {*PROJECT["optional-dependencies"]} - DEVELOPERS


def test_all_means_every_extra_but_those_of_developers_and_of_one_system():
    extras = PROJECT["optional-dependencies"]
    (whole,) = extras["all"]
    assert whole.startswith("cotm[") and {*whole[5:-1].split(",")} == (
        {*extras} - {"all", "cuda"} - DEVELOPERS
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_what_is_always_there_is_imported_at_once(path):
    """But in the command line, the server and on Dask; what else is wanted is where it is used."""
    if path.relative_to(SOURCE).parts[0] in ("cli", "dask", "serving") or "cuda" in path.parts:
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


@pytest.fixture
def version(monkeypatch, tmp_path):
    """packaging/version.py, looking at files of its own."""
    spec = importlib.util.spec_from_file_location("version", ROOT / "packaging" / "version.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.check() == cotm.__version__
    (tmp_path / "src" / "cotm").mkdir(parents=True)
    (tmp_path / "src" / "cotm" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.3\n")
    module.ROOT = tmp_path
    return module


def test_a_release_needs_one_version_everywhere(version):
    assert version.check("v1.2.3") == "1.2.3"
    for name, text, message in (
        ("CHANGELOG.md", "## Unreleased\n", "CHANGELOG.md has no part 1.2.3"),
        ("CITATION.cff", "version: 1.2.2\n", "CITATION.cff says 1.2.2"),
        ("CITATION.cff", "title: cotm\n", "CITATION.cff names no version"),
    ):
        (version.ROOT / name).write_text(text)
        with pytest.raises(SystemExit, match=message):
            version.check("v1.2.3")
    (version.ROOT / "CITATION.cff").write_text("version: 1.2.3\n")
    with pytest.raises(SystemExit, match=r"the tag is v1\.2\.4"):
        version.check("v1.2.4")


def test_workflows_hold_no_secrets_and_few_rights():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["release", "tests", "wheels"]
    for path in workflows:
        text = path.read_text()
        assert "\npermissions:\n  contents: read\n" in text, f"{path.name} starts with more rights"
        assert "secrets." not in text and "password" not in text.replace("no token or password", "")
        assert text.count("write") <= (path.stem == "release"), path.name
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_the_workflows_run_what_there_is():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        text = path.read_text()
        assert {*re.findall(r"run: make ([\w-]+)", text)} <= targets
        for name in re.findall(r"(?:tests|packaging|\.github|\.ci)/[\w./-]*\w", text):
            assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_what_the_workflows_install_by_name_is_pinned():
    pinned = (ROOT / ".github" / "constraints.txt").read_text().splitlines()[1:]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", line) for line in pinned)
    names = {line.partition("==")[0] for line in pinned}
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    installed = re.findall(r"-c \.github/constraints\.txt (.+)", text)
    assert installed and {name for line in installed for name in line.split()} <= names
