"""Asking a server in this process, without a network: as a client would, through ASGI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from cotm.serving.app import Serving
from cotm.serving.arrow import MEDIA_TYPE
from cotm.serving.metrics import Metrics
from cotm.serving.registry import Registry
from cotm.serving.settings import Settings


class Response(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class Asked:
    """An application, and how to ask it."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.registry = serving.registry

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        *,
        parts: list[bytes] | None = None,
        client: str = "127.0.0.1",
    ) -> Response:
        path, _, query = path.partition("?")
        given = {"host": "127.0.0.1:8000", "content-length": str(len(body)), **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("utf-8", "replace"),
            "query_string": query.encode("utf-8", "replace"),
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in given.items()],
            "client": (client, 5),
            "server": ("127.0.0.1", 8000),
            "scheme": "http",
            "root_path": "",
            "http_version": "1.1",
        }
        waiting = [body] if parts is None else list(parts)
        sent: list[Any] = []

        async def receive() -> Any:
            if not waiting:
                return {"type": "http.disconnect"}
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.serving(scope, receive, send)
        if not sent:
            return Response(499, {}, b"")
        assert [m["type"] for m in sent[:1]] == ["http.response.start"], sent
        content = b"".join(message.get("body", b"") for message in sent[1:])
        found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
        return Response(sent[0]["status"], found, content)

    async def predict(self, name: str, body: Any, query: str = "", **headers: str) -> Response:
        """Rows as JSON, or as an Arrow stream where they are bytes."""
        is_stream = isinstance(body, bytes)
        kind = MEDIA_TYPE if is_stream else "application/json"
        content = body if is_stream else orjson.dumps(body)
        path = f"/v1/models/{name}/predict" + (f"?{query}" if query else "")
        return await self.ask("POST", path, content, {"content-type": kind, **headers})


@contextlib.asynccontextmanager
async def asking(models: dict[str, Path], **settings: Any) -> AsyncIterator[Asked]:
    """A server of these models, as long as the context lasts."""
    known = Settings(models=models, **settings)
    serving = Serving(known, Registry(known), Metrics())
    async with serving._lifespan(None):
        yield Asked(serving)


def with_server(models: dict[str, Path], do: Callable[[Asked], Any], **settings: Any) -> Any:
    """Run what asks a server of these models."""

    async def run() -> Any:
        async with asking(models, **settings) as asked:
            return await do(asked)

    return asyncio.run(run())
