"""Requests that nobody would send: none may crash or hang a server, or make it grow.

``fuzz(count, seed)`` mutates requests that are right, and asks the application;
``fuzz_bytes(count, seed)`` mutates the bytes of requests to a server that runs. From the command
line: ``python tests/serving/fuzz_requests.py 10000``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
from asking import Asked, Response, asking
from running import Program, megabytes
from serving_models import arrow_of, cases, rows_of

from cotm.serving.arrow import MEDIA_TYPE
from cotm.serving.settings import Limits

_NAMES = ("numbers", "table", "images", "several", "amount", "members")
_ODD: list[Any] = [
    *(None, True, False, 0, -1, 1e308, -0.0, 2**63, -(2**70), "", "\x00", "\U0001f600", "NaN"),
    *("9" * 400, [], {}, [[]], [[1], [1, 2]], {"rows": [[1]]}, "../../etc/passwd", "\u202e", "é"),
    *("0001-01-01", "9999-12-31T23:59:59.999999+23:59", "12:30", 1e-320, "null", [None] * 50),
]
_LIMITS = Limits(body_bytes=200_000, rows=300, explained_rows=5, seconds=10.0)
#: Statuses of a client's faults, and of a server that has too much to do.
_EXPECTED = frozenset({200, 400, 401, 403, 404, 405, 413, 415, 421, 422, 429, 431, 499, 503})


class FuzzError(AssertionError):
    """A request that did what none may; it can be asked again."""


def _mutated(value: Any, dice: random.Random) -> Any:
    """The value with a part changed, somewhere in it."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice([*value])
        changed = dict(value)
        draw = dice.random()
        if draw < 0.1:
            del changed[key]
        elif draw < 0.15:
            changed[str(dice.choice(_ODD))[:20]] = changed.pop(key)
        else:
            changed[key] = _mutated(changed[key], dice)
        return changed
    if isinstance(value, list) and value and dice.random() < 0.85:
        changed, at, draw = list(value), dice.randrange(len(value)), dice.random()
        if draw < 0.1:
            del changed[at]
        elif draw < 0.2:
            changed.insert(at, dice.choice(_ODD))
        elif draw < 0.22:
            changed = changed * dice.choice((2, 50, 400))
        else:
            changed[at] = _mutated(changed[at], dice)
        return changed
    return dice.choice(_ODD)


def _flipped(content: bytes, dice: random.Random) -> bytes:
    """The bytes with some of them changed, cut, or doubled."""
    data = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        if not data:
            break
        at, draw = dice.randrange(len(data)), dice.random()
        if draw < 0.6:
            data[at] = dice.randrange(256)
        elif draw < 0.7:
            data[at : at + 4] = dice.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0"))
        elif draw < 0.8:
            del data[at : at + dice.randrange(1, 40)]
        elif draw < 0.9:
            data[at:at] = data[at : at + dice.randrange(1, 40)]
        else:
            del data[at:]
    return bytes(data)


def _body(name: str, dice: random.Random) -> tuple[bytes, str]:
    case = cases()[name]
    start = dice.randrange(100)
    rows = slice(start, start + dice.choice((1, 1, 3, 17)))
    if dice.random() < 0.35 and name != "members":
        stream = arrow_of(rows_of(case.X, rows))
        return (stream if dice.random() < 0.1 else _flipped(stream, dice)), MEDIA_TYPE
    body = dice.choice(case.bodies(rows))
    if dice.random() < 0.1:
        body = {**body, "background": dice.choice(case.bodies(slice(0, 5)))}
    for _ in range(dice.choice((0, 1, 1, 2, 4))):
        body = _mutated(body, dice)
    try:
        content = orjson.dumps(body)
    except TypeError:
        content = json.dumps(body).encode()  # with numbers that have too many digits, and NaN
    return (_flipped(content, dice) if dice.random() < 0.2 else content), "application/json"


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
                data = _flipped(dice.choice(whole), dice)
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


if __name__ == "__main__":
    asked_for = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(json.dumps(fuzz(asked_for, first)))
    print(json.dumps(fuzz_bytes(asked_for // 10, first)))
