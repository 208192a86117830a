"""Examples as a model needs them, from whichever kind of file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...booleanize.frames import NamedArray
from ..errors import require_polars
from ..output import say
from ..summary import is_regressor
from .arrays import read_arrays
from .examples import Data, StreamedData
from .source import Source


def read_training(
    model: Any,
    source: Source,
    text: str | None,
    *,
    quiet: bool,
    stream: bool | None = False,
    folder: Path | None = None,
) -> Data:
    """Examples and answers for a model to learn from, or from one column of texts.

    ``stream``: as a stream, which makes its temporary files in ``folder``; None: if the file is
    larger than memory.
    """
    if stream is None:
        stream = _must_be_streamed(model, source, text, quiet=quiet)
    if stream:
        if text is not None:
            raise ValueError("--text reads texts at once; leave out --stream")
        require_polars(f"reading {source.kind} files")
        from .streamed import stream_training

        images, quantities = model.patch_shape is not None, is_regressor(model)
        return stream_training(
            source, images=images, quantities=quantities, quiet=quiet, folder=folder
        )
    if not source.is_table:
        if text is not None:
            raise ValueError("--text names a column of texts; the arrays of an NPZ file have none")
        return Data(*read_arrays(source, with_labels=True))
    require_polars(f"reading {source.kind} files")
    from .table_examples import training_examples

    images, quantities = model.patch_shape is not None, is_regressor(model)
    return training_examples(source, text, images=images, quantities=quantities, quiet=quiet)


def _must_be_streamed(model: Any, source: Source, text: str | None, *, quiet: bool) -> bool:
    """Whether a file is too large to be read at once, and the model can learn from a stream."""
    by_rows = model.early_stopping and model.scoring is not None
    if not source.is_table or text is not None or model.augment is not None or by_rows:
        return False
    require_polars(f"reading {source.kind} files")
    from .streamed import can_be_streamed, is_larger_than_memory

    try:
        if not can_be_streamed(source) or not is_larger_than_memory(source):
            return False
    except ValueError:
        return False  # it cannot be read at all, which is said where it is read
    except ImportError as error:
        say(f"warning: {error}; until then the file is read at once, if memory holds it")
        return False
    if not quiet:
        say(
            f"note: {source.name} would fill the memory that there is, so it is read in batches "
            "(--no-stream reads it at once)"
        )
    return True


def read_like(model: Any, training: Data, source: Source, *, quiet: bool) -> Data:
    """Examples and answers to stop by, in the form of those that are learned from."""
    if not source.is_table:
        return Data(*read_arrays(source, with_labels=True))
    from .table_examples import examples_like

    training = training.like if isinstance(training, StreamedData) else training
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
