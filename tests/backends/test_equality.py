"""Every backend that can run here gives the reference's bits, on every shape and option."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from configurations import assert_equal, outcome, random_configuration, random_volume
from helpers import why_missing

import cotm
from cotm.backends.kinds import KINDS
from cotm.backends.reference import ReferenceBackend
from cotm.core.examples import Examples
from cotm.core.limits import WEIGHT_LIMIT
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

#: Why a backend cannot run here, by its name.
MISSING = {kind.name: why for kind in KINDS if (why := why_missing(kind.name))}

every_kind = pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.name != "reference" and kind.name not in MISSING],
    ids=lambda kind: kind.name,
)


def test_all_backends_can_be_compared():
    """Those that cannot run here are in no other test, and this one says why."""
    if MISSING:
        pytest.skip("; ".join(MISSING.values()))


def start(kind, spec, memory, weights, threads=2):
    return kind.start(kind.name, spec, memory, weights, threads)


def configuration(kind, seed):
    """A random machine with the options that the backend has."""
    c = random_configuration(seed)
    return random_configuration(seed, newest=False) if kind.lacks(c.spec) else c


@every_kind
@pytest.mark.parametrize("seed", range(120))
def test_random_machines(kind, seed):
    c = configuration(kind, 1000 + seed)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), c), c.spec)


@every_kind
@pytest.mark.parametrize("seed", range(50))
def test_volumes(kind, seed):
    rows = 12 if seed % 5 else 140  # past two blocks of 64
    grid = random_volume(np.random.default_rng(seed))
    c = random_configuration(3000 + seed, rows=rows, grid=grid)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), c), c.spec)


@every_kind
@pytest.mark.parametrize("seed", range(24))
def test_long_rows(kind, seed):
    """Sampled forgetting is put off in rows of 4,096 literals and more."""
    grid = PatchGrid.flat(2017 + 37 * seed)
    c = random_configuration(2000 + seed, rows=40, newest=False, grid=grid)
    whole, part = [(0, 30_000), (3, 0), (500, 1), (grid.n_literals, 0)][seed % 4]
    picks = 65_536 * whole + part
    c.spec = dataclasses.replace(c.spec, boost_true_positive=True, picks=picks)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), c), c.spec)


@every_kind
def test_more_literals_than_16_bits_count(kind):
    """A clause that misses 66,000 literals does not miss 464."""
    grid = PatchGrid.flat(66_000)
    spec = Spec(n=3, m=1, grid=grid, T=1000, q=655, N=128, tolerance=1000, picks=65_536 * 50)
    bits = np.zeros((4, 66_000), np.uint8)
    bits[1:, :65_700] = 1  # the second clause says something, the first, still, only at the third
    bits[2:, 65_700:] = 1
    memory = np.full((3, grid.n_literals), -1, np.int8)
    memory[:2, :66_000] = 0
    memory[1, :500] = -1
    memory[2, 66_000:] = 0
    c = random_configuration(0, grid=grid)
    c = dataclasses.replace(
        c, spec=spec, examples=Examples(bits[:, None, None], grid),
        targets=np.array([[1], [0], [1], [1]], np.uint8),
        scales=selection_scale(1.0, np.ones(1)), order=np.arange(8) % 4, memory=memory,
        weights=np.array([[1], [-1], [2]], np.int32),
    )  # fmt: skip
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), c), "long clauses")


@every_kind
@pytest.mark.parametrize("tolerance", [1, 5])
def test_one_patch_is_a_flat_example(kind, tolerance):
    rng = np.random.default_rng(tolerance)
    X = (rng.random((40, 6, 5, 3)) < 0.4).astype(np.uint8)
    Y = np.eye(4, dtype=np.uint8)[rng.integers(0, 4, 40)]
    outcomes = []
    for name, patch_shape, bits in (
        ("reference", (6, 5), X),
        (kind.name, (6, 5), X),
        (kind.name, None, X.reshape(40, -1)),
    ):
        machine = cotm.Machine(
            30, T=100, s=5, patch_shape=patch_shape, tolerance=tolerance, backend=name,
            random_state=3,
        ).fit(bits, Y, epochs=2)  # fmt: skip
        outcomes.append((machine.memory_, machine.votes(bits), machine.clause_outputs(bits)))
    for other in outcomes[1:]:
        for expected, found in zip(outcomes[0], other, strict=True):
            np.testing.assert_array_equal(expected, found)


@every_kind
@pytest.mark.parametrize("seed", range(12))
def test_long_training(kind, seed):
    """From the start through many steps, so that clauses fill, empty and change sides."""
    rng = np.random.default_rng(seed)
    volume = PatchGrid(5, 4, 1, 2, 3, 1, 1, depth=6, patch_depth=2, stride_depths=2)
    images = PatchGrid(6, 7, 2, 3, 2, 1, 2), PatchGrid(1, 90, 1, 1, 5), volume
    grid = [PatchGrid.flat(70), *images][seed % 4]
    spec = Spec(
        n=33, m=4, grid=grid, T=20, q=16804, N=[128, 5, 1][seed % 3], sharing=seed % 5 != 3,
        boost_true_positive=seed % 2 == 0, e_scales_type2=seed % 5 == 0, seed=seed,
        max_literals=6 if seed % 3 == 1 else 0,
    )  # fmt: skip
    bits = rng.integers(0, 2, (60, *grid.image_shape), dtype=np.uint8)
    flat = bits.reshape(60, -1)
    targets = np.stack([flat[:, 0], flat[:, 1] ^ flat[:, 2], flat[:, 3], 1 - flat[:, 5]], 1)
    scales = selection_scale(0.5, np.ones(1))
    memory = np.full((spec.n, grid.n_literals), -1, dtype=np.int8)
    weights = start_weights(spec)
    pair = [ReferenceBackend(spec, memory, weights), start(kind, spec, memory, weights)]
    data = [backend.prepare(Examples(bits, grid)) for backend in pair]
    step = 0
    for count in (1, 31, 32, 33, 200):
        order = rng.integers(0, 60, count)
        counts = [
            backend.train(examples, targets, scales, order, step)
            for backend, examples in zip(pair, data, strict=True)
        ]
        assert counts[0] == counts[1]
        step += count
    for a, b in zip(pair[0].state(), pair[1].state(), strict=True):
        assert np.array_equal(a, b)
    assert (pair[0].state()[0] >= 0).any(), "the test should include literals"
    assert np.array_equal(pair[0].votes(data[0]), pair[1].votes(data[1]))
    assert np.array_equal(pair[0].clause_outputs(data[0]), pair[1].clause_outputs(data[1]))


@every_kind
def test_a_pass_in_parts_and_undone(kind):
    """Slices of an order are one pass, and a pass that is undone has not been."""
    c = configuration(kind, 3)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    backend = start(kind, c.spec, c.memory, c.weights)
    data = backend.prepare(c.examples)
    backend.mark()
    backend.train(data, c.targets, c.scales, c.order, c.step + 99)
    backend.undo()
    for found, before in zip(backend.state(), (c.memory, c.weights), strict=True):
        assert np.array_equal(found, before)
    for first in range(0, len(c.order), 5):
        last = min(first + 5, len(c.order))
        backend.train(data, c.targets, c.scales, c.order, c.step, first, last)
    for found, wanted in zip(backend.state(), expected[1:3], strict=True):
        assert np.array_equal(found, wanted)


@every_kind
@pytest.mark.parametrize("T", [1, 7, 2**30])
@pytest.mark.parametrize("factor", [2**32 - 1, 2**32, 2**32 + 1, 7 * 2**32, 2**45, 2**62, 2**63])
def test_heavy_examples(kind, T, factor):
    c = configuration(kind, 7)
    c.spec = dataclasses.replace(c.spec, T=T)
    c.scales = np.array([[factor, factor // 3]], np.uint64)
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), c)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), c), kind.name)


@every_kind
def test_equal_and_weightless_clauses(kind):
    """Prediction may merge clauses that say the same, and leave out those without a vote."""
    rng = np.random.default_rng(5)
    grid = PatchGrid(8, 8, 1, 3, 3)
    spec = Spec(n=60, m=4, grid=grid, T=9, q=6554, N=128)
    memory = np.where(rng.random((60, grid.n_literals)) < 3 / grid.n_literals, 0, -1)
    memory[20:40] = memory[:20]
    # Two bits of a thermometer say no more than the higher one: row > 2 and row > 0.
    memory[40, :], memory[41, :] = -1, -1
    memory[40, 2] = memory[41, 2] = memory[41, 0] = 5
    memory = memory.astype(np.int8)
    weights = rng.integers(-9, 10, (60, 4)).astype(np.int32)
    weights[30:40] = -weights[10:20]
    weights[50:55] = 0
    examples = Examples(rng.integers(0, 2, (70, 8, 8, 1), dtype=np.uint8), grid)
    found = [
        (backend.votes(data), backend.clause_outputs(data))
        for backend in (ReferenceBackend(spec, memory, weights), start(kind, spec, memory, weights))
        for data in [backend.prepare(examples)]
    ]
    assert found[0][1].any() and not found[0][1].all()
    for expected, actual in zip(*found, strict=True):
        assert np.array_equal(expected, actual)


@every_kind
@pytest.mark.parametrize("picks", [-1, 300_000])
@pytest.mark.parametrize("depths", [(), (2, 1), (2, 2)], ids=str)
def test_strides_beyond_the_image(kind, depths, picks):
    """One patch, whatever the stride; or of a volume one for each depth."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (12, 8, 6, 2), dtype=np.uint8)
    c = next(c for c in (configuration(kind, k) for k in range(20)) if c.spec.m < 100)
    sampled = {"picks": picks, "boost_true_positive": True}
    found = []
    for strides in ((2**30, 2**30), (8, 6)):
        grid = PatchGrid(8 // (depths or [1])[0], 6, 2, 3, 4, *strides, *depths)
        spec = dataclasses.replace(c.spec, grid=grid, **sampled)
        memory = np.full((spec.n, spec.grid.n_literals), -1, np.int8)
        state = memory, start_weights(spec)
        d = dataclasses.replace(c, spec=spec, examples=Examples(bits, spec.grid))
        found += [outcome(ReferenceBackend(spec, *state), d), outcome(start(kind, spec, *state), d)]
    for other in found[1:]:
        assert_equal(found[0], other, "strides")


@every_kind
def test_large_weights(kind):
    c = configuration(kind, 11)
    spec = dataclasses.replace(c.spec, max_weight=WEIGHT_LIMIT, sharing=True)
    weights = np.where(c.weights >= 0, WEIGHT_LIMIT - 1, 2 - WEIGHT_LIMIT).astype(np.int32)
    c = dataclasses.replace(c, spec=spec, weights=weights)
    expected = outcome(ReferenceBackend(spec, c.memory, weights), c)
    assert_equal(expected, outcome(start(kind, spec, c.memory, weights), c), kind.name)


@every_kind
def test_no_rows(kind):
    rng = np.random.default_rng(0)
    options = {"random_state": 0, "backend": kind.name, "n_jobs": 2}
    X = rng.integers(0, 2, (30, 9), dtype=np.uint8)
    Y = rng.integers(0, 2, (30, 3), dtype=np.uint8)
    flat = cotm.Machine(5, 4, **options).fit(X, Y)
    images = cotm.Machine(5, 4, patch_shape=(2, 2), **options).fit(X.reshape(30, 3, 3), Y)
    volumes = cotm.Machine(5, 4, patch_shape=(2, 1, 1), **options).fit(X.reshape(30, 3, 3, 1), Y)
    for machine, none in (
        (flat, X[:0]),
        (flat, scipy.sparse.csr_array(X[:0])),
        (images, X[:0].reshape(0, 3, 3)),
        (volumes, X[:0].reshape(0, 3, 3, 1)),
    ):
        assert machine.votes(none).shape == machine.predict(none).shape == (0, 3)
        assert machine.clause_outputs(none).shape == (0, 5)


@every_kind
@pytest.mark.parametrize("tolerance", [1, 4])
@pytest.mark.parametrize(
    ("shape", "patch_shape"), [((20,), None), ((4, 5), (2, 3)), ((4, 3, 2), (2, 2, 2))], ids=str
)
def test_machines_train_and_continue_alike(kind, shape, patch_shape, tolerance):
    """Above the backends: shuffled passes, weights, average, a snapshot, more passes."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (150, *shape), dtype=np.uint8)
    Y = rng.integers(0, 2, (150, 3), dtype=np.uint8)
    options = {"T": 15, "s": 3.0, "e": 0.4, "average": 2, "random_state": 9}
    options |= {"patch_shape": patch_shape, "tolerance": tolerance}
    states = []
    for name in ("reference", kind.name):
        machine = cotm.Machine(21, backend=name, **options)
        machine.fit(X, Y, epochs=2, sample_weight=rng.permutation(150) / 75 * 0 + 0.8)
        machine.partial_fit(X[:70], Y[:70])
        states.append((machine.memory_, machine.weights_, machine.votes(X), machine.predict(X)))
    for expected, actual in zip(*states, strict=True):
        assert np.array_equal(expected, actual)
