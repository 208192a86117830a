"""What models of texts and images share: passes over examples, what they have learned, files.

They are a machine with examples of their own making, where a classifier has labels and columns.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..backends import TrainingSet
from ..core.interrupts import InterruptFlag
from ..core.parameters import OPTIONS
from ..core.patches import PatchGrid
from ..core.randomness import new_seed
from ..core.whole_files import replace_file
from ..files.machine_models import SavedMachineModel, pack_machine_model
from ..machine import Machine
from ..model.fitted import Record
from .progress import make_reporter


@dataclass(frozen=True)
class FittedMachine:
    """All that was learned, as one object: replaced at once, read once per call."""

    machine: Machine
    data: str  # a digest of the training data
    history: tuple[dict[str, float], ...] = ()
    extra: Any = None  # what the class adds
    vocabulary: tuple[str, ...] = ()  # of models of texts


class MachineModel(BaseEstimator):  # type: ignore[misc]
    """One machine with passes of its own, an epoch being one of them."""

    _kind: ClassVar[str]
    _fitted: FittedMachine | None = None
    n_clauses: int
    T: int | None
    s: float
    backend: str
    n_jobs: int | None
    epochs: int
    verbose: int
    random_state: Any

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _learned(self) -> FittedMachine:
        check_is_fitted(self)
        return cast(FittedMachine, self._fitted)

    @property
    def machine_(self) -> Machine:
        """The machine; see :class:`cotm.Machine`."""
        return self._learned().machine

    @property
    def history_(self) -> list[dict[str, float]]:
        """Of each epoch its number, the share of right answers in training, and the seconds."""
        return [dict(record) for record in self._learned().history]

    def _new_machine(self, seed: int) -> Machine:
        """A machine as the parameters say, before it has seen anything."""
        return Machine(
            self.n_clauses,
            T=self.T or self.n_clauses,
            s=self.s,
            backend=self.backend,
            n_jobs=self.n_jobs,
            random_state=seed,
            **self._options(),
        )

    def _options(self) -> dict[str, Any]:
        """The other learning options of the machine."""
        return {}

    def _start(self, n_bits: int, n_outputs: int) -> Machine:
        """A machine for examples of this shape."""
        machine = self._new_machine(new_seed(self.random_state))
        machine.start(PatchGrid.flat(n_bits), n_outputs)
        return machine

    def _train(
        self,
        fitted: FittedMachine,
        training: TrainingSet,
        epochs: int | None = None,
        finish: Callable[[FittedMachine], FittedMachine] = lambda fitted: fitted,
    ) -> None:
        """Passes until there are as many epochs as asked for. Ctrl-C keeps the finished ones."""
        machine, count, epochs = fitted.machine, len(training), epochs or self.epochs
        reporter = make_reporter(self.verbose, epochs, count, "")
        with InterruptFlag() as interrupt, reporter:
            while len(fitted.history) < epochs:
                began = time.perf_counter()
                counts = machine.train_pass(
                    training, should_stop=interrupt, on_progress=reporter.examples_done
                )
                if counts is None:
                    break
                record = {
                    "epoch": len(fitted.history) + 1,
                    "train_accuracy": counts.correct / max(1, self._asked(training)),
                    "seconds": time.perf_counter() - began,
                }
                fitted = replace(fitted, history=(*fitted.history, record))
                self._fitted = fitted
                reporter.epoch_done(cast(Record, record))
            if fitted.history:
                self._fitted = finish(fitted)

    def _asked(self, training: TrainingSet) -> int:
        """How many outputs the examples of a pass ask in all."""
        return int(np.prod(training.targets.shape))

    def _to_resume(self, data: str) -> FittedMachine:
        """What a training goes on from, which must have begun with the same data."""
        fitted = self._fitted
        if fitted is None:
            raise ValueError("resume=True, but nothing has been fitted; call fit without resume")
        if fitted.data != data:
            raise ValueError(
                "resume=True, but the data or a parameter that says how they are read differ from "
                "what training began with; pass the same, or call fit without resume to begin anew"
            )
        machine = self._new_machine(fitted.machine.seed_)
        for name in OPTIONS:
            now, then = (getattr(m.parameters, name) for m in (machine, fitted.machine))
            if now != then:
                raise ValueError(
                    f"resume=True, but {name}={now!r} and training began with {then!r}; set it "
                    "to that, or call fit without resume to begin anew"
                )
        machine.load_state(fitted.machine.spec.grid, fitted.machine.snapshot())
        return replace(fitted, machine=machine)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, whole or not at all; :func:`cotm.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file, mostly with the ending ``.cotm``.
        """
        fitted = self._learned()
        extra, arrays = self._encode_extra(fitted.extra)
        parameters = self.get_params(deep=False)
        if not isinstance(parameters["random_state"], int | np.integer):
            parameters["random_state"] = None  # the seed that was drawn from it is saved
        saved = SavedMachineModel(
            kind=self._kind,
            parameters=parameters,
            machine=fitted.machine,
            history=fitted.history,
            data=fitted.data,
            vocabulary=fitted.vocabulary,
            extra=extra,
            arrays=arrays,
        )
        replace_file(Path(path), pack_machine_model(saved), "the model")

    @classmethod
    def _restored(cls, saved: SavedMachineModel) -> Any:
        """The model that a file holds; a ValueError where a parameter cannot be."""
        model = cls(**saved.parameters)
        model._check()
        model._fitted = FittedMachine(
            machine=saved.machine,
            data=saved.data,
            history=saved.history,
            extra=cls._decode_extra(saved),
            vocabulary=saved.vocabulary,
        )
        return model

    def _check(self) -> None:
        """Raise ValueError for a parameter that cannot be."""

    def _encode_extra(self, extra: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {}

    @classmethod
    def _decode_extra(cls, saved: SavedMachineModel) -> Any:
        return None


def digest(arrays: Iterable[NDArray[Any]], *settings: Any) -> str:
    """What tells data and how they are read from others."""
    found = hashlib.blake2b(repr(settings).encode(), digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
