"""Random machines, data and parameters on which every backend must agree."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from cotm.core.examples import Examples
from cotm.core.limits import WEIGHT_LIMIT
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, drop_threshold, selection_scale


@dataclass
class Configuration:
    spec: Spec
    examples: Examples
    targets: NDArray[np.uint8 | np.int32]
    scales: NDArray[np.uint64]
    order: NDArray[np.int64]
    step: int
    memory: NDArray[np.int8]
    weights: NDArray[np.int32]


def random_grid(rng: np.random.Generator) -> PatchGrid:
    kind = rng.integers(4)
    if kind == 0:
        return PatchGrid.flat(int(rng.integers(1, 300 if rng.random() < 0.7 else 900)))
    if kind == 1:  # 1-D, past one block of 512 patches now and then
        width = int(rng.integers(2, 40)) if rng.random() < 0.8 else int(rng.integers(500, 1300))
        patch = int(rng.integers(1, min(width, 12) + 1))
        stride = int(rng.integers(1, 4))
        return PatchGrid(1, width, int(rng.integers(1, 4)), 1, patch, 1, stride)
    height, width = (int(v) for v in rng.integers(1, 31, 2))
    if height == width == 1:
        width = 2
    patch_height = int(rng.integers(1, min(height, 10) + 1))
    patch_width = int(rng.integers(1, min(width, 10) + 1))
    strides = (int(v) for v in rng.integers(1, 4, 2))
    channels = int(rng.choice([1, 1, 2, 3, 5]))
    return PatchGrid(height, width, channels, patch_height, patch_width, *strides)


def random_volume(
    rng: np.random.Generator, largest: int = 9, at_least: tuple[int, int, int] = (2, 1, 1)
) -> PatchGrid:
    drawn = (int(v) for v in rng.integers(1, largest + 1, 3))
    size = [max(pair) for pair in zip(drawn, at_least, strict=True)]
    depth, height, width = size
    patch = [int(rng.integers(1, min(length, 5) + 1)) for length in size]
    strides = [int(v) for v in rng.integers(1, 4, 3)]
    channels = int(rng.choice([1, 1, 2, 3]))
    return PatchGrid(height, width, channels, *patch[1:], *strides[1:], depth, patch[0], strides[0])


def random_configuration(
    seed: int,
    *,
    rows: int = 12,
    later: bool = True,
    newest: bool = True,
    grid: PatchGrid | None = None,
) -> Configuration:
    """Without ``later`` the options that go past the paper are left at their defaults.

    Without ``newest`` those that not every backend has. A ``grid`` stands for the drawn one.
    """
    rng = np.random.default_rng(seed)
    drawn = random_grid(rng)
    grid = grid or drawn
    n = int(rng.integers(1, 150))
    m = int(rng.integers(1, 21)) if rng.random() < 0.95 else int(rng.integers(128, 300))
    if m > 100:
        n = min(n, 20)
    sharing = rng.random() < 0.7
    spec = Spec(
        n=n,
        m=m,
        grid=grid,
        T=int(rng.choice([1, 2, n, 10 * n, 2**30])),
        q=int(rng.choice([0, 1, 655, 6554, 16804, 32768, 65535, 65536])),
        N=int(rng.choice([1, 2, 3, 8, 100, 127, 128])),
        boost_true_positive=bool(rng.random() < 0.6),
        e_scales_type2=bool(rng.random() < 0.4),
        max_literals=int(rng.integers(1, 12)) if rng.random() < 0.3 else 0,
        max_weight=int(rng.integers(1, 5)) if rng.random() < 0.3 else WEIGHT_LIMIT,
        sharing=bool(sharing),
        learn_weights=bool(sharing or rng.random() < 0.5),
        seed=int(rng.integers(0, 2**64, dtype=np.uint64)),
    )
    density = float(rng.choice([0.05, 0.5, 0.95]))
    bits = (rng.random((rows, *grid.image_shape)) < density).astype(np.uint8)
    examples = Examples(bits, grid)
    if grid.is_flat and rng.random() < 0.4:
        matrix = scipy.sparse.csr_array(bits.reshape(rows, -1))
        examples = Examples(matrix, grid)
    targets = (rng.random((rows, m)) < rng.random()).astype(np.uint8)
    weight = rng.choice([0.0, 0.3, 1.0, 7.0, 1e4, 1e12], rows) if rng.random() < 0.4 else np.ones(1)
    scales = selection_scale(float(rng.choice([1.0, 0.11, 0.0])), weight)
    order = rng.integers(0, rows, int(rng.integers(0, 3 * rows)))
    step = int(rng.integers(0, 2**40))
    memory, weights = random_memory(rng, spec), random_weights(rng, spec)
    spec = with_later_options(rng, spec) if later else spec
    spec = with_newest_options(rng, spec) if later and newest else spec
    if not spec.negations:
        memory[:, grid.n_features :] = np.minimum(memory[:, grid.n_features :], -1)
    if spec.regression:
        most = min(3 * spec.T, 2**30)
        targets = rng.integers(-most, most, (rows, m), dtype=np.int32, endpoint=True)
    return Configuration(
        spec=spec,
        examples=examples,
        targets=targets,
        scales=scales,
        order=order,
        step=step,
        memory=np.minimum(memory, spec.top).astype(np.int8),
        weights=weights,
    )


def with_later_options(rng: np.random.Generator, spec: Spec) -> Spec:
    """Options that came later are drawn last: what was drawn before stays what it was."""
    n_literals = spec.grid.n_literals
    tolerance = int(rng.choice([2, 3, 4, 7, 8, 30, 300])) if rng.random() < 0.4 else 1
    growth_limit = int(rng.integers(1, 12)) if rng.random() < 0.25 else 0
    include_depth = int(rng.choice([1, 2, 26, 128])) if rng.random() < 0.25 else 0
    sampled = spec.boost_true_positive and rng.random() < 0.5
    picks = int(rng.choice([0, 30_000, 65_536, 65_536 * n_literals // 3, 65_536 * n_literals]))
    return dataclasses.replace(
        spec,
        tolerance=tolerance,
        growth_limit=growth_limit,
        include_depth=include_depth,
        picks=picks if sampled else -1,
        negatives=int(rng.choice([0, 0, 1, 2])),
    )


def with_newest_options(rng: np.random.Generator, spec: Spec) -> Spec:
    """Options that not every backend has."""
    shares = [0.0, 0.0, 0.1, 0.5, 0.99]
    clauses, literals = drop_threshold(rng.choice(shares)), drop_threshold(rng.choice(shares))
    spec = dataclasses.replace(spec, drop_clauses=clauses, drop_literals=literals)
    spec = dataclasses.replace(spec, regression=bool(rng.random() < 0.25))
    return dataclasses.replace(spec, negations=bool(rng.random() < 0.75))


def random_memory(rng: np.random.Generator, spec: Spec) -> NDArray[np.int8]:
    """The start, or a state with few included literals, as training makes them."""
    shape = (spec.n, spec.grid.n_literals)
    if rng.random() < 0.3:
        return np.full(shape, -1, dtype=np.int8)
    memory = rng.integers(-spec.N, 0, shape)
    included = rng.random(shape) < rng.choice([1.0, 3.0, 20.0]) / shape[1]
    memory = np.where(included, rng.integers(0, spec.N, shape), memory)
    if spec.max_literals:
        for row in memory:
            row[np.flatnonzero(row >= 0)[spec.max_literals :]] = -1
    return memory.astype(np.int8)


def random_weights(rng: np.random.Generator, spec: Spec) -> NDArray[np.int32]:
    limit = min(spec.max_weight, int(rng.choice([1, 5, 1000, WEIGHT_LIMIT])))
    weights = rng.integers(-limit, limit, (spec.n, spec.m), endpoint=True)
    if not spec.sharing:
        if rng.random() < 0.7:  # a loaded state may have an owner's weight at 0
            weights = np.where(weights == 0, 1, weights)
        weights[spec.owners()[:, None] != np.arange(spec.m)] = 0
    return weights.astype(np.int32)


def outcome(backend, c):
    """Everything a backend makes of a configuration."""
    data = backend.prepare(c.examples)
    counts = backend.train(data, c.targets, c.scales, c.order, c.step)
    memory, weights = backend.state()
    return counts, memory, weights, backend.votes(data), backend.clause_outputs(data)


def assert_equal(expected, found, what):
    """Two outcomes agree to the bit."""
    assert expected[0] == found[0], f"{what}: counts"
    for name, a, b in zip(
        ("memory", "weights", "votes", "outputs"), expected[1:], found[1:], strict=True
    ):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {name}"
        assert np.array_equal(a, b), f"{what}: {name}"
