"""Examples as a model needs them, from whichever kind of file."""

from __future__ import annotations

from typing import Any

from ...booleanize.frames import NamedArray
from ..errors import require_polars
from ..summary import is_regressor
from .arrays import read_arrays
from .examples import Data
from .source import Source


def read_training(model: Any, source: Source, text: str | None, *, quiet: bool) -> Data:
    """Examples and answers for a model to learn from, or from one column of texts."""
    if not source.is_table:
        if text is not None:
            raise ValueError("--text names a column of texts; the arrays of an NPZ file have none")
        return Data(*read_arrays(source, with_labels=True))
    require_polars(f"reading {source.kind} files")
    from .table_examples import training_examples

    images, quantities = model.patch_shape is not None, is_regressor(model)
    return training_examples(source, text, images=images, quantities=quantities, quiet=quiet)


def read_like(model: Any, training: Data, source: Source, *, quiet: bool) -> Data:
    """Examples and answers to stop by, in the form of those that are learned from."""
    if not source.is_table:
        return Data(*read_arrays(source, with_labels=True))
    from .table_examples import examples_like

    return examples_like(training, source, quantities=is_regressor(model), quiet=quiet)


def read_for(
    model: Any, source: Source, *, with_labels: bool, keep: tuple[str, ...] = (), quiet: bool
) -> Data:
    """Examples in the form a model was trained on, and their labels where asked for."""
    # The members of a composite read the same table; what the first makes of it goes for all.
    model = model.estimators_[0] if hasattr(model, "estimators_") else model
    if not source.is_table:
        return _read_arrays_for(model, source, with_labels=with_labels, keep=keep)
    require_polars(f"reading {source.kind} files")
    from .table_examples import examples_for

    return examples_for(model, source, with_labels=with_labels, keep=keep, quiet=quiet)


def _read_arrays_for(
    model: Any, source: Source, *, with_labels: bool, keep: tuple[str, ...]
) -> Data:
    if keep:
        raise ValueError("--keep copies columns of tables; the arrays of an NPZ file have none")
    X, y = read_arrays(source, with_labels=with_labels)
    if model.patch_shape is None and X.ndim != 2:
        raise ValueError(
            f"array {source.x!r} of {source.name} has shape {X.shape}, but the model needs "
            f"rows of {model.n_features_in_} features"
        )
    names = [*getattr(model, "feature_names_in_", ())]
    if names and X.ndim == 2 and X.shape[1] == len(names):
        X = NamedArray(X, names)
    return Data(X, y)
