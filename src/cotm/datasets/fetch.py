"""Downloading files of data into the user's cache."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHUNK = 1 << 14  # bytes; at most so many are lost when a connection breaks
_TIMEOUT = 60  # seconds without a byte after which a download is given up

_CONTINUED, _NOTHING_LEFT = 206, 416  # status codes of HTTP: partial content, range not satisfiable


class DataError(ValueError):
    """Data that could not be found, downloaded or read; the message says what to do."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on the net and the MD5 checksum that its makers publish."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]


def fetch(file: RemoteFile, data_set: str) -> Path:
    """The file from the user's cache, downloaded if it is not there yet."""
    try:
        import pooch
    except ImportError as error:
        raise DataError(
            f'{data_set} is not in the folder COTM_DATA; to download it, pip install "cotm[data]"'
        ) from error
    folder = Path(os.environ.get("COTM_CACHE") or pooch.os_cache("cotm")) / data_set
    partial = folder / f"{file.name}.part"
    logger = pooch.get_logger()
    level, _ = logger.level, logger.setLevel("WARNING")
    try:
        found = pooch.retrieve(
            file.url, f"md5:{file.md5}", fname=file.name, path=folder, downloader=_Resuming(partial)
        )
    except ValueError as error:  # the checksum is wrong
        partial.unlink(missing_ok=True)
        raise DataError(
            f"{file.url} is not the file it should be ({error}); try again, or put the data into "
            "the folder COTM_DATA"
        ) from error
    except OSError as error:  # errors of requests are OSErrors, too
        raise DataError(
            f"{file.url} could not be downloaded ({error}); what has come is kept, so try again "
            "when you are online, or put the data into the folder COTM_DATA"
        ) from error
    finally:
        logger.setLevel(level)
    return Path(found)


class _Resuming:
    """A downloader for pooch that continues where an earlier download was broken off."""

    def __init__(self, partial: Path) -> None:
        self.partial = partial

    def __call__(self, url: str, output_file: str, manager: Any) -> None:
        import requests

        partial = self.partial  # holds what has come so far
        have = partial.stat().st_size if partial.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as answer:
            chunks: Iterator[bytes] = iter(())
            length = 0
            if answer.status_code != _NOTHING_LEFT:
                answer.raise_for_status()
                if answer.status_code != _CONTINUED:  # the server sends the whole file
                    have = 0
                chunks = answer.iter_content(_CHUNK)
                length = int(answer.headers.get("Content-Length") or 0)
            with (
                open(partial, "ab" if have else "wb") as file,
                _shown(partial.stem, have, have + length if length else None) as advance,
            ):
                for chunk in chunks:
                    file.write(chunk)
                    advance(len(chunk))
        shutil.move(partial, output_file)


@contextmanager
def _shown(name: str, have: int, total: int | None) -> Iterator[Callable[[int], None]]:
    """On a terminal a bar, or a line where rich is not installed; calls say how much came."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda _: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
    except ImportError:
        size = f" ({total / 1e6:.1f} MB)" if total else ""
        print(f"downloading {name}{size}", file=sys.stderr)
        yield lambda _: None
        return
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task(name, total=total, completed=have)
        yield lambda size: progress.advance(task, size)
