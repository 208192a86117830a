"""The tests of what users see, on the oldest and newest allowed versions of everything.

Usage: python tests/matrix.py [NAME ...]    (without names, all rows)

Each row gets a virtual environment under build/matrix, made by the Pythons of COTM_PYTHONS
(paths or names with spaces between) that fit; a row that does not install is reported as such.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "matrix"
TOOLS = ["pytest", "pytest-xdist", "hypothesis", "pyarrow", "opencv-python-headless"]
TESTS = [f"tests/{name}" for name in ("booleanize", "cli", "estimator", "files", "test_rules.py")]


def oldest() -> list[str]:
    """The lowest versions that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (project["optional-dependencies"][name] for name in ("cli", "tables", "data", "test"))
    wanted = [*project["dependencies"], *chain.from_iterable(extras)]
    pinned = [text.replace(">=", "==") for text in wanted if ">=" in text]
    return [text for text in pinned if text.split("==")[0] not in TOOLS]


#: Name of a row: how its Python is chosen, and what is installed.
ROWS = {
    "oldest": (min, oldest()),
    "scikit-learn 1.6, polars 2": (max, ["scikit-learn==1.6.*", "polars>=2", "pandas"]),
    "scikit-learn 1.7": (max, ["scikit-learn==1.7.*", "polars", "pandas==2.*"]),
    "scikit-learn 1.8, pandas 3": (max, ["scikit-learn==1.8.*", "polars==1.*", "pandas>=3"]),
    "newest": (max, ["numpy", "scipy", "scikit-learn", "polars", "pandas"]),
}


def pythons() -> dict[tuple[int, int], str]:
    """The interpreters there are, by version."""
    names = os.environ.get("COTM_PYTHONS", "").split() or [
        sys.executable,
        *(f"python3.{minor}" for minor in range(10, 15)),
    ]
    found = {}
    for name in names:
        code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
        try:
            done = subprocess.run([name, "-c", code], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        major, minor = map(int, done.stdout.split())
        if (major, minor) >= (3, 10):
            found.setdefault((major, minor), name)
    return found


def run(command: list[str], log: Path, **options: object) -> bool:
    """Run a command with its output at the end of a file; whether it succeeded."""
    with log.open("a") as file:
        file.write(f"$ {shlex.join(command)}\n")
        file.flush()
        return not subprocess.run(
            command, stdout=file, stderr=file, check=False, **options
        ).returncode


def row(name: str, python: str, wanted: list[str]) -> str:
    """Make an environment and run the tests in it; what came out."""
    folder = FOLDER / name.replace(" ", "-").replace(",", "")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "log.txt"
    own = str(folder / "bin" / "python")
    pip = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if not run([python, "-m", "venv", str(folder)], log):
        return "no virtual environment"
    binary = ["--only-binary", ":all:"]  # what has no wheel for this Python is not allowed there
    if not run([*pip, *binary, *wanted, *TOOLS], log):
        return f"does not install, see {log}"
    if not run([*pip, ".[cli]"], log, cwd=ROOT):
        return f"cotm does not build, see {log}"
    run([own, "-m", "pip", "freeze"], log)
    if not run([own, "-m", "pytest", "-q", "-n", "2", *TESTS], log, cwd=ROOT):
        return f"FAILED, see {log}"
    return "passed"


def main(names: list[str]) -> int:
    """Run rows; 1 if tests of one failed."""
    found = pythons()
    failed = False
    for name in names or ROWS:
        choose, wanted = ROWS[name]
        version = choose(found)
        result = row(name, found[version], wanted)
        print(f"{name}, Python {version[0]}.{version[1]}: {result}", flush=True)
        failed |= result.startswith("FAILED")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
