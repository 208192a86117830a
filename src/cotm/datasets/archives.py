"""Archives of arrays (``.npz``) in the folder ``COTM_DATA``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .fetch import DataError


def find_archive(name: str) -> Path | None:
    """The archive of this name in the folder ``COTM_DATA``, if there is one."""
    folder = os.environ.get("COTM_DATA")
    if not folder:
        return None
    if not os.path.isdir(folder):
        raise DataError(f"COTM_DATA={folder!r} is not a folder; set it to the one with the data")
    path = Path(folder) / name
    return path if path.is_file() else None


def read_parts(archive: Any, split: str, kind: str) -> list[bytes]:
    """The texts or files of one split, "train" or "test", in an archive.

    ``{split}_{kind}`` holds their bytes one after another, ``{split}_end`` where each ends.
    """
    content, ends = archive[f"{split}_{kind}"].tobytes(), archive[f"{split}_end"].tolist()
    starts = [0, *ends[:-1]]
    return [content[start:end] for start, end in zip(starts, ends, strict=True)]
