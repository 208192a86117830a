"""Models from files, of the kind that a command is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load(path: Path) -> Any:
    """A model that predicts labels or quantities."""
    from .. import load

    model = load(path)
    if is_of_texts(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which predicts no labels; see cotm info, and "
            "cotm generate for a language model"
        )
    return model


def is_of_texts(model: Any) -> bool:
    """Whether it is an embedding or a language model."""
    from ..language.base import TextModel

    return isinstance(model, TextModel)


def text_model_facts(model: Any) -> dict[str, str]:
    """What `cotm info` says of a model of texts."""
    words, machine = model.vocabulary_, model.machine_
    facts = {
        "class": type(model).__name__,
        "vocabulary": f"{len(words):,}: {', '.join(map(repr, words[:12]))}, ...",
        "clauses": f"{machine.n_clauses:,}",
        "epochs": str(len(model.history_)),
        "step": f"{machine.step_:,} examples presented",
        "seed": str(machine.seed_),
    }
    parameters = model.get_params(deep=False)
    return facts | {f"parameter {name}": str(value) for name, value in parameters.items()}
