"""Checkpoints: a killed training ends where an uninterrupted one does."""

import functools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import hiding
from sklearn.datasets import load_digits

import cotm
from cotm import Checkpoint, CoTMClassifier

TRAINING = """
import sys, cotm
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
model = cotm.CoTMClassifier(
    300, epochs=120, random_state=5, early_stopping={early}, patience=120, n_jobs=2,
    callbacks=[cotm.Checkpoint(sys.argv[1], {when})],
)
model.fit(X, y)
"""


@functools.cache
def uninterrupted(early):
    X, y = load_digits(return_X_y=True)
    options = {"n_clauses": 300, "epochs": 120, "early_stopping": early, "patience": 120}
    return CoTMClassifier(**options, random_state=5).fit(X, y)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_training_resumes_exactly(early, number, tmp_path):
    path = tmp_path / "checkpoint.cotm"
    script = hiding("pandas") + TRAINING.format(early=early, when="every=2")
    process = subprocess.Popen([sys.executable, "-c", script, path], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, "no checkpoint appeared"
        time.sleep(0.01)
    time.sleep(0.2)  # somewhere in the middle of an epoch or of writing a file
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert b"KeyboardInterrupt" in errors

    X, y = load_digits(return_X_y=True)
    resumed = cotm.load(path)
    done = len(resumed.history_)
    assert 2 <= done < 120 and done % 2 == 0
    resumed.fit(X, y, resume=True)
    whole = uninterrupted(early)
    assert len(resumed.history_) == len(whole.history_) == 120
    assert np.array_equal(resumed.memory_, whole.memory_)
    assert np.array_equal(resumed.weights_, whole.weights_)
    assert resumed.step_ == whole.step_
    for name in ("train_accuracy", *(["validation_accuracy"] if early else [])):
        assert [r[name] for r in resumed.history_] == [r[name] for r in whole.history_]


def test_every_so_many_epochs_or_seconds(tmp_path, monkeypatch):
    X, y = load_digits(return_X_y=True)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    saved = []

    class Recorder(CoTMClassifier):
        def save(self, path):
            saved.append(len(self.history_))

    def advance(model, record):
        now[0] += 1.0

    def run(checkpoint):
        saved.clear()
        Recorder(10, epochs=7, callbacks=[advance, checkpoint], random_state=0).fit(X[:50], y[:50])
        return list(saved)

    path = tmp_path / "c.cotm"
    assert run(Checkpoint(path)) == [1, 2, 3, 4, 5, 6, 7]
    assert run(Checkpoint(path, every=3)) == [3, 6]
    assert run(Checkpoint(path, seconds=2.5)) == [3, 6]
    assert run(Checkpoint(path, every=4, seconds=3)) == [3, 4, 7]


@pytest.mark.parametrize("bad", [{"every": 0}, {"every": 1.5}, {"seconds": -1}])
def test_bad_intervals(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Checkpoint("c.cotm", **bad)


def test_a_checkpoint_that_cannot_be_written_stops_training_with_the_reason(tmp_path):
    X, y = load_digits(return_X_y=True)
    missing = tmp_path / "no" / "folder.cotm"
    model = CoTMClassifier(10, epochs=3, callbacks=[Checkpoint(missing)], random_state=0)
    with pytest.raises(FileNotFoundError, match="not saved"):
        model.fit(X[:50], y[:50])
    assert not hasattr(model, "history_"), "it is said before the work"
    assert not os.path.exists(missing.parent)
