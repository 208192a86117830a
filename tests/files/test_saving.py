"""What is saved can be loaded, and what cannot be saved is found out before training."""

import datetime
import decimal
import fractions
import json
import os
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers import classifier
from sklearn.datasets import load_iris
from sklearn.preprocessing import KBinsDiscretizer

import cotm
from cotm import Checkpoint, CoTMClassifier, ModelFileError, TMClassifier
from cotm.files import check_class_names, check_saveable, container
from cotm.files.classes import MAX_CLASS_NAME
from cotm.files.encode import encode

X, Y = load_iris(return_X_y=True)
Fraction, Decimal = fractions.Fraction, decimal.Decimal


small = partial(classifier, n_clauses=10, epochs=1, random_state=3)


def again(model, tmp_path):
    model.save(tmp_path / "model.cotm")
    return cotm.load(tmp_path / "model.cotm")


@pytest.mark.parametrize(
    "change",
    [
        {"n_jobs": 2.0},
        {"n_jobs": 0},
        {"n_jobs": "all"},
        {"random_state": -5},
        {"random_state": 2**64},
        {"random_state": "dice"},
        {"random_state": np.random.default_rng(0)},
        {"backend": "steam"},
        {"backend": 5},
        {"s": None},
        {"stride": 0, "patch_shape": "x"},
    ],
)
def test_what_the_machine_has_in_use_is_saved(change, tmp_path):
    model = small(n_jobs=1).fit(X, Y)
    before = model.predict(X)
    model.set_params(**change)
    loaded = again(model, tmp_path)
    assert loaded.seed_ == model.seed_ == 3
    assert loaded.n_jobs == 1 and loaded.n_clauses == 10 and loaded.backend == "auto"
    assert loaded.random_state in (3, None)
    assert np.array_equal(loaded.predict(X), before)
    loaded.partial_fit(X, Y)


@pytest.mark.parametrize(
    "change",
    [
        {"warm_start": "yes"},
        {"n_clauses": "many"},
        {"epochs": -1},
        {"epochs": 2**64},
        {"epochs": 10**5000},
        {"patience": 0},
        {"patience": 2**63},
        {"verbose": -1},
        {"validation_fraction": 2.0},
        {"validation_fraction": "half"},
        {"shuffle": 1},
        {"class_weight": "fair"},
        {"class_weight": {0: "much"}},
        {"class_weight": {0: -1}},
        {"class_weight": {0: float("nan")}},
        {"class_weight": {(0, 1): 1.0}},
        {"class_weight": {datetime.date(2020, 1, 1): 1.0}},
    ],
)
def test_other_nonsense_is_refused_before_anything_is_written(change, tmp_path):
    model = small().fit(X, Y)
    model.set_params(**change)
    name = next(iter(change))
    with pytest.raises((ValueError, TypeError), match=name):
        model.save(tmp_path / "model.cotm")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"class_weight": {0: Fraction(1, 2)}}, {0: 0.5}),
        ({"class_weight": {np.int64(1): np.float32(0.5)}}, {1: 0.5}),
        ({"class_weight": {0: True, 2: 3}}, None),
        ({"validation_fraction": Fraction(1, 10)}, 0.1),
        ({"validation_fraction": np.float32(0.25)}, 0.25),
        ({"epochs": np.int8(2)}, 2),
        ({"s": Fraction(7, 2)}, 3.5),
        ({"e": Fraction(1, 4)}, 0.25),
        ({"random_state": np.uint64(2**64 - 1)}, 2**64 - 1),
        ({"shuffle": np.bool_(False)}, False),
        ({"n_jobs": np.int32(1)}, 1),
        ({"verbose": np.int16(0)}, 0),
    ],
)
def test_numbers_of_other_kinds_are_saved_as_plain_ones(parameters, expected, tmp_path):
    if expected is None:  # True is no weight in training
        model = small().fit(X, Y)
        with pytest.raises(ValueError, match=r"class_weight\[0\]"):
            model.set_params(**parameters).save(tmp_path / "model.cotm")
        return
    loaded = again(small(**parameters).fit(X, Y), tmp_path)
    value = getattr(loaded, next(iter(parameters)))
    assert value == expected and type(value) is type(expected)


@pytest.mark.parametrize("n_jobs", [2**70, -(2**70), 10**400])
def test_very_many_jobs(n_jobs, tmp_path):
    assert again(small(n_jobs=n_jobs).fit(X, Y), tmp_path).n_jobs == n_jobs


def test_decimals_set_since(tmp_path):
    model = small().fit(X, Y).set_params(class_weight={0: Decimal("0.5")})
    assert again(model, tmp_path).class_weight == {0: 0.5}


def test_more_epochs_than_a_file_can_say(tmp_path):
    model = small(epochs=10**30, callbacks=[lambda model, record: True]).fit(X, Y)
    with pytest.raises(ValueError, match="epochs"):
        model.save(tmp_path / "model.cotm")
    model.set_params(epochs=5)
    assert again(model, tmp_path).set_params(callbacks=None)._progress.until_epoch == 2**63 - 1


LABELS = {
    "days": np.datetime64("2020-01-01") + Y,
    "nanoseconds": np.datetime64("2020-01-01T00:00:00.000000001", "ns") + Y,
    "months": np.array(["2020-01", "2020-02", "2021-01"], dtype="datetime64[M]")[Y],
    "quarters of an hour": np.array([0, 1, 7], dtype="datetime64[15m]")[Y],
    "durations": np.array([-5, 0, 7], dtype="timedelta64[ms]")[Y],
    "durations without a unit": np.array([-5, 0, 7], dtype="timedelta64")[Y],
    "big endian": np.array([1, 2, 300], dtype=">i4")[Y],
    "unsigned": np.array([0, 5, 2**64 - 1], dtype=np.uint64)[Y],
    "texts with NUL and surrogates": np.array(["a\0b", "\ud800", "é"], dtype=object)[Y],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_many_types(name, tmp_path):
    y = LABELS[name]
    check_saveable(small().get_params(deep=False), np.unique(y), None)
    model = small(epochs=3).fit(X, y)
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    loaded.partial_fit(X, y)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([1, 2, 3], dtype=np.longdouble),
        np.array([b"a", b"b"]),
        np.array([1j, 2j]),
        np.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], dtype=object),
        np.array([Fraction(1, 2), Fraction(2, 3)], dtype=object),
        np.array([np.longdouble(1), np.longdouble(2)], dtype=object),
        np.array([(1, 2), None], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.array(["a", "a"]),
        np.array([0, 10**5000], dtype=object),
        np.array(["a", "b" * (MAX_CLASS_NAME + 1)]),
        np.array(["a", "b" * (MAX_CLASS_NAME + 1)], dtype=object),
    ],
)
def test_labels_that_cannot_be_saved_are_found_out_before_training(classes, tmp_path):
    with pytest.raises((TypeError, ValueError)) as caught:
        check_saveable(small().get_params(deep=False), classes, None)
    with pytest.raises(type(caught.value)) as again_caught:
        Checkpoint(tmp_path / "c.cotm").check(small().get_params(deep=False), classes, None)
    assert str(again_caught.value) == str(caught.value)
    model = small().fit(X, Y)
    model._fitted = replace(model._fitted, classes=classes)
    with pytest.raises((TypeError, ValueError)):
        model.save(tmp_path / "model.cotm")
    assert not os.listdir(tmp_path)


def test_long_class_names(monkeypatch):
    check_class_names(np.array(["a", "b" * MAX_CLASS_NAME]))
    check_class_names(np.arange(5))
    with pytest.raises(ValueError, match=r"'bbb.* has 10001 characters; .* shorter name"):
        check_class_names(np.array(["a", "b" * (MAX_CLASS_NAME + 1)]))
    monkeypatch.setattr("cotm.files.classes.MAX_CLASS_TEXT", 1000)
    with pytest.raises(ValueError, match=r"201 classes .* too much memory"):
        check_class_names(np.array([*map(str, range(200)), "x" * 5]))


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {datetime.date(2020, 1, 1): 1.0}},
        {"class_weight": {0: "much"}},
        {"epochs": 2**70},
        {"validation_fraction": object()},
        {"warm_start": 2},
    ],
)
def test_parameters_that_cannot_be_saved_are_found_out_before_training(parameters):
    with pytest.raises((TypeError, ValueError), match=next(iter(parameters))):
        check_saveable(small(**parameters).get_params(deep=False), np.arange(3), None)


class MyBooleanizer(cotm.Booleanizer):
    pass


def test_booleanizers_that_cannot_be_saved_are_found_out_before_training(tmp_path):
    parameters = small().get_params(deep=False)
    check_saveable(parameters, np.arange(3), cotm.Booleanizer().fit(X))
    check_saveable(small(TMClassifier).get_params(deep=False), np.arange(3), None)
    changed = cotm.Booleanizer().fit(X).set_params(n_bits=1)
    for booleanizer in (KBinsDiscretizer(3), MyBooleanizer().fit(X), changed):
        with pytest.raises((TypeError, ValueError), match=r"cannot be saved|could not be loaded"):
            check_saveable(parameters, np.arange(3), booleanizer)
        model = small().fit(X, Y)
        model._reader.booleanizer = booleanizer
        with pytest.raises((TypeError, ValueError), match=r"cannot be saved|could not be loaded"):
            model.save(tmp_path / "model.cotm")
    assert not os.listdir(tmp_path)


def test_a_checkpoint_is_checked_before_training(tmp_path):
    arguments = (small().get_params(deep=False), np.arange(3), cotm.Booleanizer().fit(X))
    Checkpoint(tmp_path / "c.cotm").check(*arguments)
    Checkpoint(str(tmp_path / "c.cotm")).check(*arguments)
    assert not os.listdir(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "protected").write_bytes(b"")
    (tmp_path / "protected").chmod(0o444)
    for path in ("no/c.cotm", ".", "file/c.cotm", "protected", "x" * 256):
        with pytest.raises(OSError, match=r"the model was not saved .*choose a path"):
            Checkpoint(tmp_path / path).check(*arguments)
    assert sorted(os.listdir(tmp_path)) == ["file", "protected"]


class Mine(CoTMClassifier):
    """A class of someone's own."""


def test_a_subclass_is_loaded_as_what_it_is_based_on(tmp_path):
    model = Mine(10, epochs=1, random_state=0).fit(X, Y)
    loaded = again(model, tmp_path)
    assert type(loaded) is CoTMClassifier
    assert np.array_equal(loaded.votes(X), model.votes(X))


def test_notes_in_the_learning_curve(tmp_path):
    model = small(callbacks=[lambda model, record: record.update(rate=np.float32(0.5))])
    assert again(model.fit(X, Y), tmp_path).history_[0]["rate"] == 0.5
    model.history_[0]["note"] = "hello"
    with pytest.raises(TypeError, match=r"epoch 1 in history_ holds note='hello'"):
        model.save(tmp_path / "model.cotm")


def test_loaded_arrays_are_read_only(tmp_path):
    model = small(average=3, epochs=4, early_stopping=True).fit(X, Y)
    progress = replace(model._progress, best=model.machine_.snapshot())
    model._fitted = replace(model._fitted, progress=progress)
    loaded = again(model, tmp_path)
    snapshots = [loaded.machine_.snapshot(), loaded._progress.best]
    arrays = [loaded.memory_, loaded.weights_]
    for snapshot in snapshots:
        arrays += [snapshot.memory, snapshot.weights]
        assert snapshot.earlier
        arrays += [array for past in snapshot.earlier for array in (past.included, past.weights)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    loaded.partial_fit(X, Y)


# Long texts --------------------------------------------------------------------------


def header_of(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return length, json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["cotm"])


@pytest.fixture
def long_from_1000(monkeypatch):
    monkeypatch.setattr("cotm.files.texts.LONG_TEXT", 1000)


def test_many_long_categories_go_into_tensors(long_from_1000, tmp_path):
    cities = [f"city {number} æ" for number in range(500)]
    table = pd.DataFrame(
        {"city": cities, "number": pd.Categorical(np.arange(500) % 7), "x": np.arange(500)}
    )
    model = small().fit(table, np.arange(500) % 2)
    loaded = again(model, tmp_path)
    length, header = header_of(tmp_path / "model.cotm")
    assert length < 5000 and header["booleanizer"]["categories"] == "texts"
    assert loaded.booleanizer_.to_state()[0] == model.booleanizer_.to_state()[0]
    assert np.array_equal(loaded.votes(table), model.votes(table))
    again(loaded, tmp_path)


def test_many_long_names_go_into_tensors(long_from_1000, tmp_path):
    names = [f"column {number:05}" for number in range(300)]
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (6, 300)), columns=names)
    model = small().fit(table, [0, 1] * 3)
    loaded = again(model, tmp_path)
    length, header = header_of(tmp_path / "model.cotm")
    assert length < 8000
    assert header["feature_names_in"] == header["booleanizer"]["names"] == "texts"
    assert loaded.feature_names_in_.tolist() == names
    assert np.array_equal(loaded.votes(table), model.votes(table))


def test_many_long_class_names_go_into_tensors(long_from_1000, tmp_path):
    labels = np.array([f"class {number:05}" for number in range(300)] * 3)
    bits = (np.arange(900)[:, None] >> np.arange(10)) & 1
    model = small().fit(bits, labels)
    loaded = again(model, tmp_path)
    length, header = header_of(tmp_path / "model.cotm")
    assert length < 5000 and header["classes"] == "texts"
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert np.array_equal(loaded.predict(bits[:50]), model.predict(bits[:50]))


def test_hostile_texts_in_tensors(long_from_1000, tmp_path):
    table = pd.DataFrame({"city": [f"city {number}" for number in range(300)]})
    model = small().fit(table, np.arange(300) % 2)
    header, tensors = encode(model._saved_model())

    def load(header, tensors):
        (tmp_path / "mutant.cotm").write_bytes(container.pack(json.dumps(header), tensors))
        return cotm.load(tmp_path / "mutant.cotm")

    load(header, tensors)
    counts = "texts.categories.counts"
    for change in (
        {counts: np.array([299], np.int64)},
        {counts: np.array([-1, 301], np.int64)},
        {counts: np.array([2**63 - 1], np.int64)},
        {counts: np.array([2**62, 2**62, 2**62, 2**62, 300], np.int64)},
        {counts: np.array([300.0])},
        {counts: np.array([[300]], np.int64)},
        {"texts.categories.ends": np.arange(300)},
        {"texts.categories.more": np.arange(3)},
        {"texts.classes.bytes": np.arange(3)},
    ):
        with pytest.raises(ModelFileError, match="damaged"):
            load(header, {**tensors, **change})
    with pytest.raises(ModelFileError, match=r"newer.*'texts\.other\.bytes' is unknown"):
        load(header, {**tensors, "texts.other.bytes": np.arange(3)})
    for name in [name for name in tensors if name.startswith("texts.")]:
        with pytest.raises(ModelFileError, match="damaged"):
            load(header, {key: value for key, value in tensors.items() if key != name})
    listed = {**header, "booleanizer": {**header["booleanizer"], "categories": [["a", "b"]]}}
    for bad in (listed, {**header, "classes": "texts"}, {**header, "booleanizer": None}):
        with pytest.raises(ModelFileError, match="damaged"):
            load(bad, tensors)


def test_texts_beyond_the_header_of_safetensors(tmp_path):
    """More than 100 MB of categories, which no header takes."""
    cities = [f"{'city' * 13_000} {number}" for number in range(2000)]
    model = small(n_clauses=2).fit(pd.DataFrame({"city": cities}), np.arange(2000) % 2)
    loaded = again(model, tmp_path)
    assert loaded.booleanizer_.codes_[0].categories == model.booleanizer_.codes_[0].categories


def test_threads_that_save_to_one_path(tmp_path):
    path = tmp_path / "model.cotm"
    model = small().fit(X, Y)
    model.save(path)
    errors = []

    def work(call):
        try:
            for _ in range(30):
                call(path)
        except BaseException as error:
            errors.append(error)

    calls = [model.save, model.save, cotm.load]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and os.listdir(tmp_path) == ["model.cotm"]
