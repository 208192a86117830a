"""What tests of models share."""

from __future__ import annotations

from typing import Any

from cotm import CoTMClassifier
from cotm.backends.kinds import KINDS


def classifier(kind: Any = CoTMClassifier, **parameters: Any) -> Any:
    """A classifier with these parameters; test files make a small one of their own of it.

    What they leave open is as in the paper: one state votes, and few options are at work.
    """
    return kind(**{"preset": "paper", **parameters})


def state(model: Any) -> tuple[bytes, bytes, int, int]:
    """Memory, weights, step and number of epochs of a classifier or a machine."""
    now = getattr(model, "machine_", model).snapshot()
    epochs = len(getattr(model, "history_", ()))
    return now.memory.tobytes(), now.weights.tobytes(), now.step, epochs


def why_missing(backend: str) -> str:
    """Why a backend cannot run here; nothing if it can."""
    (kind,) = (kind for kind in KINDS if kind.name == backend)
    try:
        kind.require(backend)
    except ValueError as error:
        return str(error)
    return ""
