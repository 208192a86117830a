"""cotm: the Coalesced Tsetlin Machine, a classifier made of readable rules.

>>> from cotm import CoTMClassifier, TMClassifier, load
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .booleanize import (
        AdaptiveGaussianThreshold,
        BitFeature,
        Booleanizer,
        Categories,
        ImageThermometer,
        Thermometer,
    )
    from .classifier import CoTMClassifier, TMClassifier
    from .conditions import Condition
    from .core.state import Snapshot
    from .estimator.checkpoint import Checkpoint
    from .estimator.training import Callback
    from .files.model_files import ModelFileError, load
    from .machine import Machine
    from .model.fitted import Record
    from .rules import Rule

__version__ = "0.1.0"

__all__ = [
    "AdaptiveGaussianThreshold",
    "BitFeature",
    "Booleanizer",
    "Callback",
    "Categories",
    "Checkpoint",
    "CoTMClassifier",
    "Condition",
    "ImageThermometer",
    "Machine",
    "ModelFileError",
    "Record",
    "Rule",
    "Snapshot",
    "TMClassifier",
    "Thermometer",
    "load",
]

# Names are imported when first used: scikit-learn takes a second, and `cotm --help` needs none.
_HOMES = {
    "AdaptiveGaussianThreshold": "booleanize",
    "BitFeature": "booleanize",
    "Booleanizer": "booleanize",
    "Callback": "estimator.training",
    "Categories": "booleanize",
    "Checkpoint": "estimator.checkpoint",
    "CoTMClassifier": "classifier",
    "Condition": "conditions",
    "ImageThermometer": "booleanize",
    "Machine": "machine",
    "ModelFileError": "files",
    "Record": "model.fitted",
    "Rule": "rules",
    "Snapshot": "core.state",
    "TMClassifier": "classifier",
    "Thermometer": "booleanize",
    "load": "files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
