"""Turning real data into bits, with a readable name for every bit."""

from .described import bit_features_of, plain_array
from .descriptions import BitFeature, features_from_state, features_to_state
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .state import booleanizer_from_state, is_own
from .tabular import Booleanizer, Categories, Thermometer

__all__ = [
    "AdaptiveGaussianThreshold",
    "BitFeature",
    "Booleanizer",
    "Categories",
    "ImageThermometer",
    "Thermometer",
    "bit_features_of",
    "booleanizer_from_state",
    "features_from_state",
    "features_to_state",
    "is_own",
    "plain_array",
]
