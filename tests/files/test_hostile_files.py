"""Model files that lie with a right checksum: refused, or a model that works; little memory."""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers import classifier
from sklearn.datasets import load_digits, load_iris

import cotm
from cotm import ModelFileError, TMClassifier
from cotm.files import container
from cotm.files.classes import MAX_CLASS_NAME
from cotm.files.encode import encode
from cotm.files.texts import pack_texts, unpack_texts

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
IMAGES = DIGITS_X[:60].reshape(-1, 8, 8)


def pack(header, tensors):
    return container.pack(json.dumps(header), tensors)


def load_bytes(data, tmp_path):
    path = tmp_path / "mutant.cotm"
    path.write_bytes(data)
    return cotm.load(path)


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"age": rng.normal(40, 10, 60), "city": rng.choice(["Oslo", "Rome", None], 60)}
    )


small = partial(classifier, n_clauses=6, epochs=2, random_state=0)


def models():
    y = DIGITS_Y[:60]
    signal = (DIGITS_X[:60] > 7).astype(np.uint8)
    yield small().fit(IRIS_X, IRIS_Y)
    yield small(class_weight={0: 1.0, 1: 0.5}, average=2).fit(frame(), y % 2)
    yield small(patch_shape=(3, 3), stride=2).fit(IMAGES, y)
    yield small(patch_shape=(3, 3), image_shape=(8, 8)).fit(signal, y)
    yield small(TMClassifier, n_clauses=10, patch_shape=(4, 4)).fit(
        (IMAGES * 15).astype(np.uint8), y
    )
    yield small(patch_shape=(3, 3)).fit(np.stack([IMAGES, IMAGES], axis=-1), y)
    yield small(patch_shape=(5,), stride=(3,)).fit(signal, np.array(list("ab"))[y % 2])
    yield small(patch_shape=(5,), booleanize=cotm.Thermometer(2)).fit(DIGITS_X[:60], y)
    yield small(booleanize=None).fit(signal, np.eye(10, dtype=int)[y])
    yield small().fit(IRIS_X, np.datetime64("2020-01-01") + IRIS_Y)
    cells = cotm.GradientHistogram((2, 3), quantiles=(0.5,))
    yield small(patch_shape=(2, 2), booleanize=cells).fit(IMAGES * 15, y)
    yield small(patch_shape=(3, 3), augment=cotm.Augmentation((1, 2), flip=True)).fit(IMAGES, y)
    rising, falling = (cotm.Schedule(*ends, epochs=9) for ends in ((3, 9), (9.5, 2)))
    yield small(T=rising, s=falling, tolerance=rising).fit(IRIS_X, IRIS_Y)
    parts = [cotm.GradientHistogram((2, 3), quantiles=(0.5,)), cotm.ImageThermometer(2)]
    yield small(patch_shape=(1, 1), booleanize=cotm.ImageUnion(parts)).fit(IMAGES * 15, y)
    named = cotm.ImageUnion([("gray", parts[1]), ("cells", parts[0])])
    yield small(patch_shape=(1, 1), booleanize=named).fit(IMAGES * 15, y)


def encoded_model(model):
    return encode(model._saved_model())


@pytest.fixture(scope="module")
def encoded():
    return [
        (json.loads(json.dumps(header)), tensors)
        for header, tensors in map(encoded_model, models())
    ]


def paths_into(value, prefix=()):
    if prefix:
        yield prefix
    for key in (
        value if isinstance(value, dict) else range(len(value) if type(value) is list else 0)
    ):
        yield from paths_into(value[key], (*prefix, key))


def value_at(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def mutated(value, rng):
    """Another value: a neighbour, a shorter or longer list, something else entirely."""
    options = [None, 0, 1, 2, 3, 8, 64, -1, 2**30, 2**62, 10**400, 0.5, 1e300, "", "auto", [], {}]
    if type(value) is int:
        options += [value + 1, max(0, value - 1), 2 * value] * 3
    if type(value) is list and value:
        options += [value[:-1], [*value, value[-1]], value[::-1], [1, *value]] * 3
    if type(value) is bool:
        options += [not value] * 5
    if type(value) is str:
        options += [value + "x", value[1:], "x" * (MAX_CLASS_NAME + 1)] * 2
    return options[rng.integers(len(options))]


def examples(model):
    """Data of the shape the model says; None if that is too much for a test."""
    shape = model._reader.example_shape or (model.n_features_in_,)
    if np.prod(shape, dtype=float) > 1e6:
        return None
    if hasattr(model, "feature_names_in_"):
        kinds = getattr(model.booleanizer_, "kinds_", ["number"] * len(model.feature_names_in_))
        columns = {
            name: ["Oslo", "?", None] if kind == "category" else [1, 0, 1]
            for name, kind in zip(model.feature_names_in_, kinds, strict=True)
        }
        return pd.DataFrame(columns)
    numbers = np.random.default_rng(0).integers(0, 2, (3, *shape))
    return numbers.astype(np.uint8)


def check_mutants(encoded, count, seed, tmp_path):
    rng = np.random.default_rng(seed)
    refused = usable = 0
    for number in range(count):
        header, tensors = encoded[number % len(encoded)]
        paths = [path for path in paths_into(header) if path[0] not in ("history", "cotm")]
        path = paths[rng.integers(len(paths))] if rng.random() < 0.97 else ("history", 0, "seconds")
        new = mutated(value_at(header, path), rng)
        try:
            model = load_bytes(pack(replaced(header, path, new), tensors), tmp_path)
        except ModelFileError:
            refused += 1
            continue
        X = examples(model)
        if X is not None:
            try:
                assert len(model.predict(X)) == len(X), (path, new)
                assert len(model.predict_proba(X)) == len(X)
                model.save(tmp_path / "again.cotm")
            except Exception as error:
                raise AssertionError(f"{path} = {new!r:.100}: {error!r}") from error
            cotm.load(tmp_path / "again.cotm")
        usable += 1
    return refused, usable


def test_mutants_are_refused_or_work(encoded, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # names that data have and a model not
        refused, usable = check_mutants(encoded, 2000, 0, tmp_path)
    assert refused > 1000 and usable > 100


CONTRADICTIONS = [
    (2, ("grid",), [8, 8, 4, 3, 3, 1, 1]),
    (2, ("grid",), [8, 8, 4, 3, 3, 2**30, 2**30]),
    (2, ("grid",), [9, 8, 4, 3, 3, 2, 2]),
    (2, ("example_shape",), [4, 16]),
    (2, ("example_shape",), None),
    (2, ("parameters", "patch_shape"), None),
    (2, ("parameters", "patch_shape"), [3, 2]),
    (2, ("parameters", "stride"), 3),
    (2, ("n_features_in",), 65),
    (4, ("booleanizer", "n_channels"), 2),
    (3, ("parameters", "image_shape"), [8, 8, 1, 1]),
    (0, ("example_shape",), [4]),
    (0, ("n_features_in",), 5),
    (0, ("parameters", "booleanize"), None),
    (0, ("booleanizer",), None),
    (0, ("parameters", "T"), 77),
    (0, ("parameters", "e"), 0.25),
    (0, ("parameters", "warm_start"), "yes"),
    (0, ("parameters", "epochs"), 2**64),
    (0, ("parameters", "class_weight"), "x"),
    (0, ("parameters", "class_weight"), [[0, "much"]]),
    (0, ("parameters", "class_weight"), [[0, -1.0]]),
    (0, ("classes",), [0, 1]),
    (0, ("classes_type",), "str"),
    (0, ("classes_type",), "datetime64[x]"),
    (0, ("classes_type",), "S5"),
    (0, ("target",), 2**70),
    (0, ("step",), 2**63),
    (0, ("best_step",), 5),
    (1, ("feature_names_in",), ["age", "town"]),
    (1, ("feature_names_in",), ["city", "age"]),
    (1, ("feature_names_in",), ["age"]),
    (9, ("classes",), [1, 2, -(2**63)]),
    (9, ("classes",), [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("which", "path", "new"), CONTRADICTIONS)
def test_fields_that_contradict_each_other(which, path, new, encoded, tmp_path):
    header, tensors = encoded[which]
    load_bytes(pack(header, tensors), tmp_path)
    with pytest.raises(ModelFileError, match="damaged"):
        load_bytes(pack(replaced(header, path, new), tensors), tmp_path)


def test_booleanizers_of_texts_that_nobody_asked_for(tmp_path):
    text = ["the cat", "a dog"] * 20
    header, tensors = encoded_model(
        small(booleanize=cotm.NGrams(min_texts=1)).fit(text, [0, 1] * 20)
    )
    header["parameters"]["booleanize"] = "auto"
    with pytest.raises(ModelFileError, match="booleanize is not what its booleanizer reads"):
        load_bytes(pack(header, tensors), tmp_path)


def test_a_grid_that_is_a_bomb(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 8, 8)).astype(np.uint8)
    header, tensors = encoded_model(small(patch_shape=(3, 3)).fit(X, rng.integers(0, 2, 50)))
    header["grid"] = [8, 8, 1, 3, 3, 2**30, 2**30]
    tensors["memory"] = np.full((6, 18), -1, np.int8)
    with pytest.raises(ModelFileError, match="grid"):
        load_bytes(pack(header, tensors), tmp_path)


@pytest.mark.parametrize("stride", [8, 9, 10**6])
def test_strides_beyond_the_image_become_its_size(stride, tmp_path):
    y = DIGITS_Y[:60]
    model = small(patch_shape=(3, 3), stride=stride, booleanize=None).fit(IMAGES > 7, y)
    header, tensors = encoded_model(model)
    for given in ([stride, stride], [8, 8]):
        header["grid"][5:] = given
        loaded = load_bytes(pack(header, tensors), tmp_path)
        assert loaded._reader.grid.stride_rows == loaded._reader.grid.stride_columns == 8
        assert loaded.stride == stride
        assert np.array_equal(loaded.votes(IMAGES > 7), model.votes(IMAGES > 7))
    header["grid"][5:] = [7, 7]
    with pytest.raises(ModelFileError, match="grid"):
        load_bytes(pack(header, tensors), tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("train_accuracy", 10**400),
        ("seconds", float("nan")),
        ("seconds", float("inf")),
        ("epoch", 1.0),
        ("epoch", True),
        ("note", "text"),
        ("seconds", None),
    ],
)
def test_learning_curves_are_finite_numbers(name, value, encoded, tmp_path):
    header, tensors = encoded[0]
    record = {**header["history"][0], name: value}
    with pytest.raises(ModelFileError, match="learning curve"):
        load_bytes(pack({**header, "history": [record]}, tensors), tmp_path)
    too_long = [header["history"][0]] * 100_001
    with pytest.raises(ModelFileError, match="100001 records"):
        load_bytes(pack({**header, "history": too_long}, tensors), tmp_path)


def test_class_names_are_names(encoded, tmp_path):
    header, tensors = encoded[6]
    good = load_bytes(pack({**header, "classes": ["a", "b" * MAX_CLASS_NAME]}, tensors), tmp_path)
    assert len(good.predict(DIGITS_X[:5] > 7)) == 5
    for kind in ("str", "object"):
        bad = {**header, "classes": ["a", "b" * (MAX_CLASS_NAME + 1)], "classes_type": kind}
        with pytest.raises(ModelFileError, match="10001 characters"):
            load_bytes(pack(bad, tensors), tmp_path)
    many = [f"{number:05}" for number in range(20_000)]
    wide = {**header, "classes": [*many, "x" * 9000]}
    with pytest.raises(ModelFileError, match="too long"):
        load_bytes(pack(wide, tensors), tmp_path)


# Memory and odd files ----------------------------------------------------------------

LOAD = """
import resource, sys, cotm
from cotm import classifier
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]) * 2**20,) * 2)
try:
    cotm.load(sys.argv[1])
except cotm.ModelFileError as error:
    print("refused:", str(error)[:300])
"""


def load_within(megabytes, path):
    done = subprocess.run(
        [sys.executable, "-c", LOAD, path, str(megabytes)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def raw_file(path, metadata_json):
    text = b'{"__metadata__":{"cotm":' + metadata_json + b"}}"
    path.write_bytes(len(text).to_bytes(8, "little") + text)


def test_a_header_of_millions_of_containers(tmp_path):
    """10 MB of empty objects would take 300 MB, and 90 MB nearly three gigabytes."""
    path = tmp_path / "bomb.cotm"
    many = b"[" + b"{}," * 3_000_000 + b"{}]"
    raw_file(path, b'"' + many + b'"')
    assert "objects and lists" in load_within(100, path)
    escaped = b"[" + rb"\u007b\u007d," * 3_000_000 + b"0]"
    raw_file(path, b'"' + escaped + b'"')
    assert "objects and lists" in load_within(250, path)
    raw_file(path, b'"[' + b"1," * 6_000_000 + b'1]"')
    assert "values" in load_within(100, path)


def test_devices_fail_at_once():
    began = time.monotonic()
    for path in ("/dev/zero", "/dev/null"):
        with pytest.raises(ModelFileError, match="not a model file of cotm"):
            cotm.load(path)
    with pytest.raises(ModelFileError, match="model file"):
        cotm.load("/dev/urandom")
    assert time.monotonic() - began < 5


def test_pipes(encoded, tmp_path):
    data = pack(*encoded[0])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def load_through_pipe(content):
        def feed():
            try:
                with open(pipe, "wb") as file:
                    file.write(content)
            except BrokenPipeError:
                pass

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            return cotm.load(pipe)
        finally:
            feeder.join()

    assert np.array_equal(load_through_pipe(data).memory_, load_bytes(data, tmp_path).memory_)
    for content in (data + b"x", data + bytes(10**7), data[:-1], data[:100], data[:9]):
        with pytest.raises(ModelFileError, match=r"damaged or truncated|cannot be read"):
            load_through_pipe(content)
    with pytest.raises(ModelFileError, match="not a model file"):
        load_through_pipe(b"")


def test_trailing_bytes_are_damage(encoded, tmp_path):
    with pytest.raises(ModelFileError, match="should have"):
        load_bytes(pack(*encoded[0]) + b"x", tmp_path)


def test_a_file_that_does_not_fit_into_memory(encoded, tmp_path, monkeypatch):
    data = pack(*encoded[0])
    monkeypatch.setattr("cotm.files.container.available_memory", lambda: 2 * len(data) - 1)
    with pytest.raises(MemoryError, match=r"mutant\.cotm.*needs about .* free some memory"):
        load_bytes(data, tmp_path)
    monkeypatch.setattr("cotm.files.container.available_memory", lambda: 2 * len(data))
    load_bytes(data, tmp_path)


# Texts in tensors --------------------------------------------------------------------


def test_texts_come_back():
    values = ["", "a", "ø", "日本", "\ud800", 'quo"te', 1, -5, 2.5, True, False, 10**30, "1"]
    again = unpack_texts(pack_texts(values))
    assert again == values and [type(v) for v in again] == [type(v) for v in values]
    assert unpack_texts(pack_texts([])) == []


def test_hostile_texts():
    good = pack_texts(["one", "two", 3])
    for change in (
        {"ends": np.array([3, 6], np.int64)},
        {"ends": np.array([3, 2, 7], np.int64)},
        {"ends": np.array([-1, 6, 7], np.int64)},
        {"ends": np.array([3, -(2**63), 7], np.int64)},
        {"ends": np.array([3, 6, 8], np.int64)},
        {"ends": np.array([3, 6, 2**62], np.int64)},
        {"ends": np.array([3, 6, 7], np.float64)},
        {"ends": np.array([[3, 6, 7]], np.int64)},
        {"numbers": np.array([0, 0, 2], np.uint8)},
        {"numbers": np.array([0, 1, 1], np.uint8)},
        {"bytes": np.array([255] * 7, np.uint8)},
        {"bytes": np.frombuffer(b"onetwo[", np.uint8)},
        {"more": np.zeros(3)},
        {"ends": np.zeros(0, np.int64), "numbers": np.zeros(0, np.uint8)},
    ):
        with pytest.raises(ValueError):
            unpack_texts({**good, **change})
    long = pack_texts([10**4000])
    long["bytes"] = np.full(6000, ord("1"), np.uint8)
    long["ends"] = np.array([6000], np.int64)
    with pytest.raises(ValueError, match="digits"):
        unpack_texts(long)
