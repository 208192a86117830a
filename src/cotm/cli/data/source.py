"""The file a command reads its examples from."""

from __future__ import annotations

import errno
import stat
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import typer

from ..options import Form
from ..output import say

#: The name that stands for standard input.
STDIN = Path("-")

#: What stands between columns of a text file.
SEPARATORS = {"csv": ",", "tsv": "\t"}

#: What a file is, by the ending of its name.
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}
_PACKED = (".gz", ".zst")
_PACKABLE = (".csv", ".tsv")


@dataclass(frozen=True)
class Source:
    """A file of examples, and what its parts are called."""

    path: Path
    target: str | None = None  # a column, or several with commas between
    drop: tuple[str, ...] = ()
    x: str = "X"
    y: str = "y"
    separator: str | None = None
    missing: tuple[str, ...] | None = None  # texts that stand for a missing value
    form: str | None = None  # what the file is, whatever its name says

    @classmethod
    def given(
        cls,
        path: Path,
        *,
        target: str | None = None,
        drop: list[str] | None,
        x: str,
        y: str = "y",
        separator: str | None,
        missing: list[str] | None,
        form: Form | None,
    ) -> Source:
        """From what the options of a command hold."""
        texts = tuple(missing) if missing else None
        name = None if form is None else form.value
        return cls(path, target, tuple(drop or ()), x, y, separator, texts, name)

    @property
    def name(self) -> str:
        """What the user knows it by."""
        return "standard input" if self.path == STDIN else str(self.path)

    @property
    def kind(self) -> str:
        """What the file is: csv, tsv, parquet, jsonl or npz."""
        if self.form is not None:
            return self.form
        if self.path == STDIN:
            return "csv"
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        ending = "".join(suffixes[-1:])
        if ending not in _ENDINGS and self.path.is_dir():
            return "parquet"  # files of a folder
        if ending in _PACKED and len(suffixes) > 1 and suffixes[-2] in _PACKABLE:
            ending = suffixes[-2]
        if ending not in _ENDINGS:
            raise ValueError(
                f"{self.path}: the name must say what the file is: {', '.join(_ENDINGS)} "
                f"({' and '.join(_PACKABLE)} also with {' or '.join(_PACKED)} behind); else say it "
                "with --from"
            )
        return _ENDINGS[ending]

    @property
    def is_table(self) -> bool:
        """Whether the file has columns with names."""
        return self.kind != "npz"

    @cached_property
    def content(self) -> Path | bytes:
        """The path of a file that can be read more than once, or else what was read."""
        if self.path == STDIN:
            if sys.stdin is None:
                raise OSError(errno.EBADF, "it is closed", self.name)
            if sys.stdin.isatty():
                say("reading from the terminal; Ctrl-D ends it")
            return sys.stdin.buffer.read()
        if self.path.is_dir() and self.kind == "parquet":
            return self.path
        with self.path.open("rb") as file:  # the system's words where it cannot be opened
            mode = self.path.stat().st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise OSError(errno.EINVAL, "is a device, no file to read", self.name)
            return self.path if stat.S_ISREG(mode) else file.read()


def require_target(source: Source) -> Source:
    """The source, for a command that needs labels."""
    if source.is_table and source.target is None:
        raise typer.BadParameter("name the column of the labels", param_hint="--target")
    return source
