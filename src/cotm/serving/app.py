"""The routes, as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from .arrow import MEDIA_TYPE
from .guards import Guards, Headers
from .handling import answer
from .metrics import Metrics
from .openapi import description
from .page import page
from .problems import Problem
from .registry import Entry, Registry
from .settings import Settings

_logger = logging.getLogger(__name__)
_access = logging.getLogger("cotm.serving.access")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_JSON = b"application/json"
#: Paths that say nothing of models, and are open to everybody.
_OPEN = frozenset({"/health", "/ready", "/openapi.json", "/docs"})
_PREDICT = "/predict"
_MODELS = "/v1/models/"


class Serving:
    """One worker: its models, what is counted, and its application."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        metrics: Metrics,
        reload_all: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.metrics = metrics
        self.is_stopping = False
        self._reload_all = reload_all  # tells the other workers
        self._guards = Guards(settings)
        self._in_flight = 0
        self._asked = asyncio.Event()
        self._executor = ThreadPoolExecutor(settings.threads, "cotm-predict")
        self._loader = ThreadPoolExecutor(1, "cotm-load")  # never waits for predictions
        registry.on_reload = self._reloaded
        for entry in registry.entries.values():
            self._tell(entry)
            metrics.loaded(entry.name, entry.model.version, None)
        routes = [
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
            Route("/openapi.json", self._openapi),
            Route("/docs", self._docs),
            Route("/v1/models", self._list),
            Route("/v1/models/{name}", self._describe),
            Route("/v1/models/{name}/reload", self._reload, methods=["POST"]),
        ]
        self._others = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={
                Problem: _problem,
                HTTPException: _http_problem,
                Exception: _mistake,
            },
        )
        self._others.router.redirect_slashes = False

    def _tell(self, entry: Entry) -> None:
        entry.told = lambda rows: self.metrics.batched(entry.name, rows)

    def _reloaded(self, entry: Entry, done: bool) -> None:
        result = "done" if done else "failed"
        self.metrics.loaded(entry.name, entry.model.version, result)

    # ASGI ----------------------------------------------------------------------------

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer, whatever happens, and tell of it."""
        if scope["type"] != "http":
            await self._others(scope, receive, send)
            return
        began = time.perf_counter()
        status, model, route = 500, "", "other"
        self._in_flight += 1
        started = False

        async def watched(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
            try:
                await send(message)
            except (OSError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and "closed" not in str(error):
                    raise
                raise _LeftError from None  # uvloop's word for a connection that is gone

        try:
            try:
                model, route = await self._answer(scope, receive, watched)
            except Problem as problem:
                route = _route(scope["path"])
                await _send_problem(problem, watched)
                if problem.status in (401, 413, 421, 429, 503):
                    self.metrics.rejected(str(problem.status))
            except _LeftError:
                status = 499  # as nginx calls a client that did not wait
            except asyncio.CancelledError:
                raise
            except Exception:
                _logger.exception("a request could not be answered; this is a mistake in cotm")
                if not started:
                    await _send_problem(_MISTAKE, watched)
        finally:
            self._in_flight -= 1
            seconds = time.perf_counter() - began
            self.metrics.answered(model, route, status, seconds)
            if _access.isEnabledFor(logging.INFO):
                self._log(scope, status, model, seconds)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> tuple[str, str]:
        path: str = scope["path"]
        headers: Headers = dict(scope["headers"])
        self._guards.check_host(headers)
        if path not in _OPEN:
            self._guards.check_rate(_client(scope))
            self._guards.check_token(headers)
        if scope["method"] == "POST" and path.endswith(_PREDICT) and path.startswith(_MODELS):
            entry = self.registry.entry(path[len(_MODELS) : -len(_PREDICT)])
            await self._predict(entry, scope, headers, receive, send)
            return entry.name, "predict"
        if path.endswith(_PREDICT) and path.startswith(_MODELS):
            raise Problem(
                405,
                "predictions are asked for by POST",
                "send a POST",
                scope["method"],
                headers={"allow": "POST"},
            )
        await self._others(scope, receive, send)
        return "", _route(path)

    async def _predict(
        self, entry: Entry, scope: Message, headers: Headers, receive: Receive, send: Send
    ) -> None:
        limits = self.settings.limits
        if self._in_flight > limits.in_flight:
            raise Problem(
                503, "too many requests at a time", "try again", headers={"retry-after": "1"}
            )
        media_type = headers.get(b"content-type", _JSON).split(b";")[0].strip().lower()
        kind = media_type.decode("latin-1")
        if media_type != _JSON and kind != MEDIA_TYPE:
            raise Problem(
                415,
                "the body is of a type that is not read",
                f"send application/json or {MEDIA_TYPE}",
                kind,
            )
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Problem(
                415,
                "the body is compressed",
                "send it as it is",
                headers[b"content-encoding"].decode("latin-1"),
            )
        body = await _body(headers, receive, limits.body_bytes)
        as_arrow = MEDIA_TYPE.encode() in headers.get(b"accept", b"")
        content, rows = await answer(
            entry,
            body,
            kind,
            scope["query_string"],
            as_arrow=as_arrow,
            limits=limits,
            executor=self._executor,
        )
        self.metrics.predicted(entry.name, rows)
        await _send(send, 200, content, MEDIA_TYPE.encode() if as_arrow else _JSON)

    def _log(self, scope: Message, status: int, model: str, seconds: float) -> None:
        facts = {
            "client": _client(scope),
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "milliseconds": round(seconds * 1e3, 3),
        }
        if model:
            facts["model"] = model
        _access.info("%(method)s %(path)s %(status)d %(milliseconds).3f ms", facts, extra=facts)

    # Routes --------------------------------------------------------------------------

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        if self.is_stopping:
            raise Problem(503, "the server is stopping", "ask another one")
        return _json({"status": "ready", "models": len(self.registry.entries)})

    async def _metrics(self, request: Request) -> Response:
        self.metrics.in_flight(self._in_flight)
        content, media_type = self.metrics.text()
        return Response(content, media_type=media_type)

    async def _openapi(self, request: Request) -> Response:
        return _json(description())

    async def _docs(self, request: Request) -> Response:
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return HTMLResponse(page(description()), headers={"content-security-policy": policy})

    async def _list(self, request: Request) -> Response:
        return _json({"models": [e.describe() for e in self.registry.entries.values()]})

    async def _describe(self, request: Request) -> Response:
        return _json(self.registry.entry(request.path_params["name"]).describe())

    async def _reload(self, request: Request) -> Response:
        if not self.settings.tokens:
            raise Problem(
                403,
                "a server without a token reloads for nobody",
                "replace the file, which is watched, send the process SIGHUP, or set a token",
            )
        entry = self.registry.entry(request.path_params["name"])
        done = await self.registry.reload(entry, self._loader)
        self._reload_all()
        if not done:
            raise Problem(
                409,
                f"the new file cannot be served, and {entry.model.version} goes on answering: "
                f"{entry.problem}",
                "put a file in order in its place",
            )
        return _json(entry.describe())

    # Beside requests -----------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # models are not looked at again and again
        watcher = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._loader.shutdown(wait=False, cancel_futures=True)

    def ask_to_reload(self) -> None:
        """Read all files anew soon; from the event loop's thread."""
        for entry in self.registry.entries.values():
            entry.signature = (0, 0, 0, 0)
        self._asked.set()

    async def _watch(self) -> None:
        wait = self.settings.watch or None
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._asked.wait(), wait)
            self._asked.clear()
            try:
                await self.registry.look(self._loader)
            except Exception:
                _logger.exception("model files could not be looked at")


class _LeftError(Exception):
    """The client did not wait."""


_MISTAKE = Problem(500, "the server made a mistake", "ask whoever runs it to look into its log")


async def _body(headers: Headers, receive: Receive, most: int) -> bytes:
    """The whole body, refused as soon as it is known to be too large."""
    length = headers.get(b"content-length", b"0")
    too_large = Problem(413, "the body is too large", f"send at most {most} bytes at a time")
    if length.isdigit() and int(length[:20]) > most:
        too_large.value = int(length[:20])
        raise too_large
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body = message.get("body", b"")
        if len(body) > most:
            raise too_large
        return bytes(body)
    parts, size = [], 0
    while True:
        if message["type"] != "http.request":
            raise _LeftError
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


async def _send(
    send: Send, status: int, content: bytes, kind: bytes, more: dict[str, str] | None = None
) -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(content))]
    headers += [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    headers += [(name.encode(), value.encode()) for name, value in (more or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _send_problem(problem: Problem, send: Send) -> None:
    content = orjson.dumps(problem.body())
    await _send(send, problem.status, content, _JSON, problem.headers)


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return Response(
        orjson.dumps(error.body()), error.status, error.headers, media_type="application/json"
    )


async def _mistake(request: Request, error: Exception) -> Response:
    return await _problem(request, _MISTAKE)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: ("there is nothing at this path", "GET /docs says what there is"),
        405: ("the path does not take this method", "GET /docs says which it takes"),
    }
    problem, remedy = words.get(error.status_code, (error.detail, "GET /docs says what there is"))
    headers = dict(error.headers or {})
    found = Problem(error.status_code, problem, remedy, request.url.path, headers)
    return await _problem(request, found)


def _client(scope: Message) -> str:
    client = scope.get("client")
    return client[0] if client else ""


def _route(path: str) -> str:
    """A path as metrics have it: one of a few."""
    if path in _OPEN or path in ("/metrics", "/v1/models"):
        return path
    if path.startswith(_MODELS):
        last = path[len(_MODELS) :].rpartition("/")[2]
        return last if last in ("predict", "reload") else "model"
    return "other"
