"""The random numbers: pinned by vectors, and as random as they need to be."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cotm.core.randomness import (
    U32,
    U64,
    Purpose,
    hash32,
    literal_draws,
    make_key,
    mix64,
    pass_order,
    split_order,
    step_key,
)

VECTORS = json.loads((Path(__file__).parent.parent / "hash_vectors.json").read_text())


def test_reference_gives_the_vectors():
    for v in VECTORS["hash32"]:
        key = make_key(
            step_key(v["seed"], v["step"]), Purpose(v["purpose"]), v["output"], v["clause"]
        )
        assert int(hash32(key, v["index"])) == v["hash"]


def test_native_gives_the_vectors():
    native = pytest.importorskip("cotm._native")
    for v in VECTORS["hash32"]:
        key = native.step_key(v["seed"], v["step"])
        h = native.hash32(key, v["purpose"], v["output"], v["clause"], v["index"])
        assert h == v["hash"]


@pytest.mark.parametrize(
    "source", ["native/randomness.hpp", "src/cotm/backends/cuda/kernels/randomness.cuh"]
)
def test_purposes_have_the_same_numbers_everywhere(source):
    """Those that backends draw for: the others are Python's own."""
    text = (Path(__file__).parents[2] / source).read_text()
    (listed,) = re.findall(
        r"^enum (?:class )?Purpose : \w+ \{\s+([^}]*\d)\s+\};", text, re.MULTILINE
    )
    numbers = dict(entry.split(" = ") for entry in re.split(r",\s+", listed))
    known = {name.removeprefix("k").upper(): int(number) for name, number in numbers.items()}
    assert known.keys() >= {"SELECT", "DRAW", "PATCH", "LIMIT"}
    assert known == {name: Purpose[name].value for name in known}


def test_pass_orders_are_pinned():
    for v in VECTORS["pass_order"]:
        assert pass_order(v["seed"], v["step"], len(v["order"])).tolist() == v["order"]


def test_hash_is_a_bijection_of_the_index():
    # A quadratic x (2x + b) with b odd permutes 32-bit words, so no two indices collide.
    key = make_key(step_key(3, 4), Purpose.DRAW, 1, 2)
    assert len(np.unique(hash32(key, np.arange(200_000, dtype=U32)))) == 200_000


def draws(n_keys: int, n_features: int, first: int = 0) -> np.ndarray:
    keys = make_key(step_key(99, 7), Purpose.DRAW, 3, np.arange(first, first + n_keys))
    return literal_draws(keys, n_features)


@pytest.mark.parametrize("q", [66, 655, 6554, 32768, 58982])
def test_rates(q):
    """Forgetting happens as often as 1/s says, with the spread of independent draws."""
    p = q / 65536
    forgets = draws(5000, 300) < q
    z = (forgets.mean() - p) / np.sqrt(p * (1 - p) / forgets.size)
    assert abs(z) < 4.5
    per_row = forgets.sum(axis=1)
    dispersion = per_row.var() / (forgets.shape[1] * p * (1 - p))
    assert abs(dispersion - 1) < 0.1  # 5 standard errors


@pytest.mark.parametrize("lag", [1, 2, 3, 8, 64, 300])
def test_neighbours_within_a_row_are_independent(lag):
    """Row by row: a hash can be right on average and wrong for every single key."""
    q, p = 6554, 6554 / 65536
    centred = (draws(10_000, 300) < q) - p
    products = (centred[:, :-lag] * centred[:, lag:]).sum(axis=1)
    score = products / np.sqrt(centred.shape[1] - lag) / (p * (1 - p))
    assert abs(score.mean() * np.sqrt(len(score))) < 4.5
    assert abs(score.var() - 1) < 0.1


def test_neighbouring_keys_are_independent():
    p = 0.5
    centred = (draws(10_000, 50) < 32768) - p
    for distance in (1, 2, 64):
        z = (centred[:-distance] * centred[distance:]).sum() / 0.25
        z /= np.sqrt(centred[distance:].size)
        assert abs(z) < 4.5


def test_steps_seeds_and_purposes_differ():
    keys = {
        int(make_key(step_key(seed, step), purpose, output, clause))
        for seed in (0, 1, 2**64 - 1)
        for step in (0, 1, 2**40)
        for purpose in Purpose
        for output in (0, 1, 2**24 - 1)
        for clause in (0, 1, 2**31 - 1)
    }
    assert len(keys) == 3 * 3 * len(Purpose) * 3 * 3


def test_hash_bits_are_balanced():
    words = hash32(make_key(step_key(5, 5), Purpose.SELECT, 0), np.arange(100_000, dtype=U32))
    for bit in range(32):
        assert abs(((words >> U32(bit)) & U32(1)).mean() - 0.5) < 0.01


@pytest.mark.parametrize("order", [pass_order(4, 10, 1000), split_order(4, 1000)])
def test_orders_are_permutations_without_trend(order):
    assert sorted(order) == list(range(1000))
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.15


def test_mix64_has_no_fixed_zero():
    assert int(mix64(0)) != 0
    assert int(mix64(U64(2**64 - 1))) != int(mix64(0))
