"""Pictures of models, with matplotlib (``pip install "cotm[plot]"``), as scikit-learn's displays.

Every display is made by ``from_estimator`` or ``from_explanation``, which also draws it; ``plot``
draws it again, and ``ax_`` and ``figure_`` are what it was drawn on.
"""

from .explanations import ExplanationDisplay, HeatMapDisplay
from .images import ClausesDisplay, FiringDisplay
from .importance import ImportanceDisplay
from .rules import RulesDisplay
from .scores import CalibrationDisplay, ConfusionDisplay
from .training import LearningCurveDisplay

__all__ = [
    "CalibrationDisplay",
    "ClausesDisplay",
    "ConfusionDisplay",
    "ExplanationDisplay",
    "FiringDisplay",
    "HeatMapDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "RulesDisplay",
]
