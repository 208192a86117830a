"""A model as it is served: read once, never changed, with all that answers need of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.threads import prediction_nanoseconds
from ..booleanize.base import TableBooleanizer
from ..booleanize.frames import NamedArray
from ..core.examples import Examples
from ..estimator.regressing import interval
from ..explaining.explaining import explain
from ..explaining.spoken import spoken_rules
from ..explaining.voters import Voters
from ..explaining.wording import plain, simple
from ..loading import load_bytes
from ..model.fitted import Fitted
from ..model.probabilities import probabilities

#: What columns of each type are told to hold.
_WORDS = {"bit": "0 or 1", "number": "number", "date": "date", "duration": "seconds"}


@dataclass(frozen=True)
class Column:
    """A column of X, as clients have to send it."""

    name: str | None
    kind: str  # number, bit, category, date, duration, time, or any


@dataclass(frozen=True)
class Wanted:
    """What a client asks for beside predictions."""

    votes: bool = False
    proba: bool = False
    interval: float | None = None
    reasons: int = 0  # so many for each row


@dataclass(frozen=True, eq=False)
class Answer:
    """What is said of some rows."""

    predictions: NDArray[Any]
    votes: NDArray[np.int64] | None = None
    proba: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    reasons: list[dict[str, Any]] | None = None


class ServedModel:
    """One model file, as it was when it was read."""

    def __init__(self, name: str, data: bytes, file: str, read_background: Any = None) -> None:
        self.name = name
        self.version = hashlib.sha256(data).hexdigest()[:16]
        self.loaded_at = time.time()
        self.model: Any = load_bytes(data, file).set_params(n_jobs=1)
        if hasattr(self.model, "estimators_"):
            for member in self.model.estimators_:
                member.set_params(n_jobs=1)
        self.voters: Voters = self.model._voters()
        first: Fitted = self.voters.members[0].fitted
        self.scaling, self.errors = first.scaling, first.errors
        self.states = first.machine.n_states_
        self.classes: list[Any] = [simple(plain(label)) for label in self.voters.classes]
        #: Where a label of each of several columns is predicted.
        self.label_columns = None
        if self.voters.columns is not None:
            self.label_columns = [*self.voters.columns.names]
        self.columns = _columns(self.voters)
        self.names = [c.name for c in self.columns] if self.columns else None
        self.is_named = self.columns is not None and self.columns[0].name is not None
        #: The shape of an image; None where rows are of cells.
        self.image_shape = next(
            (
                member.fitted.reader.example_shape
                for member in self.voters.members
                if member.fitted.reader.reads_images
            ),
            None,
        )
        self.takes_bits = all(m.fitted.reader.booleanizer is None for m in self.voters.members)
        self.row_nanoseconds = sum(
            prediction_nanoseconds(member.fitted.machine.spec, 1) for member in self.voters.members
        )
        self.sharpness = None if self.scaling else self.voters.sharpness
        self._warm()
        self.background = None if read_background is None else read_background(self.model)

    # Predicting ----------------------------------------------------------------------

    @property
    def members(self) -> Sequence[str]:
        """The names of a composite's members."""
        return [member.name for member in self.voters.members if member.name]

    def read(self, X: Any) -> tuple[Examples, ...]:
        """The bits that each member makes of X."""
        return tuple(member.read(X) for member in self.voters.members)

    def votes(self, examples: Sequence[Examples]) -> NDArray[np.int64]:
        """The votes for what was read."""
        if len(examples) == 1 and self.voters.divisors is None:
            return self.voters.members[0].votes(examples[0])
        pairs = zip(self.voters.members, examples, strict=True)
        return self.voters.joined([member.votes(bits) for member, bits in pairs])

    def answer(self, votes: NDArray[np.int64], wanted: Wanted) -> Answer:
        """What votes mean. Of every row by itself, so that it never depends on other rows."""
        if self.scaling is not None:
            quantities = self.scaling.quantities(votes, self.states)
            low = high = None
            if wanted.interval is not None:
                low, high = interval(self.scaling, self.errors, quantities, wanted.interval)
            return Answer(
                self.scaling.in_form(quantities), votes if wanted.votes else None, None, low, high
            )
        proba = None
        if wanted.proba:
            margins = self.voters.outputs.in_margins(votes, self.voters.margin)
            assert self.sharpness is not None
            proba = probabilities(margins, self.sharpness, self.voters.outputs)
        return Answer(self.voters.labels(votes), votes if wanted.votes else None, proba)

    def reasons(self, X: Any, background: Any, top: int) -> list[dict[str, Any]]:
        """Why, row by row: the rules that spoke, and where others are known to compare with,
        what each column contributed."""
        background = self.background if background is None else background
        if background is None and any(
            member.features.image_shape is None for member in self.voters.members
        ):
            return [{"rules": rules} for rules in spoken_rules(self.voters, X, top)]
        if self.scaling is not None:
            why = self.model.explain(X, background)
        else:
            why = explain(self.voters, X, background)
        kept = ("base", "reasons", "rules")
        return [{name: row[name] for name in kept} for row in why.to_data(top)]

    def shown(self, answer: Answer) -> dict[str, Any]:
        """An answer as JSON has it: labels, and lists with an entry for each row."""
        found: dict[str, Any] = {
            "model": self.name,
            "version": self.version,
            "classes": self.classes,
            "predictions": _listed(answer.predictions),
        }
        if answer.votes is not None:
            found["votes"] = answer.votes.tolist()
            found["unit"] = self.voters.unit
        if answer.proba is not None:
            found["proba"] = answer.proba.tolist()
        if answer.low is not None and answer.high is not None:
            found["low"], found["high"] = answer.low.tolist(), answer.high.tolist()
        if answer.reasons is not None:
            found["reasons"] = answer.reasons
        return found

    # Describing ----------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What a client has to know."""
        return {
            "name": self.name,
            "version": self.version,
            "class": type(self.model).__name__,
            "predicts": "quantities"
            if self.scaling
            else "several labels"
            if self.voters.multilabel
            else "a label of each column"
            if self.voters.columns is not None
            else "one label",
            "classes": self.classes,
            "label_columns": self.label_columns,
            "unit": self.voters.unit,
            "reads": self._reads(),
            "columns": None
            if self.columns is None
            else [{"name": column.name, "kind": column.kind} for column in self.columns],
            "image_shape": None if self.image_shape is None else [*self.image_shape],
            "members": [*self.members],
            "intervals": self.errors is not None,
            "contributions": self.background is not None or self.columns is None,
            "loaded_at": self.loaded_at,
        }

    def _reads(self) -> str:
        if self.image_shape is not None:
            return "images"
        return "named columns" if self.is_named else "columns"

    def _warm(self) -> None:
        """Start what starts with the first prediction, before anybody waits for it."""
        with suppress(ValueError):
            self.votes(self.read(self._any_row()))

    def _any_row(self) -> Any:
        if self.image_shape is not None:
            return np.zeros((1, *self.image_shape), dtype=np.uint8)
        if self.takes_bits:
            return np.zeros((1, self.voters.members[0].fitted.reader.n_features), dtype=np.uint8)
        row = np.full((1, len(self.columns or ())), np.nan)
        return NamedArray(row, [str(n) for n in self.names or ()]) if self.is_named else row


def _columns(voters: Voters) -> tuple[Column, ...] | None:
    """What the first member reads, which goes for all; None of images."""
    if any(member.fitted.reader.reads_images for member in voters.members):
        return None
    reader = voters.members[0].fitted.reader
    kinds = ["bit" if reader.booleanizer is None else "any"] * reader.n_features
    if isinstance(reader.booleanizer, TableBooleanizer):
        kinds = [
            code.kind if code.kind == "category" else code.type or "any"
            for code in reader.booleanizer.codes_
        ]
    names: Sequence[str | None] = reader.names or [None] * reader.n_features
    return tuple(Column(*parts) for parts in zip(names, kinds, strict=True))


def _listed(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind in "biufU":
        return list(values.tolist())
    if values.ndim == 2:
        return [[simple(plain(cell)) for cell in row] for row in values]
    return [simple(plain(value)) for value in values]
