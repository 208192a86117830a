"""Turning tables, images and texts into bits, with a readable name for every bit."""

from .described import bit_features_of, plain_array
from .descriptions import BitFeature, features_from_state, features_to_state
from .edges import EdgeThermometer
from .histograms import GradientHistogram
from .hypervectors import Hypervectors
from .image_base import ImageBooleanizer
from .image_union import ImageUnion
from .images import AdaptiveGaussianThreshold, ImageThermometer
from .ngrams import NGrams
from .sequences import SequenceBooleanizer
from .state import booleanizer_from_state, is_own
from .summaries import Recount, TableSummary
from .tabular import Booleanizer, Categories, Thermometer
from .text import SetOfWords
from .windows import TokenWindows

__all__ = [
    "AdaptiveGaussianThreshold",
    "BitFeature",
    "Booleanizer",
    "Categories",
    "EdgeThermometer",
    "GradientHistogram",
    "Hypervectors",
    "ImageBooleanizer",
    "ImageThermometer",
    "ImageUnion",
    "NGrams",
    "Recount",
    "SequenceBooleanizer",
    "SetOfWords",
    "TableSummary",
    "Thermometer",
    "TokenWindows",
    "bit_features_of",
    "booleanizer_from_state",
    "features_from_state",
    "features_to_state",
    "is_own",
    "plain_array",
]
