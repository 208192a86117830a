"""The site: nothing is left out of its menu, its links lead somewhere, and its code runs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_layers import ROOT

import cotm

SITE = ROOT / "docs" / "site"
#: Pages of prose with code, and scripts that draw pictures or show a change of libraries.
PAGES = [*sorted(SITE.glob("tutorials/*.md")), *sorted(SITE.glob("guides/*.md"))]
SCRIPTS = [*sorted(SITE.glob("gallery/*.py")), *sorted(SITE.glob("migrating/*_cotm.py"))]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The pages put together, as Sphinx gets them, but for what commands print."""
    spec = importlib.util.spec_from_file_location("assemble", SITE / "assemble.py")
    assemble = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(assemble)
    assemble.SOURCE = tmp_path_factory.mktemp("site")
    assemble.copy_documents()
    assemble.copy_site()
    assemble.write_api()
    (assemble.SOURCE / "commands.md").write_text("# The command line\n")
    return assemble.SOURCE


def listed(page: Path) -> list[Path]:
    """The pages in the menus of a page."""
    menus = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    names = [name for menu in menus for name in menu.split("\n") if name and name[0] != ":"]
    return [page.parent / f"{name}.md" for name in names]


def test_every_page_is_in_the_menu_once(source):
    found, left = [], [source / "index.md"]
    while left:
        page = left.pop()
        found.append(page)
        if page.parent.name != "pictures":  # those are written by the build
            assert page.exists(), f"a menu names {page.relative_to(source)}"
            left += listed(page)
    assert len(found) == len({*found})
    found = {str(page.relative_to(source)) for page in found}
    assert found - {"pictures/index.md"} == {
        str(page.relative_to(source)) for page in source.rglob("*.md")
    }
    assert {path.name for path in (ROOT / "docs").glob("*.md")} < found
    assert {f"api/cotm.{name}.md" for name in cotm.__all__} < found


def test_links_lead_to_pages_and_files(source):
    count = 0
    for page in source.rglob("*.md"):
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose):
            count += 1
            assert (page.parent / target).exists(), f"{page.relative_to(source)}: {target}"
    assert count > 50


def test_a_download_is_the_file_itself(source):
    assert "files/benchmarks-results-h200.json" in (source / "performance.md").read_text()
    original = (ROOT / "benchmarks" / "results" / "h200.json").read_bytes()
    assert (source / "files" / "benchmarks-results-h200.json").read_bytes() == original


def test_the_reference_has_what_cotm_defines_and_nothing_of_scikit_learn(source):
    text = (source / "api" / "cotm.CoTMClassifier.md").read_text()
    members = re.findall(r"auto(?:method|property):: (\w+)", text)
    assert {"fit", "predict", "votes", "rules", "save", "step_"} <= {*members}
    assert not {"get_params", "set_fit_request", "get_metadata_routing"} & {*members}


@pytest.mark.parametrize("kind", ["pages", "scripts"])
def test_the_code_of_the_site_runs(tmp_path, kind):
    """As the build runs it, but in one process."""
    files = PAGES if kind == "pages" else SCRIPTS
    assert len(files) >= 7
    done = subprocess.run(
        [sys.executable, SITE / "run_pages.py", *files],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {*tmp_path.iterdir()}, "pages leave files where they are run"
    if kind == "pages":
        accuracy = re.findall(r"accuracy (0\.\d+)", done.stdout)
        assert len(accuracy) >= 2 and min(map(float, accuracy)) > 0.9
