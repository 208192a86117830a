"""Model files of earlier and later versions of cotm, and that a file holds all of a model."""

import ast
import dataclasses
import inspect
import json
import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import run
from helpers import classifier
from sklearn.datasets import load_digits, load_iris

import cotm
from cotm import CoTMClassifier, ModelFileError, TMClassifier
from cotm.booleanize import state
from cotm.core.state import EarlierState, Snapshot
from cotm.files import OPTIONS, SavedModel, container, encode, load, save, upgrade
from cotm.files.decode import FIELDS
from cotm.files.parameters import KINDS as MACHINE_KINDS
from cotm.loading import restored
from cotm.model.fitted import Fitted, TrainingProgress
from cotm.model.inputs import InputReader
from cotm.model.probabilities import Sharpness

DATA = Path(__file__).parent.parent / "data"
FIXTURE = DATA / "format1.cotm"
X, Y = load_iris(return_X_y=True)
KINDS = (CoTMClassifier, TMClassifier)


#: With every value in the file itself.
BEFORE_PRESETS = runpy.run_path(str(DATA / "make_fixtures.py"))["BEFORE_PRESETS"]
small = partial(classifier, n_clauses=10, epochs=2, random_state=3)


def write(path, header, tensors):
    path.write_bytes(container.pack(json.dumps(header), tensors))
    return path


@pytest.fixture
def current():
    """Header and tensors as they are written today."""
    header, tensors = encode.encode(small(**BEFORE_PRESETS).fit(X, Y)._saved_model())
    return json.loads(json.dumps(header)), tensors


# Earlier versions --------------------------------------------------------------------


def pieces(data):
    """Metadata, places of tensors, and data: safetensors does not keep the order of metadata."""
    length = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + length])
    return length, entries.pop("__metadata__"), entries, data[8 + length :]


def test_the_script_still_makes_the_fixture_of_format_1():
    header, tensors = runpy.run_path(str(DATA / "make_fixtures.py"))["first_of_format_1"]()
    made = container.pack(json.dumps(header), tensors)
    assert pieces(made) == pieces(FIXTURE.read_bytes())


def test_the_fixture_of_today_is_the_same_model(tmp_path):
    made = runpy.run_path(str(DATA / "make_fixtures.py"))["write"](tmp_path)
    assert made.name == f"format{upgrade.FORMAT}-new.cotm"
    assert json.loads(made.with_suffix(".json").read_text()) == json.loads(
        FIXTURE.with_suffix(".json").read_text()
    )
    before, now = cotm.load(FIXTURE), cotm.load(made)
    assert before.get_params() == now.get_params()
    assert np.array_equal(before.votes(X), now.votes(X))
    assert np.array_equal(before.predict(X), now.predict(X))


def test_every_earlier_format_has_a_fixture_and_a_step_to_the_next():
    formats = range(1, upgrade.FORMAT)
    assert sorted(upgrade.UPGRADES) == [*formats]
    assert sorted(state.UPGRADES) == [*range(1, state.VERSION)]
    for number in (*formats, upgrade.FORMAT):
        assert (DATA / f"format{number}.cotm").exists()
        assert load(DATA / f"format{number}.cotm", lambda saved: saved.format) == number


def test_a_file_of_format_1_is_read_by_a_cotm_of_format_3(monkeypatch, capsys):
    def to_2(header, tensors):
        assert header["format"] == 1
        return {**header, "format": 2, "target": header["target"] + 5}, tensors

    def to_3(header, tensors):
        assert header["format"] == 2
        return {**header, "format": 3}, {**tensors, "weights": tensors["weights"] * 2}

    before = cotm.load(FIXTURE)
    monkeypatch.setattr(upgrade, "FORMAT", 3)
    monkeypatch.setattr(upgrade, "UPGRADES", {1: to_2, 2: to_3})
    now = cotm.load(FIXTURE)
    assert np.array_equal(now.votes(X), 2 * before.votes(X))
    assert now._progress.until_epoch == before._progress.until_epoch + 5
    assert "format 1, written by cotm 0.1.0" in run("info", FIXTURE).stdout


def test_a_format_with_other_fields_is_upgraded(current, tmp_path, monkeypatch):
    header, tensors = current
    del header["T"]
    old = write(tmp_path / "old.cotm", {**header, "format": 0, "margin": 4}, tensors)
    with pytest.raises(ModelFileError, match="damaged: format must be 1 or lower, got 0"):
        cotm.load(old)

    def rename(header, tensors):
        header = {**header, "format": 1, "T": header["margin"]}
        del header["margin"]
        return header, tensors

    monkeypatch.setattr(upgrade, "UPGRADES", {0: rename})
    assert cotm.load(old).T_ == 4


def test_a_booleanizer_of_an_earlier_version_is_upgraded(current, tmp_path, monkeypatch):
    header, tensors = current
    header["booleanizer"]["version"] = 0
    bits = header["booleanizer"]["params"].pop("n_bits")
    old = write(tmp_path / "old.cotm", header, tensors)
    with pytest.raises(ModelFileError, match=r"damaged.*version must be 1 or lower, got 0"):
        cotm.load(old)

    def name_bits(meta, arrays):
        return {**meta, "version": 1, "params": {"n_bits": bits}}, arrays

    monkeypatch.setattr(state, "UPGRADES", {0: name_bits})
    assert cotm.load(old).booleanizer_.n_bits == bits


def test_what_came_later_has_the_value_of_before(current, tmp_path):
    header, tensors = current
    for name in upgrade.LATER_FIELDS:
        del header[name]
    for name in upgrade.LATER_OPTIONS:
        del header["parameters"][name]
    model = cotm.load(write(tmp_path / "old.cotm", header, tensors))
    assert model.average == 1 and model.augment is None
    assert model._progress.scored_from == 0 and model._progress.data is None


def test_what_came_later_of_the_training_data(current, tmp_path):
    header, tensors = current
    for name in upgrade.LATER_DATA:
        del header["data"][name]
    model = cotm.load(write(tmp_path / "old.cotm", header, tensors))
    assert len(model.set_params(epochs=3).fit(X, Y, resume=True).history_) == 3


def test_what_all_files_have_must_not_be_missing(current, tmp_path):
    header, tensors = current
    for name in FIELDS:
        if name in upgrade.LATER_FIELDS or name == "bit_features":
            continue
        less = {key: value for key, value in header.items() if key != name}
        with pytest.raises(ModelFileError, match="damaged: "):
            cotm.load(write(tmp_path / "less.cotm", less, tensors))
    for name in {*OPTIONS["CoTMClassifier"]} - upgrade.LATER_OPTIONS.keys():
        less = {key: value for key, value in header["parameters"].items() if key != name}
        with pytest.raises(ModelFileError, match=f"damaged: option '{name}' is missing"):
            cotm.load(write(tmp_path / "less.cotm", {**header, "parameters": less}, tensors))


# Later versions ----------------------------------------------------------------------

NEWER = {
    "format": (lambda h, t: h.update(format=2), "format must be 1 or lower, got 2"),
    "option": (lambda h, t: h["parameters"].update(foo=1), "option 'foo' is unknown"),
    "field": (lambda h, t: h.update(foo=None), "field 'foo' is unknown"),
    "class": (lambda h, t: h.update({"class": "FuzzyClassifier"}), "class 'FuzzyClassifier'"),
    "tensor": (lambda h, t: t.update(foo=np.zeros(3)), "tensor 'foo' is unknown"),
    "booleanizer's version": (
        lambda h, t: h["booleanizer"].update(version=2),
        "version must be 1 or lower, got 2",
    ),
    "booleanizer's class": (
        lambda h, t: h["booleanizer"].update({"class": "Wavelets"}),
        "class must be one of .*, got 'Wavelets'",
    ),
    "booleanizer's field": (lambda h, t: h["booleanizer"].update(foo=1), r"has \['foo'\] too"),
    "booleanizer's option": (
        lambda h, t: h["booleanizer"]["params"].update(foo=1),
        r"params must have the keys \['n_bits'\], and has \['foo'\] too",
    ),
}


@pytest.mark.parametrize("case", NEWER)
def test_what_is_unknown_is_newer_and_not_damaged(case, current, tmp_path):
    header, tensors = current
    change, problem = NEWER[case]
    change(header, tensors)
    header["cotm"] = "0.12.3"
    with pytest.raises(
        ModelFileError,
        match=rf"m\.cotm: this file was written by cotm 0\.12\.3, which is newer than this one "
        rf"\({cotm.__version__}\): .*{problem}.*; upgrade cotm",
    ):
        cotm.load(write(tmp_path / "m.cotm", header, tensors))
    header["cotm"] = cotm.__version__  # on the way to the next version
    with pytest.raises(ModelFileError, match=rf"by a newer cotm .*{problem}.*; upgrade cotm"):
        cotm.load(write(tmp_path / "m.cotm", header, tensors))
    for older in ("0.0.9", "x", "", None, 5, "9" * 5000):
        header["cotm"] = older
        with pytest.raises(ModelFileError, match=r"m\.cotm: the model file is damaged: "):
            cotm.load(write(tmp_path / "m.cotm", header, tensors))


def test_a_newer_version_may_change_anything(current, tmp_path):
    header, tensors = current
    header["parameters"]["e_scales"] = "both"
    with pytest.raises(ModelFileError, match=r"damaged: .*e_scales='both'"):
        cotm.load(write(tmp_path / "m.cotm", header, tensors))
    header["cotm"] = "1.0.0.dev1"
    with pytest.raises(ModelFileError, match=r"cotm 1\.0\.0\.dev1, .* newer .*e_scales='both'"):
        cotm.load(write(tmp_path / "m.cotm", header, tensors))
    header["parameters"]["e_scales"] = "output"
    cotm.load(write(tmp_path / "m.cotm", header, tensors))  # there is nothing that it changed


def test_the_checksum_comes_before_the_version(current, tmp_path):
    header, tensors = current
    data = container.pack(json.dumps(header), tensors)
    (tmp_path / "m.cotm").write_bytes(data.replace(rb"\"format\": 1", rb"\"format\": 3"))
    with pytest.raises(ModelFileError, match="its checksum does not match its contents"):
        cotm.load(tmp_path / "m.cotm")


def test_info_tells_what_wrote_the_file(current, tmp_path):
    header, tensors = current
    path = write(tmp_path / "m.cotm", {**header, "cotm": "0.0.7"}, tensors)
    assert "format 1, written by cotm 0.0.7" in run("info", path).stdout


# All of a model ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_every_parameter_but_callbacks(kind):
    names = {*inspect.signature(kind).parameters} - {"callbacks"}
    assert names == {*OPTIONS[kind.__name__]}, "see files/parameters.py"
    said = kind()._machine_kind()
    assert said == said | MACHINE_KINDS[kind.__name__]
    assert kind._kind == kind.__name__


def test_a_file_has_the_fields_that_are_known(current):
    header, _ = current
    assert [*header] == [name for name in FIELDS if name != "bit_features"]
    described = small().fit(cotm.Booleanizer(3).fit_transform(X), Y)
    assert [*encode.encode(described._saved_model())[0]] == [*FIELDS]


def image_model():
    """A coalesced model of images from a table."""
    images, labels = load_digits(return_X_y=True)
    table = pd.DataFrame(images[:100], columns=[f"pixel {number}" for number in range(64)])
    model = small(
        forgetting="sampled",
        patch_shape=(3, 4),
        image_shape=(8, 8),
        stride=(2, 1),
        booleanize=cotm.ImageThermometer(2),
        augment=cotm.Augmentation((1, 2), rotate=np.float32(5.5), border="zero"),
        average=3,
        epochs=5,
    )
    model.fit(table, labels[:100])
    progress = dataclasses.replace(
        model._progress,
        best=model.machine_.snapshot(),
        until_epoch=11,
        patience_from=1,
        scored_from=2,
    )
    model._fitted = dataclasses.replace(model._fitted, progress=progress)
    return model


def bits_model():
    """A plain model of several labels, of bits with a description, and with all options set."""
    bits = cotm.Booleanizer(3).fit_transform(pd.DataFrame(X, columns=list("abcd")))
    model = small(
        TMClassifier,
        T=cotm.Schedule(np.int32(9), 4, epochs=3),
        s=cotm.Schedule(4.0, 6.5, epochs=5, shape="geometric"),
        e=0.5,
        e_scales="type2",
        memory_depth=50,
        boost_true_positive=False,
        max_literals=9,
        max_weight=8,
        tolerance=2,
        growth_limit=30,
        include_depth=20,
        negatives="focused",
        drop_clauses=0.3,
        drop_literals=0.2,
        negations=False,
        scoring="f1_macro",
        weighted=False,
        booleanize=None,
        backend="native",
        n_jobs=2,
    )
    return model.fit(bits, np.eye(3, dtype=int)[Y])


def quantities_model():
    """A regressor that knows how far it was off."""
    model = cotm.CoTMRegressor(20, epochs=3, early_stopping=True, random_state=3)
    return model.fit(X, pd.DataFrame({"first": X[:, 0], "second": Y}))


def columns_model():
    """A classifier of two columns of labels."""
    model = cotm.CoTMClassifier(20, epochs=2, random_state=3)
    return model.fit(X, pd.DataFrame({"kind": Y, "size": np.where(X[:, 0] > 5, "large", "small")}))


def attributes(part):
    """The fields of a part of a model, and their defaults where there are any."""
    if isinstance(part, InputReader):
        fresh = InputReader(part.title, None, None, (1,), "auto")
        names = {*vars(fresh), *InputReader.__annotations__} - {"title"}
        return {name: (getattr(part, name), getattr(fresh, name)) for name in names}
    if isinstance(part, Sharpness):
        return {"value": (part.value(), None)}
    if isinstance(part, cotm.Machine):
        parameters = inspect.signature(cotm.Machine).parameters.values()
        values = {
            p.name: (getattr(part, p.name), p.default)
            for p in parameters
            if p.name != "random_state"  # which is seed_
        }
        return {**values, "snapshot": (part.snapshot(), None), "seed_": (part.seed_, None)}
    return {
        field.name: (getattr(part, field.name), field.default) for field in dataclasses.fields(part)
    }


PARTS = (Fitted, TrainingProgress, Snapshot, EarlierState, InputReader, Sharpness, cotm.Machine)


def compare(before, now, used, path="fitted"):
    """Check that two parts of models are equal; ``used`` collects fields that say something."""
    assert type(before) is type(now), path
    if isinstance(before, PARTS):
        kind = type(before).__name__
        pairs = attributes(before), attributes(now)
        for name, (value, default) in pairs[0].items():
            used.setdefault((kind, name), False)
            is_default = not isinstance(value, np.ndarray) and bool(value == default)
            used[kind, name] |= not is_default
            compare(value, pairs[1][name][0], used, f"{path}.{name}")
    elif isinstance(before, tuple) and before and isinstance(before[0], EarlierState):
        assert len(before) == len(now)
        for pair in zip(before, now, strict=True):
            compare(*pair, used, path)
    elif isinstance(before, np.ndarray):
        assert before.dtype == now.dtype and np.array_equal(before, now), path
    elif hasattr(before, "to_state"):
        assert repr(before) == repr(now), path
        if not hasattr(before, "n_bits_out_"):  # the parameter, which is not fitted
            return
        (meta, arrays), (meta_now, arrays_now) = before.to_state(), now.to_state()
        assert meta == meta_now and arrays.keys() == arrays_now.keys(), path
        assert all(np.array_equal(arrays[name], arrays_now[name]) for name in arrays), path
    else:
        assert before == now, path


def test_everything_that_is_fitted_comes_back(tmp_path):
    """A new field of any part fails here until it is saved, and used by one of the models."""
    used = {}
    models = [image_model(), bits_model(), quantities_model(), columns_model()]
    models.append(small().fit(X, Y).compress(X, Y, max_loss=0.1))
    for model in models:
        saved = model._still()._saved_model()
        save(saved, tmp_path / "m.cotm")
        again = load(tmp_path / "m.cotm", lambda saved: saved)
        assert again.kind == saved.kind
        assert again.parameters["augment"] == saved.parameters["augment"]
        compare(saved.fitted, again.fitted, used)
    unused = [field for field, says_something in used.items() if not says_something]
    assert not unused, "give these fields a value in a model of this test"


def test_a_saved_model_is_restored_without_a_file():
    model = bits_model()
    saved = SavedModel(model._kind, model.get_params(deep=False), model._fitted)
    assert np.array_equal(restored(saved).memory_, model.memory_)


def test_files_know_no_classifier():
    for path in Path(cotm.files.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(alias.name for alias in node.names)]
            parts = {part for name in names for part in name.split(".")}
            assert not parts & {"estimator", "classifier", "rules", "cli"}, path
