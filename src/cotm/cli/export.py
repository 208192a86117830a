"""``cotm export``: a model as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, ModelFile
from .output import print_json, say
from .output_files import check_output
from .summary import file_data, file_size


def export(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .json, .c (and .h), .onnx, .js (and .d.ts), .sql or .v.",
            show_default=False,
        ),
    ],
    inputs: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="What the export reads: raw, as the model, or the bits its booleanizer makes.",
        ),
    ] = "raw",
    form: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="C: small or fast.", show_default="small"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="C and Verilog: what names of functions or modules begin with.",
            show_default="the file's",
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE", help="Verilog: values are double or uint8.", show_default="double"
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="SQL: the table to read.", show_default="examples"),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="SQL: a column to pass on; may be given again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model for other programs: the same votes and labels everywhere.

    \b
    Examples:
      cotm export flowers.cotm flowers.json
      cotm export flowers.cotm flowers.c --form fast
      cotm export flowers.cotm flowers.sql --table measured --keep id
    """
    from .models import load

    check_output(out, [model])
    given = {"form": form, "name": name, "value": value, "table": table, "keep": keep or None}
    options = {key: option for key, option in given.items() if option is not None}
    try:
        load(model).export(out, inputs=inputs, **options)
    except TypeError as error:  # an option that the format does not have
        raise ValueError(str(error)) from error
    except ImportError as error:
        raise ValueError(str(error)) from error
    if as_json:
        print_json(file_data(out))
        return
    say(f"wrote {file_size(out)}")
