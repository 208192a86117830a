"""Predictions as they are written: a table of columns, or an object a row."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
from numpy.typing import NDArray

from .examples import Data
from .paths import Source

#: A column for each label, by the label; or one column without a name.
Group = dict[str | None, NDArray[Any]]


class Predictions:
    """What a model says of examples, in groups: the predictions, probabilities, votes."""

    def __init__(self, model: Any, examples: Data, *, proba: bool, votes: bool) -> None:
        X, labels = examples.X, [str(label) for label in model.classes_.tolist()]
        self.kept = pl.DataFrame() if examples.kept is None else examples.kept
        predicted = model.predict(X)
        several = predicted.ndim == 2
        self._groups: dict[str, Group] = {
            "prediction": _by_label(labels, predicted) if several else {None: predicted}
        }
        if proba:
            self._groups["proba"] = _by_label(labels, model.predict_proba(X))
        if votes:
            self._groups["votes"] = _by_label(labels, model.votes(X))

    def flat(self) -> pl.DataFrame:
        """A column for each value."""
        prefixes = {"proba": "p"}
        return pl.DataFrame(
            {
                prefixes.get(name, name) + ("" if label is None else f"_{label}"): values
                for name, group in self._groups.items()
                for label, values in group.items()
            }
        )

    def nested(self) -> pl.DataFrame:
        """A column for each group, which holds its values by label."""
        return pl.DataFrame(
            {
                name: group[None] if None in group else pl.DataFrame(group).to_struct(name)
                for name, group in self._groups.items()
            }
        )

    def columns(self, form: str) -> pl.DataFrame:
        """What is written beside the columns that are kept."""
        return self.nested() if form == "jsonl" else self.flat()

    def encode(self, form: str) -> bytes:
        """The whole file."""
        frame = pl.concat([self.kept, self.columns(form)], how="horizontal")
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
    taken = {*predictions.columns(form).columns}
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
