"""Printing: results to standard output, messages to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer


def say(text: str) -> None:
    """Print a message for the user."""
    typer.echo(text, err=True)


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())


def print_json(value: Any) -> None:
    """Print a result for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_pairs(pairs: dict[str, str]) -> None:
    """Print names and their values, one pair a line."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        typer.echo(f"{name:{width}}  {value}")


def print_table(header: list[str], rows: list[list[Any]]) -> None:
    """Print a table; its first column names the rows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header[:1])
    for name in header[1:]:
        table.add_column(Text(name), justify="right")
    for row in rows:
        # Text, because a label may look like markup.
        table.add_row(*(Text(f"{v:.3f}" if isinstance(v, float) else str(v)) for v in row))
    # Only a terminal has an edge to fit in.
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1000).print(table)
