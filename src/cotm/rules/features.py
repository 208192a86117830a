"""What the bits of a model mean, in the order of its literals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..booleanize import BitFeature
from ..booleanize.descriptions import placed


def feature_descriptions(model: Any, names: Sequence[str] | None = None) -> list[BitFeature]:
    """What each bit of an example, or of a patch of it, means, in the order of the literals.

    The second half of the literals, the negated bits, follows the same order.
    """
    booleanizer, grid = model.booleanizer_, model.machine_.spec.grid
    if names is not None:
        if len(names) != grid.n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but the model has {grid.n_features} bits"
            )
        return _bits(names)
    # A booleanizer before the model, in a pipeline, passes on what its bits mean.
    described = getattr(model._reader, "bit_features", None)
    if hasattr(booleanizer, "describe"):
        described = booleanizer.describe()
    if model.patch_shape is None:
        if described is not None:
            return list(described)
        if hasattr(booleanizer, "get_feature_names_out"):
            names = booleanizer.get_feature_names_out()
        else:
            names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(grid.n_features)])
        return _bits(names)
    places = [
        BitFeature(axis, ">", t)
        for axis, count in (("depth", grid.depths), ("row", grid.rows), ("column", grid.columns))
        for t in range(count - 1)
    ]
    channels = [BitFeature("", "bit")]
    if grid.channels > 1:
        channels = [BitFeature(f"channel {c}", "bit") for c in range(grid.channels)]
    if described is not None and len(described) == grid.channels:
        channels = described
    is_plane = grid.depth > 1 or grid.height > 1
    pixels = [
        placed(feature, z, y if is_plane else None, x)
        for z in slices(grid.patch_depth if grid.depth > 1 else 1)
        for y in range(grid.patch_height)
        for x in range(grid.patch_width)
        for feature in channels
    ]
    return places + pixels


def slices(depth: int) -> list[str]:
    """What the names of pixels begin with in each slice of a volume; nothing in an image."""
    return [f"{z}," for z in range(depth)] if depth > 1 else [""]


def _bits(names: Iterable[Any]) -> list[BitFeature]:
    """Bits of which only the name is known; each is a column of its own."""
    return [BitFeature(str(name), "bit", index=index) for index, name in enumerate(names)]
