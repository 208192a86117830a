"""The backends there are. A new one is a class here and an entry in ``KINDS``."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import sys
from typing import Any

from ..core.spec import Spec
from .kind import BackendKind, Work
from .protocol import Backend
from .threads import prediction_nanoseconds, step_nanoseconds


class CudaKind(BackendKind):
    """An NVIDIA GPU, through CuPy."""

    name = "cuda"
    module = "cuda.backend"
    remedy = (
        "install CuPy, for example with pip install 'cotm[cuda]', or use backend='native', "
        "which gives the same result"
    )
    #: A GPU takes about 3 microseconds per example however few the clauses are, and a second to
    #: start. From this much work of one processor on, per example and per pass, it gains; see
    #: docs/performance.md.
    STEP_NANOSECONDS = 2_000
    PASS_SECONDS = 0.1
    PREDICTION_SECONDS = 1.0
    spares_outputs = False

    def takes(self, name: str) -> bool:
        """``"cuda:1"`` is the second device."""
        return name == self.name or re.fullmatch(r"cuda:\d{1,4}", name) is not None

    def require(self, name: str) -> None:
        self.load(name).device.device_index(name)

    @functools.cache  # noqa: B019 - there is one of the class
    def is_there(self) -> bool:
        """Whether a kernel runs; a driver and a device may be there and not work."""
        if importlib.util.find_spec("cupy") is None:
            return False
        try:
            return bool(self.load(self.name).device.works(self.name))
        except ValueError:
            return False

    def gains(self, work: Work | None) -> bool:
        if work is None:
            return False
        if work.training:
            step = step_nanoseconds(work.spec)
            return step >= self.STEP_NANOSECONDS and step * work.rows >= self.PASS_SECONDS * 1e9
        return prediction_nanoseconds(work.spec, work.rows) >= self.PREDICTION_SECONDS * 1e9

    def device_title(self, name: str) -> str | None:
        return str(self.load(name).device.device_title(name))

    def start(self, name: str, spec: Spec, *state: Any) -> Backend:
        backend: Backend = self.load(name).CudaBackend(spec, *state, name=name)
        return backend


def _extension() -> Any:
    # Once it is there, without the import lock, which threads would queue for.
    return sys.modules.get("cotm._native") or importlib.import_module("cotm._native")


class NativeKind(BackendKind):
    """The C++ core, on this computer's processors."""

    name = "native"
    module = "native"
    remedy = "use backend='reference' or reinstall cotm with a C++ compiler present"

    def require(self, name: str) -> None:
        try:
            _extension()
        except ImportError as error:
            raise ValueError(
                f"backend={name!r} is not available: {error}; {self.remedy}"
            ) from error

    def loss(self) -> str | None:
        try:
            _extension()
        except ImportError as error:
            return (
                f"cotm's native extension could not be loaded ({error}); falling back "
                "to the NumPy reference, which gives the same results hundreds of times slower. "
                "Reinstall cotm with a C++ compiler present to get it."
            )
        return None

    def describe(self, name: str) -> str:
        return f"with {_extension().best_isa()} instructions"

    def start(self, name: str, spec: Spec, *state: Any) -> Backend:
        backend: Backend = self.load(name).NativeBackend(spec, *state)
        return backend


class ReferenceKind(BackendKind):
    """The definition in NumPy, which runs everywhere."""

    name = "reference"
    module = "reference"

    def start(self, name: str, spec: Spec, *state: Any) -> Backend:
        backend: Backend = self.load(name).ReferenceBackend(spec, *state)
        return backend


#: From the fastest, where there is much to do, to the one that always runs: ``"auto"`` takes the
#: first that is there and gains, and one without room for a machine gives way to the next.
KINDS: tuple[BackendKind, ...] = (CudaKind(), NativeKind(), ReferenceKind())
