"""How near predictions come to quantities: what ``cotm evaluate`` prints and reports show."""

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
    names: Iterable[Any], y: NDArray[np.float64], predicted: NDArray[np.float64]
) -> dict[str, Any]:
    """R² and errors of each target, and R² of all; of a single example it is not a number."""
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    if y.shape != predicted.shape:
        raise ValueError(
            f"the values have shape {y.shape}, but the model predicts {predicted.shape[1:]} per row"
        )
    measures = {
        "r2": r2_score,
        "mean_absolute_error": mean_absolute_error,
        "root_mean_squared_error": root_mean_squared_error,
    }
    columns = {
        name: np.atleast_1d(measure(y, predicted, multioutput="raw_values")).tolist()
        for name, measure in measures.items()
    }
    targets = [
        {"target": name, **{measure: values[k] for measure, values in columns.items()}}
        for k, name in enumerate(names)
    ]
    return {"rows": len(y), "r2": float(r2_score(y, predicted)), "targets": targets}


def points(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> list[Any]:
    """Some of what is true and what is predicted, for each target; both are (N, targets)."""
    drawn = chosen_rows(len(y), _MOST_POINTS, None)
    found = np.stack([y, predicted], axis=-1)[drawn].swapaxes(0, 1)
    return [*found.tolist()]
