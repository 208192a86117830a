"""What README and examples show does run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


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
