"""Threads that predict, save and refuse while another trains: nothing is lost, nothing mixed.

Machines are large enough that making a backend outlasts Python's switch interval.
"""

import os
import pickle
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

import cotm
from cotm import CoTMClassifier

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def together(*works):
    """Run functions in threads that begin at once; the errors they raised."""
    errors, go = [], threading.Barrier(len(works))

    def call(work):
        go.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def until(done, work):
    """A function that works until the event is set."""

    def loop():
        while not done.is_set():
            work()

    return loop


def test_training_is_never_lost_beside_predictions(tmp_path):
    X = RNG.integers(0, 2, (60, 2000), dtype=np.uint8)
    y = X[:, 0] ^ X[:, 1]
    model = CoTMClassifier(2000, epochs=1, random_state=0, n_jobs=1).fit(X, y)
    model.save(tmp_path / "m.cotm")
    expected = model.partial_fit(X, y).memory_
    for trial in range(8):
        model = cotm.load(tmp_path / "m.cotm")
        predict = [lambda model=model: model.predict(X[:5])] * 8
        assert not together(lambda model=model: model.partial_fit(X, y), *predict)
        assert np.array_equal(model.memory_, expected), f"trial {trial}"


def test_fits_are_right_while_others_predict():
    X = RNG.integers(0, 2, (80, 600), dtype=np.uint8)
    y = X[:, 0] ^ X[:, 1]
    model = CoTMClassifier(3000, epochs=1, random_state=0, n_jobs=1).fit(X, y)
    expected, done = model.memory_.copy(), threading.Event()
    wrong = []

    def refit():
        for _ in range(6):
            wrong.append(not np.array_equal(model.fit(X, y).memory_, expected))
        done.set()

    assert not together(refit, *[until(done, lambda: model.predict(X[:3]))] * 4)
    assert not any(wrong)


def test_a_refused_prediction_changes_nothing_for_others():
    X = RNG.integers(0, 2, (50, 30))
    model = CoTMClassifier(20, epochs=2, random_state=0, n_jobs=1).fit(X, X[:, 0])
    done = threading.Event()

    def refused():
        for _ in range(300):
            with pytest.raises(ValueError, match="29 features"):
                model.predict(X[:, 1:])
        done.set()

    assert not together(refused, *[until(done, lambda: model.predict(X[:3]))] * 3)


def test_a_refused_prediction_does_not_undo_a_fit():
    frame = pd.DataFrame(RNG.normal(size=(500, 6)), columns=list("abcdef"))
    y = (frame.a > 0).astype(int).to_numpy()
    large = pd.DataFrame(RNG.normal(size=(300_000, 6)), columns=list("abcdef"))
    large.iloc[-1, -1] = np.inf
    model = CoTMClassifier(50, epochs=3, random_state=0, n_jobs=1).fit(frame, y)
    old, begun = model.machine_, threading.Event()

    def refused():
        begun.set()
        with pytest.raises(ValueError, match="inf"):
            model.predict(large)

    thread = threading.Thread(target=refused)
    thread.start()
    begun.wait()
    model.fit(frame, 1 - y)
    new = model.machine_
    thread.join()
    assert new is not old and model.machine_ is new


def test_labels_and_votes_belong_together():
    X = RNG.integers(0, 2, (64, 5), dtype=np.uint8)
    names = [np.array(["a", "b"])[X[:, 0]], np.array(["y", "x"])[X[:, 0]]]
    model = CoTMClassifier(200, epochs=2, random_state=0, n_jobs=1).fit(X, names[0])
    many = np.tile(X, (200, 1))
    allowed = []
    for labels in names:
        allowed.append(model.fit(X, labels).predict(X))
        assert (allowed[-1] == labels).mean() > 0.9
    done, mixed = threading.Event(), []

    def refit():
        for k in range(40):
            model.fit(X, names[k % 2])
        done.set()

    def predict():
        found = model.predict(many)[: len(X)]
        mixed.append(not any((found == labels).mean() > 0.8 for labels in allowed))

    assert not together(refit, *[until(done, predict)] * 3)
    assert mixed and not any(mixed)


def test_whole_states_are_saved_during_small_passes(tmp_path):
    X = RNG.integers(0, 2, (16, 500), dtype=np.uint8)
    y = X[:, 0]
    passes = 25

    def start():
        return CoTMClassifier(1000, random_state=0, n_jobs=1).partial_fit(X, y, classes=[0, 1])

    alone = start()
    states = {alone.step_: (1, alone.memory_.tobytes(), alone.weights_.tobytes())}
    for k in range(passes):
        alone.partial_fit(X, y)
        states[alone.step_] = k + 2, alone.memory_.tobytes(), alone.weights_.tobytes()
    model, done, copies = start(), threading.Event(), []

    def train():
        for _ in range(passes):
            model.partial_fit(X, y)
        done.set()

    def save():
        path = tmp_path / f"{threading.get_ident()}.cotm"
        model.save(path)
        copies.append(cotm.load(path))

    errors = together(
        train,
        until(done, save),
        until(done, lambda: copies.append(pickle.loads(pickle.dumps(model)))),
    )
    assert not errors and len(copies) > 4
    for copy in copies:
        found = len(copy.history_), copy.memory_.tobytes(), copy.weights_.tobytes()
        assert states[copy.step_] == found
    assert states[model.step_][1] == model.memory_.tobytes()


def test_trainings_wait_for_each_other():
    X = RNG.integers(0, 2, (10, 50), dtype=np.uint8)
    y = X[:, 0]
    model = CoTMClassifier(50, random_state=0, n_jobs=1)
    assert not together(*[lambda: model.partial_fit(X, y, classes=[0, 1])] * 8)
    alone = CoTMClassifier(50, random_state=0, n_jobs=1)
    for _ in range(8):
        alone.partial_fit(X, y, classes=[0, 1])
    assert model.step_ == alone.step_ == 80 and len(model.history_) == 8
    assert np.array_equal(model.memory_, alone.memory_)


def test_training_ends_while_threads_predict_without_a_pause():
    images = RNG.integers(0, 2, (300, 20, 20), dtype=np.uint8)
    y = images[:, 0, 0]
    model = CoTMClassifier(1000, patch_shape=(6, 6), epochs=1, random_state=0).fit(images, y)
    began = time.perf_counter()
    model.partial_fit(images[:100], y[:100])
    alone = time.perf_counter() - began
    done, seconds = threading.Event(), []

    def train():
        time.sleep(0.2)  # when all the others are at it
        began = time.perf_counter()
        model.partial_fit(images[:100], y[:100])
        seconds.append(time.perf_counter() - began)
        done.set()

    stop = threading.Timer(30, done.set)
    stop.start()
    assert not together(train, *[until(done, lambda: model.votes(images))] * 4)
    stop.cancel()
    assert seconds and seconds[0] < 10 + 20 * alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("rows", [16, 3000])
def test_a_child_forked_during_training_works(rows):
    X = RNG.integers(0, 2, (rows, 300), dtype=np.uint8)
    y = X[:, 0]
    model = CoTMClassifier(1000, epochs=1, random_state=0, n_jobs=1, backend="native").fit(X, y)
    done = threading.Event()
    thread = threading.Thread(target=until(done, lambda: model.partial_fit(X, y)))
    watcher = threading.Thread(target=until(done, lambda: model.votes(X)))
    thread.start()
    watcher.start()
    codes = []
    try:
        for _ in range(5):
            time.sleep(0.05)
            child = os.fork()
            if child == 0:
                try:
                    model.predict(X[:5])
                    model.partial_fit(X[:20], y[:20])
                    os._exit(0)
                finally:
                    os._exit(1)
            deadline = time.monotonic() + 20
            while True:
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid or time.monotonic() > deadline:
                    break
                time.sleep(0.01)
            if not pid:
                os.kill(child, 9)
                os.waitpid(child, 0)
            codes.append(status if pid else "hangs")
    finally:
        done.set()
        thread.join()
        watcher.join()
    assert codes == [0] * 5
