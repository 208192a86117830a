"""A pass in slices is the pass in one; a mark can be gone back to."""

import time

import numpy as np
import pytest
import scipy.sparse
from configurations import random_configuration

from cotm.backends.protocol import TrainCounts
from cotm.backends.reference import ReferenceBackend
from cotm.core.examples import Examples
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

_native = pytest.importorskip("cotm._native", reason="the native extension is not built")
from cotm.backends.native import NativeBackend  # noqa: E402


def train_in_slices(backend, data, c, order, sizes):
    """The pass in slices of these sizes, over and over; what it counted in all."""
    hits = correct = missed = first = k = 0
    while first < len(order):
        last = min(len(order), first + sizes[k % len(sizes)])
        counts = backend.train(data, c.targets, c.scales, order, c.step, first, last)
        hits, correct = hits + counts.hits, correct + counts.correct
        missed, first, k = missed + counts.missed, last, k + 1
    return TrainCounts(hits, correct, missed)


def everything(backend, data):
    return (*backend.state(), backend.votes(data), backend.clause_outputs(data))


def assert_same(expected, found, what=""):
    for a, b in zip(expected, found, strict=True):
        assert np.array_equal(a, b), what


@pytest.mark.parametrize("seed", range(8))
def test_slices_of_the_reference(seed):
    c = random_configuration(seed, rows=4)
    whole, sliced = (ReferenceBackend(c.spec, c.memory, c.weights) for _ in range(2))
    counts = whole.train(c.examples, c.targets, c.scales, c.order, c.step)
    assert train_in_slices(sliced, c.examples, c, c.order, [1, 3]) == counts
    assert_same(whole.state(), sliced.state())


@pytest.mark.parametrize("seed", range(40))
def test_slices_equal_one_call(seed):
    """Past a block of examples, whatever the slices and the threads."""
    c = random_configuration(seed, rows=40)
    rng = np.random.default_rng(seed)
    order = rng.integers(0, 40, 600 if c.spec.grid.is_flat else 140)
    whole = NativeBackend(c.spec, c.memory, c.weights)
    data = whole.prepare(c.examples)
    counts = whole.train(data, c.targets, c.scales, order, c.step)
    expected = everything(whole, data)
    for sizes in ([1], [3], [7], [100], [100, 1, 7]):
        for threads in (1, 3):
            backend = NativeBackend(c.spec, c.memory, c.weights, threads)
            assert train_in_slices(backend, data, c, order, sizes) == counts
            assert_same(expected, everything(backend, data), f"{sizes}, {threads} threads")


@pytest.mark.parametrize("seed", range(20))
def test_slices_with_other_calls_between_them(seed):
    """Other numbers of threads, predictions, other training that is undone, leaps back."""
    c = random_configuration(100 + seed, rows=30)
    rng = np.random.default_rng(seed)
    order = rng.integers(0, 30, 300)
    backend = NativeBackend(c.spec, c.memory, c.weights)
    other = rng.integers(0, 30, 5)
    data = backend.prepare(c.examples)
    counts = backend.train(data, c.targets, c.scales, order, c.step)
    expected = everything(backend, data)
    machine = NativeBackend(c.spec, c.memory, c.weights)
    training = _native.Training(
        machine._machine, data, c.targets, c.scales, np.ascontiguousarray(order), c.step
    )
    first, found = 0, np.zeros(3, int)
    while first < len(order):
        last = min(len(order), first + int(rng.integers(0, 40)))
        *part, _ = training.run(first, last, int(rng.integers(1, 4)))
        found, first = found + part, last
        kind = rng.integers(4)
        if kind == 0:
            machine.votes(data, 2)
        elif kind == 1:
            machine.mark()
            machine.train(data, c.targets, c.scales, other, 3)
            machine.undo()
    assert tuple(found) == counts
    assert_same(expected, everything(machine, data))


def test_only_a_pass_that_goes_on_is_kept():
    c = random_configuration(1, rows=30)
    order = np.arange(30)
    backend = NativeBackend(c.spec, c.memory, c.weights)
    data = backend.prepare(c.examples)
    backend.train(data, c.targets, c.scales, order, 0, 0, 10)
    kept = backend._pass
    backend.train(data, c.targets, c.scales, order, 0, 10, 20)
    assert backend._pass is kept is not None
    assert kept.training.run(20, 25, 1)[-1] is False, "it went on in the middle of its block"
    backend.train(data, c.targets, c.scales, order.copy(), 0, 20, 25)
    assert backend._pass is not kept, "another order"
    backend.train(data, c.targets, c.scales, order, 0, 25, None)
    assert backend._pass is None, "the pass is over"
    backend.train(data, c.targets, c.scales, order, 0, 0, 10)
    with pytest.raises(ValueError, match="within the order"):
        backend.train(data, c.targets, c.scales, order, 0, 10, 31)
    assert backend._pass is None, "the call failed"
    backend.mark()
    backend.train(data, c.targets, c.scales, order, 0, 0, 10)
    backend.undo()
    assert backend._pass is None, "its state is gone"


def test_an_order_that_was_written_to_is_checked_again():
    c = random_configuration(1, rows=30)
    order = np.arange(30)
    backend = NativeBackend(c.spec, c.memory, c.weights)
    data = backend.prepare(c.examples)
    backend.train(data, c.targets, c.scales, order, 0, 0, 10)
    order[20] = 10**9
    with pytest.raises(ValueError, match="does not exist"):
        backend.train(data, c.targets, c.scales, order, 0, 10, 15)


def test_slices_of_wide_data_cost_about_one_call():
    """What a pass sets up, for each thread and feature, it sets up once."""
    rng = np.random.default_rng(0)
    rows, features = 150, 1 << 17
    matrix = scipy.sparse.random_array(
        (rows, features), density=50 / features, rng=rng, dtype=np.uint8, format="csr"
    )
    matrix.data[:] = 1
    grid = PatchGrid.flat(features)
    spec = Spec(n=2, m=1, grid=grid, T=10, q=13107, N=128)
    memory = np.full((spec.n, grid.n_literals), -1, np.int8)
    backend = NativeBackend(spec, memory, start_weights(spec), 2)
    data = backend.prepare(Examples(matrix, grid))
    targets = rng.integers(0, 2, (rows, 1), dtype=np.uint8)
    scales, order = selection_scale(1.0, np.ones(1)), np.arange(rows)
    backend.mark()

    def seconds(size):
        backend.undo()
        began = time.perf_counter()
        for first in range(0, rows, size):
            backend.train(data, targets, scales, order, 0, first, min(rows, first + size))
        return time.perf_counter() - began

    once, sliced = (min(seconds(size) for _ in range(3)) for size in (rows, 3))
    assert sliced < 2 * once + 0.1, f"{once:.3f} s in one call, {sliced:.3f} s in slices"


@pytest.mark.parametrize("kind", [ReferenceBackend, NativeBackend])
@pytest.mark.parametrize("seed", range(15))
def test_undo_goes_back_to_the_mark(kind, seed):
    rows = 3 if kind is ReferenceBackend else 12
    c = random_configuration(200 + seed, rows=rows)
    backend = kind(c.spec, c.memory, c.weights, 2)
    data = backend.prepare(c.examples)
    order = np.arange(rows)
    backend.train(data, c.targets, c.scales, order, 0)
    for step in (12, 24):
        backend.mark()
        before = everything(backend, data)
        for _ in range(2):
            counts = backend.train(data, c.targets, c.scales, order, step)
            after = everything(backend, data)
            backend.undo()
            assert_same(before, everything(backend, data))
        assert backend.train(data, c.targets, c.scales, order, step) == counts
        assert_same(after, everything(backend, data))


def test_undo_needs_a_mark():
    c = random_configuration(3)
    with pytest.raises(RuntimeError, match="no mark"):
        NativeBackend(c.spec, c.memory, c.weights).undo()
