"""What a backend is: a few calls at the level of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.sparse_targets import Targets
from ..core.spec import Spec

#: What clauses say: whether they fire, or with a tolerance by how much.
ClauseOutputs = NDArray[Any]


def output_type(spec: Spec) -> type[np.generic]:
    """The type of clause outputs: flags, or numbers where a clause has more to say."""
    return np.bool_ if spec.tolerance == 1 else np.int32


class TrainCounts(NamedTuple):
    """How well the votes before each update met the targets."""

    hits: int  # examples whose highest vote (the first of equals) was for a target of 1
    correct: int  # (example, output) pairs with (vote >= 0) == target
    missed: int = 0  # of quantities: all votes too few or too many


@dataclass(frozen=True)
class TrainingSet:
    """Examples in a backend's form, with their targets and selection factors."""

    backend: str  # whose form it is
    data: Any  # or ChangingExamples, which are brought into it in every pass
    targets: Targets  # see Backend.train
    weight: NDArray[np.float64]  # per example, or one for all
    scales: NDArray[np.uint64]  # of the weights, for the machine's e

    def __len__(self) -> int:
        return len(self.targets)


class Backend(Protocol):
    """A trained or untrained machine on some device.

    Every implementation gives the same bits for the same spec, state, data and steps.
    ``memory`` int8 (n, L) and ``weights`` int32 (n, m) cross this border in the public
    layout; what a backend keeps inside is its own business.
    """

    name: str

    def prepare(self, examples: Examples) -> Any:
        """Bring examples, wherever they lie, into the form the other calls read.

        Done once for many epochs.
        """
        ...

    def train(
        self,
        data: Any,
        targets: Targets,  # (rows, m): 0 or 1, of quantities votes
        scales: NDArray[np.uint64],  # (rows, 2) or (1, 2), see spec.selection_scale
        order: NDArray[np.int64],  # the rows of a pass, in this order
        step: int,  # of the first of them, order[0]; it also says what sleeps in the pass
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        """Learn from the rows ``order[first:last]``.

        A pass may come in slices: the same arrays, each slice from where the last one ended.
        The result is that of one call; between two of them the state is whole.
        """
        ...

    def mark(self) -> None:
        """Remember the state, in place of the one marked before."""
        ...

    def undo(self) -> None:
        """Go back to the marked state, whatever :meth:`train` did or raised since."""
        ...

    def votes(self, data: Any, n_jobs: int | None = 1) -> NDArray[np.int64]:
        """Unclipped vote sums, (rows, m); empty clauses are silent."""
        ...

    def clause_outputs(self, data: Any, n_jobs: int | None = 1) -> ClauseOutputs:
        """What each clause says, (rows, n), as :func:`output_type`; empty clauses are silent."""
        ...

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Copies of memory and weights."""
        ...
