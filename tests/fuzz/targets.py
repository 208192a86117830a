"""What is fuzzed: a target makes inputs, which are bytes, and tries them."""

from __future__ import annotations

import contextlib
import functools
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy


class CrashError(AssertionError):
    """An input that did what none may."""


class Target:
    """A kind of input, and what may come of it."""

    #: Seconds after which an input counts as a hang.
    limit = 20.0
    #: Megabytes that trying inputs may take beyond what the right ones do.
    megabytes = 2000
    #: Modules whose branches a fuzzer that is led by them looks at; none: it is not led.
    led_by: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def seeds(self) -> list[bytes]:
        """Inputs that are right. Not asked for where there is a strategy."""
        raise NotImplementedError

    def strategy(self) -> SearchStrategy[bytes] | None:
        """Where structure matters: inputs as hypothesis draws them."""
        return None

    def changed(self, data: bytes, dice: random.Random) -> bytes:
        """The input, or another one, spoilt."""
        raise NotImplementedError

    def tried(self, data: bytes) -> str:
        """What came of it in a word; whatever is raised is a crash."""
        raise NotImplementedError


@functools.cache
def _program() -> Any:
    """The program; its commands, which Typer's runner would make anew in each call, made once."""
    import typer.testing

    from cotm import cli

    command = typer.testing._get_command(cli.app)
    typer.testing._get_command = lambda app: command
    return cli.app


def run_command(*words: Any) -> tuple[int, str]:
    """A command of the program in this process: its exit code, and what it printed.

    Whatever may not happen whatever is asked for is a crash.
    """
    from typer.testing import CliRunner

    result = CliRunner().invoke(_program(), [str(word) for word in words])
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise CrashError(f"{words}: {error!r}") from error
    if result.exit_code not in (0, 1, 2):
        raise CrashError(f"{words}: exit code {result.exit_code}: {result.output}")
    if "mistake in cotm" in result.stderr or "Traceback" in result.stderr:
        raise CrashError(f"{words}: {result.stderr}")
    last = result.stderr.strip().splitlines()[-1:]
    if result.exit_code == 1 and not last[0].startswith("error: "):
        raise CrashError(f"{words}: no error is told: {result.stderr}")
    return result.exit_code, result.output


@contextlib.contextmanager
def refusing(*errors: type[Exception], why: str = "") -> Iterator[list[str]]:
    """What may be refused inside the block; the list tells why it was."""
    told: list[str] = []
    try:
        yield told
    except errors as error:
        if not str(error).strip():
            raise CrashError(f"{why}{type(error).__name__} says nothing") from error
        told.append(str(error))


def quietly() -> contextlib.ExitStack:
    """No warnings and no bars: they are right, and many."""
    import warnings

    stack = contextlib.ExitStack()
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
    return stack
