"""HTTP with limits that uvicorn leaves to others: slow clients, long headers, connections."""

from __future__ import annotations

import time
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from .problems import Problem

#: Bytes of a request's first line and headers.
MOST_HEAD = 32 << 10
#: Beside that, what a chunk of one byte has around it.
_FRAMING = 8


class GuardedProtocol(HttpToolsProtocol):
    """A connection. A subclass for each server has its limits."""

    most_connections = 2_000
    seconds = 30.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._began: float | None = time.monotonic()  # of what has not come in yet
        self._came = self._body = self._head = 0
        if len(self.connections) > self.most_connections:
            self.refuse(Problem(503, "too many connections", "try again", headers=_LATER))

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._began is None:
            self._began = time.monotonic()
        self._came += len(data)
        super().data_received(data)
        if self._came - self._body > MOST_HEAD + _FRAMING * self._body:
            self._refuse_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._head += len(name) + len(value)

    def on_headers_complete(self) -> None:
        if self._head > MOST_HEAD:
            self._refuse_head()
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._began, self._came, self._body = None, 0, 0

    def look_at_clock(self, now: float) -> None:
        """Give up on who takes too long to say what they want."""
        if self._began is None or now - self._began <= self.seconds:
            return
        if self._came:
            self.refuse(Problem(408, "the request took too long to come in", "send it at once"))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.refuse(Problem(400, "this is not HTTP", "send an HTTP/1.1 request"))

    def _refuse_head(self) -> None:
        self.refuse(Problem(431, "the headers are too long", f"send at most {MOST_HEAD} bytes"))

    def refuse(self, problem: Problem) -> None:
        """Answer without having heard the request, and close.

        While an earlier one is being answered it could be taken for that answer: then nothing is
        said.
        """
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_first = cycle is None or cycle.response_complete
        if not is_first:
            is_first = cycle.more_body and not cycle.response_started
        if is_first and not self.pipeline:
            body = orjson.dumps(problem.body())
            lines = [
                STATUS_LINE[problem.status],
                b"content-type: application/json\r\n",
                b"content-length: %d\r\n" % len(body),
                b"connection: close\r\n",
            ]
            lines += [f"{name}: {value}\r\n".encode() for name, value in problem.headers.items()]
            self.transport.write(b"".join([*lines, b"\r\n", body]))
        if cycle is not None:
            cycle.disconnected = True  # whoever is at work on an answer need not send it
            cycle.message_event.set()
        self.transport.close()


_LATER = {"retry-after": "1"}
