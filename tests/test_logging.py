"""What the library logs, and that it leaves logging to the program."""

import logging
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers import classifier

import cotm
from cotm import backends, live

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (200, 12), dtype=np.uint8)
Y = X[:, 0] ^ X[:, 1]


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, logger="cotm")
    return lambda level: [r.getMessage() for r in caplog.records if r.levelname == level]


def small(**options):
    return classifier(n_clauses=20, T=15, s=3.0, random_state=0, **options)


def test_a_training_tells_of_its_epochs(said, caplog):
    small(epochs=3).fit(X, Y)
    begin, *epochs = said("INFO")
    assert begin.startswith("training epochs 1 to 3: 200 examples, 20 clauses, backend ")
    assert [text[:12] for text in epochs] == [f"epoch {k} of 3" for k in (1, 2, 3)]
    facts = next(record for record in caplog.records if record.getMessage() == epochs[0])
    assert facts.epoch == 1 and 0 <= facts.train_accuracy <= 1
    assert any(text.startswith("started the backend") for text in said("DEBUG"))


def test_early_stopping_and_callbacks_say_why_they_end_it(said):
    small(epochs=50, early_stopping=True, patience=2).fit(X, RNG.integers(0, 2, 200))
    assert "no better for 2 epochs; back to epoch" in said("INFO")[-1]
    small(epochs=5, callbacks=[lambda model, record: True]).fit(X, Y)
    assert said("INFO")[-1] == "stopped after epoch 1: a callback ended the training"


def test_files_are_told_when_saved_and_read(said, tmp_path):
    path = tmp_path / "model.cotm"
    small(epochs=1).fit(X, Y).save(path)
    assert said("INFO")[-1] == f"saved {path}, {path.stat().st_size} bytes"
    cotm.load(path)
    assert said("INFO")[-1] == f"read {path}, of cotm {cotm.__version__}"


def test_an_interruption_is_a_warning(said):
    def interrupt(model, record):
        if record["epoch"] == 2:
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        small(epochs=9, callbacks=[interrupt]).fit(X, Y)
    assert said("WARNING") == ["interrupted: the model is as after epoch 2"]


def test_backends_that_give_way_are_warnings(said, monkeypatch):
    def full(name, *rest):
        if name == "first":
            raise MemoryError
        return backends.make_backend(name, *rest)

    monkeypatch.setattr(live, "backends_for", lambda *_, **__: ["first", "reference"])
    monkeypatch.setattr(live, "make_backend", full)
    small(epochs=1).fit(X, Y)
    assert said("WARNING") == ["backend first has no room for this machine; taking the next"]


def test_the_root_logger_and_standard_error_stay_as_they_are():
    code = """
import logging, numpy as np, cotm
X = np.array([[0], [1]] * 20)
cotm.CoTMClassifier(4, epochs=2, random_state=0).fit(X, X[:, 0])
logging.getLogger("cotm.files").error("nobody asked for this")
assert not logging.getLogger().handlers
assert logging.getLogger("cotm").level == logging.NOTSET
assert [type(h).__name__ for h in logging.getLogger("cotm").handlers] == ["NullHandler"]
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
