"""What the commands print about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .options import ModelKind


def kind_of(model: Any) -> ModelKind:
    """Which machine it is."""
    if not hasattr(model, "weighted"):
        return ModelKind.coalesced
    return ModelKind.weighted if model.weighted else ModelKind.plain


def size(model: Any) -> dict[str, str]:
    """How large input and model are."""
    literals = (model.memory_ >= 0).sum(axis=1)
    states = model.machine_.n_states_
    of_states = f" in {states} states that vote together" if states > 1 else ""
    empty = int((literals == 0).sum())
    mean = float(literals[literals > 0].mean()) if empty < len(literals) else 0.0
    bits = f"{model.machine_.spec.grid.n_features:,}"
    return {
        "features": f"{model.n_features_in_:,}",
        "bits": bits if model.patch_shape is None else f"{bits} per patch",
        "clauses": f"{len(literals):,}{of_states} ({empty:,} empty, {mean:.1f} literals on "
        "average)",
    }


def progress(model: Any) -> dict[str, str]:
    """How far training came."""
    history = model.history_
    lines = {"epochs": f"{model._progress.epochs} of {model.epochs_}"}
    if history:
        lines["training accuracy"] = f"{percent(history[-1]['train_accuracy'])} in the last epoch"
    going = model._progress
    if going.is_scored and going.scored():
        best = max(going.scored(), key=going.score)
        name, show = "validation accuracy", percent
        if going.score_name == "validation_score":
            name, show = f"validation {model.scoring}", "{:.4g}".format
        lines[name] = (
            f"{show(going.score(history[-1]))} in the last epoch, {show(going.score(best))} in "
            f"epoch {best['epoch']}, the best"
        )
    return lines


def percent(share: float) -> str:
    """A share as text; a file may hold any number in its place."""
    try:
        return f"{share:.2%}"
    except OverflowError:
        return "a number too large to show"


def file_size(path: Path) -> str:
    """A file's name and size."""
    from ..core.system import format_bytes

    return f"{path} ({format_bytes(path.stat().st_size)})"
