"""The rules that spoke for an example, strongest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from ..rules import MemberRule, Rule, rules
from .patches import places_of
from .voters import Voter, Voters


@dataclass(frozen=True)
class SpokenRule:
    """A rule that spoke for an example.

    Attributes
    ----------
    rule : Rule
        The rule; of a composite it names its member.
    output : int
        What the clause says: 1, or with a tolerance above 1 how often its weights count.
    votes : dict of label to int
        What it gave each label. Of a composite's member they are as the member counts them.
    patch : tuple of (row, column), or None
        The first patch of an image where it speaks; of a volume (depth, row, column).
    """

    rule: Rule
    output: int
    votes: dict[Any, int]
    patch: tuple[int, ...] | None = None

    def to_data(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        return {
            "text": str(self.rule),
            "output": self.output,
            "votes": {str(name): votes for name, votes in self.votes.items()},
            "patch": self.patch,
        }


@dataclass(frozen=True, eq=False)
class _Speaker:
    """A member, and what its clauses say of each example."""

    voter: Voter
    outputs: NDArray[np.int32]  # (N, clauses of the pool)
    patches: NDArray[np.int32] | None  # (N, clauses), -1 where silent

    def spoken(self, i: int) -> Iterator[SpokenRule]:
        pool, model, outputs = self.voter.pool, self.voter.model, self.outputs[i]
        spoke = np.flatnonzero(outputs)
        if not len(spoke):
            return
        firsts = [pool.numbers[k][0] for k in spoke.tolist()]
        grid = self.voter.fitted.reader.grid
        assert grid is not None
        found = rules(model, included=model.memory_[firsts] >= 0, weights=pool.weights[spoke])
        for rule in found:
            k = spoke[rule.clause]
            output = int(outputs[k])
            patch = None
            if self.patches is not None:
                place = np.unravel_index(int(self.patches[i, k]), places_of(grid))
                patch = tuple(map(int, place))
            votes = {label: output * weight for label, weight in rule.weights.items()}
            clauses = tuple(n for place in rule.clauses for n in pool.numbers[spoke[place]])
            rule = replace(rule, clause=clauses[0], clauses=clauses)
            if self.voter.name:
                rule = MemberRule(**vars(rule), member=self.voter.name)
            yield SpokenRule(rule, output, votes, patch)


class SpokenRules(Sequence[tuple[SpokenRule, ...]]):
    """For each example the rules that spoke, strongest first; made when they are asked for."""

    def __init__(
        self, count: int, speakers: Sequence[_Speaker] = (), divisors: Sequence[int] | None = None
    ) -> None:
        self._count = count
        self._speakers = tuple(speakers)
        self._divisors = divisors or (1,) * len(self._speakers)

    @classmethod
    def of(
        cls, voter: Voter, examples: Examples, patches: NDArray[np.int32] | None = None
    ) -> SpokenRules:
        """Those of one classifier."""
        machine = voter.fitted.machine
        outputs = machine.clause_outputs(examples, n_jobs=voter.model.n_jobs)
        firsts = [numbers[0] for numbers in voter.pool.numbers]
        speaker = _Speaker(voter, outputs[:, firsts].astype(np.int32), patches)
        return cls(len(outputs), [speaker])

    @classmethod
    def joined(cls, parts: Sequence[SpokenRules], divisors: Sequence[int] | None) -> SpokenRules:
        """Those of several, the strongest of all first."""
        speakers = [speaker for part in parts for speaker in part._speakers]
        return cls(len(parts[0]), speakers, divisors if speakers else None)

    def take(self, rows: Any) -> SpokenRules:
        """Those of some examples."""
        speakers = [
            replace(
                speaker,
                outputs=speaker.outputs[rows],
                patches=None if speaker.patches is None else speaker.patches[rows],
            )
            for speaker in self._speakers
        ]
        return SpokenRules(len(np.arange(self._count)[rows]), speakers, self._divisors)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(self._count))]
        i, pairs = range(self._count)[i], zip(self._speakers, self._divisors, strict=True)
        ranked = [
            (-max(map(abs, spoken.votes.values())) / divisor, number, spoken.rule.clause, spoken)
            for number, (speaker, divisor) in enumerate(pairs)
            for spoken in speaker.spoken(i)
        ]
        return tuple(spoken for *_, spoken in sorted(ranked, key=lambda entry: entry[:3]))


def spoken_rules(voters: Voters, X: Any, top: int | None = None) -> list[list[dict[str, Any]]]:
    """For each example the first of the rules that spoke, as data, of members that read tables."""
    parts = [SpokenRules.of(member, member.read(X)) for member in voters.members]
    rules = SpokenRules.joined(parts, voters.divisors)
    return [[spoken.to_data() for spoken in row[:top]] for row in rules]
