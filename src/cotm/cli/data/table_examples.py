"""Examples as a model needs them, from a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...booleanize import SequenceBooleanizer
from ..errors import quoted
from ..output import say
from ..summary import is_regressor, label_columns
from .cells import check_numbers
from .examples import Data
from .frames import Table, read_table
from .labels import check_classes, read_labels, read_quantities, with_text_labels
from .missing import count_missing, missing_note, missing_texts
from .source import Source
from .tables import check_pixels, named_columns, present_columns


def training_examples(
    source: Source, text: str | None, *, images: bool, quantities: bool, quiet: bool
) -> Data:
    """Examples and answers to learn from; ``images`` when rows are pixels.

    ``text`` names the column of texts that alone is learned from.
    """
    table = read_table(source, text_columns=() if text is None else (text,))
    # Sorted, so that a resumed training may name them in another order.
    targets = sorted(named_columns([source.target or ""], table.frame, source))
    frame = with_text_labels(table, targets, source)
    features = frame.drop([*targets, *named_columns(source.drop, frame, source)])
    if text is not None:
        features = features.select(present_columns([text], features, source))
    if not features.columns:
        raise ValueError(f"{source.name} has no columns to learn from beside {quoted(targets)}")
    if not quiet:
        _tell_missing(table, [*features.columns, *targets], source)
    if images and text is None:
        check_pixels(features, source)
    if quantities:
        return Data(features, read_quantities(frame, targets, source))
    y = read_labels(frame, targets, source)
    if len(targets) == 1:
        check_classes(y, targets[0], source)
    elif y.dtypes != [pl.UInt8] * len(targets):
        for name in targets:
            check_classes(np.array(y[name].drop_nulls().to_list()), name, source)
    return Data(features, y)


def examples_like(training: Data, source: Source, *, quantities: bool, quiet: bool) -> Data:
    """Examples and answers with the columns of others, read as those were."""
    learned = training.X
    texts = [name for name in learned.columns if learned[name].dtype == pl.String]
    if getattr(training.y, "dtype", None) is not None and training.y.dtype.kind == "U":
        texts.append(source.target or "")
    if isinstance(training.y, pl.DataFrame):
        texts += [name for name in training.y.columns if training.y[name].dtype == pl.String]
    table = read_table(source, texts)
    targets = sorted(named_columns([source.target or ""], table.frame, source))
    frame = with_text_labels(table, targets, source)
    columns = present_columns(learned.columns, frame, source)
    if not quiet:
        _tell_missing(table, [*columns, *targets], source)
    read = read_quantities if quantities else read_labels
    return Data(frame.select(columns), read(frame, targets, source))


def examples_for(
    model: Any, source: Source, *, with_labels: bool, keep: tuple[str, ...], quiet: bool
) -> Data:
    """Examples in the form a model was trained on, and their labels where asked for."""
    names = [*getattr(model, "feature_names_in_", ())]
    asked = [source.target] if source.target else []
    if names and set(asked) & set(names):
        raise ValueError(
            f"--target names {quoted(sorted(set(asked) & set(names)))}, which the model learns from"
        )
    table = read_table(source, _text_columns(model, asked))
    targets = named_columns(asked, table.frame, source)
    frame = with_text_labels(table, targets, source)
    dropped = named_columns(source.drop, frame, source)
    kept = _kept(table, named_columns(keep, frame, source))
    if names:
        columns = present_columns(names, frame, source)
    else:
        columns = frame.drop([*targets, *dropped]).columns
    if not quiet:
        _tell_missing(table, [*columns, *(targets if with_labels else [])], source)
    X: Any = frame.select(columns)
    if names:
        check_numbers(X, _kinds(model), source)
    else:
        X = _unnamed(X, model, source)
    if not with_labels:
        return Data(X, kept=kept)
    read = read_quantities if is_regressor(model) else read_labels
    return Data(X, read(frame, _in_model_order(targets, model), source), kept)


def _tell_missing(table: Table, columns: list[str], source: Source) -> None:
    """Say which texts were taken for missing values; a label of that name would be lost."""
    incomplete = [name for name in dict.fromkeys(columns) if table.frame[name].null_count()]
    if not incomplete:
        return
    counts = count_missing(table.raw(incomplete).get_columns(), missing_texts(source.missing))
    if counts:
        say(missing_note(counts))


def _kept(table: Table, names: list[str]) -> pl.DataFrame:
    """Columns to go with the predictions as they are in the file; integers that lose nothing
    by it, such as leading zeros, as integers."""
    columns = []
    for name in names:
        raw, typed = table.raw([name])[name], table.frame[name]
        same = typed.dtype.is_integer() and typed.cast(pl.String).equals(raw)
        columns.append(typed if same else raw)
    return pl.DataFrame(columns)


def _kinds(model: Any) -> list[str]:
    """What the model took each column for."""
    kinds = getattr(model.booleanizer_, "kinds_", None)
    if kinds is None:  # categories are the affair of another booleanizer, pixels are numbers
        pixels = model.patch_shape is not None and not _reads_texts(model)
        kinds = ["number" if pixels else "category"] * model.n_features_in_
    return [*kinds]


def _reads_texts(model: Any) -> bool:
    return isinstance(model.booleanizer_, SequenceBooleanizer)


def _text_columns(model: Any, asked: list[str]) -> list[str]:
    """Columns that held text in training: they are text even where this file has digits only."""
    columns = label_columns(model)
    if columns is None:
        is_text = model.classes_.dtype.kind == "U" and not _has_columns(model)
        labels = asked if is_text else []
    else:
        kinds = zip(columns.names, columns.classes, strict=True)
        labels = [name for name, classes in kinds if classes.dtype.kind == "U"]
    if model.booleanizer_ is None or not hasattr(model, "feature_names_in_"):
        return labels
    if _reads_texts(model):
        return [*labels, *model.feature_names_in_]
    features = model.booleanizer_.describe()
    return [*labels, *{f.column for f in features if f.op == "=" and isinstance(f.value, str)}]


def _unnamed(frame: pl.DataFrame, model: Any, source: Source) -> NDArray[Any]:
    """The columns in their order, for a model that knows no names."""
    if frame.width != model.n_features_in_:
        raise ValueError(
            f"{source.name} has {frame.width} columns to predict from, but the model needs "
            f"{model.n_features_in_} and knows no names to choose by; leave the others out "
            "with --drop"
        )
    return frame.to_numpy()


def _has_columns(model: Any) -> bool:
    """Whether each output of the model is a column of y."""
    if label_columns(model) is not None or bool(model._multilabel):
        return True
    return is_regressor(model) and len(model.classes_) > 1


def _in_model_order(targets: list[str], model: Any) -> list[str]:
    """The target columns in the order of the model's outputs."""
    if not _has_columns(model):
        if len(targets) > 1:
            raise ValueError(
                f"--target names {quoted(targets)}, but the model predicts one value per row"
            )
        return targets
    columns = label_columns(model)
    if columns is not None:
        labels = [*(columns.names if columns.named else range(len(columns.names)))]
    else:
        labels = model.classes_.tolist()
    if labels == [*range(len(targets))]:
        return targets  # trained on an array, whose columns have no names
    if {*labels} != {*targets}:
        raise ValueError(
            f"--target names {quoted(targets)}, but the model predicts {quoted(labels)}"
        )
    return labels
