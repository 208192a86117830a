"""Printing: results to standard output, messages to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from .escapes import json_safe, visible
from .logs import are_json, log_text
from .streams import put, put_message

__all__ = [
    "one_line",
    "print_json",
    "print_line",
    "print_pairs",
    "print_table",
    "say",
    "visible",
]


def one_line(text: str) -> str:
    """The text without line breaks, safe to print."""
    return visible(" ".join(text.split()))


def say(text: str) -> None:
    """Print a message for the user; its line breaks are meant."""
    if are_json():
        log_text(text)
        return
    put_message("\n".join(map(visible, text.split("\n"))))


def print_line(text: str) -> None:
    """Print a line of a result."""
    put(visible(text))


def print_json(value: Any) -> None:
    """Print a result for programs."""
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    put("\n".join(map(json_safe, lines)))


def print_pairs(pairs: dict[str, str]) -> None:
    """Print names and their values, one pair a line."""
    shown = {visible(name): visible(value) for name, value in pairs.items()}
    width = max(map(len, shown))
    put("\n".join(f"{name:{width}}  {value}" for name, value in shown.items()))


def print_table(header: list[str], rows: list[list[Any]]) -> None:
    """Print a table; its first column names the rows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, because a label may look like markup.
    table = Table()
    for place, name in enumerate(header):
        table.add_column(Text(visible(name)), justify="right" if place else "left")
    for row in rows:
        cells = (f"{v:.3f}" if isinstance(v, float) else str(v) for v in row)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    # Only a terminal has an edge to fit in.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1000)
    with console.capture() as capture:
        console.print(table)
    put(capture.get().removesuffix("\n"))
