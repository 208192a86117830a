"""``cotm serve`` as a program, on this machine alone, and its processes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Program:
    """A server that runs. ``log`` has what it said, as objects."""

    def __init__(self, *words: Any, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "cotm", "serve", *map(str, words)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        command += ["--port", str(self.port), "--log", "json"]
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "COTM_SERVE_TOKEN": "", **(environment or {})},
        )
        self.log: list[dict[str, Any]] = []
        self._new: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:  # nothing else should be written there
                entry = {"level": "error", "message": line, "logger": "none"}
            self.log.append(entry)
            self._new.put(entry)
        self._new.put(None)

    def until(self, words: str, seconds: float = 120.0) -> dict[str, Any]:
        """The next entry of the log with these words."""
        end = time.monotonic() + seconds
        while True:
            entry = self._new.get(timeout=max(0.01, end - time.monotonic()))
            if entry is None:
                raise AssertionError(f"the server ended: {self.log}")
            if words in entry["message"]:
                return entry

    def __enter__(self) -> Program:
        try:
            self.wait_ready()
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                for worker in self.workers():
                    with contextlib.suppress(OSError):
                        os.kill(worker, signal.SIGKILL)
                self.process.kill()
                raise

    def wait_ready(self) -> None:
        for _ in range(4000):
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.log}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/ready")[0] == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("the server is not ready")

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """One request on a connection of its own; the status, and JSON or text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            content = None if body is None else json.dumps(body)
            kinds = {"content-type": "application/json", **(headers or {})}
            connection.request(method, path, content, kinds)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, json.loads(text) if is_json else text.decode()

    def workers(self) -> list[int]:
        """The processes that answer, by their numbers."""
        pid = self.process.pid
        path = Path(f"/proc/{pid}/task/{pid}/children")
        children = [int(word) for word in path.read_text().split()]
        found = [
            child
            for child in children
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        return found or [pid]


def megabytes(pid: int) -> float:
    """Memory of a process that is its own or in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid: int) -> float:
    """What a process has had of processors: that does not depend on who else is at work."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
