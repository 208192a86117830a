"""``cotm predict``: a label for each row of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .data.source import Source
from .options import (
    DataFile,
    DataForm,
    Drop,
    Jobs,
    Missing,
    ModelFile,
    Quiet,
    Separator,
    XName,
)
from .output import say
from .output_files import check_output
from .streams import put_data

#: What predictions are written as, by the ending of the file's name.
_FORMS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def _prediction_file(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in _FORMS:
        raise typer.BadParameter(f"{str(path)!r} does not end in {', '.join(_FORMS)}")
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
            help=".csv, .parquet or .jsonl file to write.",
            show_default="CSV to standard output",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add probabilities, p_CLASS.")] = False,
    votes: Annotated[bool, typer.Option("--votes", help="Add votes, votes_CLASS.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Of quantities, add low and high, between which this share lies.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL", help="Column of DATA to put before the predictions; may be repeated."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON lines: an object a row, with proba and votes by class."
        ),
    ] = False,
    drop: Drop = None,
    x: XName = "X",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Predict the label of each row.

    Columns are found by name; others, such as the target, are ignored.

    \b
    Examples:
      cotm predict flowers.cotm new.csv --proba > predictions.csv
      cotm predict flowers.cotm new.parquet --keep id --out predictions.parquet
      zcat new.csv.gz | cotm predict flowers.cotm - --json
    """
    from ..core.whole_files import replace_file
    from .data.loading import read_for
    from .models import load
    from .predictions import Predictions, check_kept

    if out is not None:
        check_output(out, [data, model])
        if as_json and _FORMS[out.suffix] != "jsonl":
            raise typer.BadParameter(f"{out} is to be {_FORMS[out.suffix]}", param_hint="--json")
    written = "jsonl" if as_json else "csv" if out is None else _FORMS[out.suffix]
    source = Source.given(data, drop=drop, x=x, separator=separator, missing=missing, form=form)
    classifier = load(model).set_params(n_jobs=jobs)
    columns = tuple(keep or ())
    examples = read_for(classifier, source, with_labels=False, keep=columns, quiet=quiet)
    predictions = Predictions(classifier, examples, proba=proba, votes=votes, interval=interval)
    check_kept(predictions, written, source)
    result = predictions.encode(written)
    if out is None:
        put_data(result)
        return
    replace_file(out, result, "the file of predictions")
    if not quiet:
        say(f"{len(examples.X):,} predictions are in {out}")
