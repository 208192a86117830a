"""Model files: safetensors with a versioned JSON header. Reading one executes nothing.

Layout of format 1: tensors ``memory`` and ``weights``, those of the best epoch while
training with early stopping is under way, and the booleanizer's; one metadata entry
``cotm`` with everything else as JSON; one entry ``sha256`` over both. ``docs/files.md``
describes the fields.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from .backends import resolve_backend
from .booleanize import booleanizer_from_state, features_from_state, features_to_state
from .fitted import Course, Fitted
from .inputs import InputReader
from .literals import MAX_FEATURES, PatchGrid
from .machine import Machine
from .probabilities import Sharpness
from .resuming import DATA_TYPES
from .spec import Spec
from .states import PastState, Snapshot

FORMAT = 1

_CLASS_TYPES = {"str", "object", "bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_STATE = ("memory", "weights", "earlier.included", "earlier.weights")
_TENSORS = {prefix + name for prefix in ("", "best.") for name in _STATE}
_TUPLES = ("patch_shape", "image_shape", "stride")
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
)
_NOT_SAVED = ("callbacks",)  # code, which a file must not bring


class ModelFileError(ValueError):
    """A file is not a model file of cotm, is damaged, or is of a newer format."""


# Writing -----------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier; the file appears whole or not at all."""
    header, tensors = _encode(estimator)
    text = json.dumps(header)
    metadata = {"cotm": text, "sha256": _checksum(text, tensors)}
    replace_file(Path(path), safetensors.numpy.save(tensors, metadata), "the model")


def _encode(estimator: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    from . import __version__

    state, course, reader = estimator.machine_.snapshot(), estimator._course, estimator._reader
    grid = reader.grid
    tensors = _encode_snapshot(state, "")
    if course.best is not None:
        tensors |= _encode_snapshot(course.best, "best.")
    booleanizer = None
    if reader.booleanizer is not None:
        booleanizer, arrays = _booleanizer_state(reader.booleanizer)
        tensors.update({f"booleanizer.{name}": array for name, array in arrays.items()})
    header = {
        "format": FORMAT,
        "cotm": __version__,
        "class": type(estimator).__name__,
        "parameters": _encode_parameters(estimator),
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
        "best_step": None if course.best is None else course.best.step,
        "history": list(course.history),
        "target": course.target,
        "patience_from": course.patience_from,
        "data": course.data,
        "sharpness": estimator._now().sharpness.value(),
    }
    if reader.bit_features is not None:
        header["bit_features"] = features_to_state(reader.bit_features)
    return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}


def _encode_snapshot(state: Snapshot, prefix: str) -> dict[str, NDArray[Any]]:
    tensors: dict[str, NDArray[Any]] = {"memory": state.memory, "weights": state.weights}
    if state.earlier:
        tensors["earlier.included"] = np.stack([past.included for past in state.earlier])
        tensors["earlier.weights"] = np.stack([past.weights for past in state.earlier])
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _booleanizer_state(booleanizer: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if not hasattr(booleanizer, "to_state"):
        raise TypeError(
            f"a model with booleanize={booleanizer!r} cannot be saved: a model file holds data, "
            "no code; use one of cotm's booleanizers, or put yours before the classifier"
        )
    meta, arrays = booleanizer.to_state()
    return meta, arrays


def _encode_parameters(estimator: Any) -> dict[str, Any]:
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
    parameters = estimator.get_params(deep=False)
    parameters = {name: in_use.get(name, parameters[name]) for name in parameters}
    for name in _NOT_SAVED:
        parameters.pop(name)
    if not isinstance(parameters["booleanize"], str | None):
        parameters["booleanize"] = "fitted"  # the booleanizer's own state says the rest
    if not isinstance(parameters["random_state"], int | np.integer):
        parameters["random_state"] = None  # the seed it was resolved to is saved
    if isinstance(parameters["class_weight"], dict):
        pairs = [[_plain(k), _plain(v)] for k, v in parameters["class_weight"].items()]
        parameters["class_weight"] = pairs
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _encode_classes(classes: NDArray[Any]) -> list[Any]:
    values = [_plain(value) for value in classes.tolist()]
    for value in values:
        if not isinstance(value, str | int | float | bool):
            raise TypeError(
                f"a model with the class label {value!r} cannot be saved: labels in a model file "
                "are text, numbers or booleans"
            )
    return values


def _type_name(classes: NDArray[Any]) -> str:
    return {"U": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)


def _checksum(text: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def replace_file(path: Path, data: bytes, what: str) -> None:
    """A crash at any point leaves the old file or the new one, never a part."""
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = None
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # temporary files are private, model files are not
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise type(error)(
            error.errno,
            f"{what} was not saved ({error.strerror}); choose a path you may write to",
            str(path),
        ) from error


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
    data = Path(path).read_bytes()
    try:
        return _decode(*_read(data))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    except Exception as error:  # whatever a hostile file provokes, it is the file's fault
        raise ModelFileError(
            f"{os.fspath(path)}: the model file is damaged ({type(error).__name__}: {error})"
        ) from error


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 10 or data[8:9] != b"{":
        raise ModelFileError("this is not a model file of cotm (it is not in safetensors format)")
    if length > len(data) - 8:
        raise ModelFileError("the model file is damaged or truncated")
    try:
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError):
        raise ModelFileError("the model file is damaged: its header cannot be read") from None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("cotm"), str):
        raise ModelFileError("this is not a model file of cotm (it holds other tensors)")
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
    strange = {name for name in tensors if name not in _TENSORS and name[:12] != "booleanizer."}
    _expect(not strange, f"it holds unknown tensors {sorted(strange)}")
    return header, tensors


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise ModelFileError(f"the model file is damaged: {what}")


def _integer(header: dict[str, Any], name: str, low: int, high: int) -> int:
    value = header[name]
    _expect(type(value) is int and low <= value <= high, f"{name} is {value!r:.100}")
    return int(value)


def _decode(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Any:
    from .classifier import CoTMClassifier, TMClassifier

    kinds = {kind.__name__: kind for kind in (CoTMClassifier, TMClassifier)}
    _expect(header["class"] in kinds, f"class {header['class']!r:.100} is unknown")
    estimator = kinds[header["class"]](**_decode_parameters(header["parameters"]))
    estimator._check_parameters()
    multilabel = header["multilabel"]
    _expect(isinstance(multilabel, bool), "multilabel is not a boolean")
    classes = _decode_classes(header["classes"], header["classes_type"], multilabel)
    reader = _decode_reader(estimator, header, tensors)
    assert reader.grid is not None
    m = len(classes)
    T = _integer(header, "T", 1, 2**30)
    parameters = {**estimator._machine_parameters(m, multilabel), "T": T, "e": header["e"]}
    machine = Machine(**parameters)
    machine.seed_ = _integer(header, "seed", 0, 2**64 - 1)
    state = _decode_snapshot(machine, reader.grid, m, tensors, "", header["step"])
    machine.load_state(reader.grid, state)
    best = None
    if header["best_step"] is not None:
        best = _decode_snapshot(machine, reader.grid, m, tensors, "best.", header["best_step"])
        best = machine.adapt(best)
    course = Course(
        history=tuple(_decode_history(header["history"])),
        best=best,
        target=_integer(header, "target", 0, 2**63),
        patience_from=_integer(header, "patience_from", 0, 2**63),
        step=state.step,
        data=_decode_data(header.get("data")),
    )
    sharpness = header.get("sharpness")
    _expect(
        sharpness is None or (type(sharpness) is float and 0 < sharpness < 1e9),
        f"sharpness is {sharpness!r:.100}",
    )
    estimator._fitted = Fitted(reader, classes, multilabel, machine, course, Sharpness(sharpness))
    return estimator


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
        resolve_backend(parameters["backend"])
    except ValueError:
        parameters["backend"] = "auto"  # a model opens anywhere, whatever trained it
    return parameters


def _decode_classes(values: Any, type_name: Any, multilabel: bool) -> NDArray[Any]:
    _expect(isinstance(values, list) and len(values) >= 2, "it names fewer than two classes")
    _expect(all(isinstance(v, str | int | float) for v in values), "classes are of a strange type")
    _expect(type_name in _CLASS_TYPES, f"classes are of the type {type_name!r:.100}")
    classes = np.array(values, dtype=None if type_name == "str" else type_name)
    _expect(classes.tolist() == values, "classes do not fit their type")
    if multilabel:
        _expect(len(set(values)) == len(values), "two labels have one name")
    else:
        _expect(bool((classes[:-1] < classes[1:]).all()), "classes are not in order")
    return classes


def _decode_reader(
    estimator: Any, header: dict[str, Any], tensors: dict[str, NDArray[Any]]
) -> InputReader:
    meta = header["booleanizer"]
    booleanizer: Any = None
    if meta is not None:
        prefix = "booleanizer."
        arrays = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        booleanizer = booleanizer_from_state(meta, arrays)
    if estimator.booleanize == "fitted":
        _expect(booleanizer is not None, "its booleanizer is missing")
        estimator.booleanize = type(booleanizer)(**booleanizer.get_params())
    reader = InputReader.from_parameters(estimator)
    reader.booleanizer = booleanizer
    reader.n_features = _integer(header, "n_features_in", 1, MAX_FEATURES)
    names = header["feature_names_in"]
    if names is not None:
        _expect(
            isinstance(names, list)
            and len(names) == reader.n_features
            and all(isinstance(name, str) for name in names),
            "feature names do not fit",
        )
        reader.names = names
    shape = header["example_shape"]
    if reader.reads_images:
        _expect(
            isinstance(shape, list) and all(type(v) is int and v >= 1 for v in shape),
            f"example_shape is {shape!r:.100}",
        )
        reader.example_shape = tuple(shape)
    numbers = header["grid"]
    _expect(
        isinstance(numbers, list)
        and len(numbers) == 7
        and all(type(v) is int and 1 <= v <= MAX_FEATURES for v in numbers),
        f"grid is {numbers!r:.100}",
    )
    grid = PatchGrid(*numbers)
    _expect(
        grid.patch_height <= grid.height
        and grid.patch_width <= grid.width
        and grid.n_features <= MAX_FEATURES,
        f"grid is {numbers}",
    )
    reader.grid = grid
    if "bit_features" in header:
        _expect(booleanizer is None, "bits of a booleanizer are described twice")
        reader.bit_features = features_from_state(header["bit_features"], grid.channels)
    return reader


def _decode_snapshot(
    machine: Machine,
    grid: PatchGrid,
    m: int,
    tensors: dict[str, NDArray[Any]],
    prefix: str,
    step: Any,
) -> Snapshot:
    memory, weights = tensors[f"{prefix}memory"], tensors[f"{prefix}weights"]
    spec = machine.make_spec(grid, m)
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
) -> tuple[PastState, ...]:
    included = tensors.get(f"{prefix}earlier.included")
    weights = tensors.get(f"{prefix}earlier.weights")
    if included is None or weights is None:
        _expect(included is weights, "half of the earlier states is missing")
        return ()
    shape = (len(included), spec.n, -(-spec.grid.n_literals // 8))
    _expect(
        included.dtype == np.uint8 and included.shape == shape and len(included) < machine.average,
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
    return tuple(PastState(*pair) for pair in zip(included, weights, strict=True))


def _decode_history(history: Any) -> list[dict[str, Any]]:
    _expect(
        isinstance(history, list)
        and all(
            isinstance(record, dict)
            and all(isinstance(value, int | float) for value in record.values())
            and {"epoch", "train_accuracy", "seconds"} <= record.keys()
            for record in history
        ),
        "its learning curve cannot be read",
    )
    return list(history)
