"""What every installed cotm must be able to do; run by the Python that has it, far from sources.

Usage: python packaging/smoke.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import cotm


def check_learning(folder: Path) -> None:
    """Fit, predict, save, load; the compiled core gives the same bits as its definition."""
    X, y = load_iris(return_X_y=True)
    options = {"n_clauses": 20, "T": 20, "epochs": 30, "random_state": 0, "preset": "paper"}
    native = cotm.CoTMClassifier(**options, backend="native").fit(X, y)
    reference = cotm.CoTMClassifier(**options, backend="reference").fit(X, y)
    assert (native.memory_ == reference.memory_).all(), "the compiled core is not what defines it"
    assert (native.votes(X) == reference.votes(X)).all()
    assert native.score(X, y) > 0.9
    native.save(folder / "iris.cotm")
    assert (cotm.load(folder / "iris.cotm").predict(X) == native.predict(X)).all()
    assert str(native.rules()[0]).startswith("if ")
    np.savez(folder / "iris.npz", X=X, y=y)


def check_program(folder: Path) -> None:
    """The command line, where it is installed; else that it says so."""
    program = [sys.executable, "-m", "cotm"]
    if not {"typer", "rich"} <= {d.metadata["Name"] for d in metadata.distributions()}:
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and 'pip install "cotm[cli]"' in done.stderr, done
        return
    for words in (
        ["--version"],
        ["predict", "iris.cotm", "iris.npz"],
        ["evaluate", "iris.cotm", "iris.npz"],
        ["rules", "iris.cotm", "--top", "2"],
        ["train", "iris.npz", "--out", "again.cotm", "--epochs", "1", "--quiet"],
    ):
        done = subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True)
        assert not done.returncode, done.stderr


def main() -> None:
    """All of it, in an empty folder."""
    assert metadata.version("cotm") == cotm.__version__
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        check_learning(Path(name))
        check_program(Path(name))
        os.chdir("/")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"cotm {cotm.__version__} works on Python {version}, NumPy {np.__version__}")


if __name__ == "__main__":
    main()
