"""What every format is written from: a fitted model as plain data, without anything of training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..core.patches import PatchGrid
from ..model.joining import UNIT

#: A label, or a category of a column.
Value = str | int | float | bool


@dataclass(frozen=True)
class Column:
    """A column of the raw table.

    ``type`` is "bit", "number", "category", or what is counted in seconds: "date" (since 1970, in
    UTC), "duration", "time" (of day). ``tells_booleans`` is whether True is another category
    than 1.
    """

    name: str
    type: str
    tells_booleans: bool = False


@dataclass(frozen=True)
class Test:
    """A bit of a table: ``column`` ``op`` ``value``, where op is ">", "<=", "=" or "missing".

    A missing value fulfils "missing" and nothing else.
    """

    __test__ = False  # which is for pytest

    column: int
    op: str
    value: Value | None = None


@dataclass(frozen=True)
class TableInput:
    """Rows of cells, and what is asked of them: a bit for each test."""

    columns: tuple[Column, ...]
    tests: tuple[Test, ...]

    @property
    def n_values(self) -> int:
        """Cells of a row."""
        return len(self.columns)


@dataclass(frozen=True)
class Levels:
    """A bit for each channel and threshold of it: value > threshold."""

    thresholds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Adaptive:
    """A bit for each channel: is the pixel above the blurred image less a constant?"""

    kernel: tuple[float, ...]  # float32
    constant: int


@dataclass(frozen=True)
class Edges:
    """The bits of an EdgeThermometer; quantiles are whole numbers of 10,000 parts."""

    kernels: tuple[tuple[tuple[int, ...], ...], ...]
    levels: tuple[int, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]


@dataclass(frozen=True)
class Gradients:
    """The bits of a GradientHistogram; quantiles are whole numbers of 10,000 parts."""

    cell: tuple[int, int]
    step: tuple[int, int]
    directions: int
    signed: bool
    quantiles: tuple[int, ...]
    each: bool


@dataclass(frozen=True)
class ImageInput:
    """Images (height, width, channels), in this order one value after the other."""

    shape: tuple[int, int, int]
    planes: Levels | Adaptive | Edges | Gradients

    @property
    def n_values(self) -> int:
        """Values of an image."""
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def holds_bits(self) -> bool:
        """Whether the image itself is of bits."""
        return self.planes == bits_of_channels(self.shape[2])


def bits_of_channels(count: int) -> Levels:
    """Channels that are bits already."""
    return Levels(((0.5,),) * count)


@dataclass(frozen=True)
class Clause:
    """What a clause asks for, as sorted numbers of literals, and its weight for each output.

    ``numbers`` are those of the model's clauses that it is made of.
    """

    literals: tuple[int, ...]
    weights: tuple[int, ...]
    numbers: tuple[int, ...] = field(default=(), compare=False)

    @property
    def number(self) -> int:
        """The first of them, by which it is called."""
        return self.numbers[0]


@dataclass(frozen=True)
class Member:
    """Clauses that read an example in one way.

    Only clauses that can vote are left, and equal ones are one. ``columns`` of the grid's patches
    and their features are as ``docs/state.md`` says.
    """

    name: str
    input: TableInput | ImageInput
    grid: PatchGrid
    tolerance: int
    clauses: tuple[Clause, ...]

    def most(self, clause: Clause) -> int:
        """The largest output of a clause."""
        return min(self.tolerance, len(clause.literals))

    @property
    def largest_vote(self) -> int:
        """No sum of votes on the way is larger, or smaller with a minus."""
        n_outputs = len(self.clauses[0].weights) if self.clauses else 0
        sums = [
            sum(self.most(clause) * abs(clause.weights[i]) for clause in self.clauses)
            for i in range(n_outputs)
        ]
        return max(sums, default=0)


@dataclass(frozen=True)
class Quantities:
    """What the votes of a regressor predict: votes / unit + offset, in float64, of each output."""

    unit: tuple[float, ...]
    offset: tuple[float, ...]
    one: bool  # a number is predicted, and not a list of one


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels: one of its classes is predicted."""

    name: str
    classes: tuple[Value, ...]


@dataclass(frozen=True)
class Description:
    """A fitted classifier or regressor, or several whose votes are added up.

    With ``divisors`` votes are the sum over all members of (votes * 2**32) // divisor, to the
    floor; without, the plain sum. Of equal votes the first class wins; with ``multilabel`` every
    label with 0 votes or more is predicted. Probabilities are the softmax of
    votes / margin * sharpness, or with ``multilabel`` the logistic function of
    (votes + 0.5) / margin * sharpness. With ``quantities`` the outputs are these instead of
    classes, without probabilities. With ``label_columns`` each of them has its outputs, one column
    after the other, and of each the first class with the most votes is predicted; probabilities
    are the softmax over its outputs.
    """

    members: tuple[Member, ...]
    divisors: tuple[int, ...] | None
    classes: tuple[Value, ...]
    multilabel: bool
    margin: int
    sharpness: float
    quantities: Quantities | None = None
    label_columns: tuple[LabelColumn, ...] | None = None

    @property
    def n_outputs(self) -> int:
        """How many outputs there are."""
        return len(self.classes)

    @property
    def largest_vote(self) -> int:
        """No vote is larger, or smaller with a minus."""
        parts = [member.largest_vote for member in self.members]
        if self.divisors is not None:
            parts = [
                (part * UNIT + divisor - 1) // divisor
                for part, divisor in zip(parts, self.divisors, strict=True)
            ]
        return sum(parts)


class CannotExportError(ValueError):
    """A format that cannot say what a model is."""

    def __init__(self, kind: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}, which {kind} cannot hold exactly; {remedy}")


def plain(value: Any) -> Value:
    """A label as JSON has it; dates and the like as text."""
    value = value.item() if hasattr(value, "item") and not _is_time(value) else value
    return value if isinstance(value, str | int | float | bool) else str(value)


def _is_time(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
