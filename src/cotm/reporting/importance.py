"""What clauses look at: the most important columns of each output, or all pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..explaining.explaining import joint_features

#: How many columns are shown.
_MOST = 20
#: Pixels are written in parts of this of the most important one.
_PARTS = 1000


def importance(model: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """``outputs``: for all of them together, then for each, its columns or its pixels."""
    by_output: NDArray[np.float64] = model.class_importances_
    lists = [by_output.sum(axis=1), *by_output.T]
    shapes = {member.features.image_shape for member in model._voters().members}
    shape = shapes.pop()
    if shape is not None and not shapes and len(by_output) == np.prod(shape):
        parts = [np.rint(_PARTS * values / (values.max() or 1)) for values in lists]
        return {"shape": [*shape], "outputs": [part.astype(int).tolist() for part in parts]}
    known = names_of(model, len(by_output), names)
    return {
        "shape": None,
        "of": len(by_output),
        "outputs": [_largest(values, known) for values in lists],
    }


def _largest(values: NDArray[np.float64], names: Sequence[str]) -> list[list[Any]]:
    """Names and shares, the largest first; shares are of all of this output."""
    order = np.argsort(-values, kind="stable")[:_MOST]
    whole = float(values.sum()) or 1.0
    return [[names[k], float(values[k]) / whole] for k in order.tolist() if values[k]]


def names_of(model: Any, count: int, given: Sequence[str] | None = None) -> list[str]:
    """Names for so many features: those that are given, or else as the model knows them."""
    read = getattr(model, "feature_names_in_", None)
    for names in (given, read, joint_features(model._voters().members)[0]):
        if names is not None and len(names) == count:
            return [*map(str, names)]
    return [f"x{k}" for k in range(count)]
