"""The files a command is given: where its examples are, and where its results go."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import typer

#: What stands between columns, by the ending of a text file's name.
SEPARATORS = {".csv": ",", ".tsv": "\t"}

_PACKED = (".gz", ".zst")
_KINDS = (*SEPARATORS, ".parquet", ".npz")


@dataclass(frozen=True)
class Source:
    """A file of examples, and what its parts are called."""

    path: Path
    target: str | None = None  # a column, or several with commas between
    drop: tuple[str, ...] = ()
    x: str = "X"
    y: str = "y"
    separator: str | None = None

    @property
    def kind(self) -> str:
        """The ending that says how to read the file, without that of a compression."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        kind = "".join(suffixes[-1:])
        if kind in _PACKED and len(suffixes) > 1 and suffixes[-2] in SEPARATORS:
            kind = suffixes[-2]
        if kind not in _KINDS:
            raise ValueError(
                f"{self.path}: the name must say what the file is: {', '.join(_KINDS)} "
                f"(.csv and .tsv also with {' or '.join(_PACKED)} behind)"
            )
        return kind

    @property
    def is_table(self) -> bool:
        """Whether the file has columns with names."""
        return self.kind != ".npz"


def labelled_source(
    data: Path,
    target: str | None,
    drop: list[str] | None,
    x: str,
    y: str,
    separator: str | None,
) -> Source:
    """The file of a command that needs labels."""
    source = Source(data, target, tuple(drop or ()), x, y, separator)
    if source.is_table and target is None:
        raise typer.BadParameter("name the column of the labels", param_hint="--target")
    return source


def check_output(path: Path) -> None:
    """Say that a file cannot be written before the work, not after it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "is no regular file, so it is not replaced", str(path))
    # Writing follows links.
    folder = Path(os.path.realpath(path) if path.is_symlink() else path).parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if not os.access(folder, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
