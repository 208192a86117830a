"""What a training from a stream holds in memory, and what it says where that is too much."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import file_of

from cotm import CoTMClassifier, CoTMRegressor, Stream

#: Rows of a batch, and of two tables; what a training takes beside rows is the same for both.
BATCH, FEW, MANY = 10_000, 160_000, 360_000


def batches(kind: str, rows: int) -> Iterator[tuple[Any, ...]]:
    """Bits, and answers of some kind."""
    for first in range(0, rows, BATCH):
        X = np.random.default_rng(first).integers(0, 2, (BATCH, 8), dtype=np.uint8)
        numbers = X[:, 0] ^ X[:, 1]
        if kind == "texts":
            yield X, np.array(["no", "yes"], dtype=object)[numbers]
        elif kind == "quantities":
            yield X, numbers * 2.5
        elif kind == "weights":
            yield X, numbers, np.linspace(0.5, 1, BATCH)
        else:
            yield X, numbers


def most_held(kind: str, rows: int, folder: Path) -> int:
    """The most bytes that a training has of NumPy and Python at a time."""
    options: dict[str, Any] = {"n_clauses": 4, "epochs": 1, "random_state": 0, "n_jobs": 1}
    if kind == "quantities":
        model: Any = CoTMRegressor(**options)
    else:
        options |= {"class_weight": "balanced"} if kind == "balanced" else {}
        model = CoTMClassifier(**options, early_stopping=True, validation_fraction=0.02)
    tracemalloc.start()
    try:
        model.fit(Stream(lambda: batches(kind, rows), folder=folder))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "kind, most", [("texts", 1.5), ("weights", 1.5), ("balanced", 1.5), ("quantities", 12)]
)
def test_bytes_of_a_row(kind, most, tmp_path):
    """What is known of each row lies in files, but for quantities while they are summed."""
    few, many = (most_held(kind, rows, tmp_path) for rows in (FEW, MANY))
    assert (many - few) / (MANY - FEW) <= most


TIGHT = """
import resource, sys
import numpy as np
import cotm

rng = np.random.default_rng(0)
def batches():
    for _ in range(4):
        X = rng.normal(size=(20_000, 50))
        yield X, X[:, 0] > 0
X, y = next(batches())
model = cotm.CoTMClassifier(n_clauses=10, epochs=1, random_state=0).fit(cotm.Stream([(X, y)]))
before = model.memory_.copy()
status = open("/proc/self/status").read().split()
now = int(status[status.index("VmData:") + 1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (now + 10_000_000,) * 2)
try:
    model.fit(cotm.Stream(batches, folder=sys.argv[1]))
except MemoryError as error:
    print(error)
assert (model.memory_ == before).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits data as Linux does")
def test_too_little_memory_is_told(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", TIGHT, tmp_path], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert "the training from Stream(batches) needs more memory than it gets: " in run.stdout
    assert "of the stream, from row" in run.stdout and "raise the limit" in run.stdout
    assert os.listdir(tmp_path) == []


def test_text_labels_of_batches_become_classes_as_a_whole(tmp_path):
    """Also where a batch has other types, or new labels."""
    X = np.random.default_rng(0).integers(0, 2, (90, 3), dtype=np.uint8)
    for y in (
        [np.array(["b"] * 30), np.array(["aaa", "b"] * 15), np.array(["c"] * 30)],
        [np.arange(30) % 2, (np.arange(30) % 3) / 1.0, np.arange(30) % 2 > 0],
        [np.array(["b", "a"] * 15, dtype=object)] * 3,
    ):
        options: dict[str, Any] = {"n_clauses": 10, "epochs": 2, "random_state": 0}
        whole = CoTMClassifier(**options).fit(X, np.concatenate(y))
        parts = [(X[30 * k : 30 * k + 30], part) for k, part in enumerate(y)]
        model = CoTMClassifier(**options).fit(Stream(parts))
        assert model.classes_.dtype == whole.classes_.dtype
        assert file_of(model, tmp_path) == file_of(whole, tmp_path)
