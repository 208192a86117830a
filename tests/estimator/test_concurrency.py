"""Threads that train and predict with one machine at once. `make sanitize` runs these with the
thread sanitizer too."""

import threading
import time

import numpy as np
import pytest

from cotm.core.examples import Examples
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec, selection_scale
from cotm.core.state import start_weights

pytest.importorskip("cotm._native", reason="the native extension is not built")
from cotm.backends.native import NativeBackend

PATIENCE = 20  # seconds; a fair turn takes a small part of one


class Setting:
    """A backend with examples, and training of some rows."""

    def __init__(self, grid, n, rows, threads=1):
        rng = np.random.default_rng(0)
        self.spec = Spec(n=n, m=10, grid=grid, T=100, q=6554, N=128, max_literals=20)
        memory = np.where(rng.random((n, grid.n_literals)) < 3 / grid.n_literals, 1, -5)
        self.start = memory.astype(np.int8), start_weights(self.spec)
        self.backend = self.new_backend(threads)
        bits = rng.integers(0, 2, (rows, *grid.image_shape), dtype=np.uint8)
        self.data = self.backend.prepare(Examples(bits, grid))
        self.targets = rng.integers(0, 2, (rows, 10), dtype=np.uint8)

    def new_backend(self, threads=1):
        return NativeBackend(self.spec, *self.start, threads)

    def train(self, order, step=0, first=0, last=None):
        scales = selection_scale(1.0, np.ones(1))
        self.backend.train(self.data, self.targets, scales, order, step, first, last)


def in_threads(count, work):
    """Calls work over and over in so many threads; returns how to end them."""
    stop, failures = threading.Event(), []

    def loop():
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()

    def end():
        stop.set()
        for thread in threads:
            thread.join()
        assert not failures, failures

    return end


def test_training_gets_its_turn():
    """While four threads predict without a pause."""
    setting = Setting(PatchGrid(28, 28, 1, 10, 10), n=4000, rows=2000)
    end = in_threads(4, lambda: setting.backend.votes(setting.data))
    time.sleep(0.3)
    done = threading.Event()

    def train():
        for step in range(5):
            setting.train(np.arange(16), 16 * step)
        done.set()

    trainer = threading.Thread(target=train)
    trainer.start()
    in_time = done.wait(PATIENCE)
    end()
    trainer.join()
    assert in_time, "training waited for predictions that never paused"


def test_predictions_get_their_turn():
    """While two threads train without a pause."""
    setting = Setting(PatchGrid.flat(100), n=100, rows=200)
    end = in_threads(2, lambda: setting.train(np.arange(200)))
    began = time.perf_counter()
    for _ in range(5):
        setting.backend.votes(setting.data)
    spent = time.perf_counter() - began
    end()
    assert spent < PATIENCE


@pytest.mark.parametrize("grid", [PatchGrid.flat(300), PatchGrid(9, 9, 1, 4, 4)])
def test_predictions_between_slices_see_whole_states(grid):
    """Three threads predict while one trains on three: each sees the state after some slice."""
    setting = Setting(grid, n=150, rows=70, threads=3)
    order = np.resize(np.arange(70), 1100)  # threads go from block to block
    slices = [(first, first + 100) for first in range(0, 1100, 100)]
    alone = setting.new_backend()
    scales = selection_scale(1.0, np.ones(1))
    allowed = [alone.votes(setting.data).tobytes()]
    for first, last in slices:
        alone.train(setting.data, setting.targets, scales, order, 0, first, last)
        allowed.append(alone.votes(setting.data).tobytes())
    seen = set()

    def predict():
        seen.add(setting.backend.votes(setting.data, 2).tobytes())
        setting.backend.clause_outputs(setting.data)
        setting.backend.state()

    end = in_threads(3, predict)
    for first, last in slices:
        setting.train(order, 0, first, last)
        time.sleep(0.01)
    end()
    assert seen <= set(allowed)
    assert setting.backend.votes(setting.data).tobytes() == allowed[-1]


def test_marks_and_training_from_several_threads():
    """They take turns, whoever goes first; a pass of one thread does not become another's."""
    setting = Setting(PatchGrid.flat(120), n=60, rows=64, threads=2)
    orders = [np.arange(64), np.arange(64)[::-1].copy()]

    def train(order):
        for first in range(0, 64, 16):
            setting.train(order, 0, first, first + 16)
        setting.backend.mark()

    threads = [threading.Thread(target=train, args=(order,)) for order in orders * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory, weights = setting.backend.state()
    setting.train(orders[0])
    setting.backend.undo()
    found = setting.backend.state()
    assert np.array_equal(found[0], memory) and np.array_equal(found[1], weights)
