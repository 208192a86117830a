"""Models from files, of the kind that a command is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """A model that predicts labels or quantities."""
    from .. import load

    model = load(path)
    if is_detector(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which the command line cannot use; read it in "
            "Python with cotm.load"
        )
    if is_other(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which predicts no labels; see cotm info, and "
            "cotm generate for a language model, cotm images for one that makes images"
        )
    return model


def is_detector(model: Any) -> bool:
    """Whether it is a detector of outliers."""
    return hasattr(model, "classifier_")


def is_other(model: Any) -> bool:
    """Whether it is a model of texts, or one that makes images."""
    from ..estimator.machine_model import MachineModel

    return isinstance(model, MachineModel)


def other_facts(model: Any) -> dict[str, str]:
    """What `cotm info` says of such a model."""
    machine = model.machine_
    facts = {"class": type(model).__name__}
    if hasattr(model, "vocabulary_"):
        words = model.vocabulary_
        facts["vocabulary"] = f"{len(words):,}: {', '.join(map(repr, words[:12]))}, ..."
    else:
        rows, columns = model.block_
        facts["pixel"] = f"becomes {rows} x {columns}, by {machine.spec.grid.n_features} bits"
    facts |= {
        "clauses": f"{machine.n_clauses:,}",
        "epochs": str(len(model.history_)),
        "step": f"{machine.step_:,} examples presented",
        "seed": str(machine.seed_),
    }
    parameters = model.get_params(deep=False)
    return facts | {f"parameter {name}": str(value) for name, value in parameters.items()}
