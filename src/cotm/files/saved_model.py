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


@dataclass(frozen=True)
class SavedComposite:
    """A fitted composite: classifiers whose votes are added up."""

    names: tuple[str, ...]  # of the members
    members: tuple[SavedModel, ...]
    scale: str  # what votes are divided by, one of model.joining.SCALES
    divisors: tuple[int, ...] | None  # where they were measured: of each member's votes
    n_jobs: int | None
    format: int = FORMAT
    version: str = __version__
