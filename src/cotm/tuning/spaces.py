"""What is searched where users do not say: what matters, by the kind of data.

``docs/choosing.md`` and ``docs/defaults.md`` have the measurements behind the ranges; the
settings of the presets lie within each of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sklearn.base import clone

from ..core.parameters import OPTIONS
from ..model.presets import AUTO, PRESETS, QUANTITIES
from .dimensions import Choices, Dimension, Numbers, Share

_LITERALS = Choices((None, 3, 6, 12))

_SPACES: dict[str, dict[str, Dimension]] = {
    "tables": {
        "T": Share(0.25, 4.0, first=0.12, rise=40),
        "s": Numbers(2.0, 20.0, log=True),
        "average": Choices((5, 10, 17)),
        "include_depth": Choices((4, 8, 16, 64)),
        "max_literals": _LITERALS,
        "drop_clauses": Choices((0.0, 0.2, 0.35)),
    },
    "images": {
        "T": Share(0.1, 1.5),
        "s": Numbers(2.0, 20.0, log=True),
        "average": Choices((5, 15)),
        "drop_clauses": Choices((0.0, 0.25)),
    },
    "text": {
        "T": Share(15.0, 250.0),
        "s": Numbers(200.0, 5000.0, log=True),
        "tolerance": Numbers(3, 60, log=True, whole=True),
        "growth_limit": Choices((50, 100, 200)),
        "average": Choices((3, 5, 10)),
    },
    QUANTITIES: {
        "T": Share(0.5, 8.0),
        "s": Numbers(2.0, 20.0, log=True),
        "average": Choices((10, 20)),
        "include_depth": Choices((4, 8, 16)),
        "max_literals": _LITERALS,
    },
    "paper": {
        "T": Share(0.05, 4.0),
        "s": Numbers(2.0, 40.0, log=True),
        "max_literals": _LITERALS,
    },
}
#: Beside the number of clauses that is left as it is: how many times as few, and as many.
_CLAUSES = 2


def default_space(estimator: Any, preset: str, fixed: Collection[str] = ()) -> dict[str, Dimension]:
    """What is searched for an estimator: all of the above that it leaves at its defaults.

    ``fixed`` are parameters whose defaults users have asked for.
    """
    plain = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    n = given["n_clauses"]
    clauses = Numbers(max(1, n // _CLAUSES), n * _CLAUSES, log=True, whole=True)
    space: dict[str, Dimension] = {"n_clauses": clauses, **_SPACES[preset]}
    space = {
        name: dim
        for name, dim in space.items()
        if name not in fixed and _is_free(name, given, plain)
    }
    if not isinstance(given.get("tolerance", 1), int | str):  # a schedule: its margin is its own
        space.pop("T", None)
    return space


def _is_free(name: str, given: dict[str, Any], plain: dict[str, Any]) -> bool:
    return name in given and repr(given[name]) == repr(plain[name])


def settled(estimator: Any, preset: str) -> dict[str, Any]:
    """What margins are reckoned from where they are not searched."""
    tolerance = getattr(estimator, "tolerance", AUTO)
    if not isinstance(tolerance, int):
        tolerance = PRESETS[preset].values.get("tolerance", OPTIONS["tolerance"].default)
    return {"n_clauses": estimator.n_clauses, "tolerance": tolerance}


def plain_copy(estimator: Any, **parameters: Any) -> Any:
    """A copy that has learned nothing, with parameters of its own."""
    return clone(estimator).set_params(**parameters)
