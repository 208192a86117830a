"""What the commands print about a model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from .options import ModelKind


def kind_of(model: Any) -> ModelKind:
    """Which machine it is."""
    if is_regressor(model):
        return ModelKind.quantities
    if not hasattr(model, "weighted"):
        return ModelKind.coalesced
    return ModelKind.weighted if model.weighted else ModelKind.plain


def is_regressor(model: Any) -> bool:
    """Whether it predicts quantities, and no classes."""
    from sklearn.base import is_regressor  # only here: it takes a second to import

    return bool(is_regressor(model))


def label_columns(model: Any) -> Any:
    """The columns of labels of a model that predicts one of each; None of others."""
    return model._now().columns


def outputs_title(model: Any) -> str:
    """What the outputs of a model are."""
    if is_regressor(model):
        return "targets"
    return "labels" if model._multilabel else "classes"


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
    quantities = is_regressor(model)
    if history:
        name = "training D²" if quantities else "training accuracy"
        lines[name] = f"{percent(history[-1]['train_accuracy'])} in the last epoch"
    going = model._progress
    if going.is_scored and going.scored():
        best = max(going.scored(), key=going.score)
        name, show = f"validation {'R²' if quantities else 'accuracy'}", percent
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


def file_data(path: Path) -> dict[str, Any]:
    """A file's name and size, for programs."""
    return {"file": str(path), "bytes": path.stat().st_size}


def model_data(model: Any) -> dict[str, Any]:
    """What a model is and how far it came, for programs."""
    if hasattr(model, "estimators_"):
        members = model.named_estimators_
        return {
            "class": type(model).__name__,
            "classes": plain(model.output_names_.tolist()),
            **_columns_data(model),
            "multilabel": model._multilabel,
            "scale": model.scale,
            "divisors": plain(model.divisors_),
            "members": {name: model_data(member) for name, member in members.items()},
        }
    literals = (model.memory_ >= 0).sum(axis=1)
    going = model._progress
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": type(model).__name__,
        "classes": plain(model.output_names_.tolist()),
        **_columns_data(model),
        "multilabel": model._multilabel,
        "features": model.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "bits": model.machine_.spec.grid.n_features,
        "clauses": len(literals),
        "states": model.machine_.n_states_,
        "empty_clauses": int((literals == 0).sum()),
        "literals": int(literals.sum()),
        "epochs": going.epochs,
        "epochs_planned": model.epochs_,
        "best_epoch": going.best_epoch or None,
        "last_epoch": plain(model.history_[-1]) if model.history_ else None,
        "examples_presented": model.step_,
        "seed": model.seed_,
        "margin": model.T_,
        "parameters": plain(model.get_params(deep=False)),
    }


def _columns_data(model: Any) -> dict[str, Any]:
    """The columns of labels, where there are several."""
    columns = label_columns(model)
    if columns is None:
        return {}
    pairs = zip(columns.names, columns.classes, strict=True)
    return {"label_columns": {name: plain(classes.tolist()) for name, classes in pairs}}


def plain(value: Any) -> Any:
    """A value as JSON holds it; what it cannot hold as text."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
