"""Model files: the same model back, or a clear error; never a crash."""

import json
import os
import stat
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from helpers import classifier, state
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import KBinsDiscretizer

import cotm
from cotm import ModelFileError, TMClassifier
from cotm.files import container

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
FIXTURE = Path(__file__).parent.parent / "data" / "format1.cotm"


small = partial(classifier, n_clauses=30, epochs=5, random_state=0)


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(80) < 0.1, np.nan, rng.normal(40, 10, 80)),
            "city": rng.choice(["Oslo", "Grimstad", None], 80),
            "smoker": rng.integers(0, 2, 80),
        }
    )


DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
IMAGES = DIGITS_X[:200].reshape(-1, 8, 8)
CASES = {
    "iris": (small(), IRIS_X, IRIS_Y),
    "text labels": (small(s=3.0, T=20), IRIS_X, np.array(["a", "bb", "ccc"])[IRIS_Y]),
    "boolean labels": (small(), IRIS_X, IRIS_Y == 1),
    "float labels": (small(), IRIS_X, IRIS_Y / 2.0 * 2),
    "object labels": (small(), IRIS_X, np.array(["x", "y", "z"], dtype=object)[IRIS_Y]),
    "frame": (small(), frame(), frame()["smoker"]),
    "multilabel": (small(), IRIS_X, np.eye(3, dtype=int)[IRIS_Y]),
    "named labels": (
        small(), IRIS_X, pd.DataFrame(np.eye(3, dtype=int)[IRIS_Y], columns=["b", "c", "a"]),
    ),
    "bits": (small(), (IRIS_X > 3).astype(int), IRIS_Y),
    "weighted": (small(TMClassifier), IRIS_X, IRIS_Y),
    "plain": (small(TMClassifier, T=5, weighted=False), IRIS_X, IRIS_Y),
    "images": (small(patch_shape=(4, 4), stride=2), IMAGES, DIGITS_Y[:200]),
    "flat images": (
        small(patch_shape=(3, 3), image_shape=(8, 8)), DIGITS_X[:200] > 7, DIGITS_Y[:200],
    ),
    "bytes": (
        small(patch_shape=(4, 4)), (IMAGES * 15).astype(np.uint8), DIGITS_Y[:200],
    ),
    "booleanizer": (small(booleanize=cotm.Thermometer(n_bits=3)), IRIS_X, IRIS_Y),
    "states": (small(average=3), IRIS_X, IRIS_Y),
    "options": (
        small(max_literals=5, max_weight=9, class_weight={0: 1.0, 1: 0.5, 2: 2.0}, e=0.7,
              e_scales="type2", boost_true_positive=False, memory_depth=10),
        IRIS_X, IRIS_Y,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_is_the_same_model(case, tmp_path):
    model, X, y = CASES[case]
    model.fit(X, y)
    model.save(tmp_path / "model.cotm")
    loaded = cotm.load(tmp_path / "model.cotm")
    assert type(loaded) is type(model)
    assert state(loaded) == state(model)
    assert loaded.seed_ == model.seed_ and loaded.T_ == model.T_
    assert loaded.history_ == model.history_
    assert np.array_equal(loaded.classes_, model.classes_)
    assert loaded.n_features_in_ == model.n_features_in_
    assert np.array_equal(loaded.votes(X), model.votes(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert [str(r) for r in loaded.rules()] == [str(r) for r in model.rules()]
    parameters = {k: v for k, v in model.get_params().items() if not k.startswith("booleanize")}
    assert {k: v for k, v in loaded.get_params().items() if k in parameters} == parameters
    for each in (loaded, model):
        each.set_params(warm_start=True, epochs=2).fit(X, y)
    assert state(loaded) == state(model), "training on differs"


def test_the_same_model_makes_the_same_file(tmp_path):
    model = small().fit(IRIS_X, IRIS_Y)
    files = set()
    for number in range(8):
        model.save(tmp_path / f"{number}.cotm")
        files.add((tmp_path / f"{number}.cotm").read_bytes())
    assert len(files) == 1


def test_feature_names_survive(tmp_path):
    model = small().fit(frame(), frame()["smoker"])
    model.save(tmp_path / "m.cotm")
    assert cotm.load(tmp_path / "m.cotm").feature_names_in_.tolist() == ["age", "city", "smoker"]


def test_format_1_stays_readable():
    """This file was written by the first release and must load for ever."""
    expected = json.loads(FIXTURE.with_suffix(".json").read_text())
    model = cotm.load(FIXTURE)
    assert model.votes(IRIS_X[::10]).tolist() == expected["votes"]
    assert model.predict(IRIS_X[::10]).tolist() == expected["predictions"]
    model.set_params(epochs=4).fit(
        IRIS_X, np.array(["setosa", "versicolor", "virginica"])[IRIS_Y], resume=True
    )
    assert model.step_ == 600
    assert int(model.memory_.astype(np.int64).sum()) == expected["memory_sum_after_4_epochs"]


def test_the_file_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.cotm"
    small().fit(IRIS_X, IRIS_Y).save(path)
    before = path.read_bytes()

    def crash(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="the model was not saved"):
        small(random_state=1).fit(IRIS_X, IRIS_Y).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.cotm"], "a temporary file was left behind"


def test_file_permissions_follow_the_umask(tmp_path):
    small().fit(IRIS_X, IRIS_Y).save(tmp_path / "m.cotm")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "m.cotm").stat().st_mode) == 0o666 & ~umask


def test_links_stay_links_and_devices_devices(tmp_path):
    model = small().fit(IRIS_X, IRIS_Y)
    (tmp_path / "link.cotm").symlink_to(tmp_path / "target.cotm")
    model.save(tmp_path / "link.cotm")
    assert (tmp_path / "link.cotm").is_symlink()
    assert state(cotm.load(tmp_path / "target.cotm")) == state(model)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        model.save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("path", ["missing/folder/m.cotm", "/proc/m.cotm", "."])
def test_unwritable_paths(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"the model was not saved.*choose a path"):
        small().fit(IRIS_X, IRIS_Y).save(path)


def test_what_cannot_be_saved_says_so(tmp_path):
    custom = small(booleanize=KBinsDiscretizer(3, encode="onehot-dense")).fit(IRIS_X, IRIS_Y)
    assert custom.score(IRIS_X, IRIS_Y) > 0.5
    with pytest.raises(TypeError, match="cannot be saved"):
        custom.save(tmp_path / "m.cotm")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.cotm"
    small(n_clauses=8).fit(frame(), frame()["smoker"]).save(path)
    return path.read_bytes()


def load_bytes(data, tmp_path):
    path = tmp_path / "mutant.cotm"
    path.write_bytes(data)
    return cotm.load(path)


def test_foreign_truncated_and_newer_files(saved, tmp_path):
    for data in (b"", b"{}", b"PK\x03\x04 something else entirely", b"\x80\x04\x95pickle"):
        with pytest.raises(ModelFileError, match=r"mutant\.cotm: .*not a model file of cotm"):
            load_bytes(data, tmp_path)
    other = safetensors.numpy.save({"weight": np.zeros(3)})
    with pytest.raises(ModelFileError, match="holds other tensors"):
        load_bytes(other, tmp_path)
    for length in (20, len(saved) // 2, len(saved) - 1):
        with pytest.raises(ModelFileError, match="damaged"):
            load_bytes(saved[:length], tmp_path)
    header, tensors = unpack(saved)
    with pytest.raises(ModelFileError, match=r"newer.*format.*got 2; upgrade cotm"):
        load_bytes(pack({**header, "format": 2}, tensors), tmp_path)
    with pytest.raises(FileNotFoundError):
        cotm.load(tmp_path / "nothing.cotm")


def test_ten_thousand_mutations(saved, tmp_path):
    """Load or a clear error, never a crash: bits flipped, bytes cut, doubled and moved."""
    rng = np.random.default_rng(0)
    loaded = 0
    for _ in range(10_000):
        data = bytearray(saved)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, len(data)))
            kind = rng.integers(4)
            if kind == 0:
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 1:
                data[at] = int(rng.integers(256))
            elif kind == 2:
                del data[at : at + int(rng.integers(1, 20))]
            else:
                data[at:at] = data[max(0, at - 9) : at]
            if not data:
                break
        try:
            load_bytes(bytes(data), tmp_path)
            loaded += 1
        except ModelFileError as error:
            assert "mutant.cotm" in str(error)
    assert loaded < 100, "the checksum should catch damage"


def unpack(data):
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["cotm"])
    return header, safetensors.numpy.load(data)


def pack(header, tensors):
    return container.pack(json.dumps(header), tensors)


def nasty_values():
    yield from (None, -1, 0, 1, 2**70, 1.5, float("nan"), "", "x" * 50, [], [1], {}, True, [[[]]])


def paths_into(value, prefix=()):
    yield prefix
    if isinstance(value, dict):
        for key in value:
            yield from paths_into(value[key], (*prefix, key))
    elif isinstance(value, list):
        for index in range(min(2, len(value))):
            yield from paths_into(value[index], (*prefix, index))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def test_hostile_headers_with_a_right_checksum(saved, tmp_path):
    """Someone who can write files can compute checksums too."""
    header, tensors = unpack(saved)
    X = frame()
    refused = usable = 0
    for path in list(paths_into(header))[1:]:
        for new in nasty_values():
            try:
                model = load_bytes(pack(replaced(header, path, new), tensors), tmp_path)
            except ModelFileError:
                refused += 1
                continue
            try:  # what loads may predict, or say why not
                model.predict(X)
                usable += 1
            except (ValueError, TypeError):
                pass
    assert refused > 500
    assert usable > 50


def test_hostile_tensors_with_a_right_checksum(saved, tmp_path):
    header, tensors = unpack(saved)
    for name in ("memory", "weights"):
        good = tensors[name]
        for bad in (good[:-1], good[:, :-1], good.astype(np.int16), good.ravel(), good[:0]):
            with pytest.raises(ModelFileError):
                load_bytes(pack(header, {**tensors, name: np.ascontiguousarray(bad)}), tmp_path)
        with pytest.raises(ModelFileError):
            load_bytes(pack(header, {k: v for k, v in tensors.items() if k != name}), tmp_path)
    shallow = {**header, "scheduled": {**header["scheduled"], "memory_depth": 1}}
    with pytest.raises(ModelFileError, match="memory out of range"):
        load_bytes(pack(shallow, tensors), tmp_path)


def test_a_model_opens_where_its_backend_is_missing(saved, tmp_path, monkeypatch):
    def check_backend(name):
        if name == "cuda":
            raise ValueError("backend='cuda' is not available")
        return "native"

    monkeypatch.setattr("cotm.files.parameters.check_backend", check_backend)
    header, tensors = unpack(saved)
    trained_elsewhere = {**header, "parameters": {**header["parameters"], "backend": "cuda"}}
    model = load_bytes(pack(trained_elsewhere, tensors), tmp_path)
    assert model.backend == "auto"
    assert len(model.predict(frame())) == 80
