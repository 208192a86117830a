"""A few inputs of each target; ``make fuzz`` tries as many as there is time for."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trying

HERE = Path(__file__).parent
#: How many, and what must come of some. Requests are tested beside the server.
FEW = {
    "model_files": (150, {"refused", "works"}),
    "rule_texts": (150, {"refused", "parsed"}),
    "study_files": (50, {"refused", "goes on"}),
    "tables": (100, {"predict 0", "predict 1"}),
    "command_lines": (50, set()),
}
needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")


@pytest.mark.parametrize("name", FEW)
def test_a_few(name, tmp_path):
    count, expected = FEW[name]
    trial = trying.Trial(name, tmp_path)
    strategy = trial.target.strategy()
    if strategy is None:
        inputs = itertools.chain(trial.target.seeds(), trying.keyed(trial.target, 0, 0))
        for data in itertools.islice(inputs, count):
            trial(data)
    else:
        trying.drawn(trial, strategy, 0, lambda done: done < count)
    assert not [path.read_text() for path in tmp_path.glob("crash-*.txt")]
    assert trial.outcomes.total() >= count and {*trial.outcomes} >= expected


TARGET = """
import os, time
from targets import Target
class Weak(Target):
    limit = 0.3
    def seeds(self):
        return [b"good"]
    def changed(self, data, dice):
        return dice.choice((b"raises", b"hangs", b"dies", b"eats"))
    def tried(self, data):
        if data == b"raises":
            raise KeyError("weak")
        if data == b"hangs":
            time.sleep(9)
        if data == b"dies":
            os.abort()
        if data == b"eats":
            bytearray(self.megabytes * 2**20)
        return "fine"
TARGET = Weak
"""


@needs_proc
def test_crashes_are_found_kept_and_found_again(tmp_path):
    """All kinds of them: an error, a hang, a process that dies, memory."""
    folder = tmp_path / "fuzz"
    folder.mkdir()
    for name in ("run.py", "trying.py", "targets.py"):
        (folder / name).write_text((HERE / name).read_text())
    (folder / "fuzz_weak.py").write_text(TARGET)

    def fuzz_weak(*words):
        return subprocess.run(
            [sys.executable, folder / "run.py", "weak", "--keep", tmp_path / "kept", *words],
            capture_output=True,
            text=True,
        )

    run = fuzz_weak("--cases", "5")
    assert run.returncode == 1
    kept = [path for path in (tmp_path / "kept").glob("crash-*") if path.suffix != ".txt"]
    assert {path.read_bytes() for path in kept} == {b"raises", b"hangs", b"dies", b"eats"}
    assert "KeyError: 'weak'" in run.stdout
    (raises,) = [path for path in kept if path.read_bytes() == b"raises"]
    again = fuzz_weak("--again", str(raises))
    assert '"crash": 1' in again.stdout or again.returncode
