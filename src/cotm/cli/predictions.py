"""Predictions as they are written: a table of columns, or an object a row."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .data.examples import Data
from .data.source import Source
from .errors import require_polars
from .summary import is_regressor, label_columns
from .texts import WRITABLE_KINDS, csv_text, json_lines

if TYPE_CHECKING:
    import polars as pl

#: A column for each label, by the label; or one column without a name.
Group = dict[str | None, NDArray[Any]]


class Predictions:
    """What a model says of examples, in groups: the predictions, probabilities, votes."""

    def __init__(
        self, model: Any, examples: Data, *, proba: bool, votes: bool, interval: float | None
    ) -> None:
        if is_regressor(model) and proba:
            raise ValueError("the model predicts quantities, which have no --proba; see --interval")
        if interval is not None and not is_regressor(model):
            raise ValueError("--interval is for quantities, and the model predicts classes")
        X, labels = examples.X, [str(label) for label in model.output_names_.tolist()]
        self.kept = examples.kept
        predicted = model.predict(X)
        several, columns = predicted.ndim == 2, label_columns(model)
        asked = labels if columns is None else [*columns.names]
        self._groups: dict[str, Group] = {
            "prediction": _by_label(asked, predicted) if several else {None: predicted}
        }
        if columns is not None and predicted.dtype.kind == "O":
            typed = {name: np.array([*cells]) for name, cells in self._groups["prediction"].items()}
            self._groups["prediction"] = typed
        if interval is not None:
            low, high = model.predict_interval(X, coverage=interval)
            for name, bound in (("low", low), ("high", high)):
                self._groups[name] = _by_label(labels, bound) if several else {None: bound}
        if proba:
            found = model.predict_proba(X)
            found = found if columns is None else np.concatenate(found, axis=1)
            self._groups["proba"] = _by_label(labels, found)
        if votes:
            self._groups["votes"] = _by_label(labels, model.votes(X))

    def flat(self) -> dict[str, NDArray[Any]]:
        """A column for each value."""
        prefixes = {"proba": "p"}
        return {
            prefixes.get(name, name) + ("" if label is None else f"_{label}"): values
            for name, group in self._groups.items()
            for label, values in group.items()
        }

    def nested(self) -> dict[str, Any]:
        """A column for each group, which holds its values by label."""
        return {name: group.get(None, group) for name, group in self._groups.items()}

    def columns(self, form: str) -> dict[str, Any]:
        """What is written beside the columns that are kept."""
        return self.nested() if form == "jsonl" else self.flat()

    def encode(self, form: str) -> bytes:
        """The whole file."""
        columns = self.columns(form)
        if self.kept is None and form != "parquet" and self._is_writable():
            return (json_lines if form == "jsonl" else csv_text)(columns).encode()
        require_polars(f"writing these predictions as {form}")
        return _encode_frame(self.kept, columns, form)

    def _is_writable(self) -> bool:
        """Whether the predictions can be written without polars."""
        kinds = (values.dtype.kind for values in self._groups["prediction"].values())
        return all(kind in WRITABLE_KINDS for kind in kinds)


def _encode_frame(kept: pl.DataFrame | None, columns: dict[str, Any], form: str) -> bytes:
    import polars as pl

    predicted = pl.DataFrame(
        {
            name: pl.DataFrame(values).to_struct(name) if isinstance(values, dict) else values
            for name, values in columns.items()
        }
    )
    frame = predicted if kept is None else pl.concat([kept, predicted], how="horizontal")
    if form == "csv":
        return frame.write_csv().encode()
    if form == "jsonl":
        return frame.write_ndjson().encode()
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _by_label(labels: list[str], values: NDArray[Any]) -> Group:
    return dict(zip(labels, values.T, strict=True))


def check_kept(predictions: Predictions, form: str, source: Source) -> None:
    """Refuse columns to be kept that predictions leave no room for."""
    if predictions.kept is None:
        return
    import polars as pl

    taken = predictions.columns(form)
    for series in predictions.kept.get_columns():
        if series.name in taken:
            raise ValueError(
                f"--keep {series.name!r}: the predictions have a column of that name; rename it in "
                f"{source.name}"
            )
        if form != "parquet" and (series.dtype.is_nested() or series.dtype == pl.Binary):
            raise ValueError(
                f"--keep {series.name!r}: a column of {series.dtype} cannot be written as {form}; "
                "write a .parquet file with --out"
            )
