"""What the library logs, on standard error: lines to read, or JSON objects for programs.

Only the logger "cotm" gets a handler, never the root of all loggers.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from enum import Enum
from typing import Annotated, Any

import typer

from .escapes import json_safe, visible
from .streams import silence

#: What every record has; the rest are facts of its message.
_USUAL = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {
    *("message", "asctime", "taskName", "color_message")
}


class LogForm(str, Enum):
    """How messages are written."""

    text = "text"
    json = "json"


class LogLevel(str, Enum):
    """The least of what is written."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


LogTo = Annotated[
    LogForm | None,
    typer.Option(
        "--log",
        help="Log to standard error: as text, or as JSON, an object a line and nothing else.",
    ),
]
LogFrom = Annotated[
    LogLevel | None,
    typer.Option("--log-level", help="The least that is logged.", show_default="info, with --log"),
]


class _Lines(logging.Handler):
    """Standard error as it is when a record comes; what cannot be written is dropped."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # a wrong message must not end what it is about
            line = f"a message of {record.name} cannot be written: {type(error).__name__}"
        try:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            silence(sys.stderr)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{_moment(record)} {record.levelname} {record.name}: {record.getMessage()}"
        if record.exc_info:
            return visible(text) + "\n" + self.formatException(record.exc_info)
        return visible(text)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        facts = {k: v for k, v in vars(record).items() if k not in _USUAL and k not in entry}
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return json_safe(json.dumps({**entry, **facts}, default=str))


def _moment(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


_state: dict[str, Any] = {"form": None, "level": None, "handler": None}
#: What the texts that commands print to standard error begin with.
_LEVELS = {"error: ": logging.ERROR, "warning: ": logging.WARNING, "note: ": logging.INFO}


def set_up(form: LogForm | None, level: LogLevel | None) -> None:
    """Write what the library logs from here on; nothing where neither is given."""
    logger, before = logging.getLogger("cotm"), _state["handler"]
    if before is not None:
        logger.removeHandler(before)
        logger.setLevel(logging.NOTSET)
    _state.update(form=form, level=level, handler=None)
    if form is None and level is None:
        return
    handler = _Lines()
    handler.setFormatter(_Json() if form is LogForm.json else _Text())
    logger.addHandler(handler)
    logger.setLevel((level or LogLevel.info).value.upper())
    _state["handler"] = handler


def chosen(form: LogForm | None, level: LogLevel | None) -> tuple[LogForm, LogLevel]:
    """What a server logs: as its own options say, those before it, or as text."""
    return form or _state["form"] or LogForm.text, level or _state["level"] or LogLevel.info


def are_json() -> bool:
    """Whether standard error is for programs: then nothing but JSON goes there."""
    return _state["form"] is LogForm.json


def as_line(text: str) -> str:
    """A warning of the program as a line of JSON, where nothing may be asked of a logger."""
    record = logging.LogRecord("cotm.cli", logging.WARNING, "", 0, "%s", (text,), None)
    return _Json().format(record)


def log_text(text: str) -> None:
    """Log what would be printed for people."""
    start = next((start for start in _LEVELS if text.startswith(start)), "")
    level = _LEVELS.get(start, logging.INFO)
    logging.getLogger("cotm.cli").log(level, "%s", text.removeprefix(start).strip())
