"""Reading tables through polars: columns, and labels among them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .errors import quoted, suggestion
from .paths import SEPARATORS, Source

#: Texts in a CSV file that stand for a missing value. Read as text, a single "NA" would turn
#: a column of numbers into one of categories.
MISSING_TEXTS = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]

#: What to do about errors of polars, by what they say.
_HINTS = {
    "utf-8": "save it as UTF-8",
    "\ufffd": "save it as UTF-8",
    "more fields": "a row has more cells than the header has names",
}

#: So many different values are fine, however few the rows.
_FEW = 50

# Columns -----------------------------------------------------------------------------


def read_frame(source: Source, text_columns: Iterable[str]) -> pl.DataFrame:
    """The whole table; given columns of a text file are text whatever is in them."""
    path = source.path
    path.open("rb").close()  # the system's words for missing files, folders and permissions
    try:
        if source.kind == ".parquet":
            frame = pl.read_parquet(path, glob=False)
        else:
            frame = _read_csv(source, {*text_columns})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0]
        hints = [hint for sign, hint in _HINTS.items() if sign in reason.lower()]
        raise ValueError(
            f"{path} cannot be read as {source.kind[1:]}: {'; '.join([reason, *hints])}"
        ) from error
    if frame.height == 0:
        raise ValueError(f"{path} holds no rows")
    return frame


def _read_csv(source: Source, text_columns: set[str]) -> pl.DataFrame:
    read = partial(
        pl.read_csv,
        source.path,
        separator=source.separator or SEPARATORS[source.kind],
        glob=False,
    )
    header = read(n_rows=0, infer_schema_length=0).columns
    frame: pl.DataFrame = read(
        null_values=MISSING_TEXTS,
        schema_overrides=dict.fromkeys(text_columns.intersection(header), pl.String),
        infer_schema_length=None,  # types from all rows: the odd one may come late
    )
    return frame


def named_columns(texts: Iterable[str], frame: pl.DataFrame, source: Source) -> list[str]:
    """Columns named by options: a whole name, or names with commas between."""
    names = [
        name for text in texts for name in ([text] if text in frame.columns else text.split(","))
    ]
    return present_columns([*dict.fromkeys(names)], frame, source)


def present_columns(names: list[str], frame: pl.DataFrame, source: Source) -> list[str]:
    """The names, if they all are columns."""
    absent = [name for name in names if name not in frame.columns]
    if not absent:
        return names
    message = f"{source.path} has no column {quoted(absent)}"
    if len(absent) == 1:
        message += f"; {suggestion(absent[0], frame.columns)}"
    if frame.width == 1 and any(mark in frame.columns[0] for mark in ";\t|,"):
        message += "; if its columns are not separated by commas, say how with --separator"
    raise ValueError(message)


def row_names(X: Any) -> dict[str, str]:
    """Columns of a table that seem to name rows, which teaches nothing, and why they do."""
    found = {}
    for series in X.get_columns() if isinstance(X, pl.DataFrame) else ():
        if series.dtype == pl.String and _is_nearly_unique(series.n_unique(), len(series)):
            found[series.name] = f"holds {series.n_unique()} different texts, a bit each"
        elif series.dtype.is_integer() and len(series) > _FEW and (series.diff()[1:] == 1).all():
            found[series.name] = "counts the rows"
    return found


def check_pixels(features: pl.DataFrame, source: Source) -> None:
    """Refuse columns that cannot be pixels of images."""
    for series in features.get_columns():
        if not series.dtype.is_numeric() or series.null_count():
            what = "missing values" if series.null_count() else f"values of type {series.dtype}"
            raise ValueError(
                f"column {series.name!r} of {source.path} holds {what}, but images are numbers; "
                "leave it out with --drop, or learn without --patch-shape"
            )


# Labels ------------------------------------------------------------------------------


def read_labels(frame: pl.DataFrame, targets: list[str], source: Source) -> Any:
    """An array of labels, or of several targets a frame of 0 and 1."""
    columns = [_label_column(frame[name], source) for name in targets]
    if len(columns) == 1:
        return columns[0]
    for name, column in zip(targets, columns, strict=True):
        odd = [value for value in np.unique(column).tolist() if value not in (0, 1)]
        if odd:
            raise ValueError(
                f"column {name!r} of {source.path} holds {odd[0]!r}; with several targets each "
                "must hold 0 and 1 only"
            )
    return frame.select(targets).cast(pl.UInt8)


def _label_column(series: pl.Series, source: Source) -> NDArray[Any]:
    dtype = series.dtype
    missing = series.is_nan().fill_null(True) if dtype.is_float() else series.is_null()
    if missing.any():
        raise ValueError(
            f"column {series.name!r} of {source.path} has no label in {missing.sum()} of "
            f"{len(series)} rows (row {missing.arg_max() + 1} is the first); fill them in or "  # type: ignore[operator]
            "remove these rows"
        )
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.array(series.cast(pl.String).to_list())
    if dtype.is_integer() or dtype.is_float() or dtype == pl.Boolean:
        return series.to_numpy()
    raise ValueError(
        f"column {series.name!r} of {source.path} holds {dtype}; labels are text, numbers or "
        "booleans, so convert it first"
    )


def check_classes(y: NDArray[Any], target: str, source: Source) -> None:
    """Refuse labels that no classifier can learn."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"column {target!r} of {source.path} has one class only, {classes[0].item()!r}; a "
            "classifier needs two or more"
        )
    if y.dtype.kind == "f" and (y % 1 != 0).any():
        raise ValueError(
            f"column {target!r} of {source.path} holds quantities such as {y[y % 1 != 0][0]}, but "
            "a classifier predicts classes; turn them into a few ranges first"
        )
    if _is_nearly_unique(len(classes), len(y)):
        raise ValueError(
            f"column {target!r} of {source.path} has {len(classes)} different labels in {len(y)} "
            "rows, too many to learn; is it the right column?"
        )


def _is_nearly_unique(distinct: int, rows: int) -> bool:
    return distinct > max(_FEW, rows // 2)
