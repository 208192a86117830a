"""Reading arrays from NPZ files."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import suggestion
from .source import Source

#: What reading a damaged archive raises; RuntimeError of one with a password, too.
_DAMAGE = (
    *(ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, LookupError),
    *(OverflowError, struct.error, SyntaxError),
)


def read_arrays(source: Source, *, with_labels: bool) -> tuple[Any, NDArray[Any] | None]:
    """Examples, and labels where asked for."""
    if source.drop:
        raise ValueError("--drop leaves out columns of tables; the arrays of an NPZ file have none")
    content = source.content
    with content.open("rb") if isinstance(content, Path) else io.BytesIO(content) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{source.name} is not an NPZ file")
        file.seek(0)
        with _opened(file, source) as archive:
            X = _array(archive, source.x, "--x", source)
            if not with_labels:
                return X, None
            name = source.target or source.y
            y = _labels(_array(archive, name, "--y", source), name, source)
    if len(X) != len(y):
        raise ValueError(f"{source.name} has {len(X)} examples, but {len(y)} labels")
    missing = np.isnan(y).sum() if y.dtype.kind == "f" else 0
    if missing:
        raise ValueError(
            f"{source.name} has no label (NaN) in {missing} of {len(y)} rows; remove these rows"
        )
    return X, y


def _opened(file: Any, source: Source) -> Any:
    try:
        return np.load(file, allow_pickle=False)
    except _DAMAGE as error:
        raise ValueError(f"{source.name} cannot be read as npz: {error}") from error


def _labels(y: NDArray[Any], name: str, source: Source) -> NDArray[Any]:
    """Labels of a type that a model file can hold; found out before the training, not after."""
    if y.dtype.kind == "S":
        try:
            return np.char.decode(y, "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{source.name}: array {name!r} holds bytes that are no UTF-8 text; store text"
            ) from error
    if y.dtype.kind not in "Ubiuf" or (y.dtype.itemsize > 8 and y.dtype.kind != "U"):
        raise ValueError(
            f"{source.name}: array {name!r} holds {y.dtype}; labels are text, numbers of up to 64 "
            "bits or booleans, so convert it first"
        )
    return y


def _array(archive: Any, name: str, option: str, source: Source) -> NDArray[Any]:
    if name not in archive.files:
        raise ValueError(
            f"{source.name} has no array {name!r} (choose another with {option}); "
            f"{suggestion(name, archive.files)}"
        )
    try:
        array: NDArray[Any] = archive[name]
    except _DAMAGE as error:
        raise ValueError(f"{source.name}: array {name!r} cannot be read: {error}") from error
    if array.ndim == 0 or len(array) == 0:
        raise ValueError(f"{source.name}: array {name!r} holds no examples")
    return array
