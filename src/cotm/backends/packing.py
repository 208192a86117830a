"""Examples that several machines learn from, at the same time or one after the other."""

from __future__ import annotations

from typing import Any

from ..core.examples import Examples
from ..core.forks import Lock, tell_after_fork
from .protocol import Backend


class PackedExamples:
    """Examples that each backend brings into its form once, whichever machine asks first."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples
        self._begin()

    def _begin(self) -> None:
        self._forms: dict[str, Any] = {}
        self._lock = Lock()
        tell_after_fork(self)

    def __len__(self) -> int:
        return len(self.examples)

    def on(self, backend: Backend) -> Any:
        """The examples as this backend reads them."""
        with self._lock:
            if backend.name not in self._forms:
                self._forms[backend.name] = backend.prepare(self.examples)
            return self._forms[backend.name]

    def _after_fork(self) -> None:
        """In a child: what lies on a device has not come along."""
        self._forms = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedExamples, (self.examples,)
