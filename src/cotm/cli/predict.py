"""``cotm predict``: a label for each row of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import DataFile, Drop, Jobs, ModelFile, Separator, XName
from .paths import Source, check_output
from .show import say

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _prediction_file(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in (".csv", ".parquet"):
        raise typer.BadParameter(f"{str(path)!r} does not end in .csv or .parquet")
    return path


def predict(
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            callback=_prediction_file,
            help=".csv or .parquet file to write.",
            show_default="CSV to standard output",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add probabilities, p_CLASS.")] = False,
    votes: Annotated[bool, typer.Option("--votes", help="Add votes, votes_CLASS.")] = False,
    drop: Drop = None,
    x: XName = "X",
    separator: Separator = None,
    jobs: Jobs = None,
) -> None:
    """Predict the label of each row.

    Columns are found by name; others, such as the target, are ignored.

    \b
    Examples:
      cotm predict flowers.cotm new.csv --proba > predictions.csv
      cotm predict flowers.cotm new.parquet --out predictions.parquet
    """
    from .. import load
    from .examples import read_for

    if out is not None:
        check_output(out)
    classifier = load(model).set_params(n_jobs=jobs)
    source = Source(data, None, tuple(drop or ()), x, separator=separator)
    X = read_for(classifier, source, with_labels=False).X
    frame = _prediction_frame(classifier, X, proba=proba, votes=votes)
    if out is None:
        sys.stdout.write(frame.write_csv())
        return
    (frame.write_parquet if out.suffix == ".parquet" else frame.write_csv)(out)
    say(f"{frame.height:,} predictions are in {out}")


def _prediction_frame(model: Any, X: Any, *, proba: bool, votes: bool) -> Any:
    import polars as pl

    labels = [str(label) for label in model.classes_.tolist()]
    predicted = model.predict(X)
    several = predicted.ndim == 2
    names = [f"prediction_{label}" for label in labels] if several else ["prediction"]
    columns = _columns(names, predicted.reshape(len(predicted), -1))
    if proba:
        columns |= _columns([f"p_{label}" for label in labels], model.predict_proba(X))
    if votes:
        columns |= _columns([f"votes_{label}" for label in labels], model.votes(X))
    return pl.DataFrame(columns)


def _columns(names: list[str], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return dict(zip(names, values.T, strict=True))
