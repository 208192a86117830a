"""The command line, a file per command.

Whatever takes long to import (scikit-learn, polars, rich) is imported where it is used, so
that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from . import errors
from .compress import compress
from .demo import demo
from .evaluate import evaluate
from .explain import explain
from .export import export
from .generate import generate
from .images import images
from .info import info
from .logs import LogFrom, LogTo, set_up
from .predict import predict
from .report import report
from .reproduce import reproduce
from .rules import rules
from .serve import serve
from .streams import OutputError, open_closed_streams
from .train import train
from .tune import tune

app = typer.Typer(
    name="cotm",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    train,
    tune,
    predict,
    evaluate,
    explain,
    rules,
    report,
    compress,
    export,
    generate,
    images,
    info,
    serve,
    demo,
    reproduce,
)
for _command in _COMMANDS:
    app.command(cls=errors.Command)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"cotm {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    log: LogTo = None,
    log_level: LogFrom = None,
) -> None:
    """Coalesced Tsetlin Machine: a classifier made of readable rules.

    \b
    Examples:
      cotm demo
      cotm train flowers.csv --target species --out flowers.cotm
      cotm predict flowers.cotm new.csv > predictions.csv
      cotm rules flowers.cotm

    \b
    Results go to standard output; progress, messages and errors go to standard
    error, an error as one line that starts with "error: ".

    \b
    Exit codes:
      0    done
      1    something is wrong with the data, the model file or the system
      2    wrong usage
      130  interrupted by Ctrl-C
    """
    set_up(log, log_level)


def main() -> None:
    """Entry point of the program ``cotm``."""
    open_closed_streams()
    # pyarrow's own allocator takes 1 GB of addresses at once, which `ulimit -v` counts.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        app(prog_name="cotm")
    except OutputError as error:  # of --help and --version; commands report their own
        sys.exit(errors.report(error))
    finally:
        # What is left is Python's tidying up; Ctrl-C ends that without a traceback.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
