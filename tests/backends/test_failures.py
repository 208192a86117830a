"""Memory and threads that are not to be had: an error or fewer threads, never an abort.

The scripts run in processes of their own, with tests/failing_system.cpp preloaded: it makes any
one of the extension's allocations fail, or all from it on.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cotm._native", reason="the native extension is not built")
if not sys.platform.startswith("linux"):
    pytest.skip("libraries are preloaded in another way here", allow_module_level=True)
if not shutil.which("g++"):
    pytest.skip(
        "g++ is missing: it builds the library that makes calls fail", allow_module_level=True
    )

PREAMBLE = """
import ctypes, sys
import numpy as np, scipy.sparse
import cotm
from cotm.backends.native import NativeBackend
from cotm.core.examples import Examples
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

system = ctypes.CDLL(None)
system.fail_allocations.argtypes = [ctypes.c_long, ctypes.c_bool]
rng = np.random.default_rng(0)
threads, all_fail = int(sys.argv[1]), bool(int(sys.argv[2]))

def armed(after, call):
    \"\"\"Whether the call met no failure; where it does it raises MemoryError.\"\"\"
    system.fail_allocations(after, all_fail)
    try:
        call()
        assert system.left_allocations() >= 0, "a failure was not noticed"
        return True
    except MemoryError:
        return False
    finally:
        system.fail_allocations(-1, False)

def until_it_works(call, check):
    \"\"\"Fails at the first allocation, the second, and so on; each time all is well after.\"\"\"
    after = 0
    while not armed(after, call):
        check()
        after += 1
    assert after > 5, after
    return after

def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("failing") / "failing_system.so"
    source = Path(__file__).with_name("failing_system.cpp")
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC", "-o", path, source, "-ldl"]
    subprocess.run(["g++", *flags], check=True)
    return path


def run(library, script, *arguments):
    preload = f"{library} {os.environ.get('LD_PRELOAD', '')}".strip()
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    environment = {**os.environ, "LD_PRELOAD": preload, "ASAN_OPTIONS": sanitizer}
    command = [sys.executable, "-c", PREAMBLE + script, *map(str, arguments)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, (
        f"{found.returncode}\n{found.stdout[-2000:]}{found.stderr[-4000:]}"
    )
    return found.stdout


each_way = pytest.mark.parametrize(
    ("threads", "all_fail"), [(1, False), (1, True), (3, False), (3, True)]
)


@each_way
def test_no_memory_in_a_small_pass(library, threads, all_fail):
    """Undo needs none: it is called while allocations fail. Lists, rows and weights are whole."""
    run(
        library,
        """
for grid, sparse in ((PatchGrid.flat(300), False), (PatchGrid.flat(300), True),
                     (PatchGrid(7, 7, 2, 3, 3), False)):
    bits = rng.integers(0, 2, (16, *grid.image_shape), dtype=np.uint8)
    if sparse:
        bits = scipy.sparse.csr_array(bits.reshape(16, -1))
    targets = rng.integers(0, 2, (16, 2), dtype=np.uint8)
    spec = Spec(n=9, m=2, grid=grid, T=300, q=6554, N=128, max_literals=0 if sparse else 40)
    memory = np.where(rng.random((9, grid.n_literals)) < .02, 1, -2).astype(np.int8)
    backend = NativeBackend(spec, memory, start_weights(spec), threads)
    data = backend.prepare(Examples(bits, grid))
    scales, order = selection_scale(1.0, np.ones(1)), np.arange(16)

    def everything():
        return (*backend.state(), backend.votes(data), backend.clause_outputs(data))

    def small_pass():
        try:
            backend.train(data, targets, scales, order, 0)
        except MemoryError:
            backend.undo()
            raise

    def check():
        assert same(before, everything())
        small_pass()
        assert same(after, everything())
        backend.undo()

    backend.mark()
    before = everything()
    small_pass()
    after = everything()
    backend.undo()
    assert not same(before, after)
    assert until_it_works(small_pass, check) > 20
""",
        threads,
        int(all_fail),
    )


@each_way
def test_no_memory_in_fit(library, threads, all_fail):
    """A pass counts whole or not at all; the next one is right."""
    run(
        library,
        """
X = rng.integers(0, 2, (60, 150), dtype=np.uint8)
Y = np.stack([X[:, 0] ^ X[:, 1], X[:, 2]], 1)
expected = cotm.Machine(8, 50, 3.0, random_state=0, n_jobs=threads).fit(X, Y, epochs=2)
machine = cotm.Machine(8, 50, 3.0, random_state=0, n_jobs=threads)

def check():
    machine.fit(X, Y, epochs=2)
    assert same((machine.memory_, machine.weights_), (expected.memory_, expected.weights_))
    assert np.array_equal(machine.votes(X), expected.votes(X))

until_it_works(lambda: machine.fit(X, Y, epochs=2), check)
""",
        threads,
        int(all_fail),
    )


@each_way
def test_no_memory_in_prediction(library, threads, all_fail):
    run(
        library,
        """
for grid in (PatchGrid.flat(40), PatchGrid(6, 6, 1, 3, 3)):
    bits = rng.integers(0, 2, (1200, *grid.image_shape), dtype=np.uint8)
    spec = Spec(n=30, m=2, grid=grid, T=30, q=6554, N=128)
    memory = np.where(rng.random((30, grid.n_literals)) < .05, 1, -2).astype(np.int8)
    backend = NativeBackend(spec, memory, start_weights(spec))
    data = backend.prepare(Examples(bits, grid))
    votes, outputs = backend.votes(data), backend.clause_outputs(data)
    backend.mark()

    def check():
        assert np.array_equal(backend.votes(data, threads), votes)
        assert np.array_equal(backend.clause_outputs(data, threads), outputs)
        backend.undo()  # so that the next prediction compiles the model again

    check()
    until_it_works(lambda: backend.votes(data, threads), check)
    until_it_works(lambda: backend.clause_outputs(data, threads), check)
""",
        threads,
        int(all_fail),
    )


def test_a_state_half_trained_is_not_used(library):
    run(
        library,
        """
grid = PatchGrid.flat(300)
bits, targets = rng.integers(0, 2, (16, 1, 1, 300), dtype=np.uint8), np.ones((16, 1), np.uint8)
spec = Spec(n=9, m=1, grid=grid, T=300, q=6554, N=128)
backend = NativeBackend(spec, np.full((9, 600), -1, np.int8), start_weights(spec))
data = backend.prepare(Examples(bits, grid))
arguments = data, targets, selection_scale(1.0, np.ones(1)), np.arange(16), 0
backend.train(*arguments, 0, 0)  # nanobind grows its table of objects, and cannot fail
system.fail_allocations(0, False)
try:
    backend.train(*arguments)
except MemoryError:
    pass
backend.votes(data)  # nothing had changed yet
after = 1
while True:
    system.fail_allocations(after, False)
    try:
        backend.train(*arguments)
        raise AssertionError("no failure midway")
    except MemoryError:
        pass
    system.fail_allocations(-1, False)
    after += 1
    try:
        backend.state()
    except RuntimeError as error:
        assert "undo" in str(error)
        break
for call in (lambda: backend.votes(data), lambda: backend.clause_outputs(data),
             lambda: backend.train(*arguments), backend.mark):
    try:
        call()
        raise AssertionError("half a state was used")
    except RuntimeError as error:
        assert "undo" in str(error)
""",
        1,
        0,
    )


@pytest.mark.parametrize("allowed", [0, 1])
def test_too_few_threads(library, allowed):
    """The system gives fewer than were asked for: the same result on those."""
    run(
        library,
        f"""
X = rng.integers(0, 2, (2000, 12, 12), dtype=np.uint8)
Y = np.stack([X[:, 0, 0], X[:, 3, 3]], 1)
alone, machine = (
    cotm.Machine(40, 50, 3.0, patch_shape=(4, 4), random_state=0, n_jobs=jobs) for jobs in (1, 4)
)
alone.fit(X[:300], Y[:300])
system.allow_threads({allowed})
machine.fit(X[:300], Y[:300])
assert same((machine.memory_, machine.weights_), (alone.memory_, alone.weights_))
assert np.array_equal(machine.votes(X), alone.votes(X))
assert np.array_equal(machine.clause_outputs(X), alone.clause_outputs(X))
""",
        4,
        0,
    )
