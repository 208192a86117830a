"""Requests that nobody would send: none may crash or hang a server, or make it grow.

``fuzz(count, seed)`` mutates requests that are right, and asks the application;
``fuzz_bytes(count, seed)`` mutates the bytes of requests to a server that runs. ``make fuzz`` does
both at length.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
from asking import Asked, Response, asking
from mutations import changed_value, flipped
from running import Program, megabytes
from serving_models import arrow_of, cases, rows_of

from cotm.serving.arrow import MEDIA_TYPE
from cotm.serving.settings import Limits

_NAMES = ("numbers", "table", "images", "several", "amount", "members")
_LIMITS = Limits(body_bytes=200_000, rows=300, explained_rows=5, seconds=10.0)
#: Statuses of a client's faults, and of a server that has too much to do.
_EXPECTED = frozenset({200, 400, 401, 403, 404, 405, 413, 415, 421, 422, 429, 431, 499, 503})


class FuzzError(AssertionError):
    """A request that did what none may; it can be asked again."""


def _body(name: str, dice: random.Random) -> tuple[bytes, str]:
    case = cases()[name]
    start = dice.randrange(100)
    rows = slice(start, start + dice.choice((1, 1, 3, 17)))
    if dice.random() < 0.35 and name != "members":
        stream = arrow_of(rows_of(case.X, rows))
        return (stream if dice.random() < 0.1 else flipped(stream, dice)), MEDIA_TYPE
    body = dice.choice(case.bodies(rows))
    if dice.random() < 0.1:
        body = {**body, "background": dice.choice(case.bodies(slice(0, 5)))}
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        body = changed_value(body, dice)
    try:
        content = orjson.dumps(body)
    except TypeError:
        content = json.dumps(body).encode()  # with numbers that have too many digits, and NaN
    return (flipped(content, dice) if dice.random() < 0.2 else content), "application/json"


def _query(dice: random.Random) -> str:
    parts = [
        "votes=true",
        "proba=1",
        "interval=0.9",
        "reasons=2",
        "interval=2",
        "x=y",
        "votes",
        "reasons=99999",
        "%ff=%00",
        "proba=\x00",
        "=",
        "votes=true&votes=true",
        "é=1",
    ]
    return "&".join(dice.sample(parts[:4] if dice.random() < 0.7 else parts, dice.randrange(4)))


async def _one(asked: Asked, dice: random.Random) -> Response:
    name = dice.choice(_NAMES)
    body, kind = _body(name, dice)
    path = f"/v1/models/{name}/predict"
    method, headers = "POST", {"content-type": kind}
    if dice.random() < 0.05:
        path = dice.choice(
            [
                "/",
                "//",
                "/v1/models/",
                "/v1/models//predict",
                "/docs",
                "/metrics",
                "/v1/models/é/predict",
                "/v1/models/%00",
                "/v1/models/a/b/predict",
                "/ready/",
                "/v1/models/numbers",
                "/v1/models/numbers/reload",
                "/" + "a" * 5000,
            ]
        )
        method = dice.choice(["GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "PATCH", "X"])
    if dice.random() < 0.05:
        odd = dice.choice(["", "text/plain", "application/json; charset=x", "a" * 3000, "\xff"])
        headers[
            dice.choice(
                [
                    "content-type",
                    "accept",
                    "host",
                    "content-length",
                    "content-encoding",
                    "authorization",
                ]
            )
        ] = odd
    if dice.random() < 0.2:
        headers["accept"] = MEDIA_TYPE
    query = _query(dice)
    parts = None
    if dice.random() < 0.1 and body:
        at = dice.randrange(len(body))
        parts = [body[:at], body[at:]] if dice.random() < 0.8 else [body[:at]]
    return await asked.ask(method, f"{path}?{query}" if query else path, body, headers, parts=parts)


def fuzz(count: int, seed: int = 0) -> dict[str, Any]:
    """Ask so many times; what came of it, or a FuzzError."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name in _NAMES:
            files[name] = Path(folder) / f"{name}.cotm"
            cases()[name].model.save(files[name])
        return asyncio.run(_fuzz(files, count, seed))


async def _fuzz(files: dict[str, Path], count: int, seed: int) -> dict[str, Any]:
    statuses: Counter[int] = Counter()
    settled = 0.0
    slowest = 0.0
    async with asking(files, limits=_LIMITS) as asked:
        right = {
            name: await asked.predict(name, cases()[name].bodies(slice(3, 9))[0], "votes=1")
            for name in _NAMES
        }
        for number in range(count):
            dice = random.Random(seed * 1_000_003 + number)
            began = time.monotonic()
            try:
                response = await asyncio.wait_for(_one(asked, dice), 60)
            except Exception as error:
                raise FuzzError(f"seed {seed}, request {number}: {error!r}") from error
            slowest = max(slowest, time.monotonic() - began)
            statuses[response.status] += 1
            if response.status not in _EXPECTED:
                raise FuzzError(f"seed {seed}, request {number}: {response}")
            if response.status >= 400 and response.status != 499:
                error = response.json["error"] if response.body else None
                if error is not None and set(error) != {"problem", "value", "remedy"}:
                    raise FuzzError(f"seed {seed}, request {number}: {response}")
                if b"Traceback" in response.body or b"site-packages" in response.body:
                    raise FuzzError(f"seed {seed}, request {number}: {response}")
            if number == count // 3:
                settled = megabytes(os.getpid())
        for name, before in right.items():
            after = await asked.predict(name, cases()[name].bodies(slice(3, 9))[0], "votes=1")
            if after.body != before.body:
                raise FuzzError(f"after seed {seed} {name} answers differently")
    grown = megabytes(os.getpid()) - settled
    return {
        "requests": count,
        "statuses": dict(sorted(statuses.items())),
        "slowest_seconds": round(slowest, 3),
        "grown_megabytes": round(grown, 1),
    }


def fuzz_bytes(count: int, seed: int = 0) -> dict[str, Any]:
    """Send bytes that are no HTTP, or almost, to a program; it must go on answering."""
    good = json.dumps(cases()["numbers"].bodies(slice(1, 3))[0]).encode()
    head = b"POST /v1/models/numbers/predict HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(good)
    chunked = head.replace(b"content-length: %d" % len(good), b"transfer-encoding: chunked")
    whole = [head + good, chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(good), good), (head + good) * 3]
    statuses: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.cotm"
        cases()["numbers"].model.save(path)
        with Program(path, "--timeout", 2, "--log-level", "warning") as server:
            settled = 0.0
            for number in range(count):
                dice = random.Random(seed * 1_000_003 + number)
                data = flipped(dice.choice(whole), dice)
                statuses[_sent(server.port, data)] += 1
                if number == count // 3:
                    settled = megabytes(server.process.pid)
            status, _ = server.ask("POST", "/v1/models/numbers/predict", json.loads(good))
            if status != 200 or server.process.poll() is not None:
                raise FuzzError(f"after {count} requests of seed {seed} the server is not well")
            grown = megabytes(server.process.pid) - settled
        mistakes = [entry for entry in server.log if entry["level"] == "error"]
        if mistakes:
            raise FuzzError(f"seed {seed}: {mistakes[0]}")
    return {"requests": count, "statuses": dict(statuses), "grown_megabytes": round(grown, 1)}


def _sent(port: int, data: bytes) -> str:
    """The first status that comes back, if any."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.05) as connection:
        try:
            connection.sendall(data)
            found = connection.recv(1 << 16)
        except TimeoutError:
            return "waiting"
        except OSError:
            return "closed"
    status = found[9:12].decode("latin-1") or "closed"
    if status not in {*map(str, _EXPECTED), "100", "408", "closed", "501"}:
        raise FuzzError(f"{data!r}: {found!r}")
    return status
