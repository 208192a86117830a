"""The reference against a scalar transcription of the paper, entry by entry."""

import dataclasses
import itertools

import numpy as np
import pytest
from configurations import random_configuration, random_volume

from cotm.backends.reference import ReferenceBackend
from cotm.core.randomness import Purpose, hash32, make_key, step_key
from cotm.core.spec import Spec


def naive_literals(bits, grid):
    """Patches in the order of their places; thermometers, content, then negations."""
    bits = bits.reshape(grid.depth, grid.height, grid.width, grid.channels)
    counts = grid.depths, grid.rows, grid.columns
    strides = grid.stride_depths, grid.stride_rows, grid.stride_columns
    patch = grid.patch_depth, grid.patch_height, grid.patch_width, grid.channels
    patches = []
    for place in itertools.product(*map(range, counts)):
        features = [
            int(p > t) for p, count in zip(place, counts, strict=True) for t in range(count - 1)
        ]
        for *inside, channel in itertools.product(*map(range, patch)):
            at = [p * s + k for p, s, k in zip(place, strides, inside, strict=True)]
            features.append(int(bits[(*at, channel)]))
        patches.append(features + [1 - f for f in features])
    return patches


def naive_grade(spec, included, x):
    """What a clause says of one patch: how many more misses it would have tolerated."""
    if not included:
        return 1
    return max(0, min(spec.tolerance, len(included)) - sum(x[k] == 0 for k in included))


def naive_picks(spec, key):
    """The literals that are sampled for forgetting, one after the other."""
    count = spec.picks // 65536 + (int(hash32(key, 2**32 - 1)) >> 16 < spec.picks % 65536)
    return [int(hash32(key, k)) * spec.grid.n_literals >> 32 for k in range(count)]


def naive_wishes(spec, votes, target):
    """Whether each output wants more votes, and how many more or fewer, up to 2 T."""
    if spec.regression:
        missing = [int(y) - v for y, v in zip(target, votes, strict=True)]
        return [int(d > 0) for d in missing], [min(abs(d), 2 * spec.T) for d in missing]
    clipped = [max(-spec.T, min(spec.T, v)) for v in votes]
    wanted = [int(y) for y in target]
    return wanted, [spec.T - v if y else spec.T + v for y, v in zip(wanted, clipped, strict=True)]


def naive_speakers(spec, votes, target, key):
    """The outputs that may give feedback: those of the example, and of the others all or one."""
    others = [i for i in range(spec.m) if not target[i]]
    if spec.negatives == 0:
        return {*range(spec.m)}
    shares = [max(-spec.T, min(spec.T, votes[i])) + spec.T for i in others]
    if spec.negatives == 1:
        shares = [1] * len(others)
    place = int(hash32(make_key(key, Purpose.NEGATIVE), 0)) * sum(shares) >> 32
    speakers = {i for i in range(spec.m) if target[i]}
    for i, share in zip(others, shares, strict=True):
        if place < share:
            return speakers | {i}
        place -= share
    return speakers


def naive_step(spec, memory, weights, patches, target, scale, step, began):
    """One training step, loop by loop, as the appendix says it; ``began``: the pass's first."""
    key, pass_key = step_key(spec.seed, step), step_key(spec.seed, began)
    n, m, L, o = spec.n, spec.m, spec.grid.n_literals, spec.grid.n_features
    hashes = hash32(make_key(pass_key, Purpose.LITERALS), np.arange(L, dtype=np.uint32))
    known = [int(h) >= spec.drop_literals for h in hashes]
    known = [awake and (spec.negations or k < o) for k, awake in enumerate(known)]
    included = [[k for k in range(L) if memory[j][k] >= 0 and known[k]] for j in range(n)]
    graded = [[naive_grade(spec, included[j], x) for x in patches] for j in range(n)]
    draws = [int(hash32(make_key(pass_key, Purpose.CLAUSES), j)) for j in range(n)]
    asleep = [draw < spec.drop_clauses for draw in draws]
    c = [0 if asleep[j] else max(graded[j]) for j in range(n)]
    firing = [[p for p, grade in enumerate(graded[j]) if grade == c[j]] for j in range(n)]
    v = [sum(int(weights[j][i]) * c[j] for j in range(n)) for i in range(m)]
    wanted, distances = naive_wishes(spec, v, target)
    speakers = naive_speakers(spec, v, wanted, key)
    new_memory = [[int(x) for x in row] for row in memory]
    new_weights = [[int(x) for x in row] for row in weights]
    for j in range(n):
        draw = int(hash32(make_key(key, Purpose.PATCH), j))
        x = patches[firing[j][draw * len(firing[j]) >> 32]] if c[j] else None
        for i in range(m):
            if asleep[j]:
                continue
            if i not in speakers or (not spec.sharing and j * m // n != i):
                continue
            y, distance = wanted[i], distances[i]
            type_1 = (weights[j][i] >= 0) == bool(y)
            scaled = (not type_1) if spec.e_scales_type2 else not y
            threshold = distance * int(scale[1 if scaled else 0]) // (2 * spec.T)
            if int(hash32(make_key(key, Purpose.SELECT, i), j)) >= threshold:
                continue
            draw_key = make_key(key, Purpose.DRAW, i, j)
            picked = naive_picks(spec, draw_key) if spec.picks >= 0 else []
            for k in range(L):
                if not known[k]:
                    continue
                word = int(hash32(draw_key, k % o))
                forget = (word & 0xFFFF if k < o else word >> 16) < spec.q
                if spec.picks >= 0:  # sampled
                    forget = memory[j][k] < 0 if c[j] else picked.count(k)
                if type_1 and c[j] and x[k]:
                    full = spec.growth_limit and len(included[j]) > spec.growth_limit
                    new_memory[j][k] += (spec.boost_true_positive or not forget) and not full
                elif type_1:
                    new_memory[j][k] -= forget
                elif c[j] and not x[k] and memory[j][k] < 0:
                    new_memory[j][k] += 1
            if c[j] and spec.learn_weights:
                moved = int(weights[j][i]) + (1 if y else -1)
                if not spec.sharing and weights[j][i] != 0:
                    moved = max(1, moved) if weights[j][i] > 0 else min(-1, moved)
                new_weights[j][i] = max(-spec.max_weight, min(spec.max_weight, moved))
        new_memory[j] = [
            max(-spec.N, min((spec.include_depth or spec.N) - 1, x)) for x in new_memory[j]
        ]
        if spec.max_literals:
            fresh = [k for k in range(L) if new_memory[j][k] >= 0 and memory[j][k] < 0]
            fresh.sort(key=lambda k: int(hash32(make_key(key, Purpose.LIMIT, 0, j), k)))
            while sum(x >= 0 for x in new_memory[j]) > spec.max_literals and fresh:
                new_memory[j][fresh.pop()] = -1
    return np.array(new_memory, np.int8), np.array(new_weights, np.int32)


def small_configurations():
    """Machines small enough for the loops above, with every option among them."""
    for seed in range(400):
        c = random_configuration(seed, rows=3)
        size = c.spec.n * c.spec.m * c.spec.grid.n_literals
        if size < 12_000 and c.spec.grid.n_patches < 200:
            yield seed, c


def small_volumes():
    """The same, of volumes."""
    for seed in range(400):
        grid = random_volume(np.random.default_rng(seed), largest=4)
        c = random_configuration(5000 + seed, rows=3, grid=grid)
        if c.spec.n * c.spec.m * c.spec.grid.n_literals < 8_000:
            yield 5000 + seed, c


@pytest.mark.parametrize(
    "seed, c", [*list(small_configurations())[:30], *itertools.islice(small_volumes(), 8)]
)
def test_reference_is_the_paper(seed, c):
    backend = ReferenceBackend(c.spec, c.memory, c.weights)
    memory, weights = c.memory, c.weights
    bits = c.examples.bits
    dense = bits if isinstance(bits, np.ndarray) else bits.toarray().reshape(3, 1, 1, -1)
    for index in range(3):
        scale = c.scales[index if len(c.scales) > 1 else 0]
        patches = naive_literals(dense[index], c.spec.grid)
        memory, weights = naive_step(
            c.spec, memory, weights, patches, c.targets[index], scale, c.step + index, c.step
        )
        backend.train(c.examples, c.targets, c.scales, np.arange(3), c.step, index, index + 1)
        assert np.array_equal(backend.state()[0], memory)
        assert np.array_equal(backend.state()[1], weights)


def test_small_configurations_cover_the_options():
    specs = [c.spec for _, c in list(small_configurations())[:30]]
    for field in dataclasses.fields(Spec):
        assert len({getattr(spec, field.name) for spec in specs}) > 1, field.name
    assert any(spec.tolerance > 1 and spec.picks > 0 for spec in specs)
    assert any(spec.tolerance > 1 and spec.picks < 0 for spec in specs)
    assert any(not spec.grid.is_flat for spec in specs)
    assert any(0 < spec.drop_clauses < 2**32 * 0.9 for spec in specs)
    assert any(0 < spec.drop_literals < 2**32 * 0.9 for spec in specs)
    assert {spec.negatives for spec in specs if spec.m > 2} == {0, 1, 2}
    assert any(spec.regression and spec.m > 1 for spec in specs)
