"""Spoilt model files, mostly with a right checksum: refused, or a model that works."""

from __future__ import annotations

import datetime
import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy
from helpers import classifier
from mutations import ODD, changed_value, flipped, near
from sklearn.datasets import load_digits, load_iris
from targets import CrashError, Target, quietly, refusing, run_command

import cotm
from cotm import CoTMClassifier, CoTMRegressor, ModelFileError, TMClassifier
from cotm.booleanize import Hypervectors, NGrams, TokenWindows
from cotm.estimator.machine_model import MachineModel
from cotm.exporting import CannotExportError
from cotm.files import container

#: The most that predictions may take for a case to be tried: features, and outputs.
_MOST = 200_000
_VALUES = [*ODD, 1, 2, 3, 8, 64, 2**30, 2**62, 0.5, "auto", "str", "int64", "object", 10**400]
_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "float64", "bool")
_TEXTS = ["the cat drinks milk", "a dog sees the cat", "no horse drinks tea", "cat dog tea"] * 12
#: Of columns that hold something else than numbers.
_CELLS = {
    "category": ["Oslo", "?", None],
    "date": pd.to_datetime(["2021-03-05", "1999-01-01", "2021-04-01"]),
    "duration": pd.to_timedelta([1, 2, 3], "h"),
    "time": [datetime.time(1), datetime.time(2), None],
}


def small_models() -> list[Any]:
    """Of every kind, with every kind of input and label, each of a few kilobytes."""
    X, y = load_iris(return_X_y=True)
    digits, digit = (part[:60] for part in load_digits(return_X_y=True))
    images, bits = digits.reshape(-1, 8, 8), (digits > 7).astype(np.uint8)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 60),
            "city": rng.choice(["Oslo", "Rome", None], 60),
            "day": pd.to_datetime("2021-03-05") + pd.to_timedelta(rng.integers(0, 50, 60), "D"),
        }
    )
    text = [_TEXTS[k % 4] for k in range(60)]
    series = [row[row > 0].tolist() for row in digits]

    def small(kind: Any = CoTMClassifier, **parameters: Any) -> Any:
        few = {"n_clauses": 6, "epochs": 2, "random_state": 0, **parameters}
        return kind(**few) if kind is CoTMRegressor else classifier(kind, **few)

    edited = small().fit(X, y)
    rule = edited.rules()[0]
    edited.drop_rule(edited.rules()[-1]).pin_rule(rule, votes=True)
    edited.forbid(0, 1)
    stopped = small(early_stopping=True, epochs=5, patience=5, average=2)
    checkpoint: list[bytes] = []

    def keep(model: Any, record: Any) -> None:
        checkpoint.append(bytes_of(model))

    stopped.set_params(callbacks=[keep]).fit(X, y)
    patch = {"patch_shape": (3, 3)}
    grey = (images * 15).astype(np.uint8)
    models = [
        small().fit(X, y),
        small(class_weight={0: 1.0, 1: 0.5}, average=2).fit(table, digit % 2),
        small(stride=2, **patch).fit(images, digit),
        small(image_shape=(8, 8), **patch).fit(bits, digit),
        small(TMClassifier, n_clauses=10, patch_shape=(4, 4)).fit(grey, digit),
        small(booleanize=cotm.EdgeThermometer(), tolerance=3, **patch).fit(grey, digit),
        small(patch_shape=(2, 2), booleanize=cotm.GradientHistogram((2, 3))).fit(grey, digit),
        small(
            patch_shape=(1, 1),
            booleanize=cotm.ImageUnion([cotm.GradientHistogram((2, 3)), cotm.ImageThermometer(2)]),
        ).fit(grey, digit),
        small(patch_shape=(5,), stride=3).fit(bits, np.array(list("ab"))[digit % 2]),
        small(booleanize=None).fit(bits, np.eye(10, dtype=int)[digit]),
        small().fit(X, np.datetime64("2020-01-01") + y),
        small(augment=cotm.Augmentation((1, 2), flip=True), **patch).fit(images, digit),
        small(T=cotm.Schedule(3, 9, epochs=9), s=cotm.Schedule(9.5, 2, epochs=9)).fit(X, y),
        small(constraints=cotm.Constraints(monotone={0: {1: 1}}, forbid={1: [2]})).fit(X, y),
        small(CoTMRegressor).fit(X, X[:, 3] * 2 + X[:, 0]),
        small(CoTMRegressor).fit(X[:, :2], X[:, 2:]),
        small(preset="auto").fit(X, y),
        small(booleanize=NGrams(longest=2)).fit(text, digit % 2),
        small(booleanize=Hypervectors(n_bits=64, longest=2)).fit(text, digit % 2),
        small(booleanize=Hypervectors("numbers", 64, 8, levels=5)).fit(series, digit % 2),
        small(booleanize=TokenWindows(width=2), patch_shape=(1,)).fit(text, digit % 2),
        edited,
        small(n_clauses=20).fit(X, y).compress(X, y),
        cotm.join([small().fit(X, y), small(TMClassifier).fit(X, y)], X),
        cotm.CoTMEmbedding(8, min_texts=1, max_share=1.0, epochs=1, random_state=0).fit(_TEXTS),
        cotm.CoTMLanguageModel(
            n_clauses=6, epochs=1, context=3, bag=4, order=3, random_state=0
        ).fit(_TEXTS),
        cotm.CoTMLanguageModel(
            "word", n_clauses=6, epochs=1, context=2, random_state=0
        ).fit(_TEXTS),
    ]  # fmt: skip
    halves = (images > 7).astype(np.uint8)
    image_maker = cotm.CoTMImageToImage(8, window=3, windows=4, epochs=1, random_state=0)
    models.append(image_maker.fit(halves, halves.repeat(2, axis=1)))
    return [*models, checkpoint[1]]


def bytes_of(model: Any) -> bytes:
    """The file of a model."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cotm"
        model.save(path)
        return path.read_bytes()


class ModelFiles(Target):
    """``cotm.load``, all that a model is good for, and ``cotm info``."""

    led_by = ("cotm.files", "cotm.loading", "cotm.booleanize", "cotm.language", "cotm.model")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files: list[bytes] = []

    def seeds(self) -> list[bytes]:
        if not self._files:
            with quietly():
                models = small_models()
            self._files = [m if isinstance(m, bytes) else bytes_of(m) for m in models]
        return self._files

    # Spoiling --------------------------------------------------------------------------

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        """Some parts of the file changed; the checksum is right but for a few."""
        draw = dice.random()
        if draw < 0.04:
            return flipped(data, dice)
        try:
            header, tensors = container.unpack(data)
        except Exception:
            return dice.choice(self.seeds())
        if draw < 0.1:
            return _signed(flipped(data, dice))
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            header, tensors = self._changed_part(header, tensors, dice)
        try:
            return container.pack(json.dumps(header), tensors)
        except (ValueError, TypeError, RecursionError, safetensors.SafetensorError):
            return data  # such a file cannot be written

    def _changed_part(
        self, header: dict[str, Any], tensors: dict[str, Any], dice: random.Random
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if not isinstance(header, dict):
            return header, tensors
        members = [name for name in tensors if name.startswith("member.")]
        if members and dice.random() < 0.7:
            name = dice.choice(members)
            inner = self.changed(tensors[name].tobytes(), dice)
            return header, {**tensors, name: np.frombuffer(inner, np.uint8)}
        draw = dice.random()
        if draw < 0.5:
            return changed_header(header, dice), tensors
        if draw < 0.6:  # a part of another file
            other, others = container.unpack(dice.choice(self.seeds()))
            if others and dice.random() < 0.5:
                name = dice.choice(sorted(others))
                return header, {**tensors, name: others[name]}
            name = dice.choice(sorted(other))
            return {**header, name: other[name]}, tensors
        return header, changed_tensors(tensors, dice)

    # Trying ----------------------------------------------------------------------------

    def tried(self, data: bytes) -> str:
        """Refused, or it works."""
        path = self.folder / "model.cotm"
        path.write_bytes(data)
        with quietly():
            with refusing(ModelFileError) as told:
                model = cotm.load(path)
            if told:
                return "refused"
            if isinstance(model, MachineModel):
                self._use_machine_model(model)
            elif not self._use(model):
                return "too large"
            if data[-1] % 32 == 0:
                run_command("info", path)
                run_command("info", path, "--json")
        return "works"

    def _use_machine_model(self, model: Any) -> None:
        if isinstance(model, cotm.CoTMEmbedding):
            model.similar(model.vocabulary_[0], 2)
            model.transform(_TEXTS[:2])
        elif isinstance(model, cotm.CoTMImageToImage):
            learned = model._learned().extra
            if learned.window.n_bits * model.machine_.spec.m > _MOST:
                return
            shape = (1, 4, 4) if learned.flat[0] else (1, 4, 4, learned.window.channels)
            model.predict(np.ones(shape, dtype=learned.given.dtype))
        else:
            model.next("the c", 3)
            model.perplexity(_TEXTS[:2])
            model.generate(3, "a d", seed=1)
        list(model.clauses_)
        self._again(model)

    def _use(self, model: Any) -> bool:
        members = getattr(model, "estimators_", [model])
        reader = members[0]._reader
        shape = reader.example_shape or (model.n_features_in_,)
        # Text wrapped around a member's name or label is as wide as it is in every row.
        bits = max(m._reader.grid.n_features * m._reader.grid.n_patches for m in members)
        if max(np.prod(shape, dtype=float), bits, bits * len(model.classes_) / 50) > _MOST:
            return False
        X = examples(model, members[0], shape)
        votes = model.votes(X)
        if len(model.predict(X)) != len(X) or len(votes) != len(X):
            raise CrashError("it predicts another number of rows")
        if hasattr(model, "predict_proba"):
            model.predict_proba(X)
        for rule in model.rules()[:3]:
            str(rule)
        for member in members:
            member.history_, repr(member)
        again = self._again(model)
        if not np.array_equal(again.votes(X), votes):
            raise CrashError("it votes otherwise when it is saved and loaded")
        inputs = "bits" if any(map(_needs_bits, members)) else "raw"
        with refusing(CannotExportError):
            model.export(self.folder / "export.json", inputs=inputs)
        return True

    def _again(self, model: Any) -> Any:
        model.save(self.folder / "again.cotm")
        return cotm.load(self.folder / "again.cotm")


def _needs_bits(model: Any) -> bool:
    """Whether exports cannot read what the model reads."""
    return _reads_texts(model) or isinstance(model.booleanizer_, cotm.ImageUnion)


def _reads_texts(model: Any) -> bool:
    return isinstance(model.booleanizer_, NGrams | Hypervectors | TokenWindows)


def examples(model: Any, member: Any, shape: tuple[int, ...]) -> Any:
    """A few rows that the model can read."""
    if _reads_texts(member):
        kind = member.booleanizer_.kind
        return [[1.0, 5.5], [], [7.0]] if kind == "numbers" else _TEXTS[:3]
    types = [code.type for code in getattr(member.booleanizer_, "codes_", ())]
    if hasattr(model, "feature_names_in_") or {*types} - {"number", "bit", None}:
        columns = [pd.Series(_CELLS.get(kind, [1, 0, 1])) for kind in types or [""] * shape[0]]
        frame = pd.concat(columns, axis=1)
        frame.columns = list(getattr(model, "feature_names_in_", range(len(columns))))
        return frame
    return np.random.default_rng(0).integers(0, 2, (3, *shape)).astype(np.uint8)


def changed_header(header: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """With one field changed, near or far."""
    path: list[Any] = []
    value: Any = header
    while isinstance(value, dict | list) and value and (not path or dice.random() < 0.8):
        path.append(dice.choice([*value] if isinstance(value, dict) else range(len(value))))
        value = value[path[-1]]
    options = near(value, dice)
    new = dice.choice(options) if options and dice.random() < 0.5 else None
    if new is None:
        return changed_value(header, dice, _VALUES)  # type: ignore[no-any-return]
    return _replaced(header, path, new)  # type: ignore[no-any-return]


def _replaced(value: Any, path: list[Any], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def changed_tensors(tensors: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """With one of them changed: its numbers, type, shape or name."""
    if not tensors:
        return {"memory": np.zeros((2, 2), np.int8)}
    name, draw = dice.choice(sorted(tensors)), dice.random()
    array = tensors[name]
    others = {key: value for key, value in tensors.items() if key != name}
    if draw < 0.1:
        return others
    if draw < 0.17:
        return {**others, dice.choice((name + "x", "best." + name, *tensors)): array}
    if draw < 0.27:
        return {**others, name: array.astype(dice.choice(_DTYPES))}
    if draw < 0.45 and array.ndim:
        axis = dice.randrange(array.ndim)
        pick = dice.choice((slice(1, None), slice(0, 0), slice(None, None, -1), [0, 0], slice(1)))
        if array.shape[axis] or isinstance(pick, slice):
            return {**others, name: np.ascontiguousarray(np.moveaxis(
                np.moveaxis(array, axis, 0)[pick], 0, axis))}  # fmt: skip
    if draw < 0.55:
        shape = dice.choice(((-1,), (1, -1), (-1, 1), (1, *array.shape), array.shape[::-1]))
        return {**others, name: array.reshape(shape)} if array.size else others
    if not array.size:
        return others
    array = array.copy()
    for _ in range(dice.choice((1, 1, 5))):
        array.flat[dice.randrange(array.size)] = _number(array.dtype, dice)
    return {**others, name: array}


def _number(dtype: np.dtype[Any], dice: random.Random) -> Any:
    if dtype.kind == "f":
        return dice.choice((0.0, 1.0, -1.0, 1e300, np.inf, -np.inf, np.nan, dice.uniform(-5, 5)))
    if dtype.kind == "b":
        return dice.random() < 0.5
    limits = np.iinfo(dtype)
    drawn = dice.choice((limits.min, limits.max, 0, 1, -1, dice.randrange(300), -5))
    return int(np.clip(drawn, limits.min, limits.max))


def _signed(data: bytes) -> bytes:
    """The bytes with the checksum of what they hold, where they hold anything."""
    try:
        (length,) = struct.unpack("<Q", data[:8])
        text = json.loads(data[8 : 8 + length])["__metadata__"]["cotm"]
        return container.pack(text, safetensors.numpy.load(data))
    except Exception:
        return data


TARGET = ModelFiles
