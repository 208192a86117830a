"""Examples that early stopping goes by."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.sparse_targets import Targets


class HeldOut(NamedTuple):
    """Examples that are not trained on."""

    examples: Examples
    targets: Targets
    answers: Any  # what their y holds, as the task reads it
    X: Any  # as scorers want them; None where there is no scorer
    y: NDArray[Any]
