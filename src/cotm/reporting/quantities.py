"""What reports of regressors show: how near predictions come to the quantities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .examples import chosen_rows

#: Examples that are drawn.
_MOST_POINTS = 400


def target_names(classes: Iterable[Any], one: bool) -> list[str]:
    """What the outputs are called; where y has no columns, there is no name to call it by."""
    return ["prediction"] if one else [str(name) for name in classes]


def quantity_scores(
    names: list[str], y: NDArray[np.float64], predicted: NDArray[np.float64]
) -> dict[str, Any]:
    """R², errors and some of the points of each target; y and predictions are (N, targets)."""
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    drawn = chosen_rows(len(y), _MOST_POINTS, None)
    targets = []
    for k, name in enumerate(names):
        true, said = y[:, k], predicted[:, k]
        targets.append(
            {
                "name": name,
                # Of a single example there is no R².
                "r2": float(r2_score(true, said)) if len(y) > 1 else None,
                "mean_absolute_error": float(mean_absolute_error(true, said)),
                "root_mean_squared_error": float(root_mean_squared_error(true, said)),
                "points": np.stack([true, said], axis=1)[drawn].tolist(),
            }
        )
    return {"rows": len(y), "targets": targets}
