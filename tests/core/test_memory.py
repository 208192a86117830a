"""How much memory there is: the computer's, and what limits leave of it."""

import subprocess
import sys

import pytest

from cotm.core import system
from cotm.core.system import _left_by_cgroups, available_memory

UNDER_LIMIT = """
import resource, sys
import numpy as np, cotm
from cotm.core.system import available_memory
X = np.random.default_rng(0).integers(0, 2, (20, 1000))
cotm.CoTMClassifier(10, epochs=1).fit(X, X[:, 0])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
assert 100_000_000 < available_memory() <= 300_000_000, available_memory()
try:
    cotm.CoTMClassifier(100_000, epochs=1).fit(X, X[:, 0])
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are read from /proc")
def test_a_ulimit_gives_the_clear_message():
    done = subprocess.run(
        [sys.executable, "-c", UNDER_LIMIT],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "n_clauses=100000 with 2000 literals each and average=17 needs about" in done.stdout
    assert "use fewer states, fewer clauses" in done.stdout


def group(folder, **contents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def member(tmp_path, text):
    (tmp_path / "membership").write_text(text)
    return tmp_path / "membership"


def test_cgroups_of_version_2(tmp_path):
    root = tmp_path / "cgroup"
    membership = member(tmp_path, "0::/outer/inner\n")
    assert _left_by_cgroups(membership, root) == []
    group(root / "outer" / "inner", memory__max="max", memory__current=700)
    assert _left_by_cgroups(membership, root) == []
    group(root / "outer", memory__max=1000, memory__current=800)
    assert _left_by_cgroups(membership, root) == [200]
    group(root / "outer", memory__stat="anon 100\nactive_file 200\ninactive_file 50\nfile 999")
    assert _left_by_cgroups(membership, root) == [450], "cached files give way"
    group(root / "outer" / "inner", memory__max=750)
    assert min(_left_by_cgroups(membership, root)) == 50
    group(root, memory__max=730, memory__current=730)
    assert min(_left_by_cgroups(membership, root)) == 0


def test_cgroups_of_version_1(tmp_path):
    root = tmp_path / "cgroup"
    membership = member(tmp_path, "9:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n")
    # In a container the path is that of the outside.
    group(
        root / "memory",
        memory__limit_in_bytes=5000,
        memory__usage_in_bytes=4000,
        memory__stat="inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200",
    )
    assert _left_by_cgroups(membership, root) == [1500]
    group(root / "memory" / "docker", memory__limit_in_bytes=2**63 - 4096, memory__usage_in_bytes=9)
    assert min(_left_by_cgroups(membership, root)) == 1500


@pytest.mark.parametrize("text", ["", "nonsense", "0", "0:", "0::", "::\n:::::", "4:memory"])
def test_odd_memberships(text, tmp_path):
    assert _left_by_cgroups(member(tmp_path, text), tmp_path / "cgroup") == []
    assert _left_by_cgroups(tmp_path / "missing", tmp_path / "cgroup") == []


def test_the_smallest_counts(monkeypatch):
    monkeypatch.setattr(system, "_free_memory", lambda: 1000)
    monkeypatch.setattr(system, "_left_by_ulimit", lambda: None)
    monkeypatch.setattr(system, "_left_by_cgroups", lambda: [])
    assert available_memory() == 1000
    monkeypatch.setattr(system, "_left_by_cgroups", lambda: [1500, 900])
    assert available_memory() == 900
    monkeypatch.setattr(system, "_left_by_ulimit", lambda: -5)
    assert available_memory() == 0
    for name in ("_free_memory", "_left_by_ulimit"):
        monkeypatch.setattr(system, name, lambda: None)
    monkeypatch.setattr(system, "_left_by_cgroups", lambda: [])
    assert available_memory() is None
