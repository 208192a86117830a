"""Files of exports, and what names from data may be in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..core.whole_files import replace_files

#: Longest line of tables of numbers.
_WIDTH = 96


def write_files(files: dict[Path, bytes]) -> None:
    """Write all files, each whole; what cannot be written is found out before any is."""
    replace_files(files, "the export")


def text_bytes(lines: str | Iterable[str]) -> bytes:
    """A text file's bytes."""
    text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    return text.encode("utf-8")


def comment_text(text: str) -> str:
    r"""A text that is safe in comments of any language: ASCII, in one line, ending nothing.

    >>> comment_text("a */ b\n??/ -- ü")
    'a \\u002a\\u002f b\\n\\u003f\\u003f\\u002f \\u002d\\u002d \\u00fc'
    """
    escaped = json.dumps(text)[1:-1].replace('\\"', '"')
    return re.sub(r"[*/?`@]|--|\\$", _as_code, escaped)


def _as_code(match: re.Match[str]) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in match[0])


def identifier(path: Path, fallback: str = "model") -> str:
    """A name for what a file holds, which every language takes, of the file's own."""
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"{fallback}_{name}" if name else fallback


def check_identifier(name: str) -> str:
    """A name that every language takes, or a ValueError."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"name={name!r:.200} must be a letter, then letters, digits and underscores"
        )
    return name


def wrapped(items: Sequence[object], indent: str = "  ") -> Iterator[str]:
    """Lines of a list with commas."""
    line = indent
    for item in items:
        text = f"{item},"
        if len(line) + len(text) > _WIDTH and line != indent:
            yield line.rstrip()
            line = indent
        line += f"{text} "
    if line != indent:
        yield line.rstrip()
