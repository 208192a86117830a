"""What the user is told when something goes wrong, and the exit code for it."""

from __future__ import annotations

import difflib
import re
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from .options import PARAMETER_OPTIONS
from .output import one_line, say
from .streams import OutputError, settle_messages

INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C


class Command(TyperCommand):
    """A command whose errors are one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: say(f"warning: {one_line(str(message))}")
            try:
                return super().invoke(ctx)
            except (typer.Exit, typer.BadParameter):
                raise
            except (Exception, KeyboardInterrupt) as error:
                if ctx.find_root().params.get("debug"):
                    say("".join(traceback.format_exception(error)).rstrip())
                raise typer.Exit(report(error)) from None
            finally:
                settle_messages()


def report(error: BaseException) -> int:
    """Tell the user about an error; the exit code for it."""
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    # A reader that has seen enough is no trouble.
    if not (isinstance(error, OutputError) and isinstance(error.__cause__, BrokenPipeError)):
        say(f"error: {one_line(_explain(error))}")
    return 1


def _explain(error: BaseException) -> str:
    if isinstance(error, OutputError):
        return f"standard output: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | OSError | MemoryError):
        return _in_options(str(error)) or "not enough memory"
    kind = type(error).__name__
    return f"this is a mistake in cotm ({kind}: {error}); `cotm --debug ...` shows where"


def _in_options(message: str) -> str:
    """A message of the library, with parameters called as on the command line."""

    def rename(match: re.Match[str]) -> str:
        name, sign = match.groups()
        # A bare word such as "epochs" may be just that.
        if name in PARAMETER_OPTIONS and (sign or "_" in name):
            return PARAMETER_OPTIONS[name] + (" " if sign else "")
        return match[0]

    return re.sub(r"(?<!['\w])(\w+)(=?)", rename, message)


# Parts of messages -------------------------------------------------------------------


def suggestion(name: str, known: Sequence[str]) -> str:
    """What a user may have meant by a name that is not known."""
    by_folded = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3)
    if near:
        return f"did you mean {' or '.join(repr(by_folded[match]) for match in near)}?"
    return f"it has {quoted(known)}"


def quoted(names: Sequence[str], most: int = 12) -> str:
    """Names in quotes, shortened where there are many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def require_polars(doing: str) -> None:
    """Refuse what needs polars where it is not installed: cotm itself does without it."""
    try:
        import polars  # noqa: F401
    except ImportError as error:
        raise ValueError(f'{doing} needs polars; pip install "cotm[tables]"') from error
