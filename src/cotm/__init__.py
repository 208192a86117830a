"""cotm: the Coalesced Tsetlin Machine, a classifier made of readable rules.

>>> from cotm import CoTMClassifier, TMClassifier, load
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from .core.system import set_little_aside

if TYPE_CHECKING:
    from .augmentation import Augmentation as Augmentation
    from .booleanize import AdaptiveGaussianThreshold as AdaptiveGaussianThreshold
    from .booleanize import BitFeature as BitFeature
    from .booleanize import Booleanizer as Booleanizer
    from .booleanize import Categories as Categories
    from .booleanize import EdgeThermometer as EdgeThermometer
    from .booleanize import GradientHistogram as GradientHistogram
    from .booleanize import Hypervectors as Hypervectors
    from .booleanize import ImageThermometer as ImageThermometer
    from .booleanize import ImageUnion as ImageUnion
    from .booleanize import NGrams as NGrams
    from .booleanize import Thermometer as Thermometer
    from .booleanize import TokenWindows as TokenWindows
    from .classifier import CoTMClassifier as CoTMClassifier
    from .classifier import TMClassifier as TMClassifier
    from .composite import CoTMComposite as CoTMComposite
    from .core.state import Snapshot as Snapshot
    from .detecting.detector import CoTMOutlierDetector as CoTMOutlierDetector
    from .estimator.checkpoint import Checkpoint as Checkpoint
    from .estimator.training import Callback as Callback
    from .explaining.counterfactuals import Counterfactual as Counterfactual
    from .explaining.explanation import Explanation as Explanation
    from .explaining.spoken import SpokenRule as SpokenRule
    from .exporting import CannotExportError as CannotExportError
    from .files import ModelFileError as ModelFileError
    from .imaging.image_to_image import CoTMImageToImage as CoTMImageToImage
    from .joining import join as join
    from .language.embedding import CoTMEmbedding as CoTMEmbedding
    from .language.language_model import CoTMLanguageModel as CoTMLanguageModel
    from .loading import load as load
    from .machine import Machine as Machine
    from .model.constraints import Constraints as Constraints
    from .model.fitted import Record as Record
    from .model.schedules import Schedule as Schedule
    from .regressor import CoTMRegressor as CoTMRegressor
    from .rules import Condition as Condition
    from .rules import MemberRule as MemberRule
    from .rules import Rule as Rule
    from .streaming import Stream as Stream
    from .tuning import CoTMSearchCV as CoTMSearchCV

__version__ = "0.1.0"

# Silent unless a program says where messages go; `docs/logging.md` has the names.
logging.getLogger(__name__).addHandler(logging.NullHandler())

set_little_aside()

# Names are imported when first used: scikit-learn takes a second, and `cotm --help` needs none.
_HOMES = {
    "AdaptiveGaussianThreshold": "booleanize",
    "Augmentation": "augmentation",
    "BitFeature": "booleanize",
    "Booleanizer": "booleanize",
    "Callback": "estimator.training",
    "CannotExportError": "exporting",
    "Categories": "booleanize",
    "Checkpoint": "estimator.checkpoint",
    "CoTMClassifier": "classifier",
    "CoTMComposite": "composite",
    "CoTMEmbedding": "language.embedding",
    "CoTMImageToImage": "imaging.image_to_image",
    "CoTMLanguageModel": "language.language_model",
    "CoTMOutlierDetector": "detecting.detector",
    "CoTMRegressor": "regressor",
    "CoTMSearchCV": "tuning",
    "Condition": "rules",
    "Constraints": "model.constraints",
    "Counterfactual": "explaining.counterfactuals",
    "EdgeThermometer": "booleanize",
    "Explanation": "explaining.explanation",
    "GradientHistogram": "booleanize",
    "Hypervectors": "booleanize",
    "ImageThermometer": "booleanize",
    "ImageUnion": "booleanize",
    "Machine": "machine",
    "MemberRule": "rules",
    "ModelFileError": "files",
    "NGrams": "booleanize",
    "Record": "model.fitted",
    "Rule": "rules",
    "Schedule": "model.schedules",
    "Snapshot": "core.state",
    "SpokenRule": "explaining.spoken",
    "Stream": "streaming",
    "TMClassifier": "classifier",
    "Thermometer": "booleanize",
    "TokenWindows": "booleanize",
    "join": "joining",
    "load": "loading",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
