"""Reading arrays from NPZ files."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import suggestion
from .paths import Source


def read_arrays(source: Source, *, with_labels: bool) -> tuple[Any, NDArray[Any] | None]:
    """Examples, and labels where asked for."""
    if source.drop:
        raise ValueError("--drop leaves out columns of tables; the arrays of an NPZ file have none")
    with source.path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{source.path} is not an NPZ file")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            X = _array(archive, source.x, "--x", source)
            if not with_labels:
                return X, None
            y = _array(archive, source.target or source.y, "--y", source)
    if len(X) != len(y):
        raise ValueError(f"{source.path} has {len(X)} examples, but {len(y)} labels")
    missing = np.isnan(y).sum() if y.dtype.kind == "f" else 0
    if missing:
        raise ValueError(
            f"{source.path} has no label (NaN) in {missing} of {len(y)} rows; remove these rows"
        )
    return X, y.astype(str) if y.dtype.kind == "S" else y


def _array(archive: Any, name: str, option: str, source: Source) -> NDArray[Any]:
    if name not in archive.files:
        raise ValueError(
            f"{source.path} has no array {name!r} (choose another with {option}); "
            f"{suggestion(name, archive.files)}"
        )
    try:
        array: NDArray[Any] = archive[name]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{source.path}: array {name!r} cannot be read: {error}") from error
    if array.ndim == 0 or len(array) == 0:
        raise ValueError(f"{source.path}: array {name!r} holds no examples")
    return array
