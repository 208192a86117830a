"""The examples on other engines, run for real on this computer: `make test-engines`."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("engine, library", [("ray", "ray.data"), ("spark", "pyspark")])
def test_example_scores_as_the_model_does(engine, library, tmp_path):
    pytest.importorskip(library, reason=f"{library} is not installed; make test-engines has it")
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    run = subprocess.run(
        [sys.executable, EXAMPLES / f"{engine}_scoring.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    accuracy = re.search(r"^accuracy ([\d.]+)$", run.stdout, re.MULTILINE)
    assert accuracy and float(accuracy[1]) > 0.9
