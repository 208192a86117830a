"""Turning real data into bits, with a readable name for every bit."""

from .columns import Booleanizer, Categories, Thermometer
from .features import BitFeature
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .state import booleanizer_from_state

__all__ = [
    "AdaptiveGaussianThreshold",
    "BitFeature",
    "Booleanizer",
    "Categories",
    "ImageThermometer",
    "Thermometer",
    "booleanizer_from_state",
]
