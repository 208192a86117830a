"""Printing: results to standard output, messages to standard error.

Names, labels and values come from files that anybody may have written. What would act on a
terminal, or hide there, is shown as an escape.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from .streams import put, put_message

#: Control characters, what reorders or hides text, line separators, and halves of surrogate
#: pairs, which cannot be printed. Joiners stay: some scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""The text with characters that act on terminals as escapes.

    >>> visible("red\x1b[2J\u202e")
    'red\\x1b[2J\\u202e'
    """
    return _HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def one_line(text: str) -> str:
    """The text without line breaks, safe to print."""
    return visible(" ".join(text.split()))


def say(text: str) -> None:
    """Print a message for the user; its line breaks are meant."""
    put_message("\n".join(map(visible, text.split("\n"))))


def print_line(text: str) -> None:
    """Print a line of a result."""
    put(visible(text))


def print_json(value: Any) -> None:
    """Print a result for programs."""
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    put("\n".join(_HIDDEN.sub(_json_escape, line) for line in lines))


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
