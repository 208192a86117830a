"""Examples as a model needs them, from whichever kind of file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from numpy.typing import NDArray

from .arrays import read_arrays
from .errors import quoted
from .paths import Source
from .tables import (
    check_classes,
    check_pixels,
    named_columns,
    present_columns,
    read_frame,
    read_labels,
)


@dataclass(frozen=True)
class Data:
    """What a file held: examples and, where asked for, labels.

    Each is an array or a frame, whose columns have names.
    """

    X: Any
    y: Any = None


def read_training(source: Source, *, images: bool) -> Data:
    """Examples and labels to learn from; ``images`` when rows are pixels."""
    if not source.is_table:
        return Data(*read_arrays(source, with_labels=True))
    frame = read_frame(source, text_columns=())
    # Sorted, so that a resumed training may name them in another order.
    targets = sorted(named_columns([source.target or ""], frame, source))
    features = frame.drop([*targets, *named_columns(source.drop, frame, source)])
    if not features.columns:
        raise ValueError(f"{source.path} has no columns to learn from beside {quoted(targets)}")
    if images:
        check_pixels(features, source)
    y = read_labels(frame, targets, source)
    if len(targets) == 1:
        check_classes(y, targets[0], source)
    return Data(features, y)


def read_for(model: Any, source: Source, *, with_labels: bool) -> Data:
    """Examples in the form a model was trained on, and their labels where asked for."""
    names = [*getattr(model, "feature_names_in_", ())]
    if not source.is_table:
        X, y = read_arrays(source, with_labels=with_labels)
        if model.patch_shape is None and X.ndim != 2:
            raise ValueError(
                f"array {source.x!r} of {source.path} has shape {X.shape}, but the model needs "
                f"rows of {model.n_features_in_} features"
            )
        if names and X.ndim == 2 and X.shape[1] == len(names):
            X = pl.DataFrame(X, schema=names, orient="row")
        return Data(X, y)
    asked = [source.target] if source.target else []
    frame = read_frame(source, _text_columns(model, asked))
    targets = named_columns(asked, frame, source)
    dropped = named_columns(source.drop, frame, source)
    if names:
        X = frame.select(present_columns(names, frame, source))
    else:
        X = _unnamed(frame.drop([*targets, *dropped]), model, source)
    if not with_labels:
        return Data(X)
    return Data(X, read_labels(frame, _in_model_order(targets, model), source))


def _text_columns(model: Any, asked: list[str]) -> list[str]:
    """Columns that held text in training: they are text even where this file has digits only."""
    is_text = model.classes_.dtype.kind == "U" and not model._multilabel
    labels = asked if is_text else []
    if model.booleanizer_ is None or not hasattr(model, "feature_names_in_"):
        return labels
    features = model.booleanizer_.describe()
    return [*labels, *{f.column for f in features if f.op == "=" and isinstance(f.value, str)}]


def _unnamed(frame: pl.DataFrame, model: Any, source: Source) -> NDArray[Any]:
    """The columns in their order, for a model that knows no names."""
    if frame.width != model.n_features_in_:
        raise ValueError(
            f"{source.path} has {frame.width} columns to predict from, but the model needs "
            f"{model.n_features_in_} and knows no names to choose by; leave the others out "
            "with --drop"
        )
    return frame.to_numpy()


def _in_model_order(targets: list[str], model: Any) -> list[str]:
    """The target columns in the order of the model's outputs."""
    if not model._multilabel:
        if len(targets) > 1:
            raise ValueError(
                f"--target names {quoted(targets)}, but the model predicts one label per row"
            )
        return targets
    labels = model.classes_.tolist()
    if labels == [*range(len(targets))]:
        return targets  # trained on an array, whose columns have no names
    if {*labels} != {*targets}:
        raise ValueError(
            f"--target names {quoted(targets)}, but the model predicts {quoted(labels)}"
        )
    return labels
