"""The columns of X as cells that can be changed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import SequenceBooleanizer
from ..booleanize.base import TableBooleanizer
from ..booleanize.encodings import ColumnCode
from ..booleanize.frames import Column, default_names
from ..core.examples import Examples
from ..model.inputs import InputReader
from ..rules.features import slices
from .features import dense_bits
from .voters import Voters


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that all members read, and the bits that each of them makes of a column."""

    names: tuple[str, ...]
    booleanizers: tuple[TableBooleanizer | None, ...]  # of each member; None: columns are bits
    of_bits: tuple[NDArray[np.int32], ...]  # of each member's bits, the column

    @classmethod
    def of(cls, voters: Voters, purpose: str) -> Columns:
        """Those of all members, or a ValueError that says why cells cannot be changed."""
        readers = [member.fitted.reader for member in voters.members]
        names = [_names(reader) for reader in readers]
        for member, reader, own in zip(voters.members, readers, names, strict=True):
            who = f"the member {member.name!r}" if member.name else "this model"
            if member.transformed:
                raise ValueError(
                    f"{purpose} changes cells of X, but {who} is a pipeline, which makes other "
                    "columns of it; give its classifier the transformer as booleanize"
                )
            if own is None:
                is_text = isinstance(reader.booleanizer, SequenceBooleanizer)
                what = "texts" if is_text else "images" if reader.reads_images else "tables"
                raise ValueError(
                    f"{purpose} changes cells of X one by one, but {who} makes bits of {what} with "
                    f"{type(reader.booleanizer).__name__}, which does not say what becomes of a "
                    "cell; train on its bits instead"
                )
            if own != names[0]:
                raise ValueError(
                    f"{purpose} changes cells of X, but the members {voters.members[0].name!r} and "
                    f"{member.name!r} read different columns"
                )
        booleanizers = tuple(reader.booleanizer for reader in readers)
        return cls(tuple(names[0] or ()), booleanizers, tuple(map(columns_of_bits, readers)))

    def number(self, feature: Any) -> int:
        """The number of a column, given by its number or name."""
        if isinstance(feature, str):
            found = [k for k, name in enumerate(self.names) if name == feature]
            if len(found) == 1:
                return found[0]
            problem = (
                "is the name of several columns; name it by its number"
                if found
                else (f"is not a column of X; it has {', '.join(self.names)[:200]}")
            )
            raise ValueError(f"feature={feature!r} {problem}")
        if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
            raise ValueError(f"feature={feature!r} must be the name or the number of a column of X")
        if not 0 <= feature < len(self.names):
            raise ValueError(f"feature={feature!r} must be from 0 to {len(self.names) - 1}")
        return int(feature)

    def numbers(self, features: Any) -> list[int]:
        """The numbers of columns; one may stand alone."""
        if isinstance(features, str | int | np.integer):
            features = [features]
        return [self.number(feature) for feature in features]

    def places(self, member: int, column: int) -> NDArray[np.intp]:
        """The bits of a member that are of a column."""
        return np.flatnonzero(self.of_bits[member] == column)

    def codes(self, column: int) -> list[ColumnCode]:
        """How the members read a column that is not a bit already."""
        return [made.codes_[column] for made in self.booleanizers if made is not None]

    def bits(self, member: int, column: int, cells: Sequence[Any]) -> NDArray[np.uint8]:
        """What a member makes of cells of a column, (cells, its bits of the column)."""
        booleanizer = self.booleanizers[member]
        if booleanizer is None:
            data = np.asarray(cells, dtype=np.float64)
            if not np.isin(data, (0, 1)).all():
                raise ValueError(f"column {self.names[column]!r} holds bits, not {cells!r:.200}")
            return data.astype(np.uint8)[:, None]
        data = np.empty(len(cells), dtype=object)
        data[:] = [*cells]
        code = booleanizer.codes_[column]
        bits = np.zeros((len(cells), code.n_bits), dtype=np.uint8)
        code.encode(Column(self.names[column], data), bits)
        if booleanizer.sparse_:  # where bits of thresholds below 0 are x <= t
            known = ~bits[:, -1].astype(bool) if code.missing else slice(None)
            bits[known, : len(code.thresholds)] ^= code.thresholds < 0
        return bits


def rows_of(voters: Voters, X: Any) -> list[NDArray[np.uint8]]:
    """The bits that each member makes of X, (N, bits)."""
    return [dense_bits(member.read(X)) for member in voters.members]


def votes_of(voters: Voters, rows: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """The joined votes for bits."""
    votes = []
    for member, bits in zip(voters.members, rows, strict=True):
        grid = member.fitted.reader.grid
        assert grid is not None
        votes.append(member.votes(Examples(bits.reshape(-1, *grid.image_shape), grid)))
    return voters.joined(votes)


def columns_of_bits(reader: InputReader) -> NDArray[np.int32]:
    """The column of X that each bit of an example belongs to."""
    assert reader.grid is not None
    if isinstance(reader.booleanizer, TableBooleanizer):
        found = [feature.index for feature in reader.booleanizer.describe()]
        return np.array(found, dtype=np.int32)
    return np.arange(np.prod(reader.grid.image_shape), dtype=np.int32)


def _names(reader: InputReader) -> tuple[str, ...] | None:
    """What the columns of X are called; None where bits are not of one column each."""
    grid = reader.grid
    assert grid is not None
    if isinstance(reader.booleanizer, TableBooleanizer):
        return tuple(reader.names or default_names(reader.n_features))
    if reader.booleanizer is not None:
        return None
    if reader.reads_images:
        channels = [f" channel {c}" for c in range(grid.channels)] if grid.channels > 1 else [""]
        places = (
            f"pixel({z}{y},{x})"
            for z in slices(grid.depth)
            for y in range(grid.height)
            for x in range(grid.width)
        )
        return tuple(place + channel for place in places for channel in channels)
    if reader.bit_features is not None:
        return tuple(map(str, reader.bit_features))
    return tuple(reader.names or default_names(grid.channels))
