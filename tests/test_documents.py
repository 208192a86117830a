"""What README and examples show does run."""

import doctest
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cotm
from cotm.core.parameters import OPTIONS

ROOT = Path(__file__).parent.parent
#: What runs on engines of its own is tried by `make test-engines`.
EXAMPLES = sorted(
    path for path in (ROOT / "examples").glob("*.py") if not path.stem.endswith("_scoring")
)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(script, tmp_path):
    run = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    accuracy = re.search(r"accuracy ([\d.]+)", run.stdout)
    if script.name != "multilabel.py":
        assert accuracy and float(accuracy[1]) > 0.9
    else:
        assert "[1 1]   0   1   1" in run.stdout


#: Of each notebook what it says of how well it does, at least how well, and a file it writes.
NOTEBOOKS = {
    "images_from_images": (r"(?:spline|median filter) ([\d.]+), clauses ([\d.]+)", None, None),
    "mnist": (r"test accuracy ([\d.]+)%", 80, "mnist.cotm"),
    "table": (r"accuracy ([\d.]+)", 0.9, "report.html"),
    "tasks": (r"accuracy ([\d.]+)", 0.9, None),
    "regression": (r"R² ([\d.]+)", 0.85, "deliveries.cotm"),
    "embeddings": (r"recognized in training: .*?([\d.]+)%\n", 60, "words.cotm"),
    "language_model": (r"perplexity on unseen reviews ([\d.]+)", 1.0, "letters.cotm"),
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setenv("COTM_SMALL", "1")
    book = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    shown = [
        list(output.get("data", ())) for cell in book.cells for output in cell.get("outputs", ())
    ]
    assert sum("image/png" in kinds for kinds in shown) >= 3, "it is kept with its pictures"
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    text = "".join(
        output.get("text", "") for cell in book.cells for output in cell.get("outputs", ())
    )
    said, least, file = NOTEBOOKS[name]
    found = re.findall(said, text)
    assert found, text
    if least is None:  # of two figures the second is to be below the first
        assert len(found) == 2 and all(float(made) < float(usual) for usual, made in found)
    else:
        assert float(found[0]) > least
        assert file is None or (tmp_path / file).exists()


def test_readme_code_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        run = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert run.returncode == 0, run.stderr
    accuracy, rule = run.stdout.strip().splitlines()
    text = (ROOT / "README.md").read_text()
    assert f"`{accuracy}`" in text and rule in text, "README shows other output than it gives"


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")))
def test_links_to_files_are_alive(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
    for path in re.findall(
        r"`((?:src|native|tests|benchmarks|examples|docs)/[\w./-]+\.\w+)`", document.read_text()
    ):
        assert (ROOT / path).exists(), f"{document.name} names {path}"


#: Where the functions of each column of the equation table are.
BACKENDS = {
    "reference": ["src/cotm/backends/reference.py"],
    "native": ["native/**/*.[ch]pp", "native/**/*.inl"],
    "CUDA": ["src/cotm/backends/cuda/kernels/*"],
}


def test_the_equation_table_names_what_there_is():
    text = (ROOT / "docs" / "algorithm.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.partition("## Equations and functions")[2].partition("##")[0].splitlines()
        if line.startswith("|")
    ]
    header, _, *rows = rows
    assert header[1:] == [*BACKENDS] and len(rows) >= 10
    for column, (backend, patterns) in enumerate(BACKENDS.items(), start=1):
        sources = [path.read_text() for pattern in patterns for path in ROOT.glob(pattern)]
        for row in rows:
            names = re.findall(r"`([\w:]+)`", row[column])
            assert names, f"{row[0]}: nothing in the column {backend}"
            for name in names:
                *_, last = name.split("::")
                assert any(re.search(rf"\b{last}\b", source) for source in sources), (
                    f"{row[0]}: {backend} has no {name}"
                )


def test_the_algorithm_tells_what_every_learning_option_does():
    text = (ROOT / "docs" / "algorithm.md").read_text()
    for name, option in OPTIONS.items():
        if not option.is_kind:
            assert re.search(rf"`{name}[`=]", text), f"docs/algorithm.md does not name {name}"


def test_the_map_in_contributing_names_every_module():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    code = ROOT / "src" / "cotm"
    mapped = [code, *(code / name for name in ("core", "backends", "backends/cuda", "model"))]
    mapped += [code / name for name in ("estimator", "files")]
    for folder in mapped:
        for path in folder.glob("*.py"):
            assert path.name[:2] == "__" or path.name in text, f"CONTRIBUTING leaves out {path}"
    for folder in code.iterdir():
        is_part = (folder / "__init__.py").exists()
        assert not is_part or f"    {folder.name}/" in text, f"CONTRIBUTING leaves out {folder}"
    for name in re.findall(r"^    (?:  )?(\w+\.py|\w+/)", text, re.MULTILINE):
        found = [*code.rglob(name.strip("/")), *ROOT.glob(name.strip("/"))]
        assert found, f"CONTRIBUTING names {name}"


def test_citation_names_the_version():
    (version,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version == cotm.__version__ == importlib.metadata.version("cotm")


def test_the_examples_of_documents_are_true():
    for name in ("state.md", "rules.md", "explaining.md"):
        failed, tried = doctest.testfile(str(ROOT / "docs" / name), module_relative=False)
        assert tried and not failed, name
