"""A request for predictions, from its body to its answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Any
from urllib.parse import parse_qsl

import orjson

from ..estimator.regressing import check_interval
from .arrow import MEDIA_TYPE, read_stream, write_stream
from .problems import Problem, refused
from .reading import parse_json, read_body
from .registry import Entry
from .served import Answer, ServedModel, Wanted
from .settings import Limits

#: What takes less than this goes through the event loop at once; a thread costs more to ask.
_AT_ONCE_BYTES = 32 << 10
_AT_ONCE_NANOSECONDS = 1e6
#: Rows at once: reading one takes some microseconds, whatever the model.
_AT_ONCE_ROWS = 32
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no")


def read_wanted(query: bytes, model: ServedModel, limits: Limits) -> Wanted:
    """What a query asks for."""
    if not query:
        return _NOTHING_MORE
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=True)
    except (ValueError, UnicodeError):
        raise Problem(
            400,
            "the query cannot be read",
            "write it as votes=true&proba=true",
            query[:100].decode("latin-1"),
        ) from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise Problem(422, "the query names something twice", "name it once", pairs[-1][0])
    unknown = given.keys() - {"votes", "proba", "interval", "reasons"}
    if unknown:
        raise Problem(
            422,
            "the query asks for what there is not",
            "ask for votes, proba, interval and reasons",
            min(unknown),
        )
    wanted = Wanted(
        votes=_flag(given, "votes"),
        proba=_flag(given, "proba"),
        interval=_share(given),
        reasons=_count(given),
    )
    if wanted.proba and model.scaling is not None:
        raise Problem(
            422, "quantities have no probabilities", "ask for interval=0.9 instead", "proba"
        )
    if wanted.interval is not None:
        if model.scaling is None:
            raise Problem(
                422, "classes have no intervals", "ask for proba=true instead", "interval"
            )
        try:
            check_interval(model.errors, wanted.interval)
        except ValueError as error:
            raise refused(error) from None
    return wanted


_NOTHING_MORE = Wanted()


def _flag(given: dict[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in (*_YES, *_NO):
        raise Problem(422, f"{name} is neither true nor false", "write true or false", text)
    return text in _YES


def _share(given: dict[str, str]) -> float | None:
    text = given.get("interval")
    if text is None:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise Problem(422, "interval is no share", "write a number between 0 and 1, as 0.9", text)
    return share


def _count(given: dict[str, str]) -> int:
    """How many reasons for each row; none where none are asked for."""
    text = given.get("reasons", "0").lower()
    if text in ("true", "yes"):
        return 5
    if text in ("false", "no"):
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 4):
        raise Problem(422, "reasons is no number", "write how many, up to 9999, or true", text)
    return int(text)


async def answer(
    entry: Entry,
    body: bytes,
    media_type: str,
    query: bytes,
    *,
    as_arrow: bool,
    limits: Limits,
    executor: Executor,
) -> tuple[bytes, int]:
    """The bytes of an answer, and the number of rows; all of it from one version of the model."""
    model, batcher = entry.model, entry.batcher
    wanted = read_wanted(query, model, limits)
    is_arrow = media_type == MEDIA_TYPE
    if len(body) <= _AT_ONCE_BYTES and not wanted.reasons:
        X, count, _ = _read(model, body, limits, is_arrow)
        if count <= _AT_ONCE_ROWS and count * model.row_nanoseconds <= _AT_ONCE_NANOSECONDS:
            votes = await batcher.votes(_examples(model, X))
            return _encoded(model, model.answer(votes, wanted), as_arrow), count
    loop = asyncio.get_running_loop()
    work = loop.run_in_executor(
        executor, _at_length, model, body, wanted, limits, is_arrow, as_arrow
    )
    try:
        return await asyncio.wait_for(asyncio.shield(work), limits.seconds)
    except asyncio.TimeoutError:
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise Problem(
            503,
            f"the answer took longer than {limits.seconds:g} s",
            "send fewer rows, or ask again later",
            headers={"retry-after": "5"},
        ) from None


def _read(model: ServedModel, body: bytes, limits: Limits, is_arrow: bool) -> tuple[Any, int, Any]:
    if is_arrow:
        X, count = read_stream(model, body, limits.rows)
        return X, count, None
    return read_body(model, parse_json(body), limits)


def _examples(model: ServedModel, X: Any) -> Any:
    """What the model reads of X. Whatever it refuses is the client's to change."""
    try:
        return model.read(X)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, ValueError):
            raise refused(error, f"see GET /v1/models/{model.name}") from None
        raise Problem(
            422, "X cannot be read", f"see GET /v1/models/{model.name}", str(error)[:200]
        ) from None


def _at_length(
    model: ServedModel,
    body: bytes,
    wanted: Wanted,
    limits: Limits,
    is_arrow: bool,
    as_arrow: bool,
) -> tuple[bytes, int]:
    """The same in a thread."""
    X, count, background = _read(model, body, limits, is_arrow)
    examples = _examples(model, X)
    found = model.answer(model.votes(examples), wanted)
    if wanted.reasons:
        if count > limits.explained_rows:
            raise Problem(
                413,
                "there are too many rows to explain",
                f"send at most {limits.explained_rows} at a time",
                count,
            )
        try:
            reasons = model.reasons(X, background, wanted.reasons)
        except ValueError as error:
            raise refused(error) from None
        found = Answer(**{**vars(found), "reasons": reasons})
    return _encoded(model, found, as_arrow), count


def _encoded(model: ServedModel, found: Answer, as_arrow: bool) -> bytes:
    if as_arrow:
        return write_stream(model, found)
    return orjson.dumps(model.shown(found))
