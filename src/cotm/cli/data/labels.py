"""Labels and quantities among the columns of a table."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .frames import Table
from .missing import missing_texts, without_missing
from .source import Source
from .tables import is_nearly_unique

_UP_TO_64_BITS = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
)


def with_text_labels(table: Table, targets: list[str], source: Source) -> pl.DataFrame:
    """The frame with targets that were read as dates as the texts they are in the file."""
    dated = [name for name in targets if table.frame[name].dtype.is_temporal()]
    if not dated:
        return table.frame
    texts = missing_texts(source.missing)
    columns = [without_missing(series, texts) for series in table.raw(dated).get_columns()]
    return table.frame.with_columns(s for s in columns if s.dtype == pl.String)


def read_labels(frame: pl.DataFrame, targets: list[str], source: Source) -> Any:
    """An array of labels, or of several targets a frame: of 0 and 1, or of any labels, of which
    some may be missing."""
    if len(targets) == 1:
        return _label_column(frame[targets[0]], source)
    if all(_is_indicator(frame[name]) for name in targets):
        for name in targets:
            _require_known(frame[name], source, "label")
        return frame.select(targets).cast(pl.UInt8)
    columns = []
    for name in targets:
        column = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
        known = _label_column(column.drop_nulls(), source)
        values: list[Any] = [None] * len(column)
        for row, label in zip(column.is_not_null().arg_true(), known.tolist(), strict=True):
            values[row] = label
        columns.append(pl.Series(name, values))
    return pl.DataFrame(columns)


def _is_indicator(series: pl.Series) -> bool:
    """Whether a column holds 0 and 1 only."""
    known = series.drop_nulls()
    if not (known.dtype.is_numeric() or known.dtype == pl.Boolean):
        return False
    known = known.drop_nans() if known.dtype.is_float() else known
    return bool(known.cast(pl.Float64).is_in([0.0, 1.0]).all())


def read_quantities(frame: pl.DataFrame, targets: list[str], source: Source) -> Any:
    """An array of quantities, or of several targets a frame of them."""
    for name in targets:
        series = frame[name]
        _require_known(series, source, "value")
        if not series.dtype.is_numeric():
            raise ValueError(
                f"column {name!r} of {source.name} holds {series.dtype}, and quantities are "
                "numbers; leave out --model quantities to predict classes"
            )
    columns = frame.select(targets).cast(pl.Float64)
    return columns.to_series().to_numpy() if len(targets) == 1 else columns


def _label_column(series: pl.Series, source: Source) -> NDArray[Any]:
    dtype = series.dtype
    _require_known(series, source, "label")
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.array(series.cast(pl.String).to_list())
    if dtype.is_integer():
        return _in_64_bits(series, source).to_numpy()
    if dtype.is_float() or dtype == pl.Boolean:
        return series.to_numpy()
    raise ValueError(
        f"column {series.name!r} of {source.name} holds {dtype}; labels are text, numbers or "
        "booleans, so convert it first"
    )


def _require_known(series: pl.Series, source: Source, what: str) -> None:
    """Raise ValueError where a row has no answer."""
    dtype = series.dtype
    missing = series.is_nan().fill_null(True) if dtype.is_float() else series.is_null()
    if missing.any():
        raise ValueError(
            f"column {series.name!r} of {source.name} has no {what} in {missing.sum()} of "
            f"{len(series)} rows (row {missing.arg_max() + 1} is the first); fill them in or "  # type: ignore[operator]
            "remove these rows (texts such as None count as missing unless --missing names others)"
        )


def _in_64_bits(series: pl.Series, source: Source) -> pl.Series:
    """Integers as NumPy and model files hold them; polars reads longer ones too."""
    if series.dtype in _UP_TO_64_BITS:
        return series
    for dtype in (pl.Int64, pl.UInt64):
        with suppress(pl.exceptions.PolarsError):
            return series.cast(dtype)
    raise ValueError(
        f"column {series.name!r} of {source.name} holds integers beyond 64 bits, such as "
        f"{max(series.to_list(), key=abs)}; a letter before them makes them text"
    )


def check_classes(y: NDArray[Any], target: str, source: Source) -> None:
    """Refuse labels that no classifier can learn."""
    check_class_values(np.unique(y), len(y), target, source)


def check_class_values(classes: NDArray[Any], rows: int, target: str, source: Source) -> None:
    """The same by the different labels, in ascending order, of so many rows."""
    if len(classes) < 2:
        raise ValueError(
            f"column {target!r} of {source.name} has one class only, {classes[0].item()!r}; a "
            "classifier needs two or more"
        )
    if classes.dtype.kind == "f" and (classes % 1 != 0).any():
        raise ValueError(
            f"column {target!r} of {source.name} holds quantities such as "
            f"{classes[classes % 1 != 0][0]}, but "
            "a classifier predicts classes; use --model quantities"
        )
    if is_nearly_unique(len(classes), rows):
        raise ValueError(
            f"column {target!r} of {source.name} has {len(classes)} different labels in {rows} "
            "rows, too many to learn; is it the right column?"
        )
