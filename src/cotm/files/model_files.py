"""Model files: safetensors with a versioned JSON header. Reading one executes nothing.

Layout of format 1: tensors ``memory`` and ``weights``, those of the best epoch while
training with early stopping is under way, the booleanizer's, and long lists of texts; one
metadata entry ``cotm`` with everything else as JSON; one entry ``sha256`` over both.
``docs/files.md`` describes the fields.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import numbers
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from ..backends import check_backend
from ..booleanize import (
    AdaptiveGaussianThreshold,
    ImageThermometer,
    booleanizer_from_state,
    features_from_state,
    features_to_state,
    is_own,
)
from ..core.checks import check_flag, check_integer, check_number
from ..core.limits import MAX_FEATURES, MAX_T
from ..core.patches import PatchGrid, image_grid
from ..core.spec import Spec
from ..core.state import EarlierState, Snapshot
from ..core.whole_files import replace_file
from ..machine import Machine
from ..model.fitted import Fitted, Record, TrainingProgress
from ..model.inputs import InputReader
from ..model.probabilities import Sharpness
from ..model.resuming import DATA_TYPES
from .container import ModelFileError, check_header_text, read_model_bytes
from .texts import pack_texts, unpack_texts

__all__ = [
    "FORMAT",
    "MAX_CLASS_NAME",
    "MAX_HISTORY",
    "ModelFileError",
    "check_class_names",
    "check_saveable",
    "load",
    "replace_file",
    "save",
]

FORMAT = 1
#: Characters of a class name. Arrays of texts are as wide as the longest one in every row.
MAX_CLASS_NAME = 10_000
#: Characters of all class names, each as wide as the longest.
_MAX_CLASS_TEXT = 25_000_000
#: Records in a learning curve.
MAX_HISTORY = 100_000
#: Epochs, steps and the like.
_MAX_COUNT = 2**63 - 1
#: Bits of any integer.
_MAX_BITS = 4096
#: Lists that are longer than this as JSON go into tensors; a header has its limits.
_LONG_TEXT = 1_000_000
#: Booleanizers of up to so many bits are rebuilt on saving, to be sure that they can be.
_REBUILT_BITS = 10_000

_CLASS_TYPES = {"str", "object", "bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_TIME_TYPE = re.compile(r"(datetime64|timedelta64)(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")

_STATE = ("memory", "weights", "earlier.included", "earlier.weights")
_TENSORS = {prefix + name for prefix in ("", "best.") for name in _STATE}
_TUPLES = ("patch_shape", "image_shape", "stride")
_TEXTS = "texts"  # in the place of a list that is in tensors
_MACHINE_PARAMETERS = (
    "n_clauses",
    "s",
    "memory_depth",
    "e_scales",
    "boost_true_positive",
    "max_literals",
    "max_weight",
    "average",
    "weighted",
    "backend",
    "n_jobs",
)
_DAMAGED = "the model file is damaged: "
_NOT_SAVED = ("callbacks",)  # code, which a file must not bring


# Writing -----------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier; the file appears whole or not at all.

    What :func:`load` would refuse is not written.
    """
    header, tensors = _encode(estimator)
    text = json.dumps(header)
    try:
        check_header_text(text)
        _decode_parts(_unfold(json.loads(text), tensors)[0], estimator._reader.booleanizer)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise _not_saveable(error) from error
    metadata = {"cotm": text, "sha256": _checksum(text, tensors)}
    replace_file(Path(path), safetensors.numpy.save(tensors, metadata), "the model")


def _encode(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    from .. import __version__

    kind = _saved_class(estimator)
    state, progress, reader = estimator.machine_.snapshot(), estimator._progress, estimator._reader
    grid = reader.grid
    tensors = _encode_snapshot(state, "")
    if progress.best is not None:
        tensors |= _encode_snapshot(progress.best, "best.")
    booleanizer = None
    if reader.booleanizer is not None:
        booleanizer, arrays = _booleanizer_state(reader.booleanizer)
        tensors.update({f"booleanizer.{name}": array for name, array in arrays.items()})
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": kind.__name__,
        "parameters": _encode_parameters(estimator, kind),
        "classes": _encode_classes(estimator.classes_),
        "classes_type": _type_name(estimator.classes_),
        "multilabel": bool(estimator._multilabel),
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": reader.names,
        "booleanizer": booleanizer,
        "example_shape": None if reader.example_shape is None else list(reader.example_shape),
        "grid": [
            *grid.image_shape,
            grid.patch_height,
            grid.patch_width,
            grid.stride_rows,
            grid.stride_columns,
        ],
        "T": estimator.T_,
        "e": estimator.machine_.e,
        "seed": estimator.seed_,
        "step": state.step,
        "best_step": None if progress.best is None else progress.best.step,
        "history": [_plain_record(record) for record in progress.history],
        # No training comes as far as the most that a file can say.
        "target": min(int(progress.until_epoch), _MAX_COUNT),
        "patience_from": min(int(progress.patience_from), _MAX_COUNT),
        "scored_from": progress.scored_from,
        "data": progress.data,
        "sharpness": estimator._now().sharpness.value(),
    }
    if reader.bit_features is not None:
        header["bit_features"] = features_to_state(reader.bit_features)
    header, texts = _fold(header)
    tensors |= texts
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _saved_class(estimator: Any) -> Any:
    """The class of cotm that an estimator is of; a file holds no code, so none of its own."""
    from ..classifier import CoTMClassifier, TMClassifier

    for kind in type(estimator).__mro__:
        if kind in (CoTMClassifier, TMClassifier):
            return kind
    raise TypeError(
        f"a {type(estimator).__name__} cannot be saved; models are CoTMClassifier or TMClassifier"
    )


def _encode_snapshot(state: Snapshot, prefix: str) -> dict[str, NDArray[Any]]:
    tensors: dict[str, NDArray[Any]] = {"memory": state.memory, "weights": state.weights}
    if state.earlier:
        tensors["earlier.included"] = np.stack([past.included for past in state.earlier])
        tensors["earlier.weights"] = np.stack([past.weights for past in state.earlier])
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _booleanizer_state(booleanizer: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if not is_own(booleanizer):
        raise TypeError(
            f"a model with booleanize={booleanizer!r} cannot be saved: a model file holds data, "
            "no code; use one of cotm's booleanizers, or put yours before the classifier"
        )
    meta, arrays = booleanizer.to_state()
    if booleanizer.n_bits_out_ <= _REBUILT_BITS:
        try:
            booleanizer_from_state(meta, arrays)
        except ValueError as error:
            raise _not_saveable(error) from error
    return meta, arrays


def _encode_parameters(estimator: Any, kind: Any) -> dict[str, Any]:
    estimator._check_parameters()
    machine, reader = estimator.machine_, estimator._reader
    # What defines the trained machine is saved as it is in use, whatever was set since.
    in_use = {name: getattr(machine, name) for name in _MACHINE_PARAMETERS}
    in_use |= {name: getattr(reader, name) for name in (*_TUPLES, "booleanize")}
    if len(reader.stride) == 1:
        in_use["stride"] = reader.stride[0]
    for name in ("T", "e"):
        automatic = isinstance(getattr(estimator, name), str)
        in_use[name] = "auto" if automatic else getattr(machine, name)
    if isinstance(estimator.random_state, numbers.Integral):
        in_use["random_state"] = machine.seed_
    names = kind._get_param_names()
    return _plain_parameters(
        {name: in_use[name] if name in in_use else getattr(estimator, name) for name in names}
    )


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """A classifier's parameters as what JSON knows."""
    parameters = {name: v for name, v in parameters.items() if name not in _NOT_SAVED}
    if not isinstance(parameters["booleanize"], str | None):
        parameters["booleanize"] = "fitted"  # the booleanizer's own state says the rest
    if not isinstance(parameters["random_state"], numbers.Integral):
        parameters["random_state"] = None  # the seed it was resolved to is saved
    if isinstance(parameters["class_weight"], dict):
        pairs = [[_plain(k), _plain(v)] for k, v in parameters["class_weight"].items()]
        for label, _ in pairs:
            _check_weighted_label(label)
        parameters["class_weight"] = pairs
    plain = {name: _plain(value) for name, value in parameters.items()}
    for name, value in plain.items():
        _check_digits(name, value)
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            given = parameters[name]
            raise TypeError(
                f"a model with {name}={given!r:.200} cannot be saved ({error}); use plain numbers "
                "and texts"
            ) from error
    return plain


def _plain(value: Any) -> Any:
    """NumPy's numbers, fractions and the like as Python's own."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real | Decimal) else value


def _plain_record(record: dict[str, Any]) -> dict[str, Any]:
    plain = {name: _plain(value) for name, value in record.items()}
    for name, value in plain.items():
        if not isinstance(value, int | float):
            raise TypeError(
                f"the record of epoch {record.get('epoch')} in history_ holds {name}={value!r:.100}"
                ", which cannot be saved; a learning curve is made of numbers, so take it out"
            )
    return plain


def _encode_classes(classes: NDArray[Any]) -> list[Any]:
    if _TIME_TYPE.fullmatch(classes.dtype.name):
        return list(classes.astype(np.int64).tolist())
    values = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float | bool):
            raise TypeError(
                f"a model with the class label {value!r} cannot be saved: labels in a model file "
                "are text, numbers, booleans or NumPy's dates; convert them to text first"
            )
    return values


def _type_name(classes: NDArray[Any]) -> str:
    kind = classes.dtype.kind
    name = {"U": "str", "T": "str", "O": "object"}.get(kind, classes.dtype.name)
    if name not in _CLASS_TYPES and not _TIME_TYPE.fullmatch(name):
        raise TypeError(
            f"a model with class labels of type {classes.dtype} cannot be saved; convert them to "
            "text, integers or float64 first"
        )
    return name


def check_class_names(classes: NDArray[Any]) -> None:
    """Refuse labels that are far too long for names; predictions repeat them in every row."""
    lengths = [len(value) for value in classes.tolist() if isinstance(value, str)]
    longest = max(lengths, default=0)
    if longest > MAX_CLASS_NAME:
        name = next(v for v in classes.tolist() if isinstance(v, str) and len(v) == longest)
        raise ValueError(
            f"the class {name[:40]!r}... has {longest} characters; up to {MAX_CLASS_NAME} work, "
            "so give it a shorter name"
        )
    if classes.dtype.kind == "U" and longest * len(lengths) > _MAX_CLASS_TEXT:
        raise ValueError(
            f"{len(lengths)} classes with names of up to {longest} characters take too much "
            "memory; give them shorter names"
        )


def check_saveable(parameters: dict[str, Any], classes: NDArray[Any], booleanizer: Any) -> None:
    """Raise what saving a model would raise, as far as it is known before training.

    ``parameters`` are the classifier's, from ``get_params(deep=False)``; ``booleanizer`` is the
    fitted one, or None.
    """
    plain = _plain_parameters(parameters)
    _check_settings(_decode_parameters(json.loads(json.dumps(plain))))
    check_class_names(classes)
    values, name = _encode_classes(classes), _type_name(classes)
    try:
        _decode_classes(json.loads(json.dumps(values)), name, multilabel=True)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise _not_saveable(error) from error
    if booleanizer is not None:
        _booleanizer_state(booleanizer)


def _not_saveable(error: Exception) -> ValueError:
    reason = str(error).removeprefix(_DAMAGED)
    return ValueError(f"the model cannot be saved, since it could not be loaded again: {reason}")


def _fold(header: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Move long lists of texts from the header to tensors."""
    header, tensors = _copied(header), {}
    for name, (place, key) in _text_places(header).items():
        values = place.get(key)
        if not isinstance(values, list) or len(json.dumps(values)) <= _LONG_TEXT:
            continue
        if name == "categories":
            counts = np.array([len(part) for part in values], dtype=np.int64)
            tensors[f"{_TEXTS}.{name}.counts"] = counts
            values = [value for part in values for value in part]
        place[key] = _TEXTS
        for part, array in pack_texts(values).items():
            tensors[f"{_TEXTS}.{name}.{part}"] = array
    return header, tensors


def _unfold(
    header: dict[str, Any], tensors: dict[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and tensors as they were before ``_fold``; they may be hostile."""
    header, tensors = _copied(header), dict(tensors)
    for name, (place, key) in _text_places(header).items():
        prefix = f"{_TEXTS}.{name}."
        arrays = {
            k.removeprefix(prefix): tensors.pop(k) for k in [*tensors] if k.startswith(prefix)
        }
        if place.get(key) != _TEXTS:
            _expect(not arrays, f"it holds {name} twice")
            continue
        counts = arrays.pop("counts", np.empty(0)) if name == "categories" else None
        values: list[Any] = unpack_texts(arrays)
        if counts is not None:
            _expect(
                counts.dtype == np.int64
                and counts.ndim == 1
                and bool(((counts >= 0) & (counts <= len(values))).all())
                and sum(counts.tolist()) == len(values),
                "categories do not fit their columns",
            )
            each = iter(values)
            values = [[next(each) for _ in range(count)] for count in counts.tolist()]
        place[key] = values
    strange = [name for name in tensors if name.startswith(f"{_TEXTS}.")]
    _expect(not strange, f"it holds unknown tensors {sorted(strange)!r:.200}")
    return header, tensors


def _copied(header: dict[str, Any]) -> dict[str, Any]:
    """A copy down to the lists that may be moved."""
    copy = dict(header)
    if isinstance(copy.get("booleanizer"), dict):
        copy["booleanizer"] = dict(copy["booleanizer"])
    return copy


def _text_places(header: dict[str, Any]) -> dict[str, tuple[dict[str, Any], str]]:
    """The lists of a header that may be long: name, and where it is."""
    places = {"classes": (header, "classes"), "feature_names_in": (header, "feature_names_in")}
    if isinstance(header.get("booleanizer"), dict):
        places["names"] = (header["booleanizer"], "names")
        places["categories"] = (header["booleanizer"], "categories")
    return places


def _checksum(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


# Reading -----------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """Read a classifier that ``save`` or :class:`cotm.Checkpoint` wrote.

    It predicts and trains on exactly as the one that was saved. Nothing in the file is
    executed. A file that is damaged, foreign or of a newer format gives a
    :class:`ModelFileError`.

    Examples
    --------
    >>> import os, tempfile, cotm
    >>> model = cotm.CoTMClassifier(20, random_state=0).fit([[0], [1], [0], [1]], list("abab"))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.cotm")
    >>> model.save(path)
    >>> bool((cotm.load(path).memory_ == model.memory_).all())
    True
    """
    try:
        return _decode(*_read(read_model_bytes(path)))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    except (OSError, MemoryError):  # not the file's fault
        raise
    except Exception as error:  # whatever a hostile file provokes, it is the file's fault
        raise ModelFileError(
            f"{os.fspath(path)}: {_DAMAGED}{type(error).__name__}: {error!s:.500}"
        ) from error


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 10 or data[8:9] != b"{":
        raise ModelFileError("this is not a model file of cotm (it is not in safetensors format)")
    if length > len(data) - 8:
        raise ModelFileError("the model file is damaged or truncated")
    check_header_text(data[8 : 8 + length])
    try:
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError):
        raise ModelFileError("the model file is damaged: its header cannot be read") from None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("cotm"), str):
        raise ModelFileError("this is not a model file of cotm (it holds other tensors)")
    check_header_text(metadata["cotm"])  # which may have been written in escapes
    header = json.loads(metadata["cotm"])
    version = header.get("format") if isinstance(header, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise ModelFileError(
            f"the model file is of format {version}, and this cotm reads up to {FORMAT}; "
            "install a newer cotm to open it"
        )
    _expect(type(version) is int and version == FORMAT, f"its format is {version!r}")
    try:
        tensors = safetensors.numpy.load(data)
    except Exception as error:
        raise ModelFileError(f"the model file is damaged or truncated ({error})") from error
    if _checksum(metadata["cotm"], tensors) != metadata.get("sha256"):
        raise ModelFileError("the model file is damaged: its checksum does not match its contents")
    strange = {
        name
        for name in tensors
        if name not in _TENSORS and not name.startswith(("booleanizer.", f"{_TEXTS}."))
    }
    _expect(not strange, f"it holds unknown tensors {sorted(strange)!r:.200}")
    return header, tensors


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise ModelFileError(_DAMAGED + what)


def _integer(header: dict[str, Any], name: str, low: int, high: int) -> int:
    value = header[name]
    _expect(type(value) is int and low <= value <= high, f"{name} is {value!r:.100}")
    return int(value)


class Parts(NamedTuple):
    """What a header says, checked: all of a fitted classifier but its state."""

    estimator: Any  # with its parameters, not yet fitted
    fitted: Fitted
    grid: PatchGrid


def _decode(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Any:
    header, tensors = _unfold(header, tensors)
    for tensor in tensors.values():
        tensor.flags.writeable = False
    parts = _decode_parts(header, _decode_booleanizer(header["booleanizer"], tensors))
    fitted, grid = parts.fitted, parts.grid
    machine, m = fitted.machine, len(fitted.classes)
    state = _decode_snapshot(machine, grid, m, tensors, "", header["step"])
    machine.load_state(grid, state)
    progress = dataclasses.replace(fitted.progress, step=state.step)
    if header["best_step"] is not None:
        best = _decode_snapshot(machine, grid, m, tensors, "best.", header["best_step"])
        progress = dataclasses.replace(progress, best=machine.adapt(best))
    else:
        surplus = sorted(name for name in tensors if name.startswith("best."))
        _expect(not surplus, f"it holds {surplus}, but no best_step")

    parts.estimator._fitted = dataclasses.replace(fitted, progress=progress)
    return parts.estimator


def _decode_parts(header: dict[str, Any], booleanizer: Any) -> Parts:
    """Check every field of a header, and those that depend on each other together."""
    from ..classifier import CoTMClassifier, TMClassifier

    kinds = {kind.__name__: kind for kind in (CoTMClassifier, TMClassifier)}
    _expect(header["class"] in kinds, f"class {header['class']!r:.100} is unknown")
    parameters = _decode_parameters(header["parameters"])
    _check_settings(parameters)
    estimator = kinds[header["class"]](**parameters)
    estimator._check_parameters()
    multilabel = header["multilabel"]
    _expect(isinstance(multilabel, bool), "multilabel is not a boolean")
    classes = _decode_classes(header["classes"], header["classes_type"], multilabel)

    n_features_in = _integer(header, "n_features_in", 1, MAX_FEATURES)
    reader, grid = _decode_reader(estimator, header, booleanizer, n_features_in)
    reader.n_features = n_features_in
    reader.names = _decode_names(header["feature_names_in"], n_features_in, booleanizer)
    if "bit_features" in header:
        _expect(booleanizer is None, "bits of a booleanizer are described twice")
        reader.bit_features = features_from_state(header["bit_features"], grid.channels)

    T = _integer(header, "T", 1, MAX_T)
    e = header["e"]
    in_use = estimator._machine_parameters(len(classes), multilabel)
    machine = Machine(**{**in_use, "T": T, "e": e})
    for name, value in (("T", T), ("e", e)):
        given = parameters[name]
        _expect(
            given == "auto" or (type(given) is type(value) and given == value),
            f"{name} is {value!r:.100}, but the parameter {given!r:.100}",
        )
    machine.seed_ = _integer(header, "seed", 0, 2**64 - 1)
    progress = TrainingProgress(
        history=tuple(cast(list[Record], _decode_history(header["history"]))),
        until_epoch=_integer(header, "target", 0, 2**63),
        patience_from=_integer(header, "patience_from", 0, 2**63),
        scored_from=_integer({"scored_from": 0, **header}, "scored_from", 0, 2**63),
        data=_decode_data(header.get("data")),
    )
    sharpness = header.get("sharpness")
    _expect(
        sharpness is None or (type(sharpness) is float and 0 < sharpness < 1e9),
        f"sharpness is {sharpness!r:.100}",
    )
    fitted = Fitted(reader, classes, multilabel, machine, progress, Sharpness(sharpness))
    return Parts(estimator, fitted, grid)


def _decode_data(data: Any) -> dict[str, Any] | None:
    """What the data of a training are known by; files of older versions have none."""
    if data is None:
        return None
    _expect(
        isinstance(data, dict)
        and {name: type(value) for name, value in data.items()} == DATA_TYPES,
        "what is said of the training data cannot be read",
    )
    return dict(data)


def _decode_parameters(encoded: Any) -> dict[str, Any]:
    _expect(isinstance(encoded, dict), "parameters are missing")
    parameters = dict(encoded)
    for name in _TUPLES:
        if isinstance(parameters.get(name), list):
            parameters[name] = tuple(parameters[name])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = {key: value for key, value in parameters["class_weight"]}
    try:
        check_backend(parameters["backend"])
    except ValueError:
        parameters["backend"] = "auto"  # a model opens anywhere, whatever trained it
    return parameters


def _check_settings(parameters: dict[str, Any]) -> None:
    """What neither Machine nor InputReader nor the classifier checks before it is needed."""
    for name, value in parameters.items():
        _check_digits(name, value)
    check_flag("warm_start", parameters["warm_start"])
    for name in ("epochs", "patience", "verbose"):
        if not isinstance(parameters[name], bool):
            check_integer(name, parameters[name], 0, _MAX_COUNT)
    weights = parameters["class_weight"]
    if isinstance(weights, dict):
        for label, value in weights.items():
            _check_weighted_label(label)
            check_number(f"class_weight[{label!r:.100}]", value, 0.0)
    elif weights not in (None, "balanced"):
        raise ValueError(f"class_weight={weights!r:.100} must be a dictionary, 'balanced' or None")


def _check_digits(name: str, value: Any) -> None:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:  # Python would not print it
        raise ValueError(f"{name} is a number of {value.bit_length()} bits; use a smaller one")


def _check_weighted_label(label: Any) -> None:
    if not isinstance(label, str | int | float):
        raise TypeError(
            f"a model with class_weight for the label {label!r:.100} cannot be saved: such labels "
            "are text, numbers or booleans in a model file; pass sample_weight instead"
        )


def _decode_classes(values: Any, type_name: Any, multilabel: bool) -> NDArray[Any]:
    _expect(isinstance(values, list) and len(values) >= 2, "it names fewer than two classes")
    _expect(all(isinstance(v, str | int | float) for v in values), "classes are of a strange type")
    _expect(isinstance(type_name, str), f"classes are of the type {type_name!r:.100}")
    if _TIME_TYPE.fullmatch(type_name):
        _expect(all(type(v) is int for v in values), "dates are not integers")
        classes = np.array(values, dtype=np.int64).astype(type_name)
        _expect(not np.isnat(classes).any(), "a class is not a date (NaT)")
    else:
        _expect(type_name in _CLASS_TYPES, f"classes are of the type {type_name!r:.100}")
        texts = [value for value in values if isinstance(value, str)]
        longest = max(map(len, texts), default=0)
        _expect(longest <= MAX_CLASS_NAME, f"a class has a name of {longest} characters")
        if type_name == "str":
            _expect(len(texts) == len(values), "classes do not fit their type")
            _expect(longest * len(texts) <= _MAX_CLASS_TEXT, "class names are too long")
        classes = np.array(values, dtype=None if type_name == "str" else type_name)
        _expect(classes.tolist() == values, "classes do not fit their type")
    if multilabel:
        _expect(len(set(values)) == len(values), "two labels have one name")
    else:
        _expect(bool((classes[:-1] < classes[1:]).all()), "classes are not in order")
    return classes


def _decode_names(names: Any, n_features_in: int, booleanizer: Any) -> list[str] | None:
    if names is None:
        return None
    _expect(
        isinstance(names, list)
        and len(names) == n_features_in
        and all(isinstance(name, str) for name in names),
        "feature names do not fit",
    )
    known = getattr(booleanizer, "feature_names_in_", None)
    _expect(
        known is None or names == [*known], "feature_names_in is not what the booleanizer knows"
    )
    return list(names)


def _decode_booleanizer(meta: Any, tensors: dict[str, NDArray[Any]]) -> Any:
    prefix = "booleanizer."
    arrays = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    if meta is None:
        _expect(not arrays, f"it holds {sorted(arrays)!r:.200} of a booleanizer that is missing")
        return None
    return booleanizer_from_state(meta, arrays)


def _decode_reader(
    estimator: Any, header: dict[str, Any], booleanizer: Any, n_features_in: int
) -> tuple[InputReader, PatchGrid]:
    if estimator.booleanize == "fitted":
        _expect(booleanizer is not None, "its booleanizer is missing")
        estimator.booleanize = type(booleanizer)(**booleanizer.get_params())
    reader = InputReader.from_parameters(estimator)
    _expect(
        reader.booleanize is not None or booleanizer is None,
        "it has a booleanizer, but booleanize is None",
    )
    reader.booleanizer = booleanizer
    shape = header["example_shape"]
    if reader.reads_images:
        _expect(
            isinstance(shape, list)
            and 1 <= len(shape) <= 3
            and all(type(v) is int and v >= 1 for v in shape)
            and math.prod(shape) == n_features_in,
            f"example_shape is {shape!r:.100}, but n_features_in {n_features_in}",
        )
        reader.example_shape = tuple(shape)
    else:
        _expect(shape is None, f"example_shape is {shape!r:.100}, but there is no patch_shape")
    bits = _bits_shape(booleanizer, reader.example_shape or (n_features_in,))
    if reader.patch_shape is not None:
        grid = _within_image(image_grid(bits, reader.patch_shape, reader.stride))
    else:
        grid = PatchGrid.flat(bits[0])
    figures = header["grid"]
    _expect(
        isinstance(figures, list)
        and len(figures) == 7
        and all(type(v) is int and 1 <= v <= MAX_FEATURES for v in figures)
        # Strides beyond the image are all the same.
        and _within_image(PatchGrid(*figures)) == grid
        and grid.n_features <= MAX_FEATURES,
        f"grid is {figures!r:.100}, but the other fields make it {dataclasses.astuple(grid)}",
    )
    reader.grid = grid
    return reader, grid


def _bits_shape(booleanizer: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the bits that examples of a shape become."""
    if booleanizer is None:
        return shape
    kind, n_bits = type(booleanizer).__name__, booleanizer.n_bits_out_
    _expect(n_bits >= 1, f"its {kind} makes no bits")
    if isinstance(booleanizer, AdaptiveGaussianThreshold | ImageThermometer):
        channels = shape[2] if len(shape) == 3 else 1
        _expect(
            len(shape) in (2, 3) and channels == booleanizer.n_channels_,
            f"its {kind} has {booleanizer.n_channels_} channels, but examples are {shape}",
        )
        return shape if isinstance(booleanizer, AdaptiveGaussianThreshold) else (*shape[:2], n_bits)
    columns = booleanizer.n_features_in_
    _expect(shape == (columns,), f"its {kind} has {columns} columns, but examples are {shape}")
    return (n_bits,)


def _within_image(grid: PatchGrid) -> PatchGrid:
    """The same patches with strides that do not go beyond the image."""
    return dataclasses.replace(
        grid,
        stride_rows=min(grid.stride_rows, grid.height),
        stride_columns=min(grid.stride_columns, grid.width),
    )


def _decode_snapshot(
    machine: Machine,
    grid: PatchGrid,
    m: int,
    tensors: dict[str, NDArray[Any]],
    prefix: str,
    step: Any,
) -> Snapshot:
    memory, weights = tensors[f"{prefix}memory"], tensors[f"{prefix}weights"]
    spec = Spec.of(machine.parameters, grid, m, machine.seed_)
    _expect(
        memory.dtype == np.int8 and memory.shape == (spec.n, grid.n_literals),
        f"memory is {memory.dtype} {memory.shape}",
    )
    _expect(
        weights.dtype == np.int32 and weights.shape == (spec.n, m),
        f"weights are {weights.dtype} {weights.shape}",
    )
    _expect(bool((memory >= -spec.N).all() and (memory < spec.N).all()), "memory out of range")
    _expect(bool((np.abs(weights.astype(np.int64)) <= spec.max_weight).all()), "weights too large")
    _expect(type(step) is int and 0 <= step < 2**63, f"step is {step!r:.100}")
    return Snapshot(memory, weights, step, _decode_earlier(machine, spec, tensors, prefix))


def _decode_earlier(
    machine: Machine, spec: Spec, tensors: dict[str, NDArray[Any]], prefix: str
) -> tuple[EarlierState, ...]:
    included = tensors.get(f"{prefix}earlier.included")
    weights = tensors.get(f"{prefix}earlier.weights")
    if included is None or weights is None:
        _expect(included is weights, "half of the earlier states is missing")
        return ()
    shape = (len(included), spec.n, -(-spec.grid.n_literals // 8))
    _expect(
        included.dtype == np.uint8
        and included.shape == shape
        and len(included) < machine.parameters.average,
        f"earlier states are {included.dtype} {included.shape}",
    )
    _expect(
        weights.dtype == np.int32 and weights.shape == (len(included), spec.n, spec.m),
        f"earlier weights are {weights.dtype} {weights.shape}",
    )
    _expect(
        bool((np.abs(weights.astype(np.int64)) <= spec.max_weight).all()),
        "earlier weights too large",
    )
    return tuple(EarlierState(*pair) for pair in zip(included, weights, strict=True))


def _decode_history(history: Any) -> list[dict[str, Any]]:
    _expect(isinstance(history, list), "its learning curve is missing")
    _expect(
        len(history) <= MAX_HISTORY,
        f"its learning curve has {len(history)} records; up to {MAX_HISTORY} work",
    )
    for record in history:
        _expect(
            isinstance(record, dict)
            and {"epoch", "train_accuracy", "seconds"} <= record.keys()
            and type(record["epoch"]) is int
            and all(_is_finite(value) for value in record.values()),
            f"its learning curve holds {record!r:.200}",
        )
    return list(history)


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that every computation can take."""
    if type(value) is int:
        return abs(value) <= _MAX_COUNT
    return type(value) is float and math.isfinite(value)
