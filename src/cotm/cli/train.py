"""``cotm train``: learn a model from a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .facts import file_size, progress, size
from .fitting import fit, new_model, resumed_model
from .options import (
    PARAMETER_OPTIONS,
    ClassWeight,
    DataForm,
    Drop,
    EScales,
    Jobs,
    Missing,
    ModelKind,
    NewModelFile,
    Separator,
    Target,
    TrainingFile,
    XName,
    YName,
    number_or_auto,
    shape,
    whole,
)
from .outputs import check_model_output
from .paths import STDIN, Source, require_target
from .show import print_pairs, say, visible
from .streams import OutputError

if TYPE_CHECKING:
    from .examples import Data


def _learning(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Learning", **settings)


def _images(**settings: Any) -> Any:
    return typer.Option(metavar="N,N", parser=shape, rich_help_panel="Images", **settings)


def _stopping(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Stopping and going on", **settings)


def train(
    ctx: typer.Context,
    data: TrainingFile,
    target: Target = None,
    out: NewModelFile = Path("model.cotm"),
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    model: Annotated[
        ModelKind | None,
        _learning(
            metavar="KIND",
            help="coalesced: all classes share the rules; weighted or plain: each has its own.",
            show_default="coalesced",
        ),
    ] = None,
    n_clauses: Annotated[
        Any,
        _learning(
            "--clauses", parser=whole(1), metavar="N", help="Rules to learn.", show_default="500"
        ),
    ] = None,
    T: Annotated[
        Any,
        _learning(
            "--margin",
            metavar="N|auto",
            parser=number_or_auto(whole(0)),
            help="Voting margin T: more of it lets more rules take part in a decision.",
            show_default="auto, 0.4 per clause",
        ),
    ] = None,
    s: Annotated[
        float | None,
        _learning(
            "--specificity",
            min=1.0,
            metavar="X",
            help="Specificity s: more of it gives longer, rarer rules.",
            show_default="10.0",
        ),
    ] = None,
    epochs: Annotated[
        Any,
        _learning(parser=whole(1), metavar="N", help="Passes over the data.", show_default="30"),
    ] = None,
    max_literals: Annotated[
        Any,
        _learning(
            parser=whole(1), metavar="N", help="Most conditions in a rule.", show_default="no limit"
        ),
    ] = None,
    max_weight: Annotated[
        Any,
        _learning(
            parser=whole(1), metavar="N", help="Largest weight of a rule.", show_default="no limit"
        ),
    ] = None,
    average: Annotated[
        Any,
        _learning(
            parser=whole(1),
            metavar="N",
            help="How many of the last epochs vote together in prediction; steadies it.",
            show_default="1",
        ),
    ] = None,
    memory_depth: Annotated[
        Any,
        _learning(
            parser=whole(1, 128),
            metavar="N",
            help="Reinforcements a condition's memory holds.",
            show_default="128",
        ),
    ] = None,
    e: Annotated[
        Any,
        _learning(
            metavar="X|auto",
            parser=number_or_auto(float),
            help="Factor on feedback for the classes an example is not of.",
            show_default="auto",
        ),
    ] = None,
    e_scales: Annotated[
        EScales | None, _learning(help="What --e scales.", show_default="output")
    ] = None,
    boost_true_positive: Annotated[
        bool | None,
        _learning("--boost/--no-boost", help="Always memorize what is true.", show_default="boost"),
    ] = None,
    class_weight: Annotated[
        ClassWeight | None,
        _learning(help="Give rare classes more weight.", show_default="none"),
    ] = None,
    random_state: Annotated[
        Any,
        _learning(
            "--seed",
            parser=whole(0),
            metavar="N",
            help="The same seed gives the same model, to the bit.",
            show_default="random",
        ),
    ] = None,
    patch_shape: Annotated[
        Any, _images(help="Look at patches of this shape, for example 10,10.")
    ] = None,
    image_shape: Annotated[
        Any, _images(help="Shape of the images that rows hold flattened, for example 28,28.")
    ] = None,
    stride: Annotated[Any, _images(help="Distance between patches.", show_default="1")] = None,
    early_stopping: Annotated[
        bool | None,
        _stopping(
            "--early-stopping",
            show_default="no",
            help="Hold out some rows, and stop when they get no better.",
        ),
    ] = None,
    patience: Annotated[
        Any,
        _stopping(
            parser=whole(1), metavar="N", help="Epochs to wait for better.", show_default="10"
        ),
    ] = None,
    validation_fraction: Annotated[
        float | None,
        _stopping(
            min=0.0, max=1.0, metavar="X", help="Share of the rows held out.", show_default="0.1"
        ),
    ] = None,
    checkpoint_every: Annotated[
        Any,
        _stopping(parser=whole(1), metavar="N", help="Write the model file after every N epochs."),
    ] = None,
    resume: Annotated[
        bool,
        _stopping(
            "--resume",
            help="Finish the training that the model file has begun, on the "
            "same data; its settings are in the file.",
        ),
    ] = False,
    n_jobs: Jobs = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Where it runs; see `cotm info`.", show_default="auto"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Train a model and write it to a file.

    \b
    All columns but the target are learned from: numbers, categories, dates
    and times. Empty cells are missing values, and so are texts such as NA
    and ?, in every kind of table; --missing says which.

    \b
    Ctrl-C saves the last finished epoch, and --resume goes on from there, to
    the same model as if nothing had happened.

    \b
    Examples:
      cotm train flowers.csv --target species --seed 1
      cotm train mail.parquet --target spam,urgent --drop id --early-stopping
      cotm train digits.npz --patch-shape 10,10 --checkpoint-every 5
    """
    from .. import Checkpoint
    from .examples import read_training

    if data == STDIN:
        raise typer.BadParameter(
            "a training reads a file, so that it can be resumed; write standard input to one",
            param_hint="DATA",
        )
    source = require_target(
        Source.given(
            data,
            target=target,
            drop=drop,
            x=x,
            y=y,
            separator=separator,
            missing=missing,
            form=form,
        )
    )
    check_model_output(out, [data])
    # The parameters have the classifiers' names, so they need not be listed once more.
    given = {
        name: getattr(ctx.params[name], "value", ctx.params[name])
        for name in PARAMETER_OPTIONS
        if ctx.params[name] is not None
    }
    learner = resumed_model(out, model, given) if resume else new_model(model, given)
    examples = read_training(source, images=learner.patch_shape is not None, quiet=quiet)
    _warn_about_names(examples)
    learner.set_params(
        callbacks=[] if checkpoint_every is None else [Checkpoint(out, every=checkpoint_every)],
        verbose=0 if quiet else 1,
    )
    seconds = fit(learner, examples, source, out, resume=resume)
    if not quiet:
        _print_summary(learner, examples, seconds, out)


def _warn_about_names(examples: Data) -> None:
    from .tables import row_names

    for column, reason in row_names(examples.X).items():
        say(
            f"warning: column {column!r} {reason}; if it only names rows, leave it out with "
            f"--drop {visible(shlex.quote(column))}"
        )


def _print_summary(model: Any, examples: Data, seconds: float, out: Path) -> None:
    from ..estimator.progress import format_seconds

    summary = {"rows": f"{len(examples.X):,}", **size(model), **progress(model)}
    try:
        print_pairs({**summary, "time": format_seconds(seconds), "model": file_size(out)})
    except OutputError as error:
        if not error.reader_left:  # the model is written, whoever wants to hear of it
            raise
