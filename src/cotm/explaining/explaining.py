"""From voters and examples to an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples
from ..core.randomness import new_seed, split_order
from ..model.joining import UNIT
from ..model.outputs import Votes
from .explanation import Explanation
from .features import dense_bits
from .games import Game, Games
from .patches import PatchVotes
from .shapley import contributions
from .spoken import SpokenRules
from .voters import Voter, Voters

#: So many rows of X stand for all where no background is given.
MOST_BACKGROUND = 100


class _Part(NamedTuple):
    """What one member says."""

    voter: Voter
    votes: Votes  # (N, m)
    contributions: NDArray[np.float64]  # (N, its features, m)
    background_votes: Votes  # (B, m); of images a row of zeros
    readers: NDArray[np.bool_]  # features that share what is lost where votes are divided
    game: Game | None
    patches: NDArray[np.float64] | None
    rules: SpokenRules


def explain(
    voters: Voters,
    X: Any,
    background: Any = None,
    *,
    rules: bool = True,
    random_state: Any = 0,
) -> Explanation:
    """What spoke for each example, and what each feature contributed to its votes."""
    seed = new_seed(random_state)
    read = [voter.read(X) for voter in voters.members]
    count = len(read[0])
    parts = []
    rows = np.sort(split_order(seed, count)[:MOST_BACKGROUND])
    for voter, examples in zip(voters.members, read, strict=True):
        if voter.features.image_shape is not None:
            parts.append(_located(voter, examples, rules))
            continue
        if background is None and count < 2:
            raise ValueError(
                f"X has {count} example, and what a feature contributes is measured against "
                "others; pass some rows of the training data as background"
            )
        others = examples[rows] if background is None else voter.read(background)
        if len(others) == 0:
            raise ValueError("background holds no examples; pass some rows of the training data")
        parts.append(_played(voter, examples, others, rules))
    values = [_values(voter, X, bits) for voter, bits in zip(voters.members, read, strict=True)]
    if len(parts) == 1 and voters.divisors is None:
        return _explained(voters, parts, values)
    alone = {
        part.voter.name: _explained(Voters.of(part.voter.model), [part], [some])
        for part, some in zip(parts, values, strict=True)
    }
    return _explained(voters, parts, values, alone)


def _played(voter: Voter, examples: Examples, others: Examples, rules: bool) -> _Part:
    """A member that reads tables: Shapley values against the background."""
    pool, features = voter.pool, voter.features
    game = Game(pool, len(features), dense_bits(examples), dense_bits(others))
    readers = np.zeros(len(features), dtype=bool)
    readers[pool.players] = True
    return _Part(
        voter,
        voter.votes(examples),
        contributions(game.rows, game.background, pool, len(features), voter.model.n_jobs),
        voter.votes(others),
        readers,
        game,
        None,
        SpokenRules.of(voter, examples) if rules else SpokenRules(len(examples)),
    )


def _located(voter: Voter, examples: Examples, rules: bool) -> _Part:
    """A member that reads images: the votes where they come from."""
    grid = voter.fitted.reader.grid
    assert grid is not None
    located = PatchVotes(voter.pool, grid).locate(examples)
    votes = voter.votes(examples)
    return _Part(
        voter,
        votes,
        located.pixels,
        np.zeros((1, votes.shape[1]), dtype=np.int64),
        np.ones(len(voter.features), dtype=bool),
        None,
        located.patches,
        SpokenRules.of(voter, examples, located.first) if rules else SpokenRules(len(votes)),
    )


def _values(voter: Voter, X: Any, examples: Examples) -> NDArray[np.object_] | None:
    if voter.features.image_shape is not None and voter.features.windows is None:
        return None
    bits = dense_bits(examples) if voter.features.are_bits else None
    return voter.features.values(voter.part_of(X), bits)


def _explained(
    voters: Voters,
    parts: Sequence[_Part],
    values: Sequence[NDArray[np.object_] | None],
    members: dict[str, Explanation] | None = None,
) -> Explanation:
    """All parts as one explanation."""
    names, places = joint_features([part.voter for part in parts])
    votes = voters.joined([part.votes for part in parts])
    count = max(len(part.background_votes) for part in parts)
    base_votes = [np.broadcast_to(p.background_votes, (count, votes.shape[1])) for p in parts]
    base = voters.joined(base_votes)
    total = np.zeros((len(votes), len(names), votes.shape[1]))
    for k, (part, place) in enumerate(zip(parts, places, strict=True)):
        if voters.divisors is None:
            total[:, place] += part.contributions
            continue
        divisor = voters.divisors[k]
        total[:, place] += part.contributions * (UNIT / divisor)
        lost = _cut(part.background_votes, divisor).mean(axis=0) - _cut(part.votes, divisor)
        readers = place[part.readers]
        if len(readers):
            total[:, readers] += lost[:, None] / len(readers)
    games = [part.game for part in parts]
    shapes = {part.voter.features.image_shape for part in parts} - {None}
    is_image = len(shapes) == 1 and len(names) == len(parts[0].voter.features)
    some = [value for value in values if value is not None]
    shared = len(names) == len(parts[0].voter.features)
    cells = None
    if shared and some:
        cells = some[0]
    elif len(some) == len(parts):
        cells = np.concatenate(some, axis=1)
    return Explanation(
        classes=voters.classes,
        predictions=voters.labels(votes),
        votes=votes,
        base=base.mean(axis=0),
        contributions=total,
        feature_names=names,
        feature_values=cells,
        image_shape=shapes.pop() if is_image else None,
        patch_votes=parts[0].patches if members is None else None,
        rules=SpokenRules.joined([part.rules for part in parts], voters.divisors),
        multilabel=voters.multilabel,
        columns=voters.columns,
        unit=voters.unit,
        members=members or {},
        are_bits=all(part.voter.features.are_bits for part in parts),
        _games=None
        if any(game is None for game in games)
        else Games(
            tuple(game for game in games if game is not None),
            tuple(part.votes for part in parts),
            tuple(part.background_votes for part in parts),
            tuple(places),
            tuple(part.readers for part in parts),
            voters.divisors,
            len(names),
        ),
        _margins=voters.outputs.in_margins(votes, voters.margin),
        _sharpness=voters.sharpness,
    )


def joint_features(members: Sequence[Voter]) -> tuple[tuple[str, ...], list[NDArray[np.intp]]]:
    """The features of all members, and where those of each one are among them.

    Members that read the same columns share them; otherwise each has its own, with its name.
    """
    first = members[0]
    size = len(first.features)
    if len(members) == 1 or (
        first.same_as is not None and all(member.same_as == first.same_as for member in members)
    ):
        named = next((m for m in members if m.features.image_shape is None), first)
        return named.features.names, [np.arange(size) for _ in members]
    names = [f"{member.name}: {name}" for member in members for name in member.features.names]
    ends = np.cumsum([len(member.features) for member in members])
    places = [np.arange(end - len(m.features), end) for m, end in zip(members, ends, strict=True)]
    return tuple(names), places


def _cut(votes: Votes, divisor: int) -> NDArray[np.float64]:
    """What division to the floor cuts off, below 1."""
    return np.asarray((votes.astype(object) * UNIT % divisor) / divisor, dtype=np.float64)
