"""What Prometheus is told. With several workers they count into files that one of them adds up."""

from __future__ import annotations

import os
import time
from typing import Any

#: Prometheus' library looks for it when it is imported.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """All that is counted."""

    def __init__(self) -> None:
        import prometheus_client as client

        client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._client = client
        self._registry = client.CollectorRegistry()
        self._is_shared = FOLDER_VARIABLE in os.environ

        def make(kind: Any, name: str, words: str, labels: Any = (), **more: Any) -> Any:
            return kind(f"cotm_{name}", words, labels, registry=self._registry, **more)

        self._requests = make(
            client.Counter, "requests", "Requests answered.", ("model", "route", "status")
        )
        self._seconds = make(
            client.Histogram,
            "request_seconds",
            "From a request's headers to its answer.",
            ("model", "route"),
            buckets=_SECONDS,
        )
        self._rows = make(client.Counter, "rows", "Rows predicted.", ("model",))
        self._batches = make(
            client.Histogram,
            "batch_rows",
            "Rows of small requests that were predicted at once.",
            ("model",),
            buckets=_ROWS,
        )
        self._rejected = make(client.Counter, "rejected", "Requests refused.", ("reason",))
        self._reloads = make(
            client.Counter, "model_reloads", "Changed model files.", ("model", "result")
        )
        self._loaded = make(
            client.Gauge,
            "model_loaded_timestamp_seconds",
            "When the file of a model was read.",
            ("model", "version"),
            **({"multiprocess_mode": "livemax"} if self._is_shared else {}),
        )
        self._in_flight = make(
            client.Gauge,
            "requests_in_flight",
            "Requests being answered.",
            **({"multiprocess_mode": "livesum"} if self._is_shared else {}),
        )
        self._children: dict[Any, Any] = {}

    def _child(self, metric: Any, *labels: str) -> Any:
        key = metric, labels
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found

    def answered(self, model: str, route: str, status: int, seconds: float) -> None:
        """A request was answered. Names come from the server's own tables, never from clients."""
        self._child(self._requests, model, route, str(status)).inc()
        self._child(self._seconds, model, route).observe(seconds)

    def predicted(self, model: str, rows: int) -> None:
        """Rows were predicted."""
        self._child(self._rows, model).inc(rows)

    def batched(self, model: str, rows: int) -> None:
        """Rows were predicted at once."""
        self._child(self._batches, model).observe(rows)

    def rejected(self, reason: str) -> None:
        """A request was refused for what it is, not for what it says."""
        self._child(self._rejected, reason).inc()

    def loaded(self, model: str, version: str, result: str | None) -> None:
        """A file was read, at the start (None) or anew."""
        if result is not None:
            self._child(self._reloads, model, result).inc()
        if result != "failed":
            if not self._is_shared:
                self._loaded.clear()
            self._loaded.labels(model, version).set(time.time())

    def in_flight(self, count: int) -> None:
        """So many requests are being answered."""
        self._in_flight.set(count)

    def text(self) -> tuple[bytes, str]:
        """All of it, and its content type."""
        registry = self._registry
        if self._is_shared:
            from prometheus_client import multiprocess

            registry = self._client.CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)
        return self._client.generate_latest(registry), self._client.CONTENT_TYPE_LATEST


def forget_process(number: int, folder: str) -> None:
    """A worker is gone: what it was doing is not being done."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(number, folder)
