"""What a training from a stream holds in memory, and what it says where that is too much."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import file_of, same

from cotm import CoTMClassifier, CoTMRegressor, Stream
from cotm.streaming.arrow_frame import ArrowFrame

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
import cotm

few, many = (cotm.Stream(path, "y", folder=sys.argv[3]) for path in sys.argv[1:3])
model = cotm.CoTMClassifier(n_clauses=10, epochs=1, random_state=0).fit(few)
before = model.memory_.copy()
assert "polars" not in sys.modules, "it takes addresses, and ends processes that have too few"
status = open("/proc/self/status").read().split()
now = int(status[status.index("VmData:") + 1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (now + 4_000_000,) * 2)
try:
    model.fit(many)
except MemoryError as error:
    print(error)
assert (model.memory_ == before).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits data as Linux does")
def test_too_little_memory_is_told(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(20_000, 50))).with_columns(y=pl.arange(20_000) % 2)
    files = {tmp_path / "few.parquet": frame[:50], tmp_path / "many.parquet": frame}
    for path, rows in files.items():
        rows.write_parquet(path)
    run = subprocess.run(
        [sys.executable, "-c", TIGHT, *files, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert run.returncode == 0, run.stderr
    assert "many.parquet') needs more memory than it gets: " in run.stdout
    assert "raise the limit" in run.stdout
    assert sorted(os.listdir(tmp_path)) == ["few.parquet", "many.parquet"]


def test_columns_of_every_type(tmp_path):
    """Parquet is read without polars, and becomes the bits that a frame of polars becomes."""
    rng, rows = np.random.default_rng(0), 120
    gone = pl.Series(rng.random(rows) < 0.2)
    number, places = pl.Series(rng.normal(size=rows)), pl.arange(rows, eager=True)
    whole = (number * 9).cast(pl.Int64)
    columns = {
        **{str(kind): whole.abs().cast(kind) for kind in (pl.UInt8, pl.Int8, pl.UInt64, pl.Int16)},
        **{str(kind): number.cast(kind) for kind in (pl.Float32, pl.Float64)},
        "bits": whole % 2 == 0,
        "words": (whole % 3).cast(pl.String),
        "days": pl.Series([dt.date(2024, 1, 1)] * rows) + places * dt.timedelta(days=1),
        "times": pl.Series([dt.datetime(2024, 1, 1)] * rows) + places * dt.timedelta(minutes=7),
    }
    frame = pl.DataFrame(columns)
    holes = frame.select(pl.when(~gone).then(pl.all()).name.suffix(" with holes"))
    X = pl.concat([frame, holes], how="horizontal")
    options: dict[str, Any] = {"n_clauses": 20, "epochs": 2, "random_state": 5}
    X.with_columns(label=whole % 2).write_parquet(tmp_path / "t.parquet")
    (batch, *_) = Stream(tmp_path / "t.parquet", "label", batch_rows=31).for_training()
    assert isinstance(batch.X, ArrowFrame)
    model = CoTMClassifier(**options).fit(Stream(tmp_path / "t.parquet", "label", batch_rows=31))
    assert same(model, CoTMClassifier(**options).fit(X, whole % 2), tmp_path)


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
