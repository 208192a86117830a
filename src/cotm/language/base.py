"""What models of texts share: passes over examples, what they have learned, and files."""

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
from ..core.randomness import new_seed
from ..core.whole_files import replace_file
from ..estimator.progress import make_reporter
from ..files.text_models import SavedTextModel, pack_text_model
from ..machine import Machine
from ..model.fitted import Record


@dataclass(frozen=True)
class FittedTexts:
    """All that was learned, as one object: replaced at once, read once per call."""

    machine: Machine
    vocabulary: tuple[str, ...]
    data: str  # a digest of the training data
    history: tuple[dict[str, float], ...] = ()
    extra: Any = None  # what the class adds

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.vocabulary)}


class TextModel(BaseEstimator):  # type: ignore[misc]
    """Models of texts on one machine with an output for each word or character."""

    _kind: ClassVar[str]
    _fitted: FittedTexts | None = None
    n_clauses: int
    T: int | None
    s: float
    max_literals: int | None
    backend: str
    n_jobs: int | None
    epochs: int
    verbose: int
    random_state: Any

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _learned(self) -> FittedTexts:
        check_is_fitted(self)
        return cast(FittedTexts, self._fitted)

    @property
    def machine_(self) -> Machine:
        """The machine; see :class:`cotm.Machine`."""
        return self._learned().machine

    @property
    def history_(self) -> list[dict[str, float]]:
        """Of each epoch its number, the share of right answers in training, and the seconds."""
        return [dict(record) for record in self._learned().history]

    def _new_machine(self) -> Machine:
        """A machine as the parameters say, before it has seen anything."""
        return Machine(
            self.n_clauses,
            T=self.T or self.n_clauses,
            s=self.s,
            max_literals=self.max_literals,
            forgetting="sampled",
            negations=False,
            backend=self.backend,
            n_jobs=self.n_jobs,
            random_state=new_seed(self.random_state),
        )

    def _train(
        self,
        fitted: FittedTexts,
        training: TrainingSet,
        finish: Callable[[FittedTexts], FittedTexts] = lambda fitted: fitted,
    ) -> None:
        """Passes until there are as many epochs as asked for. Ctrl-C keeps the finished ones."""
        machine, count = fitted.machine, len(training)
        reporter = make_reporter(self.verbose, self.epochs, count, "")
        with InterruptFlag() as interrupt, reporter:
            while len(fitted.history) < self.epochs:
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
        return len(cast(Any, training.targets).outputs)

    def _to_resume(self, data: str) -> FittedTexts:
        """What a training goes on from, which must have begun with the same data."""
        fitted = self._fitted
        if fitted is None:
            raise ValueError("resume=True, but nothing has been fitted; call fit without resume")
        if fitted.data != data:
            raise ValueError(
                "resume=True, but X or a parameter that says how it is read differs from what "
                "training began with; pass the same, or call fit without resume to begin anew"
            )
        return fitted

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
        saved = SavedTextModel(
            kind=self._kind,
            parameters=parameters,
            machine=fitted.machine,
            vocabulary=fitted.vocabulary,
            history=fitted.history,
            data=fitted.data,
            extra=extra,
            arrays=arrays,
        )
        replace_file(Path(path), pack_text_model(saved), "the model")

    @classmethod
    def _restored(cls, saved: SavedTextModel) -> Any:
        """The model that a file holds; a ValueError where a parameter cannot be."""
        model = cls(**saved.parameters)
        model._check()
        model._fitted = FittedTexts(
            machine=saved.machine,
            vocabulary=saved.vocabulary,
            data=saved.data,
            history=saved.history,
            extra=cls._decode_extra(saved),
        )
        return model

    def _check(self) -> None:
        """Raise ValueError for a parameter that cannot be."""

    def _encode_extra(self, extra: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, {}

    @classmethod
    def _decode_extra(cls, saved: SavedTextModel) -> Any:
        return None


def digest(arrays: Iterable[NDArray[Any]], *settings: Any) -> str:
    """What tells data and how they are read from others."""
    found = hashlib.blake2b(repr(settings).encode(), digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
