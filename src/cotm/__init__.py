"""cotm: the Coalesced Tsetlin Machine, a classifier made of readable rules.

>>> from cotm import CoTMClassifier, TMClassifier, load
"""

from .booleanize import (
    AdaptiveGaussianThreshold,
    BitFeature,
    Booleanizer,
    Categories,
    ImageThermometer,
    Thermometer,
)
from .checkpoint import Checkpoint
from .classifier import CoTMClassifier, TMClassifier
from .files import ModelFileError, load
from .machine import Machine
from .rules import Condition, Rule, rules

__version__ = "0.1.0"

__all__ = [
    "AdaptiveGaussianThreshold",
    "BitFeature",
    "Booleanizer",
    "Categories",
    "Checkpoint",
    "CoTMClassifier",
    "Condition",
    "ImageThermometer",
    "Machine",
    "ModelFileError",
    "Rule",
    "TMClassifier",
    "Thermometer",
    "load",
    "rules",
]
