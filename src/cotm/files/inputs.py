"""What a model reads, and how that becomes bits, in a model file."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from ..booleanize import (
    ImageBooleanizer,
    SequenceBooleanizer,
    booleanizer_from_state,
    features_from_state,
    features_to_state,
    is_own,
)
from ..core.decoding import expect, expect_integer
from ..core.limits import MAX_FEATURES
from ..core.patches import PatchGrid, image_grid
from ..model.inputs import InputReader
from .container import Tensors
from .errors import not_saveable

#: Begins the names of a booleanizer's tensors.
BOOLEANIZER = "booleanizer."
#: Booleanizers of up to so many bits are rebuilt on saving, to be sure that they can be.
_REBUILT_BITS = 10_000


def encode_reader(reader: InputReader) -> tuple[dict[str, Any], Tensors]:
    """What fitting learned about X; the parameters that describe X are among the others."""
    grid = reader.grid
    assert grid is not None
    booleanizer, tensors = None, {}
    if reader.booleanizer is not None:
        booleanizer, arrays = encode_booleanizer(reader.booleanizer)
        tensors = {BOOLEANIZER + name: array for name, array in arrays.items()}
    fields = {
        "n_features_in": int(reader.n_features),
        "feature_names_in": reader.names,
        "booleanizer": booleanizer,
        "example_shape": None if reader.example_shape is None else list(reader.example_shape),
        "grid": [*dataclasses.astuple(grid)][: 10 if grid.depth > 1 else 7],
    }
    return fields, tensors


def encode_bit_features(reader: InputReader) -> dict[str, Any]:
    """What the bits of X mean, where X came as bits that say so."""
    if reader.bit_features is None:
        return {}
    return {"bit_features": features_to_state(reader.bit_features)}


def same_inputs(one: InputReader, other: InputReader) -> bool:
    """Whether two readers make the same bits of every X, and of the same X."""
    names = ("patch_shape", "image_shape", "stride", "grid", "bit_features")
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    if one.booleanizer is other.booleanizer:
        return all(
            getattr(one, name) == getattr(other, name)
            for name in ("n_features", "names", "example_shape")
        )
    try:
        fields, tensors = encode_reader(one)
        other_fields, other_tensors = encode_reader(other)
    except (TypeError, ValueError):
        return False  # of a transformer of somebody else's, nobody can tell
    return json.dumps(fields) == json.dumps(other_fields) and (
        {name: (a.dtype, a.shape, a.tobytes()) for name, a in tensors.items()}
        == {name: (a.dtype, a.shape, a.tobytes()) for name, a in other_tensors.items()}
    )


def encode_booleanizer(booleanizer: Any) -> tuple[dict[str, Any], Tensors]:
    """The state of one of cotm's booleanizers; a ValueError where it could not be read again."""
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
            raise not_saveable(error) from error
    return meta, arrays


def decode_booleanizer(meta: Any, tensors: Tensors) -> Any:
    """The fitted booleanizer, or None where X holds bits already."""
    arrays = {
        name.removeprefix(BOOLEANIZER): tensor
        for name, tensor in tensors.items()
        if name.startswith(BOOLEANIZER)
    }
    if meta is None:
        expect(not arrays, f"it holds {sorted(arrays)!r:.200} of a booleanizer that is missing")
        return None
    return booleanizer_from_state(meta, arrays)


def decode_reader(
    title: str, parameters: dict[str, Any], header: dict[str, Any], booleanizer: Any
) -> InputReader:
    """A fitted reader of X; ``title`` is what messages call the model.

    Where patches lie follows from the parameters, the shape of an example and the booleanizer.
    The header's ``grid`` says it once more, and has to agree.
    """
    reader = InputReader.checked(
        title,
        patch_shape=parameters["patch_shape"],
        image_shape=parameters["image_shape"],
        stride=parameters["stride"],
        booleanize=parameters["booleanize"],
    )
    expect(
        reader.booleanize is not None or booleanizer is None,
        "it has a booleanizer, but booleanize is None",
    )
    expect(
        reader.reads_sequences == isinstance(booleanizer, SequenceBooleanizer),
        "booleanize is not what its booleanizer reads",
    )
    reader.booleanizer = booleanizer
    reader.n_features = expect_integer(header, "n_features_in", 1, MAX_FEATURES)
    reader.names = _decode_names(header["feature_names_in"], reader.n_features, booleanizer)
    reader.example_shape = _decode_example_shape(header["example_shape"], reader)
    shape = reader.example_shape or (reader.n_features,)
    if len(reader.patch_shape or ()) == 3 and booleanizer is not None:
        expect(len(shape) > 2, f"examples are {shape}, which are no volumes")
        bits = (*shape[:2], *_bits_shape(booleanizer, shape[1:])[1:])
    else:
        bits = _bits_shape(booleanizer, shape)
    expect((reader.patch_shape is not None) >= (len(bits) > 1), "patch_shape is missing")
    if reader.patch_shape is not None:
        grid = _within_image(image_grid(bits, reader.patch_shape, reader.stride))
    else:
        grid = PatchGrid.flat(bits[0])
    _check_grid(header["grid"], grid)
    reader.grid = grid
    if "bit_features" in header:
        expect(booleanizer is None, "bits of a booleanizer are described twice")
        reader.bit_features = features_from_state(header["bit_features"], grid.channels)
    return reader


def _decode_names(names: Any, n_features: int, booleanizer: Any) -> list[str] | None:
    if names is None:
        return None
    expect(
        isinstance(names, list)
        and len(names) == n_features
        and all(isinstance(name, str) for name in names),
        "feature names do not fit",
    )
    known = getattr(booleanizer, "feature_names_in_", None)
    expect(known is None or names == [*known], "feature_names_in is not what the booleanizer knows")
    return list(names)


def _decode_example_shape(shape: Any, reader: InputReader) -> tuple[int, ...] | None:
    if not reader.reads_images:
        expect(shape is None, f"example_shape is {shape!r:.100}, but there is no patch_shape")
        return None
    expect(
        isinstance(shape, list)
        and 1 <= len(shape) <= 4
        and all(type(v) is int and v >= 1 for v in shape)
        and math.prod(shape) == reader.n_features,
        f"example_shape is {shape!r:.100}, but n_features_in {reader.n_features}",
    )
    return tuple(shape)


def _check_grid(figures: Any, grid: PatchGrid) -> None:
    expect(
        isinstance(figures, list)
        and len(figures) in (7, 10)
        and all(type(v) is int and 1 <= v <= MAX_FEATURES for v in figures)
        and _within_image(PatchGrid(*figures)) == grid
        and grid.n_features <= MAX_FEATURES,
        f"grid is {figures!r:.100}, but the other fields make it {dataclasses.astuple(grid)}",
    )


def _within_image(grid: PatchGrid) -> PatchGrid:
    """The same patches with strides no larger than the image; larger ones make no difference."""
    return dataclasses.replace(
        grid,
        stride_rows=min(grid.stride_rows, grid.height),
        stride_columns=min(grid.stride_columns, grid.width),
        stride_depths=min(grid.stride_depths, grid.depth),
    )


def _bits_shape(booleanizer: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the bits that examples of a shape become."""
    if booleanizer is None:
        return shape
    kind, n_bits = type(booleanizer).__name__, booleanizer.n_bits_out_
    expect(n_bits >= 1, f"its {kind} makes no bits")
    if isinstance(booleanizer, ImageBooleanizer):
        channels = shape[2] if len(shape) == 3 else 1
        expect(
            len(shape) in (2, 3) and channels == booleanizer.n_channels_,
            f"its {kind} has {booleanizer.n_channels_} channels, but examples are {shape}",
        )
        return booleanizer.bits_shape(shape)
    columns = booleanizer.n_features_in_
    expect(shape == (columns,), f"its {kind} has {columns} columns, but examples are {shape}")
    return booleanizer.bits_shape() if isinstance(booleanizer, SequenceBooleanizer) else (n_bits,)
