"""A training from a stream is that of all rows at once, whatever the batches and their kind."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import cut, file_of, left_in, same, table

from cotm import (
    AdaptiveGaussianThreshold,
    Booleanizer,
    CoTMClassifier,
    CoTMRegressor,
    Stream,
    Thermometer,
    TMClassifier,
)
from cotm.backends import feeding
from cotm.core import temporary_files

FEATURES = ["x", "size", "colour", "day", "flag"]
SMALL: dict[str, Any] = {"n_clauses": 20, "epochs": 2, "random_state": 5}


@pytest.fixture(autouse=True, scope="module")
def small_pieces():
    """Windows and parts so small that few rows need many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporary_files, "_WINDOW", 512)
        patch.setattr(feeding, "_MOST_STORED_ROWS", 100)
        yield


@settings(max_examples=8, deadline=None)
@given(
    rows=st.integers(40, 250),
    most=st.integers(9, 90),
    seed=st.integers(0, 5),
    options=st.sampled_from(
        [
            {},
            {"early_stopping": True},
            {"average": 3, "shuffle": False},
            {"class_weight": "balanced", "n_jobs": 1},
            {"T": 5, "preset": "paper", "s": 3.0},
            {"booleanize": Booleanizer(3)},
            {"forgetting": "sampled", "drop_clauses": 0.3, "drop_literals": 0.2},
        ]
    ),
    weighted=st.booleans(),
)
def test_any_batches(tmp_path_factory, rows, most, seed, options, weighted):
    frame = table(rows, seed)
    parameters = {**SMALL, **options}
    weight = frame["weight"].to_numpy() if weighted else None
    whole = CoTMClassifier(**parameters).fit(frame[FEATURES], frame["label"], weight)
    drop = ["price"] if weighted else ["price", "weight"]
    stream = Stream(
        lambda: cut(frame, seed, most), "label", weight="weight" if weighted else None, drop=drop
    )
    model = CoTMClassifier(**parameters).fit(stream)
    assert same(model, whole, tmp_path_factory.mktemp("models"))
    assert (model.predict_proba(frame[FEATURES]) == whole.predict_proba(frame[FEATURES])).all()


def kinds_of_sources(frame: pl.DataFrame, folder: Any) -> dict[str, Any]:
    """The same rows in all the ways a stream reads them."""
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    ds = pytest.importorskip("pyarrow.dataset", reason="pyarrow is not installed")
    frame.write_parquet(folder / "table.parquet", row_group_size=60)
    parts = folder / "parts"
    parts.mkdir()
    for number, part in enumerate(cut(frame, 1, 90)):
        if len(part):
            part.write_parquet(parts / f"part-{number:03}.parquet")
    (parts / "_notes.parquet").write_text("of another program")
    pandas = frame.to_pandas()
    return {
        "file": folder / "table.parquet",
        "folder": str(parts),
        "dataset": ds.dataset(folder / "table.parquet"),
        "arrow": frame.to_arrow(),
        "lazy": pl.scan_parquet(folder / "table.parquet"),
        "polars": frame,
        "pandas": pandas,
        "dask": dd.from_pandas(pandas, npartitions=4),
        "list": [*cut(frame, 2, 70)],
        "function": lambda: cut(pandas, 3, 70),
        "iterator": cut(frame, 4, 70),
        "arrow batches": frame.to_arrow().to_batches(50),
    }


def test_every_kind_of_source(tmp_path):
    frame = table(300).drop("price", "weight")
    pandas = frame.to_pandas()
    by_polars = CoTMClassifier(**SMALL).fit(frame[FEATURES], frame["label"])
    by_pandas = CoTMClassifier(**SMALL).fit(pandas[FEATURES], pandas["label"])
    for title, source in kinds_of_sources(frame, tmp_path).items():
        batch_rows = None if title in ("arrow", "polars") else 37
        model = CoTMClassifier(**SMALL).fit(Stream(source, "label", batch_rows=batch_rows))
        whole = by_pandas if title in ("pandas", "dask", "function") else by_polars
        assert same(model, whole, tmp_path), title


@pytest.mark.parametrize("kind", ["memmap", "dask", "csr", "bits", "pairs"])
def test_arrays(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 6))
    y = X[:, 0] > X[:, 1]
    if kind == "bits":
        X = (X > 0).astype(np.int64)
    if kind == "csr":
        X = sp.csr_matrix(X * (X > 0.5))
    whole = CoTMClassifier(**SMALL).fit(X, y)
    if kind == "memmap":
        path = tmp_path / "X.npy"
        np.save(path, X)
        stream = Stream(np.load(path, mmap_mode="r"), y, batch_rows=40)
    elif kind == "dask":
        da = pytest.importorskip("dask.array", reason="dask is not installed")
        stream = Stream(da.from_array(X, chunks=(60, 4)), da.from_array(y, chunks=99))
    elif kind == "pairs":
        stream = Stream(list(zip(cut(X, 0, 60), cut(y, 0, 60), strict=True)))
    else:
        stream = Stream(X, y, batch_rows=40)
    assert same(CoTMClassifier(**SMALL).fit(stream), whole, tmp_path)


def test_sparse_bits_are_stored_as_they_are(tmp_path):
    """Resumed on dense rows too: the same data, whatever their form."""
    X = sp.random_array((200, 1500), density=0.01, random_state=0).astype(bool).tocsr()
    y = np.arange(200) % 3
    parameters = {**SMALL, "early_stopping": True}
    whole = CoTMClassifier(**parameters).fit(X, y)
    model = CoTMClassifier(**parameters).fit(Stream(X, y, batch_rows=33))
    assert whole._fitted.preset == "text" and same(model, whole, tmp_path)
    more = CoTMClassifier(**{**parameters, "epochs": 4}).fit(X, y)
    model.set_params(epochs=4).fit(Stream(X.toarray(), y, batch_rows=70), resume=True)
    assert (model.memory_ == more.memory_).all()


def test_several_labels_and_quantities(tmp_path):
    frame = table(200)
    both = frame.select(
        pl.col("flag").cast(int).alias("a"), (pl.col("x") > 0).cast(int).alias("b"), "x", "size"
    )
    whole = TMClassifier(**SMALL).fit(both[["x", "size"]], both[["a", "b"]])
    stream = Stream(both, ["a", "b"], batch_rows=30)
    model = TMClassifier(**SMALL).fit(stream)
    assert same(model, whole, tmp_path) and model.classes_.tolist() == ["a", "b"]
    columns = frame.select("x", "size", "label", "colour")  # some labels are missing
    whole = CoTMClassifier(**SMALL).fit(columns[["x", "size"]], columns[["label", "colour"]])
    model = CoTMClassifier(**SMALL).fit(Stream(columns, ["label", "colour"], batch_rows=30))
    assert same(model, whole, tmp_path)
    for target in ("price", ["price", "x"]):
        X = frame[["size", "colour"]]
        parameters = {**SMALL, "early_stopping": True}
        whole = CoTMRegressor(**parameters).fit(X, frame[target])
        stream = Stream(frame.select("size", "colour", "price", "x"), target, batch_rows=30)
        if target == "price":
            stream = Stream(frame.select("size", "colour", "price"), target, batch_rows=30)
        assert same(CoTMRegressor(**parameters).fit(stream), whole, tmp_path)


def test_images(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (60, 6, 6), dtype=np.uint8), np.arange(60) % 2
    for images, booleanize in ((X, "auto"), (X // 128, "auto"), (X, AdaptiveGaussianThreshold(3))):
        parameters = {**SMALL, "patch_shape": (3, 3), "booleanize": booleanize}
        whole = CoTMClassifier(**parameters).fit(images, y)
        model = CoTMClassifier(**parameters).fit(Stream(images, y, batch_rows=13))
        assert same(model, whole, tmp_path)


def test_partial_fit_goes_on_in_the_order_given(tmp_path):
    frame = table(300).drop("price", "weight")
    first, second = frame[:120], frame[120:]
    whole, model = CoTMClassifier(**SMALL), CoTMClassifier(**SMALL)
    for part in (first, second):
        whole.partial_fit(part[FEATURES], part["label"], classes=["no", "yes"])
    model.partial_fit(Stream(iter([*cut(first, 0, 40)]), "label"), classes=["no", "yes"])
    model.partial_fit(Stream(iter([*cut(second, 0, 40)]), "label"))
    assert same(model, whole, tmp_path)


def test_resume_eval_set_and_callbacks(tmp_path):
    """What is interrupted in memory goes on from a stream, and the other way round."""
    frame, other = table(300).drop("price", "weight"), table(90, seed=9).drop("price", "weight")
    pair = other[FEATURES], other["label"]
    long = {**SMALL, "epochs": 5, "patience": 9}
    whole = CoTMClassifier(**long).fit(frame[FEATURES], frame["label"], eval_set=pair)
    stream, held = Stream(frame, "label", batch_rows=50), Stream(other, "label", batch_rows=20)
    stop = {**long, "callbacks": [lambda model, record: _interrupt(record)]}
    model = CoTMClassifier(**stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(stream, eval_set=held)
    assert len(model.history_) == 2
    model.set_params(callbacks=None).fit(
        frame[FEATURES], frame["label"], eval_set=pair, resume=True
    )
    assert (model.memory_ == whole.memory_).all() and model.history_[-1]["epoch"] == 5
    again = CoTMClassifier(**stop)
    with pytest.raises(KeyboardInterrupt):
        again.fit(frame[FEATURES], frame["label"], eval_set=pair)
    again.set_params(callbacks=None).fit(stream, eval_set=held, resume=True)
    assert file_of(again, tmp_path) == file_of(whole, tmp_path)
    with pytest.raises(ValueError, match="X holds other values"):
        again.set_params(epochs=7).fit(Stream(frame.reverse(), "label"), eval_set=held, resume=True)


def _interrupt(record: Any) -> None:
    if record["epoch"] == 2:
        raise KeyboardInterrupt


def test_large_arrays_on_disk_are_streamed_by_themselves(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 6))
    np.save(tmp_path / "X.npy", X)
    y, memmap = X[:, 0] > 0, np.load(tmp_path / "X.npy", mmap_mode="r")
    whole = CoTMClassifier(**SMALL).fit(X, y)
    used = []
    monkeypatch.setattr("cotm.estimator.streamed.fit_batches", _noting(used))
    monkeypatch.setattr("cotm.estimator.streamed.available_memory", lambda: 11 * X.nbytes)
    assert same(CoTMClassifier(**SMALL).fit(memmap, y), whole, tmp_path) and used
    del used[:]
    monkeypatch.setattr("cotm.estimator.streamed.available_memory", lambda: 13 * X.nbytes)
    assert same(CoTMClassifier(**SMALL).fit(memmap, y), whole, tmp_path) and not used


def _noting(calls: list[Any]) -> Any:
    from cotm.model.stored_inputs import fit_batches

    def noting(*arguments: Any) -> Any:
        calls.append(arguments)
        return fit_batches(*arguments)

    return noting


def test_nothing_is_left_behind(tmp_path):
    frame = table(120).drop("price", "weight")
    stream = Stream(cut(frame, 0, 20), "label", folder=tmp_path)
    seen: list[list[str]] = []
    callback = [lambda model, record: seen.append(left_in(tmp_path))]
    model = CoTMClassifier(**SMALL, callbacks=callback).fit(stream)
    assert any(seen), "this test would not see a temporary file"
    del stream
    gc.collect()
    assert left_in(tmp_path) == [] and model.booleanizer_ is not None
    assert type(CoTMClassifier(booleanize=Thermometer()).fit(frame[["x"]], frame["label"]))
