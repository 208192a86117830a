"""What goes wrong in a stream leaves the estimator as it was, and no file behind."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import cut, left_in, table

from cotm import (
    Augmentation,
    CoTMClassifier,
    CoTMRegressor,
    ImageThermometer,
    NGrams,
    Stream,
)
from cotm.model.stored_inputs import _Stored

SMALL: dict[str, Any] = {"n_clauses": 10, "epochs": 2, "random_state": 5}


def refuses(
    source: Any, message: str | None, folder: Path, error: Any = ValueError, **options: Any
) -> None:
    """A fitted model stays as it was, to the last bit, and so does the folder of files."""
    frame = table(60)[["x", "colour", "label"]]
    model = CoTMClassifier(**SMALL).fit(frame[["x", "colour"]], frame["label"])
    model.set_params(**options)
    before = pickle.dumps(model)
    stream = Stream(source, folder=folder)
    with pytest.raises(error, match=message):
        model.fit(stream)
    assert pickle.dumps(model) == before
    del stream, source
    gc.collect()
    assert left_in(folder) == []


def pairs(*frames: pl.DataFrame) -> Any:
    return lambda: ((frame.drop("label"), frame["label"]) for frame in frames)


def test_batches_that_do_not_fit(tmp_path):
    frame = table(60)[["x", "colour", "label"]]
    other = frame.rename({"x": "y"})
    cases = {
        "now missing:\n- x(.|\n)*in batch 2 of the stream, from row 60 on": pairs(frame, other),
        "numbers in one part .* and times|dates": pairs(
            frame, frame.with_columns(pl.lit("2020-01-01").str.to_date().alias("x"))
        ),
        "y holds text in some batches and numbers|cannot be told apart": pairs(
            frame, frame.with_columns(label=pl.lit(1))
        ),
        "y has no label in 1 of 60 rows": pairs(
            frame,
            frame.with_columns(label=pl.when(pl.arange(60) == 7).then(None).otherwise("label")),
        ),
        "X holds no examples": pairs(frame[:0]),
        "1 class only": pairs(frame.with_columns(label=pl.lit("a"))),
        "has no answers": lambda: iter([frame]),
        "tuple of 4": lambda: iter([(1, 2, 3, 4)]),
        "60 examples, but 59 answers": lambda: iter([(frame[["x"]], frame["label"][1:])]),
        "some batches of the stream have weights": lambda: iter(
            [(frame[["x"]], frame["label"], np.ones(60)), (frame[["x"]], frame["label"])]
        ),
    }
    for message, source in cases.items():
        refuses(source, message, tmp_path)


def test_a_source_that_fails_or_changes(tmp_path):
    frame = table(60)[["x", "colour", "label"]]
    calls: list[int] = []

    def failing(error: BaseException, after: int = 2) -> Any:
        def source() -> Any:
            for number in range(4):
                if number == after:
                    raise error
                yield frame.drop("label"), frame["label"]

        return source

    def shrinking() -> Any:
        calls.append(1)
        return pairs(*[frame] * (4 - len(calls) % 3))()

    refuses(failing(OSError(5, "the net is gone")), "the net is gone", tmp_path, OSError)
    refuses(failing(KeyboardInterrupt()), None, tmp_path, KeyboardInterrupt)
    refuses(failing(RuntimeError("odd")), "odd", tmp_path, RuntimeError)
    refuses(shrinking, "must give the same rows whenever|table has changed", tmp_path)


def test_partial_fit_counts_whole_or_not_at_all(tmp_path):
    frame = table(60)[["x", "label"]]
    model = CoTMClassifier(**SMALL).fit(frame[["x"]], frame["label"])
    before = pickle.dumps(model)

    def source() -> Any:
        yield frame
        raise OSError(5, "the net is gone")

    with pytest.raises(OSError, match="the net is gone"):
        model.partial_fit(Stream(source, "label", folder=tmp_path))
    assert pickle.dumps(model) == before and left_in(tmp_path) == []


def test_an_interruption_while_bits_are_written(tmp_path, monkeypatch):
    append, written = _Stored.append, []

    def interrupted(self: Any, bits: Any) -> None:
        append(self, bits)
        written.append(left_in(tmp_path))
        if len(written) % 2 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Stored, "append", interrupted)
    frame = table(60)[["x", "colour", "label"]]
    refuses(pairs(*[frame] * 4), None, tmp_path, KeyboardInterrupt)
    assert all(written), "this test would not see a temporary file"


def test_an_iterator_is_read_once(tmp_path):
    frame = table(60)[["x", "label"]]
    stream = Stream(iter([*cut(frame, 0, 20)]), "label", folder=tmp_path)
    CoTMClassifier(**SMALL).fit(stream)
    with pytest.raises(ValueError, match="read once only, and it has been"):
        CoTMClassifier(**SMALL).fit(stream)


def test_what_streams_cannot_do_is_said_before_they_are_read(tmp_path):
    def unread() -> Any:
        raise AssertionError("it was read")

    stream, frame = Stream(unread), table(60)
    X, y = frame[["x"]], frame["label"]
    images = {"patch_shape": (2, 2), "image_shape": (4, 4)}
    for message, options, more in [
        ("augment", {"augment": Augmentation(shift=1), **images}, {}),
        ("scoring", {"scoring": "f1_macro", "early_stopping": True}, {}),
        ("target=", {}, {"y": y}),
        ("weight=", {}, {"sample_weight": np.ones(60)}),
        ("NGrams learns from all", {"booleanize": NGrams()}, {}),
        ("ImageThermometer learns from all", {"booleanize": ImageThermometer(), **images}, {}),
    ]:
        with pytest.raises(ValueError, match=message):
            CoTMClassifier(**{**SMALL, **options}).fit(stream, **more)
    with pytest.raises(ValueError, match="only bits are kept"):
        CoTMClassifier(**SMALL, scoring="f1_macro").fit(X, y, eval_set=stream)
    with pytest.raises(ValueError, match="classes must be passed"):
        CoTMClassifier(**SMALL).partial_fit(Stream(frame[["x", "label"]], "label"))
    with pytest.raises(ValueError, match=r"eval_set: .*no column"):
        CoTMClassifier(**SMALL).fit(X, y, eval_set=Stream(frame[["x"]], "label"))
    with pytest.raises(ValueError, match="requires y to be passed"):
        CoTMRegressor(**SMALL).fit(X)
    with pytest.raises(ValueError, match=r"cotm.Stream\(X"):
        CoTMClassifier(**SMALL).fit(X.lazy(), y)


def test_odd_streams():
    frame, X = table(20), np.zeros((20, 2))
    for message, arguments in [
        ("type dict", ({"x": [1]}, "x")),
        ("no names", (X, "y")),
        ("name a column", (iter([frame]), frame["label"])),
        ("name columns", (frame, frame[["x"]])),
    ]:
        with pytest.raises(ValueError, match=message):
            Stream(*arguments)
    with pytest.raises(ValueError, match="must be a list"):
        Stream(frame, "label", drop="x")
    with pytest.raises(ValueError, match="batch_rows"):
        Stream(frame, "label", batch_rows=0)
    with pytest.raises(ValueError, match=r"no column 'odd'.*x"):
        list(Stream(frame, "odd"))
    with pytest.raises(ValueError, match="has 3 rows, but the source has 20"):
        list(Stream(X, [1, 2, 3]))
    with pytest.raises(ValueError, match="leave out target"):
        list(Stream([(X, X[:, 0])], "y"))


def test_files_and_folders_that_cannot_be_read(tmp_path):
    frame = table(20)
    with pytest.raises(FileNotFoundError, match=r"none.parquet"):
        list(Stream(tmp_path / "none.parquet", "label"))
    with pytest.raises(ValueError, match=r"holds no Parquet files"):
        list(Stream(tmp_path, "label"))
    (tmp_path / "bad.parquet").write_text("no Parquet")
    with pytest.raises(ValueError, match=r"bad.parquet.*cannot be read as Parquet"):
        list(Stream(tmp_path, "label"))
    frame.write_parquet(tmp_path / "bad.parquet")
    frame.with_columns(pl.col("x").cast(pl.Int64)).write_parquet(tmp_path / "good.parquet")
    with pytest.raises(ValueError, match=r"'x' is int64 in .*good.parquet.*but double in .*bad"):
        list(Stream(tmp_path, "label"))
    hive = tmp_path / "hive" / "day=1"
    hive.mkdir(parents=True)
    frame.write_parquet(hive / "part.parquet")
    with pytest.raises(ValueError, match=r"partitioning='hive'"):
        list(Stream(tmp_path / "hive", "label"))
    with pytest.raises(ValueError, match=r"polars.scan_csv"):
        list(Stream(__file__, "label"))


FULL = """
import resource, sys
import numpy as np
import cotm

rng = np.random.default_rng(0)
X, y = rng.normal(size=(4000, 4)), np.arange(4000) % 2
model = cotm.CoTMClassifier(n_clauses=10, epochs=1, random_state=0).fit(X[:100], y[:100])
before = model.memory_.copy()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
parts = [(X[i : i + 500], y[i : i + 500]) for i in range(0, 4000, 500)]
for source in (parts, iter(parts)):
    try:
        model.fit(cotm.Stream(source, folder=sys.argv[1]))
    except OSError as error:
        print(error)
assert (model.memory_ == before).all()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of that kind")
def test_a_full_disk(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path, "20000"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "error::ResourceWarning"},
    )
    assert run.returncode == 0, run.stderr
    bits, batches = run.stdout.strip().splitlines()
    assert "the bits of the examples cannot be kept" in bits
    assert "the batches of an iterator cannot be kept" in batches
    for said in (bits, batches):
        assert "make room there, or choose another folder" in said and str(tmp_path) in said
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    stream = Stream(np.eye(6), [0, 1] * 3, folder=tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"choose another folder.*none"):
        CoTMClassifier(**SMALL).fit(stream)
