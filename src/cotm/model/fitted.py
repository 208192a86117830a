"""All that fitting learns, as one thing that is replaced whole and read once per call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..core.state import Snapshot
from ..machine import Machine
from .edits import Edits
from .inputs import InputReader
from .label_columns import LabelColumns, outputs_for
from .outputs import Judge, Outputs
from .probabilities import Sharpness
from .quantities import QuantityJudge, Scaling
from .resuming import NOT_SCORED, has_other_judges


class _OfEveryEpoch(TypedDict):
    epoch: int  # counted from 1
    train_accuracy: float  # of the votes before each update
    seconds: float


class Record(_OfEveryEpoch, total=False):
    """One epoch's entry in the learning curve."""

    validation_accuracy: float  # with early stopping, on the examples held out
    validation_score: float  # by ``scoring``, or the accuracy


#: A model that is trained a little at a time for years must not grow with every call.
MOST_RECORDS = 10_000


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training has come: what a checkpoint keeps beside the machine."""

    history: tuple[Record, ...] = ()  # of the last epochs
    best: Snapshot | None = None  # state of the best epoch on the held-out examples
    until_epoch: int = 0  # epochs to be reached, counted from the first
    patience_from: int = 0  # the epoch from which early stopping counts
    scored_from: int = 0  # the epoch from which validation scores are of the same examples
    step: int = 0  # of the machine after the last epoch
    data: dict[str, Any] | None = None  # by which the same data are known again, see resuming.py

    @property
    def epochs(self) -> int:
        """How many are finished."""
        return int(self.history[-1]["epoch"]) if self.history else 0

    def with_epoch(self, record: Record, step: int) -> TrainingProgress:
        """The progress after one more epoch."""
        history = (*self.history, record)
        if len(history) > MOST_RECORDS:
            best = self._best_record()
            history = history[-MOST_RECORDS:]
            if best is not None and best["epoch"] < history[0]["epoch"]:
                history = (best, *history[1:])  # early stopping measures by it
        return replace(self, history=history, step=step)

    def _best_record(self) -> Record | None:
        return max(self.scored(), key=self.score, default=None)

    @property
    def score_name(self) -> Literal["validation_accuracy", "validation_score"]:
        """What of a record early stopping goes by."""
        by_accuracy = self.data is None or self.data["scoring"] == NOT_SCORED
        return "validation_accuracy" if by_accuracy else "validation_score"

    def score(self, record: Record) -> float:
        """What early stopping goes by."""
        return record[self.score_name]

    @property
    def best_epoch(self) -> int:
        """The epoch that early stopping has to beat; 0 where there is none."""
        best = self._best_record()
        return 0 if best is None else int(best["epoch"])

    def scored(self) -> list[Record]:
        """Epochs with validation scores that can be compared with those to come."""
        return [
            record
            for record in self.history
            if record["epoch"] > self.scored_from and self.score_name in record
        ]

    def compares(self, data: dict[str, Any] | None) -> bool:
        """Whether later epochs on these data can be measured by the earlier ones."""
        if not self.is_scored:
            return False
        return self.data is None or (data is not None and not has_other_judges(self.data, data))

    @property
    def is_scored(self) -> bool:
        """Whether early stopping looked at the last epoch."""
        return bool(self.history) and self.score_name in self.history[-1]

    def improved(self) -> bool:
        """Whether the last epoch is better than all before it."""
        best = self._best_record()
        return best is not None and best["epoch"] == self.epochs

    def epochs_without_improvement(self) -> int:
        """Since the best epoch, or since this training began if that was later."""
        best = self._best_record()
        return 0 if best is None else self.epochs - max(best["epoch"], self.patience_from)


@dataclass(frozen=True)
class Fitted:
    """What a classifier has learned. Its machine goes on learning; the rest does not change."""

    reader: InputReader
    classes: NDArray[Any]  # the outputs: of quantities names or numbers of y's columns
    multilabel: bool
    machine: Machine
    progress: TrainingProgress
    sharpness: Sharpness  # of probabilities
    preset: str  # that says what was left "auto"
    scaling: Scaling | None = None  # of quantities, where outputs are no classes
    edits: Edits = field(default_factory=Edits)  # by hand
    errors: NDArray[np.float64] | None = None  # of quantities predicted for held-out examples
    compression: dict[str, Any] | None = None  # how it was made smaller
    columns: LabelColumns | None = None  # of labels, where y has several

    @property
    def outputs(self) -> Outputs:
        """What votes for classes mean."""
        assert self.scaling is None
        return outputs_for(self.multilabel, self.columns)

    @property
    def judge(self) -> Judge:
        """How good votes are."""
        return self.outputs if self.scaling is None else QuantityJudge(self.scaling)
