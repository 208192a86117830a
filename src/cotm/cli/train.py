"""``cotm train``: learn a model from a file."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.parameters import takes
from .data.source import STDIN, Source, require_target
from .fitting import fit, new_model, resume_command, resumed_model
from .logs import are_json
from .options import (
    CheckpointEvery,
    DataForm,
    Drop,
    EvalFile,
    Missing,
    Model,
    NewModelFile,
    NoLimit,
    Resume,
    Separator,
    Target,
    TrainingFile,
    XName,
    YName,
    classifier_options,
)
from .output import print_json, print_pairs, say, visible
from .output_files import check_model_output
from .streams import OutputError
from .summary import file_data, file_size, model_data, plain, progress, size
from .text_columns import TextColumn, TextReader, text_column

if TYPE_CHECKING:
    from .data.examples import Data


Streamed = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read DATA in batches, which takes little memory, or at once.",
        show_default="in batches if it is large",
    ),
]
TemporaryFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where --stream keeps temporary files.",
        show_default="as the system",
    ),
]


@takes(classifier_options())
def train(
    data: TrainingFile,
    target: Target = None,
    out: NewModelFile = Path("model.cotm"),
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    model: Model = None,
    text: TextColumn = None,
    text_as: TextReader = None,
    stream: Streamed = None,
    temp: TemporaryFolder = None,
    eval_file: EvalFile = None,
    checkpoint_every: CheckpointEvery = None,
    resume: Resume = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what came of it as JSON, and progress aside.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    **parameters: Any,
) -> None:
    """Train a model and write it to a file.

    \b
    All columns but the target are learned from: numbers, categories, dates
    and times. Empty cells are missing values, and so are texts such as NA
    and ?, in every kind of table; --missing says which.

    \b
    A table that would fill the memory there is, is read in batches, to the
    same model; DATA may be a folder of Parquet files.

    \b
    Ctrl-C saves the last finished epoch, and --resume goes on from there, to
    the same model as if nothing had happened.

    \b
    Examples:
      cotm train flowers.csv --target species --seed 1
      cotm train mail.parquet --target spam,urgent --drop id --early-stopping
      cotm train digits.npz --patch-shape 10,10 --checkpoint-every 5
      cotm train train.csv --target y --eval valid.csv --scoring neg_log_loss
      cotm train houses.csv --target price --model quantities
      cotm train reviews.csv --target stars --text review
    """
    from .. import Checkpoint
    from .data.loading import read_like, read_training

    _require_files(data, eval_file)
    source = Source.given(
        data, target=target, drop=drop, x=x, y=y, separator=separator, missing=missing, form=form
    )
    require_target(source)
    check_model_output(out, [data] if eval_file is None else [data, eval_file])
    given = {
        name: None if isinstance(value, NoLimit) else getattr(value, "value", value)
        for name, value in parameters.items()
        if value is not None
    }
    learner = resumed_model(out, model, given) if resume else new_model(model, given)
    text = text_column(learner, text, text_as, resume=resume, several="," in (source.target or ""))
    examples = read_training(learner, source, text, quiet=quiet, stream=stream, folder=temp)
    if text is None:
        warn_about_names(examples, source)
    evaluation = None
    if eval_file is not None:
        evaluation = read_like(learner, examples, replace(source, path=eval_file), quiet=quiet)
    resumption = resume_command(source, eval_file, out, stream=stream)
    learner.set_params(
        callbacks=[] if checkpoint_every is None else [Checkpoint(out, every=checkpoint_every)],
        verbose=0 if quiet or are_json() else 1,
    )
    seconds = fit(learner, examples, evaluation, out, resumption, resume=resume)
    if as_json or not quiet:
        _print_summary(learner, examples, seconds, out, as_json=as_json)


def _require_files(data: Path, eval_file: Path | None) -> None:
    for path, hint in ((data, "DATA"), (eval_file, "--eval")):
        if path == STDIN:
            raise typer.BadParameter(
                "a training reads files, so that it can be resumed; write standard input to one",
                param_hint=hint,
            )


def warn_about_names(examples: Data, source: Source) -> None:
    """Tell of columns that only name rows."""
    if not source.is_table:
        return
    from .data.examples import StreamedData
    from .data.tables import row_names

    found = examples.row_names if isinstance(examples, StreamedData) else row_names(examples.X)
    for column, reason in found.items():
        say(
            f"warning: column {column!r} {reason}; if it only names rows, leave it out with "
            f"--drop {visible(shlex.quote(column))}"
        )


def _print_summary(model: Any, examples: Data, seconds: float, out: Path, *, as_json: bool) -> None:
    from ..estimator.progress import format_seconds

    rows = examples.rows
    try:
        if as_json:
            facts = {**file_data(out), "rows": rows, "seconds": seconds}
            print_json({**facts, **model_data(model), "history": plain(model.history_)})
            return
        summary = {"rows": f"{rows:,}", **size(model), **progress(model)}
        print_pairs({**summary, "time": format_seconds(seconds), "model": file_size(out)})
    except OutputError as error:
        if not error.reader_left:  # the model is written, whoever wants to hear of it
            raise
