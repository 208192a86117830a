"""``cotm report``: a model as a page to read and try out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .data.source import Source
from .options import (
    AsJson,
    DataForm,
    Drop,
    Jobs,
    Missing,
    ModelFile,
    Quiet,
    Separator,
    Target,
    XName,
    YName,
    whole,
)
from .output import print_json, say
from .output_files import check_output
from .summary import file_data, file_size


def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Examples to measure and show: CSV, TSV, Parquet, JSON lines (.jsonl) or NPZ "
            "file; - for standard input.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Page to write.")] = Path(
        "report.html"
    ),
    target: Target = None,
    title: Annotated[
        str | None, typer.Option(help="The page's heading.", show_default="the class of the model")
    ] = None,
    examples: Annotated[
        int,
        typer.Option(parser=whole(0), metavar="N", help="How many rows of DATA the page holds."),
    ] = 200,
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a page about a model: one file that any browser opens, without a network.

    It has the model card, scores, rules to search, and an explorer in which an example is chosen
    or changed and its votes and rules are seen.

    \b
    Examples:
      cotm report flowers.cotm test.csv --target species --out flowers.html
      cotm report flowers.cotm
    """
    from .data.loading import read_for
    from .models import load

    check_output(out, [model] if data is None else [model, data])
    classifier = load(model).set_params(n_jobs=jobs)
    if not hasattr(classifier, "report"):
        raise ValueError(
            f"{model} holds a {type(classifier).__name__}, but reports are of classifiers and "
            "regressors"
        )
    X = labels = None
    if data is not None:
        source = Source.given(
            data,
            target=target,
            drop=drop,
            x=x,
            y=y,
            separator=separator,
            missing=missing,
            form=form,
        )
        labelled = target is not None or not source.is_table
        found = read_for(classifier, source, with_labels=labelled, quiet=quiet)
        X, labels = found.X, found.y
    classifier.report(out, X, labels, title=title, n_examples=examples)
    if as_json:
        print_json(file_data(out))
        return
    say(f"wrote {file_size(out)}")
