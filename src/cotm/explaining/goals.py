"""What a change of an example is to bring about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.outputs import Votes
from .voters import Voters
from .wording import plain


class Goal(Protocol):
    """Another prediction."""

    def reached(self, votes: Votes) -> NDArray[np.bool_]:
        """Whether votes (N, m) are those of another prediction."""
        ...

    def distance(self, votes: Votes) -> NDArray[np.int64]:
        """How many votes they are away from it: less is nearer."""
        ...

    def label(self, votes: NDArray[np.int64]) -> Any:
        """The label that votes (m,) are for, or the one that changes."""
        ...

    def text(self, votes: NDArray[np.int64]) -> str:
        """The prediction in words."""
        ...


@dataclass(frozen=True)
class _OtherClass:
    """Another class than the present one, or a certain one."""

    classes: NDArray[Any]
    now: int
    wanted: int | None

    def reached(self, votes: Votes) -> NDArray[np.bool_]:
        best = votes.argmax(axis=1)
        return np.asarray(best != self.now if self.wanted is None else best == self.wanted)

    def distance(self, votes: Votes) -> NDArray[np.int64]:
        output = self.now if self.wanted is None else self.wanted
        ahead = np.delete(votes, output, axis=1).max(axis=1) - votes[:, output]
        return np.asarray(-ahead if self.wanted is None else ahead)

    def label(self, votes: NDArray[np.int64]) -> Any:
        return plain(self.classes[votes.argmax()])

    def text(self, votes: NDArray[np.int64]) -> str:
        return str(self.label(votes))


@dataclass(frozen=True)
class _OtherInColumn:
    """A certain class of a column of labels, whatever the other columns say."""

    goal: _OtherClass
    part: slice

    def reached(self, votes: Votes) -> NDArray[np.bool_]:
        return self.goal.reached(votes[:, self.part])

    def distance(self, votes: Votes) -> NDArray[np.int64]:
        return self.goal.distance(votes[:, self.part])

    def label(self, votes: NDArray[np.int64]) -> Any:
        return self.goal.label(votes[self.part])

    def text(self, votes: NDArray[np.int64]) -> str:
        return self.goal.text(votes[self.part])


@dataclass(frozen=True)
class _OtherAnswer:
    """One of several labels is to come, or to go."""

    name: Any
    output: int
    is_there: bool

    def reached(self, votes: Votes) -> NDArray[np.bool_]:
        return np.asarray((votes[:, self.output] >= 0) != self.is_there)

    def distance(self, votes: Votes) -> NDArray[np.int64]:
        return np.asarray(votes[:, self.output] * (1 if self.is_there else -1))

    def label(self, votes: NDArray[np.int64]) -> Any:
        return self.name

    def text(self, votes: NDArray[np.int64]) -> str:
        return str(self.name) if votes[self.output] >= 0 else f"not {self.name}"


def goal_of(voters: Voters, votes: NDArray[np.int64], label: Any) -> Goal:
    """The goal that a label stands for, or a ValueError."""
    if any(member.fitted.scaling is not None for member in voters.members):
        raise ValueError(
            "counterfactual changes labels, but this model predicts quantities; partial_dependence "
            "says how they depend on a column"
        )
    labels = [plain(value) for value in voters.classes]
    label = plain(label)
    if label is not None and label not in labels:
        raise ValueError(f"label={label!r} is not a class of this model; it has {labels!r:.200}")
    if voters.multilabel:
        if label is None:
            raise ValueError(
                f"this model predicts several labels; say by label=... which of {labels!r:.200} "
                "is to come or to go"
            )
        output = labels.index(label)
        return _OtherAnswer(label, output, bool(votes[output] >= 0))
    if voters.columns is not None:
        if label is None:
            raise ValueError(
                f"this model predicts a label for each of {', '.join(voters.columns.names)}; say "
                f"by label=... which is to come, one of {labels!r:.200}"
            )
        part = voters.columns.part_of(labels.index(label))
        now, wanted = int(votes[part].argmax()), labels.index(label) - part.start
        if now == wanted:
            raise ValueError(f"label={label!r} is what is predicted already; name another")
        return _OtherInColumn(_OtherClass(voters.classes[part], now, wanted), part)
    if len(labels) < 2:
        raise ValueError(f"the only class there is is {labels[0]!r}; no change leads to another")
    now = int(votes.argmax())
    if label is not None and labels.index(label) == now:
        raise ValueError(f"label={label!r} is what is predicted already; name another, or none")
    return _OtherClass(voters.classes, now, None if label is None else labels.index(label))
