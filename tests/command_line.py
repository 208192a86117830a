"""The command line as tests call it: in this process, or as a real program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from typer.testing import CliRunner

import cotm
from cotm import cli

ROWS = 240
FAST = ["--clauses", "40", "--epochs", "4", "--seed", "1", "--quiet"]


def run(*words: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(cli.app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def fails(*words: Any) -> str:
    """The message of a command that must fail with one line and no result."""
    result = run(*words, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert "mistake in cotm" not in result.stderr
    return str(result.stderr)


def hiding(*libraries: str) -> str:
    """Code that makes imports of libraries fail, as if they were not installed."""
    return f"""
import sys
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in {libraries}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden)
"""


def program(*words: Any, before: str = "", **options: Any) -> subprocess.Popen[str]:
    """Start the real program; ``before`` is code to run ahead of it."""
    # scikit-learn imports pandas where it is installed, which takes a fifth of a program's time.
    code = f"{hiding('pandas')}\n{before}\nfrom cotm.cli import main\nmain()"
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    # Where tests run in the background SIGINT is ignored, and programs would inherit that.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)],
            env=environment,
            **options,
        )
    finally:
        signal.signal(signal.SIGINT, handler)


def same_model(first: Path, second: Path) -> bool:
    a, b = cotm.load(first), cotm.load(second)
    return bool((a.memory_ == b.memory_).all() and (a.weights_ == b.weights_).all())


def make_table() -> pl.DataFrame:
    """Numbers, categories, missing values, text labels, and a rule behind them."""
    random = np.random.default_rng(0)
    age = random.integers(18, 80, ROWS)
    city = random.choice(["Paris", "Rome", "Oslo"], ROWS)
    row = pl.int_range(ROWS)
    return pl.DataFrame(
        {
            "age": age,
            "city": city,
            "größe in m": random.normal(1.7, 0.1, ROWS).round(2),
            "label": np.where(age > 50, "old", np.where(city == "Oslo", "north", "south")),
        }
    ).with_columns(
        pl.when(row % 17 == 0).then(None).otherwise(pl.col("age")).alias("age"),
        pl.when(row % 13 == 0).then(None).otherwise(pl.col("city")).alias("city"),
    )
