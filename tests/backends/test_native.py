"""Every fast path equals the reference bit for bit."""

import dataclasses
import itertools
import os

import numpy as np
import pytest
import scipy.sparse
from configurations import assert_equal, outcome, random_configuration
from hypothesis import given, settings
from hypothesis import strategies as st

import cotm
from cotm.backends import make_backend
from cotm.backends.reference import ReferenceBackend, selection_thresholds, wishes
from cotm.core.examples import Examples
from cotm.core.limits import MAX_FEATURES
from cotm.core.patches import PatchGrid, image_grid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

_native = pytest.importorskip("cotm._native", reason="the native extension is not built")
from cotm.backends.native import NativeBackend  # noqa: E402

WIDE = ["neon"] if _native.best_isa() == "neon" else ["avx2", "avx512"]
ISAS = ["baseline", *WIDE][: 1 + ["baseline", *WIDE].index(_native.best_isa())]


def test_the_expected_build_is_tested():
    expected = os.environ.get("COTM_EXPECT_PATH")
    if not expected:
        pytest.skip("no particular build was asked for")
    assert os.path.realpath(cotm.__file__).startswith(os.path.realpath(expected))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_native_equals_reference(seed):
    """Any shape, option, instruction set and number of threads."""
    c = random_configuration(seed)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    with pytest.MonkeyPatch.context() as patch:
        for isa, threads in itertools.product(ISAS, (1, 2, 3)):
            patch.setenv("COTM_ISA", isa)
            backend = NativeBackend(c.spec, c.memory, c.weights, threads)
            assert backend.isa == isa
            assert_equal(expected, outcome(backend, c), f"{isa}, {threads} threads, {c.spec}")


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("tolerance", [1, 3, 40])
def test_single_flat_examples_equal_reference(tolerance, sparse, isa, monkeypatch):
    monkeypatch.setenv("COTM_ISA", isa)
    rng = np.random.default_rng(tolerance)
    for o in (1, 31, 32, 33, 64, 200):
        grid = PatchGrid.flat(o)
        spec = Spec(n=30, m=3, grid=grid, T=50, q=6554, N=128, tolerance=tolerance)
        memory = np.where(rng.random((30, 2 * o)) < rng.choice([0.02, 0.2]), 0, -1).astype(np.int8)
        weights = rng.integers(-9, 9, (30, 3)).astype(np.int32)
        bits = (rng.random((9, o)) < 0.6).astype(np.uint8)
        dense = Examples(bits.reshape(9, *grid.image_shape), grid)
        examples = Examples(scipy.sparse.csr_array(bits), grid) if sparse else dense
        backends = ReferenceBackend(spec, memory, weights), NativeBackend(spec, memory, weights)
        expected = backends[0].votes(backends[0].prepare(dense))
        for step in (1, 2, 9):
            parts = [backends[1].prepare(examples[k : k + step]) for k in range(0, 9, step)]
            found = np.concatenate([backends[1].votes(part) for part in parts])
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("grid", "steps", "density"),
    [
        (PatchGrid.flat(400), 1100, 0.5),  # past two blocks of 512 examples, rows paid in arrears
        (PatchGrid.flat(1200), 600, 0.02),  # as text is
        (PatchGrid(9, 11, 2, 4, 3, 2, 2), 150, 0.5),  # past two blocks of 64 images
    ],
)
def test_past_one_block_equals_reference(isa, grid, steps, density, monkeypatch):
    monkeypatch.setenv("COTM_ISA", isa)
    rng = np.random.default_rng(steps)
    spec = Spec(n=24, m=3, grid=grid, T=30, q=13107, N=128, seed=steps)
    bits = (rng.random((90, *grid.image_shape)) < density).astype(np.uint8)
    flat = bits.reshape(90, -1)
    targets = np.stack([flat[:, 0], flat[:, 1] | flat[:, 2], 1 - flat[:, 3]], 1)
    order = rng.integers(0, 90, steps)
    states = []
    for kind, threads in ((ReferenceBackend, 1), (NativeBackend, 1), (NativeBackend, 3)):
        memory = np.full((spec.n, grid.n_literals), -1, np.int8)
        backend = kind(spec, memory, start_weights(spec), threads)
        data = backend.prepare(Examples(bits, grid))
        counts = backend.train(data, targets, selection_scale(1.0, np.ones(1)), order, 0)
        states.append((counts, *backend.state(), backend.votes(data)))
    for found in states[1:]:
        assert found[0] == states[0][0]
        assert all(np.array_equal(a, b) for a, b in zip(states[0][1:], found[1:], strict=True))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("q", [20_000, 60_000, 65_536])
def test_forgetting_put_off_excludes_in_time(isa, q, monkeypatch):
    """Literals a few steps above the edge fall while their rows are not looked at."""
    monkeypatch.setenv("COTM_ISA", isa)
    rng = np.random.default_rng(q)
    grid = PatchGrid.flat(300)
    spec = Spec(n=40, m=2, grid=grid, T=50, q=q, N=128, seed=q)
    memory = np.full((40, 600), -100, dtype=np.int8)
    for row in memory:
        row[rng.choice(600, 20, replace=False)] = rng.integers(0, 26, 20)
    bits = rng.integers(0, 2, (30, 1, 1, 300), dtype=np.uint8)
    targets = rng.integers(0, 2, (30, 2), dtype=np.uint8)
    for steps in range(4, 60, 5):
        states = []
        for kind in (ReferenceBackend, NativeBackend):
            backend = kind(spec, memory, start_weights(spec))
            data = backend.prepare(Examples(bits, grid))
            order = np.arange(steps) % 30
            counts = backend.train(data, targets, selection_scale(1.0, np.ones(1)), order, 0)
            states.append((*backend.state(), backend.votes(data), backend.clause_outputs(data)))
            states[-1] += (np.array(counts),)
        assert all(np.array_equal(a, b) for a, b in zip(*states, strict=True)), steps


def test_trained_state_is_pinned():
    """A change of these numbers is a change of the model-file format."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 12))
    Y = np.column_stack([X[:, 0] ^ X[:, 1], X[:, 2] & X[:, 3]])
    machine = cotm.Machine(30, T=40, s=3.9, random_state=42).fit(X, Y, epochs=5)
    fingerprint = (
        int((machine.memory_.astype(np.int64) * np.arange(1, 25)).sum()),
        int((machine.weights_.astype(np.int64) * np.arange(1, 61).reshape(30, 2)).sum()),
    )
    assert fingerprint == PINNED


PINNED = (-160878, -5114)


def test_unknown_instruction_set(monkeypatch):
    monkeypatch.setenv("COTM_ISA", "sse9")
    with pytest.raises(ValueError, match=r"sse9.*baseline, avx2, avx512 or neon"):
        cotm.Machine(4, T=2).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"targets": np.zeros((3, 2), np.uint8)},
        {"targets": np.zeros((4, 3), np.uint8)},
        {"scales": np.zeros((2, 2), np.uint64)},
        {"order": np.array([4])},
        {"order": np.array([-1])},
    ],
)
def test_native_refuses_arrays_that_do_not_fit(change):
    """The last guard before memory that is not ours; Python checks these too."""
    grid = PatchGrid.flat(3)
    spec = Spec(n=5, m=2, grid=grid, T=4, q=6554, N=128)
    backend = make_backend(
        "native", spec, np.full((5, 6), -1, np.int8), np.ones((5, 2), np.int32), n_jobs=1
    )
    data = backend.prepare(Examples(np.zeros((4, 1, 1, 3), np.uint8), grid))
    arguments = {
        "targets": np.zeros((4, 2), np.uint8),
        "scales": np.zeros((1, 2), np.uint64),
        "order": np.arange(4),
    } | change
    with pytest.raises(ValueError):
        backend.train(data, step=0, **arguments)


@pytest.mark.parametrize("T", [1, 7, 2**30])
@pytest.mark.parametrize("e_scales_type2", [False, True])
def test_selection_of_heavy_examples_is_exact(T, e_scales_type2):
    """Thresholds are min(1, d K) to the last bit of 32, however large K is."""
    rng = np.random.default_rng(T)
    spec = Spec(n=3, m=40, grid=PatchGrid.flat(2), T=T, q=0, N=2, e_scales_type2=e_scales_type2)
    factors = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 7 * 2**32, 2**45 + 1, 2**62 + 3, 2**63]
    for plain, scaled in itertools.product(factors, factors):
        votes = np.concatenate([[-T, T, T - 1, 1 - T, 0], rng.integers(-2 * T, 2 * T, 35)])
        target = rng.integers(0, 2, 40, dtype=np.uint8)
        wanted, distances = wishes(spec, votes, target)
        found = selection_thresholds(spec, distances, wanted, np.array([plain, scaled], np.uint64))
        for i in range(40):
            clipped = min(T, max(-T, int(votes[i])))
            distance = T - clipped if target[i] else T + clipped
            first = plain if e_scales_type2 or target[i] else scaled
            second = scaled if e_scales_type2 else first
            for factor, threshold in zip((first, second), found, strict=True):
                assert int(threshold[i]) == min(2**32, distance * factor // (2 * T))


def test_selection_scale():
    """As ever up to weight 1; beyond it e is what is capped, and 2**31 is the end."""
    weight = np.array([0.0, 0.3, 1.0, 1.5, 7.0, 1e12, 1e308])
    for e in (0.0, 0.11, 1.0, 3.0, 1e308):
        found = selection_scale(e, weight)
        for row, w in zip(found, weight, strict=True):
            for K, factor in zip(row, (1.0, e), strict=True):
                exact = min(1.0, factor * w) if w <= 1 else min(1.0, factor) * w
                assert int(K) == round(min(exact, 2.0**31) * 2**32)


def test_native_writes_into_no_copy():
    c = random_configuration(4)
    backend = NativeBackend(c.spec, c.memory, c.weights)
    data, rows = backend.prepare(c.examples), len(c.examples)
    machine, m, n = backend._machine, c.spec.m, c.spec.n
    for out in (
        np.zeros((rows, m), np.int32),
        np.zeros((rows, 2 * m), np.int64)[:, ::2],
        np.zeros((m, rows), np.int64).T if m > 1 else np.zeros((rows, m), np.float64),
    ):
        with pytest.raises(TypeError):
            machine.votes(data, 1, out)
    with pytest.raises(TypeError):
        machine.clause_outputs(data, 1, np.zeros((rows, n), np.uint8))
    with pytest.raises(TypeError):
        machine.state(np.zeros(c.memory.shape, np.int16), c.weights.copy())


def native_machine(grid, memory):
    spec = Spec(n=1, m=1, grid=PatchGrid(*grid), T=1, q=0, N=2, max_weight=1)
    return _native.Machine(spec, memory, np.ones((1, 1), np.int32), isa="")


@pytest.mark.parametrize(
    "grid",
    [
        (1, 1, MAX_FEATURES + 1, 1, 1, 1, 1),
        (2**16, 2**16, 1, 1, 1, 1, 1),
        (2**16, 2**15 + 1, 1, 1, 1, 2**15, 2**15),
        (2**31, 2**31, 2**31, 1, 1, 1, 1),
        (2**16, 2**16, 2**16, 2**16, 2**16, 1, 1),  # 2^48 features, 0 in 32 bits
    ],
)
def test_native_refuses_examples_too_large_for_a_block(grid):
    with pytest.raises(ValueError, match="too large"):
        native_machine(grid, np.zeros((1, 2), np.int8))


def test_limits_of_features():
    with pytest.raises(ValueError, match="more features"):
        _native.Examples.sparse(np.array([0, 0]), np.array([], np.int32), MAX_FEATURES + 1)
    with pytest.raises(ValueError, match="more features"):
        _native.Examples.sparse(np.array([0, 0]), np.array([], np.int32), 2**32 + 10)
    with pytest.raises(ValueError, match="begin at 0"):
        _native.Examples.sparse(np.array([], np.int64), np.array([], np.int32), 5)
    machine = cotm.Machine(1, 1)
    with pytest.raises(ValueError, match=f"at most {MAX_FEATURES}"):
        Spec.of(machine.parameters, PatchGrid.flat(MAX_FEATURES + 1), 1, seed=0)


def test_strides_beyond_the_image():
    """One patch, whatever the stride; a block as large as the stride would not fit memory."""
    assert image_grid((8, 6), (3, 3), (2**30,)) == PatchGrid(8, 6, 1, 3, 3, 8, 6)
    assert image_grid((8,), (3,), (2**30,)) == PatchGrid(1, 8, 1, 1, 3, 1, 8)
    assert image_grid((8, 6), (3, 3), (2, 1)) == PatchGrid(8, 6, 1, 3, 3, 2, 1)
    rng = np.random.default_rng(0)
    grids = [PatchGrid(8, 6, 2, 3, 4, *strides) for strides in ((2**30, 2**30), (8, 6))]
    bits = rng.integers(0, 2, (12, 8, 6, 2), dtype=np.uint8)
    for seed in range(20):
        c = random_configuration(seed)
        if c.spec.m < 100:
            break
    found = []
    for kind, grid in itertools.product((ReferenceBackend, NativeBackend), grids):
        spec = dataclasses.replace(c.spec, grid=grid)
        memory = np.full((spec.n, grid.n_literals), -1, np.int8)
        backend = kind(spec, memory, start_weights(spec))
        d = dataclasses.replace(c, spec=spec, examples=Examples(bits, grid))
        found.append(outcome(backend, d))
    for other in found[1:]:
        assert_equal(found[0], other, "strides")


def test_native_refuses_sparse_rows_that_do_not_fit():
    starts, features = np.array([0, 2, 1]), np.array([0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="must not decrease"):
        _native.Examples.sparse(starts, features, 3)
    with pytest.raises(ValueError, match="out of range"):
        _native.Examples.sparse(np.array([0, 2]), np.array([0, 3], dtype=np.int32), 3)
