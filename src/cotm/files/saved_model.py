"""What a model file holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..model.fitted import Fitted
from .upgrade import FORMAT


@dataclass(frozen=True)
class SavedModel:
    """A fitted classifier without its class, which this package does not know."""

    kind: str  # the name of the classifier's class, one of parameters.OPTIONS
    parameters: dict[str, Any]  # the constructor's, without callbacks
    fitted: Fitted
    format: int = FORMAT  # of the file that it was read from, if it was
    version: str = __version__  # of the cotm that wrote that file
