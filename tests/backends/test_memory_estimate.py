"""What a training is said to take is about what it takes."""

import subprocess
import sys

import pytest

import cotm
from cotm.core.patches import PatchGrid

pytest.importorskip("cotm._native", reason="the native extension is not built")

SCRIPT = """
import sys
import numpy as np, scipy.sparse
import cotm
from cotm.backends.memory import training_bytes

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

kind, n, jobs, rows, size = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
labels = np.eye(10, dtype=np.uint8)[rng.integers(0, 10, rows)]
shape = (28, 28) if kind == "images" else (size,)
if kind == "sparse":
    X = scipy.sparse.random_array((rows, size), density=20 / size, rng=rng, format="csr")
    X = (X > 0).astype(np.uint8)
else:
    X = rng.integers(0, 2, (rows, *shape), dtype=np.uint8)
patch = (10, 10) if kind == "images" else None
cotm.Machine(20, 10, n_jobs=2, random_state=0).fit(np.eye(9, dtype=np.uint8), np.ones(9))
options = {"tolerance": 5, "forgetting": "sampled"} if kind == "graded" else {}
s = 100.0 if kind == "graded" else 5.0  # clauses soon forget most of what they began with
machine = cotm.Machine(n, 10 * n, s, patch_shape=patch, n_jobs=jobs, backend="native", **options)
before = peak()
machine.fit(X, labels)
print(training_bytes(machine.spec, 1, jobs), peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the peak")
@pytest.mark.parametrize(
    ("kind", "n", "jobs", "rows", "size"),
    [
        ("sparse", 16, 16, 20, 1 << 17),  # a block of every feature for every thread
        ("sparse", 16, 1, 20, 1 << 17),
        ("images", 20_000, 2, 40, 784),
        ("flat", 60_000, 2, 40, 100),
        ("flat", 5_000, 4, 40, 784),
        ("graded", 40_000, 2, 40, 100),
        ("graded", 1_000, 2, 40, 5_000),
    ],
)
def test_estimate_of_training(kind, n, jobs, rows, size):
    command = [sys.executable, "-c", SCRIPT, kind, *map(str, (n, jobs, rows, size))]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    estimate, taken = map(int, found.stdout.split())
    assert taken / 1.5 < estimate < 1.5 * taken, f"{estimate / 1e6:.0f}, {taken / 1e6:.0f} MB"


def test_threads_that_do_not_fit_are_named(monkeypatch):
    """The blocks of many threads are what is too much here, not the machine."""
    monkeypatch.setattr("cotm.backends.memory.available_memory", lambda: 10**9)
    with pytest.raises(MemoryError, match=r"fewer threads \(n_jobs\)"):
        cotm.Machine(16, 10, n_jobs=16).start(PatchGrid.flat(1 << 20), 2)
    cotm.Machine(16, 10, n_jobs=1).start(PatchGrid.flat(1 << 20), 2)
