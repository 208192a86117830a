"""From X that comes in batches to bits in a temporary file: the same that X as a whole becomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

from ..booleanize import Booleanizer, bit_features_of
from ..booleanize.base import TableBooleanizer
from ..booleanize.frames import names_message
from ..core.examples import Examples, as_examples
from ..core.patches import PatchGrid
from ..core.stored_bits import PackedBits, SetBits, StoredBits
from .inputs import InputReader, column_names, holds_bits, holds_gray, is_frame

_Folder = str | os.PathLike[str] | None


def fit_batches(
    reader: InputReader, passes: Callable[[], Iterable[Any]], folder: _Folder
) -> Examples:
    """What ``reader.fit`` gives for all batches together; ``passes`` reads them anew each time."""
    checked = _Checked(reader, passes)
    reader.booleanizer = _booleanizer(reader, checked)
    stored: _Stored | None = None
    for X, features in checked():
        bits = X if reader.booleanizer is None else reader.booleanizer.transform(X)
        if stored is None:
            reader.adopt(bits, features)
            assert reader.grid is not None
            stored = _Stored(reader.grid, folder)
        stored.append(bits)
    return _whole(stored)


def read_batches(reader: InputReader, batches: Iterable[Any], folder: _Folder) -> Examples:
    """What ``reader.read`` gives for all batches together."""
    stored: _Stored | None = None
    for X in batches:
        if stored is None:
            assert reader.grid is not None
            stored = _Stored(reader.grid, folder)
        stored.append(reader.read(X))
    return _whole(stored)


class _Stored:
    """Examples that are written to a file one batch after the other."""

    def __init__(self, grid: PatchGrid, folder: _Folder) -> None:
        self._grid, self._folder = grid, folder
        self.bits: StoredBits | None = None

    def append(self, bits: Any) -> None:
        found = as_examples(bits, self._grid).on_host().bits
        kind = SetBits if scipy.sparse.issparse(found) else PackedBits
        if self.bits is None:
            shape = self._grid.n_features if kind is SetBits else self._grid.image_shape
            self.bits = kind(shape, self._folder)  # type: ignore[arg-type]
        elif type(self.bits) is not kind:
            raise ValueError("some batches of X are sparse and others dense; pass one kind")
        self.bits.append(found)

    @property
    def examples(self) -> Examples:
        return Examples(self.bits, self._grid)


def _whole(stored: _Stored | None) -> Examples:
    if stored is None:
        raise ValueError("X holds no examples (0 rows in all batches)")
    return stored.examples


class _Checked:
    """Batches that were checked as X as a whole would be; the first one says what all are."""

    def __init__(self, reader: InputReader, passes: Callable[[], Iterable[Any]]) -> None:
        self._reader, self._passes = reader, passes
        self._shape: tuple[int, ...] | None = None

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        for batch in self._passes():
            features = bit_features_of(batch)  # the checks make a plain array of it
            names = column_names(batch)
            X = self._reader.check(batch)
            shape = tuple(X.shape[1:])
            if self._shape is None:
                self._shape = shape
                self._reader.begin(names, shape)
            elif names != self._reader.names:
                raise ValueError(names_message(names or [], self._reader.names or []))
            elif shape != self._shape:
                raise ValueError(
                    f"this batch has examples of shape {shape}, but those before have {self._shape}"
                )
            yield X, features


def _booleanizer(reader: InputReader, batches: _Checked) -> Any:
    """What makes bits of X, with all that it has to learn; None where X holds bits."""
    wanted = reader.booleanize
    if wanted is None:
        return None
    automatic = isinstance(wanted, str)
    if reader.reads_images:
        learned = _image_booleanizer(reader, batches) if automatic else clone(wanted)
        if learned is not None and getattr(learned, "learns_pixels", True):
            raise _cannot(type(learned).__name__)
        for X, _ in batches():
            return learned if learned is None else learned.fit(X)  # it learns nothing but sizes
        return learned
    if automatic:
        count = reader.number_bits
        learned = Booleanizer() if count is None else Booleanizer(count)
    else:
        learned = clone(wanted)
    if not isinstance(learned, TableBooleanizer):
        raise _cannot(type(learned).__name__)
    summary, only_bits, first = learned.summary(), automatic, True
    for X, _ in batches():
        only_bits = only_bits and not is_frame(X) and holds_bits(_values(X))
        first = False
        summary.update(X)
    if only_bits or first:  # without any rows there is nothing to learn, and an error to come
        return None
    while not summary.is_exact:
        recount = summary.recount()
        for X, _ in batches():
            recount.update(X)
        summary.refine(recount)
    return learned.fit_summary(summary)


def _image_booleanizer(reader: InputReader, batches: _Checked) -> Any:
    """As for images as a whole."""
    only_bits, lowest, highest, kinds = True, np.inf, -np.inf, set()
    for X, _ in batches():
        only_bits = only_bits and holds_bits(X)
        lowest, highest = min(lowest, X.min()), max(highest, X.max())
        kinds.add(X.dtype)
    if only_bits:
        return None
    whole = np.array([lowest, highest]).astype(np.result_type(*kinds))
    return reader.gray_or_levels(gray=holds_gray(whole))


def _values(X: Any) -> Any:
    return X.data if scipy.sparse.issparse(X) else X


def _cannot(title: str) -> ValueError:
    return ValueError(
        f"{title} learns from all examples at once, so it cannot read a stream; fit it on some of "
        "them, let the batches hold the bits that its transform gives, and set booleanize=None"
    )
