"""What a backend says of itself before it is started."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spec import Spec
from .protocol import Backend


class Work(NamedTuple):
    """How much there is to do: one pass over so many rows, or their prediction."""

    spec: Spec
    rows: int
    training: bool


class BackendKind:
    """A backend that may or may not run here. Subclasses load what they need when asked.

    ``name`` is what users call it, ``module`` (in this package) and ``remedy``, what to do where
    that cannot be imported, say the rest.
    """

    name: str
    module: str
    remedy: str
    #: Whether a step costs less where an example asks but a few outputs; see
    #: :class:`SparseTargets`.
    spares_outputs = True

    def takes(self, name: str) -> bool:
        """Whether a value of the parameter ``backend`` means this one."""
        return name == self.name

    def require(self, name: str) -> None:
        """Raise ValueError, with a remedy, where it cannot run here."""
        self.load(name)

    def is_there(self) -> bool:
        """Whether it can run here."""
        try:
            self.require(self.name)
        except ValueError:
            return False
        return True

    def gains(self, work: Work | None) -> bool:
        """Whether it is worth starting for this work; None stands for any work at all."""
        return True

    def lacks(self, spec: Spec) -> str | None:
        """Which option of a machine it does not have; None: it has them all."""
        return None

    def loss(self) -> str | None:
        """What to warn of where it would gain but is not there; None: nothing."""
        return None

    def device_title(self, name: str) -> str | None:
        """What its device calls itself; None where that is this computer's processor."""
        return None

    def describe(self, name: str) -> str:
        """What is worth knowing of one that runs: its device, its instructions."""
        title = self.device_title(name)
        return "" if title is None else f"on {title}"

    def start(
        self,
        name: str,
        spec: Spec,
        memory: NDArray[np.int8],
        weights: NDArray[np.int32],
        n_jobs: int | None,
    ) -> Backend:
        """A backend in this state."""
        raise NotImplementedError

    def load(self, name: str) -> ModuleType:
        """Import its module, or say why that does not work."""
        try:
            return importlib.import_module(f".{self.module}", __package__)
        except ImportError as error:
            raise ValueError(
                f"backend={name!r} is not available: {error}; {self.remedy}"
            ) from error
