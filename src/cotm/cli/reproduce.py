"""``cotm reproduce``: the paper's tables and figures, with our results beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Jobs
from .output import say
from .streams import put


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; without it, list them.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the data.", show_default="the paper's")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Runs of each machine, with one seed after another.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 1,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Where it runs; see `cotm info`.")
    ] = "auto",
    n_jobs: Jobs = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Runs trained at the same time, each on one processor."
        ),
    ] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small settings: minutes instead of hours.")
    ] = False,
    clauses: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", help="Only this column of a table, in clauses per class; repeatable."
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="text|released",
            help="A table of images as the paper's text has it, or as its authors' programs do.",
        ),
    ] = "text",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results go.")
    ] = Path("reproduction"),
) -> None:
    """Run an experiment of the paper and show its figures beside ours.

    Results go into a folder of their own as JSON, CSV, a Markdown table and a figure. Finished
    runs are kept, and the one that Ctrl-C interrupts from its last epoch on: the same command
    continues there. Data come from the folder COTM_DATA, from the cache, or from the net.

    \b
    Examples:
      cotm reproduce
      cotm reproduce mnist --quick
      cotm reproduce mnist --clauses 50 --clauses 100 --repeats 3 --workers 4
      cotm reproduce mnist --as released --clauses 50
    """
    from ..experiments import EXPERIMENTS, Options, run_experiment

    if name is None:
        for key, experiment in EXPERIMENTS.items():
            put(f"{key:18s} {experiment.summary}")
        return
    options = Options(
        epochs=epochs,
        repeats=repeats,
        seed=seed,
        backend=backend,
        n_jobs=n_jobs,
        workers=workers,
        quick=quick,
        clauses=tuple(clauses) if clauses else None,
        form=form,
        folder=out,
    )
    try:
        run_experiment(name, options, put)
    except KeyboardInterrupt:
        say("\nFinished runs are kept; the same command continues from there.")
        raise
