"""Files of earlier formats and versions, as the latest format would have written them."""

from __future__ import annotations

from typing import Any

from ..core.decoding import Upgrade, expect, upgraded
from ..model.resuming import NO_EVAL_SET, NOT_AUGMENTED, NOT_SCORED
from .container import Tensors

#: The format that is written. A change of what fields, tensors or random numbers mean is a new
#: format, and needs a step from the one before in UPGRADES.
FORMAT = 1

#: From each earlier format the step to the next: ``(header, tensors)`` to ``(header, tensors)``.
UPGRADES: dict[int, Upgrade] = {}

#: The same for the part of a composite's file around its members, where it is not the step of
#: changing nothing. The members are files with formats of their own.
COMPOSITE_UPGRADES: dict[int, Upgrade] = {}

#: Fields that came after the first files of format 1, and what it means that a file has none.
LATER_FIELDS: dict[str, Any] = {
    "scored_from": 0,
    "data": None,
    "sharpness": None,
    "scheduled": {},
    "preset": "paper",
    "scaling": None,
    "edits": None,
    "compression": None,
    "label_columns": None,
}

#: Options that came after the first files of format 1, and the value that trains like before.
LATER_OPTIONS: dict[str, Any] = {
    "average": 1,
    "tolerance": 1,
    "forgetting": "drawn",
    "growth_limit": None,
    "include_depth": None,
    "augment": None,
    "constraints": None,
    "negatives": "all",
    "drop_clauses": 0.0,
    "drop_literals": 0.0,
    "negations": True,
    "scoring": None,
    "preset": "paper",
}

#: What came later of what is said of the training data.
LATER_DATA: dict[str, Any] = {
    "augment": NOT_AUGMENTED,
    "eval_set": NO_EVAL_SET,
    "scoring": NOT_SCORED,
}


def upgrade(header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """Header and tensors of any format so far as those of the latest one, with all its fields."""
    header, tensors = upgraded((header, tensors), "format", header.get("format"), FORMAT, UPGRADES)
    header = {**LATER_FIELDS, **header}
    expect(isinstance(header.get("parameters"), dict), "parameters are missing")
    header["parameters"] = {**LATER_OPTIONS, **header["parameters"]}
    if isinstance(header["data"], dict):
        header["data"] = {**LATER_DATA, **header["data"]}
    return header, tensors


def upgrade_composite(header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """The same for what is around the members of a composite."""
    steps = dict.fromkeys(UPGRADES, _as_it_is) | COMPOSITE_UPGRADES
    return upgraded((header, tensors), "format", header.get("format"), FORMAT, steps)


def _as_it_is(header: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    return header, tensors
