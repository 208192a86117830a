"""What contributions are told apart by: the columns of X, or the pixels of its images."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import BitFeature, GradientHistogram, ImageUnion, TokenWindows
from ..booleanize.base import TableBooleanizer
from ..booleanize.descriptions import place_of
from ..booleanize.frames import default_names, read_table
from ..core.examples import Examples
from ..model.inputs import InputReader
from ..rules.features import slices


@dataclass(frozen=True, eq=False)
class Features:
    """The columns or pixels that a classifier reads."""

    names: tuple[str, ...]
    of_bits: NDArray[np.int32]  # the column of each bit; of images there are none
    are_bits: bool = False  # whether every column is a bit
    are_raw: bool = False  # whether a booleanizer for tables reads them
    image_shape: tuple[int, int] | None = None
    same_as: Hashable = None  # classifiers for which this is equal read the same columns of an X
    windows: TokenWindows | None = None  # of texts, what their pixels are

    def __len__(self) -> int:
        return len(self.names)

    def values(self, X: Any, bits: NDArray[np.uint8] | None) -> NDArray[np.object_] | None:
        """The cells (N, features) of X, its bits or tokens; None where they are not known."""
        if self.windows is not None:
            return self.windows.texts(X)
        if self.are_raw:
            return cells_of(X)
        if self.are_bits and bits is not None:
            return bits.astype(object)
        return None


def features_of(reader: InputReader) -> Features:
    """What a classifier reads.

    The bits that a booleanizer of cotm makes of a column are one feature. Those of a transformer
    that does not say which column they are of are features of their own.
    """
    grid, booleanizer = reader.grid, reader.booleanizer
    assert grid is not None
    if reader.reads_images:
        return _places(reader) or _pixels(reader)
    if isinstance(booleanizer, TableBooleanizer):
        names = reader.names or default_names(reader.n_features)
        of_bits = np.array([feature.index for feature in booleanizer.describe()], dtype=np.int32)
        key = (reader.n_features, tuple(reader.names or ()))
        return Features(tuple(names), of_bits, are_raw=True, same_as=key)
    if booleanizer is None and reader.bit_features is not None:
        return _described(reader.bit_features)
    count = grid.n_features
    each = np.arange(count, dtype=np.int32)
    if booleanizer is None:
        names = reader.names or default_names(count)
        return Features(tuple(names), each, True, same_as=(count, tuple(reader.names or ())))
    made = getattr(booleanizer, "get_feature_names_out", lambda: default_names(count))()
    if len(made) != count:
        made = default_names(count)
    return Features(tuple(map(str, made)), each, are_bits=True)


def _described(bits: list[BitFeature]) -> Features:
    """Columns of which a booleanizer before the classifier has made these bits."""
    numbers: dict[tuple[Any, str], int] = {}
    of_bits = [numbers.setdefault((bit.index, bit.column), len(numbers)) for bit in bits]
    names = tuple(column for _, column in numbers)
    are_bits = all(bit.op == "bit" for bit in bits) and len(names) == len(bits)
    return Features(names, np.array(of_bits, dtype=np.int32), are_bits, same_as=tuple(numbers))


def _places(reader: InputReader) -> Features | None:
    """Pixels and cells that bits themselves name, as those of a union do; None where none do.

    Grids of several booleanizers are no image, so these are columns.
    """
    bits = reader.bit_features
    if isinstance(reader.booleanizer, ImageUnion):
        bits = reader.booleanizer.describe()
    places = [place_of(bit) for bit in bits or ()]
    if not places or None in places:
        return None
    numbers: dict[str, int] = {}
    of_bits = [numbers.setdefault(str(place), len(numbers)) for place in places]
    return Features(tuple(numbers), np.array(of_bits, dtype=np.int32), same_as=tuple(numbers))


def _pixels(reader: InputReader) -> Features:
    grid = reader.grid
    assert grid is not None
    shape = grid.depth * grid.height, grid.width
    kind = "cell" if isinstance(reader.booleanizer, GradientHistogram) else "pixel"
    one_row = len(reader.patch_shape or ()) == 1
    names = tuple(
        f"at({x})" if one_row else f"{kind}({z}{y},{x})"
        for z in slices(grid.depth)
        for y in range(grid.height)
        for x in range(grid.width)
    )
    key: Hashable = (kind, shape)
    if reader.image_shape is not None and reader.n_features == len(names):
        key = (reader.n_features, tuple(reader.names or ()))  # pixels are columns of X
    windows = reader.booleanizer if isinstance(reader.booleanizer, TokenWindows) else None
    of_bits = np.empty(0, dtype=np.int32)
    return Features(names, of_bits, image_shape=shape, same_as=key, windows=windows)


def dense_bits(examples: Examples) -> NDArray[np.uint8]:
    """Flat examples as (N, bits)."""
    bits = examples.on_host().bits
    dense = bits.toarray() if hasattr(bits, "toarray") else bits
    return np.ascontiguousarray(dense.reshape(len(examples), -1), dtype=np.uint8)


def cells_of(X: Any) -> NDArray[np.object_]:
    """The cells of a table, dates as such."""
    table = read_table(X)
    if table.matrix is not None:
        return np.asarray(table.matrix.toarray().astype(object))
    cells = np.empty(table.shape, dtype=object)
    for k, column in enumerate(table.columns):
        data = column.data
        if data.dtype.kind in "mM":
            data = data.astype(f"{data.dtype.kind}8[us]")  # of nanoseconds Python has no dates
        cells[:, k] = data.astype(object)
    return cells
