"""Starting a server: one process, or several that are looked after."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import ssl
import tempfile
import time
import warnings
from multiprocessing.connection import wait
from typing import Any

import uvicorn

from .app import Serving
from .metrics import FOLDER_VARIABLE, Metrics, forget_process
from .protocol import GuardedProtocol
from .registry import Registry
from .settings import Settings

_logger = logging.getLogger(__name__)

#: Seconds without a sign of life after which a worker is killed.
_HUNG = 30.0
#: A worker that ends so soon, so often, will not do better.
_SOON, _OFTEN = 5.0, 5
_HUP = getattr(signal, "SIGHUP", None)


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C. An OSError or a ValueError says what cannot be served."""
    check_certificate(settings)
    listening = _listen(settings)
    try:
        if settings.workers == 1:
            registry = Registry(settings)
            _tell(settings, listening)
            _run(settings, registry, listening, None)
        else:
            Registry(settings)  # what is wrong with a file is told before anything starts
            _Supervisor(settings, listening).run()
    finally:
        listening.close()


def _listen(settings: Settings) -> socket.socket:
    """A socket that only this server listens at."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    try:
        if os.name == "posix":  # elsewhere it would let others listen too
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(2048)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ValueError(
            f"cannot listen at {settings.host} port {settings.port}: {error.strerror or error}; "
            "choose another with --host and --port"
        ) from error
    return listening


def _tell(settings: Settings, listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http{'s' if settings.certificate else ''}://{host}:{port}"
    _logger.info(
        "serving %s at %s; %s/docs says how to ask",
        ", ".join(settings.models),
        address,
        address,
        extra={"address": address, "models": [*settings.models], "workers": settings.workers},
    )
    if settings.tokens and not settings.certificate and not settings.is_loopback:
        _logger.warning("tokens and data go over the network as they are; put TLS before it")
    if not settings.is_loopback and not settings.tokens:
        _logger.warning("everybody who reaches %s may ask: there is no token", settings.host)


# One process -------------------------------------------------------------------------


class _Server(uvicorn.Server):
    """uvicorn, which looks at its connections' clocks, and shows signs of life."""

    def __init__(self, config: uvicorn.Config, serving: Serving, pulse: Any) -> None:
        super().__init__(config)
        self._serving = serving
        self._pulse = pulse
        self._parent = os.getppid()

    async def on_tick(self, counter: int) -> bool:
        if counter % 5 == 0:
            now = time.monotonic()
            for connection in [*self.server_state.connections]:
                connection.look_at_clock(now)  # type: ignore[union-attr]
            if self._pulse is not None:
                self._pulse.value = now
                if os.getppid() != self._parent:  # nobody looks after this worker any more
                    self.should_exit = True
        return bool(await super().on_tick(counter))

    async def shutdown(self, sockets: Any = None) -> None:
        self._serving.is_stopping = True
        await super().shutdown(sockets)
        self._captured_signals.clear()  # being told to stop is the usual end, and no fault


class _Adopted(logging.Handler):
    """What others have to say, as said by this package: it goes where that goes."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("ASGI callable returned without"):
            return  # the client had left
        logging.getLogger("cotm.serving.others").handle(record)


def _adopt_loggers() -> None:
    # Of clients that speak no HTTP uvicorn warns, and they are many.
    for name, level in (("uvicorn.error", logging.ERROR), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers[:] = [_Adopted()]


def _run(settings: Settings, registry: Registry, listening: socket.socket, pulse: Any) -> None:
    """Answer until told to stop."""
    warnings.simplefilter("ignore")  # of clients' data, which nobody here can change
    limits = settings.limits
    parent = os.getppid()

    def reload_all() -> None:
        if pulse is not None and _HUP is not None:
            with contextlib.suppress(OSError):
                os.kill(parent, _HUP)

    serving = Serving(settings, registry, Metrics(), reload_all)
    bounds = {"most_connections": limits.connections, "seconds": limits.seconds}
    config = uvicorn.Config(
        serving,
        http=type("Connection", (GuardedProtocol,), bounds),
        ws="none",
        lifespan="on",
        loop="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, int(settings.grace)),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    server = _Server(config, serving, pulse)
    _adopt_loggers()
    asyncio_run = asyncio.Runner if hasattr(asyncio, "Runner") else None

    async def main() -> None:
        if _HUP is not None:
            asyncio.get_running_loop().add_signal_handler(_HUP, serving.ask_to_reload)
        with contextlib.suppress(KeyboardInterrupt):
            await server.serve(sockets=[listening])

    factory = config.get_loop_factory()
    try:
        if asyncio_run is not None:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(main())
        else:  # Python 3.10
            loop = factory() if factory is not None else asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            try:
                loop.run_until_complete(main())
            finally:
                loop.close()
    except KeyboardInterrupt:
        pass
    _logger.info("stopped")


# Several -----------------------------------------------------------------------------


def _work(settings: Settings, listening: socket.socket, pulse: Any, folder: str) -> None:
    """A worker process."""
    os.environ[FOLDER_VARIABLE] = folder  # before Prometheus' library is imported
    settings.begin()
    pulse.value = time.monotonic()
    _run(settings, Registry(settings), listening, pulse)


class _Worker:
    """A process, and when it last showed a sign of life."""

    def __init__(self, context: Any, settings: Settings, listening: Any, folder: str) -> None:
        self.began = time.monotonic()
        self.pulse = context.Value("d", self.began, lock=False)
        self.process = context.Process(
            target=_work, args=(settings, listening, self.pulse, folder), daemon=False
        )
        self.process.start()

    def is_hung(self) -> bool:
        return time.monotonic() - max(self.pulse.value, self.began + _HUNG) > _HUNG

    def tell(self, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.kill(self.process.pid, number)


class _Supervisor:
    """Workers that share a socket. One that ends is replaced; requests go to the others."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        # Started anew rather than forked: threads and locks do not come along.
        self._context = multiprocessing.get_context("spawn")
        self._folder = tempfile.mkdtemp(prefix="cotm-serve-")
        self._workers: list[_Worker] = []
        self._soon = 0
        self._stop = 0
        self._reload = False

    def run(self) -> None:
        """Until SIGTERM or Ctrl-C."""
        handlers = {
            number: signal.signal(number, self._note)
            for number in (signal.SIGTERM, signal.SIGINT, *([_HUP] if _HUP is not None else []))
        }
        try:
            self._workers = [self._start() for _ in range(self._settings.workers)]
            _tell(self._settings, self._listening)
            while not self._stop:
                wait([worker.process.sentinel for worker in self._workers], timeout=0.2)
                if self._reload:
                    self._reload = False
                    for worker in self._workers:
                        worker.tell(int(_HUP or 0))
                self._replace_dead()
        finally:
            self._end()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _note(self, number: int, frame: Any) -> None:
        if number == _HUP:
            self._reload = True
        else:
            self._stop += 1

    def _start(self) -> _Worker:
        return _Worker(self._context, self._settings, self._listening, self._folder)

    def _replace_dead(self) -> None:
        for k, worker in enumerate(self._workers):
            if worker.is_hung():
                _logger.error("worker %d does not move; it is killed", worker.process.pid)
                worker.process.kill()
                worker.process.join()
            code = worker.process.exitcode
            if code is None or self._stop:
                continue
            self._soon = self._soon + 1 if time.monotonic() - worker.began < _SOON else 0
            if self._soon >= _OFTEN:
                raise ValueError(
                    f"workers end as soon as they start, the last one with code {code}; "
                    "see what they logged"
                )
            _logger.error(
                "worker %d ended with code %d; another one takes its place",
                worker.process.pid,
                code,
                extra={"worker": worker.process.pid, "code": code},
            )
            forget_process(worker.process.pid, self._folder)
            self._workers[k] = self._start()

    def _end(self) -> None:
        """Let requests end, and then the workers."""
        for worker in self._workers:
            worker.tell(signal.SIGTERM)
        until = time.monotonic() + self._settings.grace + 5
        for worker in self._workers:
            while worker.process.is_alive() and time.monotonic() < until and self._stop < 2:
                worker.process.join(0.1)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def check_certificate(settings: Settings) -> None:
    """Refuse a certificate or key that cannot be used."""
    if settings.certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(
            f"the certificate {settings.certificate} with the key {settings.key} cannot be used: "
            f"{error}"
        ) from error
