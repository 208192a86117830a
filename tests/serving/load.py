"""Load for a server on this machine: clients that check every answer, and their clocks."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass
class Request:
    """Bytes to send, and what may come back: a complaint, or None where it is right."""

    kind: str
    content: bytes
    check: Callable[[bytes], str | None]


def request(
    kind: str,
    path: str,
    body: bytes,
    check: Callable[[bytes], str | None],
    media_type: str = "application/json",
) -> Request:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {media_type}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return Request(kind, head.encode() + body, check)


@dataclass
class Outcome:
    """What came of it."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lost: int = 0  # connections that broke before an answer
    elapsed: float = 0.0

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    def percentile(self, share: float, kind: str | None = None) -> float:
        """Milliseconds within which so many were answered."""
        groups = self.seconds.values() if kind is None else [self.seconds.get(kind, [])]
        values = sorted(second for group in groups for second in group)
        return values[min(len(values) - 1, int(share * len(values)))] * 1e3 if values else 0.0

    def told(self) -> dict[str, Any]:
        return {
            "answered": self.answered,
            "per_second": round(self.answered / max(self.elapsed, 1e-9), 1),
            "statuses": dict(self.statuses),
            "wrong": len(self.wrong),
            "lost": self.lost,
            "milliseconds": {
                kind: {
                    f"p{share}": round(self.percentile(share / 100, kind), 3)
                    for share in (50, 90, 99)
                }
                for kind in sorted(self.seconds)
            },
        }


class _Connection:
    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, content: bytes) -> tuple[int, bytes]:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        assert self._reader is not None
        self._writer.write(content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        at = lower.index(b"content-length: ") + 16
        body = await self._reader.readexactly(int(head[at : head.index(b"\r\n", at)]))
        if b"connection: close" in lower:
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def _run(
    port: int,
    requests: Sequence[Request],
    connections: int,
    seconds: float,
    rate: float | None,
    seed: int,
    most: int | None,
) -> Outcome:
    outcome, loop = Outcome(), asyncio.get_running_loop()
    began = loop.time()
    dice = random.Random(seed)
    due: asyncio.Queue[float] = asyncio.Queue()

    async def ticks() -> None:
        """Requests come by chance, whether or not the last one was answered."""
        at = loop.time()
        while at < began + seconds:
            at += dice.expovariate(rate or 1.0)
            await asyncio.sleep(max(0.0, at - loop.time()))
            due.put_nowait(at)

    async def one(number: int) -> None:
        own, connection = random.Random(seed * 1000 + number), _Connection(port)
        while loop.time() < began + seconds and (most is None or outcome.answered < most):
            asked = own.choice(requests)
            if rate is None:
                start = loop.time()
            else:
                try:
                    start = await asyncio.wait_for(due.get(), 0.5)
                except asyncio.TimeoutError:
                    continue
            try:
                status, body = await asyncio.wait_for(connection.ask(asked.content), 60)
            except (OSError, asyncio.IncompleteReadError):
                outcome.lost += 1
                connection.close()
                await asyncio.sleep(0.002)
                continue
            outcome.seconds.setdefault(asked.kind, []).append(loop.time() - start)
            outcome.statuses[status] += 1
            complaint = asked.check(body) if status == 200 else f"{status}: {body[:300]!r}"
            if complaint is not None:
                outcome.wrong.append(complaint)
        connection.close()

    ticking = [] if rate is None else [asyncio.create_task(ticks())]
    await asyncio.gather(*(one(number) for number in range(connections)), *ticking)
    outcome.elapsed = loop.time() - began
    return outcome


def load(
    port: int,
    requests: Sequence[Request],
    *,
    connections: int = 8,
    seconds: float = 2.0,
    rate: float | None = None,
    seed: int = 0,
    most: int | None = None,
) -> Outcome:
    """Ask for a while: as fast as answers come, or so many times a second, by chance."""
    return asyncio.run(_run(port, requests, connections, seconds, rate, seed, most))


class Expected:
    """Answers of the versions that a model has had, known before they are served."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, key: str, version: str, **answer: Any) -> None:
        self._answers[key, version] = answer

    def check(self, key: str) -> Callable[[bytes], str | None]:
        def complaint(body: bytes) -> str | None:
            found = orjson.loads(body)
            wanted = self._answers.get((key, found["version"]))
            if wanted is None:
                return f"{key}: version {found['version']} is not known"
            for name, value in wanted.items():
                if found[name] != value:
                    return f"{key}: {name} is {found[name]!r:.200} instead of {value!r:.200}"
            return None

        return complaint
