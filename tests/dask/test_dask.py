"""Arrays and frames of Dask: what is learned from them is what is learned from them in memory."""

import importlib
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

import cotm
from cotm.pools import fit_pools

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
from dask import delayed  # noqa: E402

from cotm.dask import CoTMClassifier  # noqa: E402
from cotm.dask.fitting import Workers  # noqa: E402
from cotm.pools.shares import Rows  # noqa: E402

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(240, 3)).round(2)
LABELS = (TABLE[:, 0] * TABLE[:, 1] > 0).astype(int)
POOLS = {"n_pools": 2, "refine": 1}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def parameters(**others):
    return {"n_clauses": 20, "epochs": 2, "random_state": 4} | others


def file_of(model, folder):
    model.save(folder / "model.cotm")
    return (folder / "model.cotm").read_bytes()


def array(values, rows=90):
    return da.from_array(values, chunks=(rows, *np.shape(values)[1:]))


def frame():
    """Numbers with gaps, categories, texts, dates; and labels."""
    table = pd.DataFrame(TABLE[:, :2], columns=["high", "low"])
    table.loc[::7, "high"] = np.nan
    table["kind"] = pd.Categorical(np.where(TABLE[:, 2] > 0, "old", "new"))
    table["word"] = np.where(TABLE[:, 1] > 0.3, "yes", "no")
    table.loc[::11, "word"] = None
    table["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(240) % 50, unit="D")
    table["label"] = np.where(LABELS, "good", "bad")
    return table


def same_as_local(folder, X, y, local_X, local_y, weight=None, **others):
    """The model, whose file is equal to that of the same training without Dask."""
    weights = () if weight is None else (weight,)
    found = CoTMClassifier(**parameters(**others), **POOLS).fit(
        X, y, *map(array, weights)
    )  # fmt: skip
    local = fit_pools(
        cotm.CoTMClassifier(**parameters(**others)), local_X, local_y, *weights, **POOLS
    )
    assert file_of(found, folder) == file_of(local, folder)
    return found


# What is learned ----------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(240, 3), (100, 2), (24, 3), ((0, 30, 0, 210), 3)])
def test_partitions_change_nothing(client, chunks, tmp_path):
    X = da.from_array(TABLE, chunks=chunks)
    same_as_local(tmp_path, X, array(LABELS, 50), TABLE, LABELS)


def test_frames_with_categories_and_missing_values(client, tmp_path):
    table = frame()
    lazy = dd.from_pandas(table, npartitions=4)
    X, y = lazy.drop(columns="label"), lazy["label"]
    local = table.drop(columns="label")
    model = same_as_local(tmp_path, X, y, local, table["label"])
    assert [*model.feature_names_in_] == [*local.columns]
    assert {"kind = new", "word = yes", "word is missing", "high is missing"} <= {
        *model.booleanizer_.get_feature_names_out()
    }
    predicted = model.predict(X)
    assert predicted.compute().tolist() == model.to_local().predict(local).tolist()
    assert model.score(X, y) == model.to_local().score(local, table["label"])
    # Categories that each partition knows some of only.
    parts = [table.iloc[:100].copy(), table.iloc[100:].copy()]
    for part in parts:
        part["kind"] = part["kind"].astype(str).astype("category")
    by_parts = dd.from_delayed([delayed(part) for part in parts], meta=parts[0])
    same_as_local(tmp_path, by_parts.drop(columns="label"), by_parts["label"], local,
                  table["label"])  # fmt: skip


IMAGES, DIGITS = load_digits(return_X_y=True)
IMAGES, DIGITS = IMAGES[:300].reshape(-1, 8, 8), DIGITS[:300]


@pytest.mark.parametrize(
    "X, options",
    [
        ((IMAGES * 15).astype(np.uint8), {}),
        ((IMAGES * 15).astype(np.int64), {}),  # bytes by their range
        (IMAGES + 0.25, {}),
        ((IMAGES > 7).astype(np.uint8), {}),
        ((IMAGES * 15).astype(np.uint8), {"booleanize": cotm.EdgeThermometer()}),
        (np.stack([IMAGES, 16 - IMAGES], axis=3), {"booleanize": cotm.ImageThermometer(2)}),
    ],
    ids=["bytes", "integers", "floats", "bits", "edges", "channels"],
)
def test_images(client, X, options, tmp_path):
    same_as_local(tmp_path, array(X), array(DIGITS), X, DIGITS, patch_shape=(4, 4), **options)


@pytest.mark.parametrize(
    "X",
    [
        (TABLE > 0).astype(np.uint8),
        np.where(np.arange(240)[:, None] < 90, TABLE > 0, TABLE),  # bits in the first part only
        np.column_stack([TABLE, np.arange(240) % 7]),
    ],
    ids=["bits", "some bits", "numbers"],
)
def test_tables(client, X, tmp_path):
    same_as_local(tmp_path, array(X), array(LABELS), X, LABELS)
    names = np.array(["no", "yes"])[LABELS]
    same_as_local(tmp_path, array(X), array(names), X, names, booleanize=cotm.Thermometer(3))


def test_thresholds_are_exact_however_many_numbers_there_are(client, tmp_path):
    X = np.random.default_rng(1).normal(size=(60_000, 1))
    y = (X[:, 0] > 0.7).astype(int)
    assert not cotm.Booleanizer().summary().update(X).is_exact, "it takes one pass only"
    same_as_local(tmp_path, array(X, 25_000), array(y, 25_000), X, y, epochs=1)


def test_sparse_parts(client, tmp_path):
    X = scipy.sparse.random(240, 1200, density=0.02, format="csr", random_state=0)
    X.data[:] = 1
    y = (np.asarray(X[:, :600].sum(axis=1)).ravel() > 12).astype(int)
    parts = [da.from_delayed(delayed(X[k : k + 80]), (80, 1200), X.dtype) for k in (0, 80, 160)]
    lazy = da.concatenate(parts)
    model = same_as_local(tmp_path, lazy, array(y, 80), X, y, T=50)
    assert model.preset_ == "text"
    assert np.array_equal(model.votes(lazy).compute(), model.to_local().votes(X))


def test_dask_knows_how_large_rows_and_states_are():
    from dask.sizeof import sizeof

    bits = np.zeros((800, 80), dtype=np.uint8)
    examples, targets, weight = cotm.Machine(7, 5)._check_training(bits, bits[:, :2], None, None)
    assert 8_000 < sizeof(Rows.of(examples, targets, weight)) < 9_000
    model = cotm.CoTMClassifier(**parameters(average=2)).fit(TABLE, LABELS)
    state = model.machine_.snapshot()
    assert sizeof((state, 1)) > state.memory.nbytes + state.earlier[0].included.nbytes


def test_weights_and_several_labels(client, tmp_path):
    weight = np.maximum(0, np.linspace(-2, 2, 240))  # 0 in all of the first part
    more = {"class_weight": "balanced", "constraints": cotm.Constraints(forbid={0: [1]})}
    same_as_local(tmp_path, array(TABLE), array(LABELS), TABLE, LABELS, weight, **more)
    several = np.column_stack([LABELS, TABLE[:, 2] > 0]).astype(np.uint8)
    model = same_as_local(tmp_path, array(TABLE), array(several), TABLE, several)
    right = (model.to_local().predict(TABLE) == several).all(axis=1).mean()
    assert model.predict(array(TABLE)).shape == (240, 2)
    assert model.score(array(TABLE), array(several)) == pytest.approx(right)


# Predicting ---------------------------------------------------------------------------------


def test_predictions_are_lazy_and_equal(client):
    X, y = array(TABLE), array(LABELS)
    model = CoTMClassifier(**parameters(), **POOLS, client=client).fit(X, y)
    local = model.to_local()
    for method in ("predict", "predict_proba", "votes", "decision_function"):
        found = getattr(model, method)(X)
        assert isinstance(found, da.Array) and found.chunks[0] == (90, 90, 60)
        expected = getattr(local, method)(TABLE)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.array_equal(found.compute(), expected)
        assert np.array_equal(getattr(model, method)(TABLE), expected), "of arrays at once"
    weight = array(np.linspace(0, 1, 240))
    assert model.score(X, y, weight) == pytest.approx(local.score(TABLE, LABELS, weight.compute()))

    def never():
        raise RuntimeError("it was computed")

    poisoned = da.from_delayed(delayed(never)(), (10, 3), float)
    lazy = model.predict(poisoned)
    with pytest.raises(RuntimeError, match="it was computed"):
        lazy.compute()
    unknown = X[X[:, 0] > 0]  # nobody knows how many rows these are
    assert np.isnan(model.predict(unknown).shape[0])
    assert np.array_equal(model.predict(unknown).compute(), local.predict(TABLE[TABLE[:, 0] > 0]))


def test_unknown_lengths_are_counted(client, tmp_path):
    X, y = array(TABLE), array(LABELS)
    known = TABLE[:, 2] > -0.5
    same_as_local(tmp_path, X[X[:, 2] > -0.5], y[X[:, 2] > -0.5], TABLE[known], LABELS[known])


# As an estimator ----------------------------------------------------------------------------


def test_it_is_cloned_pickled_and_plain(client, tmp_path):
    model = CoTMClassifier(20, 30, 5.0, n_pools=3, client=client, random_state=1, epochs=1)
    assert model.n_clauses == 20 and model.T == 30 and model.get_params()["n_pools"] == 3
    assert set(model.get_params()) - set(cotm.CoTMClassifier().get_params()) == {
        "n_pools", "pool_rows", "refine", "client",
    }  # fmt: skip
    assert clone(model).client is client and clone(model).n_pools == 3
    with pytest.raises(TypeError, match="n_cluses"):
        CoTMClassifier(n_cluses=3)
    model.fit(array(TABLE), array(LABELS))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    local = model.to_local()
    assert type(local) is cotm.CoTMClassifier
    assert local.get_params() == {n: model.get_params()[n] for n in local.get_params()}
    assert file_of(model, tmp_path) == file_of(local, tmp_path) == file_of(again, tmp_path)
    loaded = cotm.load(tmp_path / "model.cotm")
    assert type(loaded) is cotm.CoTMClassifier
    assert np.array_equal(loaded.predict(TABLE), local.predict(TABLE))
    assert not hasattr(clone(model).to_local(), "memory_")


def test_ctrl_c_leaves_the_model_as_it_was(client, monkeypatch):
    model = CoTMClassifier(**parameters(), **POOLS).fit(array(TABLE), array(LABELS))
    before = model.memory_
    in_turn = Workers.in_turn

    def interrupted(self, promises, done):
        def told(number, counts):
            raise KeyboardInterrupt

        return in_turn(self, promises, told)

    monkeypatch.setattr(Workers, "in_turn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(array(TABLE), array(1 - LABELS))
    assert np.array_equal(model.memory_, before)
    monkeypatch.undo()
    model.fit(array(TABLE), array(LABELS))
    assert np.array_equal(model.memory_, before)


def test_progress_is_shown(client, capsys):
    CoTMClassifier(**parameters(verbose=2), **POOLS).fit(array(TABLE), array(LABELS))
    lines = capsys.readouterr().err.splitlines()
    assert "20 clauses in 2 pools, 240 examples" in lines[0]
    assert [line.split("  ")[0] for line in lines[1:]] == [f"epoch {k}/3" for k in (1, 2, 3)]


# What is refused ----------------------------------------------------------------------------


def frames(first, second):
    return dd.from_delayed([delayed(first), delayed(second)], meta=first, verify_meta=False)


def test_partitions_that_do_not_fit_are_named(client):
    table = frame()
    first, second = table.iloc[:100], table.iloc[100:]
    y = dd.from_pandas(table["label"], npartitions=2)
    odd = frames(first[["high", "low"]], second[["high", "word"]])
    labels = frames(first[["label"]], second[["label"]])["label"]
    fit = CoTMClassifier(**parameters(), **POOLS).fit
    with pytest.raises(ValueError, match="partition 1 of X has other columns than partition 0"):
        fit(odd, labels)
    with pytest.raises(ValueError, match=r"partition \d of X has 1\d0 rows, but that of y has 120"):
        fit(frames(first[["high"]], second[["high"]]), y)
    parts = [
        da.from_delayed(delayed(np.ones)((5, width)), (5, 3), float) for width in (3, 4)
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"partition 1 of X has rows of shape \(4,\)"):
        fit(da.concatenate(parts), array(LABELS[:10], 5))


@pytest.mark.parametrize(
    "X, y, error, message",
    [
        (TABLE, LABELS, TypeError, "X is a ndarray, but must be an array, frame"),
        (array(TABLE), LABELS, TypeError, "y is a ndarray"),
        (array(TABLE), array(LABELS[:-1]), ValueError, "X has 240 rows, but y has 239"),
        (array(TABLE)[array(TABLE)[:, 0] > 0], array(LABELS, 240), ValueError,
         r"X has 3 partitions and y 1.*compute_chunk_sizes"),
        (array(TABLE)[array(TABLE)[:, 0] > 9], array(LABELS)[array(TABLE)[:, 0] > 9],
         ValueError, r"X holds no examples \(0 rows\)"),
        (array(TABLE), array(0 * LABELS), ValueError, "y has 1 class only"),
        (array(TABLE[:, 0]), array(LABELS), ValueError, "Expected 2D array"),
        (array(IMAGES), array(DIGITS), ValueError, "set patch_shape"),
        (array(TABLE), array(TABLE[:, 0]), ValueError, "continuous"),
    ],
    ids=["array", "labels", "rows", "partitions", "nothing", "classes", "1d", "images", "numbers"],
)  # fmt: skip
def test_bad_data_is_refused(client, X, y, error, message):
    model = CoTMClassifier(**parameters(), **POOLS)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not hasattr(model, "memory_")


def test_what_cannot_be_done_is_refused(client):
    X, y = array(TABLE), array(LABELS)
    with pytest.raises(ValueError, match=r"NGrams\(\) learns from all of X at once"):
        CoTMClassifier(**parameters(booleanize=cotm.NGrams())).fit(X, y)
    with pytest.raises(ValueError, match="several labels at once None"):
        CoTMClassifier(**parameters(class_weight="balanced"), **POOLS).fit(
            X, array(np.column_stack([LABELS, 1 - LABELS]))
        )
    with pytest.raises(ValueError, match="sample_weight is 0 for every example"):
        CoTMClassifier(**parameters(), **POOLS).fit(X, y, array(np.zeros(240)))
    with pytest.raises(ValueError, match="pools train for as many epochs"):
        CoTMClassifier(**parameters(early_stopping=True)).fit(X, y)
    with pytest.raises(ValueError, match=r"must be a distributed\.Client"):
        CoTMClassifier(**parameters(), client="tcp://nowhere").fit(X, y)
    with pytest.raises(ValueError, match="n_pools=20 leaves a pool without any of the 15 rows"):
        CoTMClassifier(**parameters(), n_pools=20).fit(array(TABLE[:15]), array(LABELS[:15]))


def test_without_a_client(monkeypatch):
    def none(*given, **named):
        raise ValueError("no clients found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match="there is no Dask client; make one before"):
        CoTMClassifier(**parameters()).fit(array(TABLE), array(LABELS))


def test_without_dask(monkeypatch):
    monkeypatch.delitem(sys.modules, "cotm.dask")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "cotm\[dask\]"'):
        importlib.import_module("cotm.dask")
