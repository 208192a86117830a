"""The file a command writes: what is wrong with it is said before the work, not after it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

from .data.source import STDIN

#: Longest header of a file in safetensors format.
_LONGEST_HEADER = 100_000_000


def check_output(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Refuse a file that cannot be written, or that the command reads."""
    for other in inputs:
        if _are_same(path, other):
            name = "standard input" if other == STDIN else str(other)
            raise ValueError(
                f"--out {path} is the file that is read ({name}), and would replace it; choose "
                "another name"
            )
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "is no regular file, so it is not replaced", str(path))
    # Writing follows links.
    folder = Path(os.path.realpath(path) if path.is_symlink() else path).parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    if not os.access(folder, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def check_model_output(path: Path, inputs: Sequence[Path] = ()) -> None:
    """The same for a model file, which replaces an older one but nothing else."""
    check_output(path, inputs)
    if path.exists() and not _may_be_replaced(path):
        raise ValueError(
            f"{path} exists and is not a model file of cotm, so it is not replaced; choose another "
            "name with --out, or delete it"
        )


def _are_same(path: Path, other: Path) -> bool:
    """Whether two names lead to one file, through links of any kind."""
    try:
        read = os.fstat(0) if other == STDIN else other.stat()
        return os.path.samestat(path.stat(), read)
    except OSError:  # one of them is not there
        return False


def _may_be_replaced(path: Path) -> bool:
    """Whether a file is empty, or in safetensors format with an entry of cotm, damaged or not."""
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > _LONGEST_HEADER:
            return not start
        try:
            return "cotm" in json.loads(file.read(length))["__metadata__"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return False
