"""From votes to probabilities, by a sharpness that is learned from data.

Votes of examples that a machine was trained on say too little about those of new ones. So a
second machine learns from most of a sample of the training examples and is judged by the rest;
what makes its probabilities right there is carried over to the votes of the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ..backends.threads import step_nanoseconds
from ..core.examples import ChangingExamples, Examples
from ..core.forks import Lock
from ..core.patches import PatchGrid
from ..core.sparse_targets import Targets
from ..machine import Machine
from .labels import split_validation
from .outputs import Outputs

#: What probabilities are made with where nothing was learned; about right for T="auto".
_USUAL = 2.0
_SHARPEST, _BLUNTEST = 200.0, 0.02
#: Of a sample: examples, and bytes of dense bits. A quarter of many examples, since where bits are
#: rare a machine learns nothing from few.
_FEWEST_ROWS, _USUAL_ROWS, _MOST_ROWS, _MOST_BYTES = 30, 1500, 5000, 32_000_000
_SHARE = 0.25
_HELD_OUT = 0.2
#: The second machine's training is not to take longer than about this, or than this share of the
#: first machine's, whichever is more; but some epochs it needs.
_NANOSECONDS, _SHARE_OF_TRAINING, _FEWEST_EPOCHS = 5e9, 0.2, 3
#: A second machine whose votes are not so far apart, beside the first's, has not learned yet.
_LEARNED = 0.05


@dataclass(frozen=True)
class Sample:
    """Some of the examples that a machine was trained on."""

    examples: Examples
    targets: Targets
    weight: NDArray[np.float64]  # per example, or for all; see spec.selection_scale
    taken_from: int  # so many examples

    @classmethod
    def of(
        cls,
        examples: Examples | ChangingExamples,
        targets: Targets,
        weight: NDArray[np.float64],
    ) -> Sample:
        sparse = hasattr(getattr(examples, "bits", None), "indptr")
        rows = cls.rows_of(len(examples), targets.shape[1], examples.grid, sparse=sparse)
        weight = weight[rows] if len(weight) > 1 else weight
        return cls(examples[rows].unchanged(), targets[rows], weight, len(examples))

    @staticmethod
    def rows_of(n_examples: int, n_outputs: int, grid: PatchGrid, *, sparse: bool) -> NDArray[Any]:
        """Which rows are taken of so many examples."""
        most = max(_USUAL_ROWS, min(_MOST_ROWS, int(_SHARE * n_examples)))
        count = min(n_examples, most, max(1, _MOST_BYTES // n_outputs))
        if not sparse:
            count = min(count, max(1, _MOST_BYTES // int(np.prod(grid.image_shape))))
        return np.linspace(0, n_examples - 1, count).astype(np.int64)


class Sharpness:
    """How sure probabilities are of what votes say; learned when it is first asked for.

    Fitting does not wait for it, and what leaves the process, a file or a pickle, has the number
    and not the sample.
    """

    def __init__(self, value: float | None = None) -> None:
        self._value = value
        self._lesson: tuple[Machine, Sample, Outputs, int] | None = None
        self._lock = Lock()

    @classmethod
    def to_learn(cls, machine: Machine, sample: Sample, outputs: Outputs, epochs: int) -> Sharpness:
        """One that will be learned from the sample; ``epochs`` is how long the machine trained."""
        sharpness = cls()
        if len(sample.targets) >= _FEWEST_ROWS and epochs:
            state = machine.with_state(machine.snapshot())  # whatever it learns later
            sharpness._lesson = state, sample, outputs, epochs
        return sharpness

    def value(self) -> float | None:
        """The number, or None where there was nothing to learn it from."""
        with self._lock:
            if self._lesson is not None:
                with suppress(MemoryError):  # a model that can be kept is worth more
                    self._value = _learn(*self._lesson)
                self._lesson = None
            return self._value

    def __reduce__(self) -> tuple[type[Sharpness], tuple[float | None]]:
        return Sharpness, (self.value(),)


class JudgedSharpness(Sharpness):
    """What examples tell which the machine is not trained on, when it is first asked for.

    The machine must not go on learning before.
    """

    def __init__(
        self, machine: Machine, examples: Examples, targets: Targets, outputs: Outputs
    ) -> None:
        super().__init__()
        self._told = machine, examples, targets, outputs

    def value(self) -> float | None:
        """The number."""
        if self._value is None:
            self._value = judged(*self._told).value()
        return self._value


class MeanSharpness(Sharpness):
    """The sharpness of several machines' joined votes: the mean of theirs, found when needed."""

    def __init__(self, parts: Iterable[Sharpness]) -> None:
        super().__init__()
        self._parts = tuple(parts)

    def value(self) -> float | None:
        """The number, or None where no machine has learned one."""
        values = [part.value() for part in self._parts]
        if all(value is None for value in values):
            return None
        return sum(_USUAL if value is None else value for value in values) / len(values)


def probabilities(
    margins: NDArray[np.float64], sharpness: Sharpness, outputs: Outputs
) -> NDArray[np.float64]:
    """Probabilities (N, m) that rank like the votes."""
    return outputs.probabilities(margins * known(sharpness))


def known(sharpness: Sharpness) -> float:
    """The number, or the usual one where none was learned."""
    value = sharpness.value()
    return _USUAL if value is None else value


def judged(machine: Machine, examples: Examples, targets: Targets, outputs: Outputs) -> Sharpness:
    """The sharpness learned from examples that the machine was not trained on."""
    margins = margins_of(machine, examples, outputs)
    return Sharpness(_most_likely(margins, targets, outputs))


def margins_of(
    machine: Machine, examples: Examples, outputs: Outputs, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Votes in units of the margins of all states that vote."""
    votes, states = machine.votes_of_states(examples, n_jobs=n_jobs)
    return outputs.in_margins(votes, machine.parameters.T * states)


def _most_likely(margins: NDArray[np.float64], targets: Targets, outputs: Outputs) -> float:
    """The factor under which the targets are most likely."""
    doubt = 1.0 / (len(targets) + 2)  # that no error was seen does not mean there is none

    def loss(log_factor: float) -> float:
        return outputs.surprise(margins * np.exp(log_factor), targets, doubt)

    bounds = (np.log(_BLUNTEST), np.log(_SHARPEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def _learn(machine: Machine, sample: Sample, outputs: Outputs, epochs: int) -> float | None:
    try:
        rows, held = split_validation(machine.seed_, sample.targets, _HELD_OUT, outputs)
    except ValueError:  # too few of every class to hold some out
        return None
    seen = sample.examples[rows]
    second = machine.fresh()
    steps = max(
        _NANOSECONDS / step_nanoseconds(machine.spec),
        _SHARE_OF_TRAINING * epochs * sample.taken_from,
    )
    affordable = int(steps / len(rows))
    weight = sample.weight[rows] if len(sample.weight) > 1 else sample.weight
    training = second.prepare(seen, sample.targets[rows], weight)
    for _ in range(min(epochs, max(_FEWEST_EPOCHS, affordable))):
        second.train_pass(training)
    told = judged(second, sample.examples[held], sample.targets[held], outputs).value()
    assert told is not None
    # The first machine has seen more, or for longer: its votes are larger by as much on examples
    # that both have seen.
    margins = margins_of(machine, seen, outputs)
    mine = outputs.distance(margins)
    theirs = outputs.distance(margins_of(second, seen, outputs))
    if mine == 0 or theirs <= _LEARNED * mine:
        return None
    return _bounded(told * theirs / mine, margins, sample.targets[rows], outputs)


def sharpness_of(
    held: tuple[NDArray[np.float64], Targets],
    seen: tuple[NDArray[np.float64], Targets],
    outputs: Outputs,
) -> float:
    """What margins and targets of held-out examples tell, beside those of examples seen."""
    return _bounded(_most_likely(*held, outputs), *seen, outputs)


def _bounded(
    told: float, margins: NDArray[np.float64], targets: Targets, outputs: Outputs
) -> float:
    """New examples cannot be surer than those it was trained on."""
    bound = _most_likely(margins, targets, outputs)
    return float(np.clip(min(told, bound), _BLUNTEST, _SHARPEST))
