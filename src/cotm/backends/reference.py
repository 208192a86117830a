"""The paper's appendix in NumPy, one function per equation.

Slow on purpose: this is the definition the fast backends are compared with, bit for bit.
Shapes: ``memory`` (n, L), ``weights`` (n, m), ``literals`` (P, L), ``fires_at`` (n, P).
``memory`` holds the paper's ``C - N - 1``, so an entry is included iff it is >= 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.examples import Examples, patch_literals
from ..core.randomness import U32, U64, Purpose, hash32, literal_draws, make_key, step_key
from ..core.sparse_targets import Targets, target_row
from ..core.spec import Negatives, Spec
from .protocol import ClauseOutputs, TrainCounts, output_type

Bool = NDArray[np.bool_]
Int = NDArray[np.int64]


def include(memory: NDArray[np.int8]) -> Bool:
    """A = G(C): the include actions."""
    return memory >= 0


def grades(spec: Spec, actions: Bool, literals: NDArray[np.uint8]) -> Int:
    """max(0, min(tolerance, included) - misses) for every patch, (n, P).

    A miss is an included literal of the patch that is 0. With a tolerance of 1 this is the paper's
    And(Imply(A, x)). A clause that includes nothing has 1 everywhere.
    """
    # NumPy multiplies matrices of integers slowly. Counts of literals are exact as floats too.
    misses = (actions.astype(float) @ (1 - literals.T).astype(float)).astype(np.int64)
    included = actions.sum(axis=1, dtype=np.int64)[:, None]
    graded = np.maximum(0, np.minimum(spec.tolerance, included) - misses)
    return np.where(included == 0, 1, graded)


def vote_sums(weights: NDArray[np.int32], outputs: Int) -> Int:
    """v = W c."""
    return outputs @ weights.astype(np.int64)


def wishes(
    spec: Spec, votes: Int, target: NDArray[np.uint8 | np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Whether each output wants more votes, and 2 T d: how far it is from enough, each (m,).

    Classes want the margin, T or -T. Quantities want as many votes as their target says.
    """
    if spec.regression:
        missing = target.astype(np.int64) - votes
        return (missing > 0).astype(np.uint8), np.minimum(np.abs(missing), 2 * spec.T).astype(U64)
    clipped = np.clip(votes, -spec.T, spec.T)
    distance = np.where(target == 1, spec.T - clipped, spec.T + clipped)
    return target.astype(np.uint8), distance.astype(U64)


def selection_thresholds(
    spec: Spec, distance: NDArray[np.uint64], target: NDArray[np.uint8], scale: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """d times e in units of 2**-32, at most 1, for pairs of Type I and of Type II, each (m,)."""
    plain, scaled = scale
    if spec.e_scales_type2:
        factor_1, factor_2 = np.full(spec.m, plain), np.full(spec.m, scaled)
    else:
        factor_1 = factor_2 = np.where(target == 1, plain, scaled)

    def threshold(factor: NDArray[np.uint64]) -> NDArray[np.uint64]:
        # Python's integers: a heavy example's product leaves 64 bits.
        exact = distance.astype(object) * factor.astype(object) // (2 * spec.T)
        return np.minimum(exact, 2**32).astype(U64)

    return threshold(factor_1), threshold(factor_2)


def awake_clauses(spec: Spec, step: int) -> Bool:
    """Which clauses vote and learn in the pass that begins at a step, (n,)."""
    key = make_key(step_key(spec.seed, step), Purpose.CLAUSES)
    return hash32(key, np.arange(spec.n, dtype=U32)) >= spec.drop_clauses


def awake_literals(spec: Spec, step: int) -> Bool:
    """Which literals count, and are learned about, in the pass that begins at a step, (L,)."""
    key = make_key(step_key(spec.seed, step), Purpose.LITERALS)
    literals = np.arange(spec.grid.n_literals, dtype=U32)
    allowed = spec.negations | (literals < spec.grid.n_features)
    return allowed & (hash32(key, literals) >= spec.drop_literals)


def speakers(
    spec: Spec, votes: Int, target: NDArray[np.uint8], asked: Bool, key: np.uint64
) -> Bool:
    """The outputs that may give feedback, (m,), of those that the example asks.

    They are those with target 1, and of the others all or one. The one is drawn in proportion to
    shares: the first whose shares, summed up to and with its own, exceed a random part of all.
    Where all are 0 there is none.
    """
    if spec.negatives == Negatives.ALL:
        return asked
    shares = ((target == 0) & asked).astype(np.int64)
    if spec.negatives == Negatives.FOCUSED:
        shares *= np.clip(votes, -spec.T, spec.T) + spec.T
    draw = int(hash32(make_key(key, Purpose.NEGATIVE), 0))
    place = draw * int(shares.sum()) >> 32  # Python's integers: the product has up to 87 bits
    speaks = (target == 1) & asked
    speaks[np.flatnonzero(np.cumsum(shares) > place)[:1]] = True
    return speaks


def select(
    spec: Spec,
    weights: NDArray[np.int32],
    target: NDArray[np.uint8],
    thresholds: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    speaks: Bool,
    key: np.uint64,
) -> tuple[Bool, Bool]:
    """R^I and R^II, each (n, m): the pairs that get Type I and Type II feedback."""
    output_keys = make_key(key, Purpose.SELECT, np.arange(spec.m))
    pi = hash32(output_keys, np.arange(spec.n, dtype=U32)[:, None]).astype(U64)
    agrees = (weights >= 0) == (target == 1)
    selected_1 = agrees & (pi < thresholds[0]) & speaks
    selected_2 = ~agrees & (pi < thresholds[1]) & speaks
    if not spec.sharing:
        owned = spec.owners()[:, None] == np.arange(spec.m)
        selected_1, selected_2 = selected_1 & owned, selected_2 & owned
    return selected_1, selected_2


def choose_patches(fires_at: Bool, key: np.uint64) -> Int:
    """For each clause one of the K patches it matches best, drawn uniformly; 0 where none."""
    n = fires_at.shape[0]
    draw = hash32(make_key(key, Purpose.PATCH), np.arange(n, dtype=U32)).astype(U64)
    rank = (draw * fires_at.sum(axis=1).astype(U64) >> U64(32)).astype(np.int64)
    return np.argmax(np.cumsum(fires_at, axis=1) > rank[:, None], axis=1)


def feedback(
    spec: Spec,
    fires: Bool,
    literals: NDArray[np.uint8],
    selected_1: Bool,
    selected_2: Bool,
    actions: Bool,
    key: np.uint64,
) -> NDArray[np.int32]:
    """Sum over outputs of Q^II F^II + Q^I F^Ia - Q^I F^Ib, (n, L).

    ``literals`` (n, L) are those of each clause's chosen patch.
    """
    c = fires[:, None]
    x = literals == 1
    grows = np.ones((spec.n, 1), dtype=bool)
    if spec.growth_limit:
        grows = actions.sum(axis=1, keepdims=True) <= spec.growth_limit
    delta = np.zeros(literals.shape, dtype=np.int32)
    for i in range(spec.m):
        type_1, type_2 = selected_1[:, i, None], selected_2[:, i, None]
        if not (type_1 | type_2).any():
            continue
        draw_keys = make_key(key, Purpose.DRAW, i, np.arange(spec.n))
        if spec.picks < 0:
            forget = literal_draws(draw_keys, spec.grid.n_features) < spec.q
            f_1a = c & x if spec.boost_true_positive else c & x & ~forget
            f_1b = (forget & (~x | ~c)).astype(np.int32)
        else:
            f_1a = c & x
            f_1b = np.where(c, ~x & ~actions, sampled(spec, draw_keys))
        f_2 = c & ~x & ~actions
        delta += (type_2 & f_2).astype(np.int32)
        delta += (type_1 & f_1a & grows).astype(np.int32)
        delta -= type_1 * f_1b
    return delta


def sampled(spec: Spec, keys: NDArray[np.uint64]) -> Int:
    """How often each literal is picked for forgetting, (n, L): about ``picks`` / 65536 in all.

    With one key per clause. The part after the point is a probability of one pick more.
    """
    n, n_literals = len(keys), spec.grid.n_literals
    whole, part = divmod(spec.picks, 65536)
    count = whole + ((hash32(keys, 0xFFFFFFFF) >> U32(16)) < part)
    picks = np.arange(whole + 1, dtype=U32)
    words = hash32(keys[:, None], picks).astype(U64)
    literals = (words * U64(n_literals) >> U64(32)).astype(np.int64)
    entries = (n_literals * np.arange(n)[:, None] + literals)[picks < count[:, None]]
    return np.bincount(entries, minlength=n * n_literals).reshape(n, n_literals)


def update_memory(
    spec: Spec, memory: NDArray[np.int8], delta: NDArray[np.int32], key: np.uint64
) -> NDArray[np.int8]:
    """C + delta, clipped once; a full clause takes no more literals than it may have."""
    updated = np.clip(memory.astype(np.int32) + delta, -spec.N, spec.top).astype(np.int8)
    if not spec.max_literals:
        return updated
    surplus = include(updated).sum(axis=1) - spec.max_literals
    for j in np.flatnonzero(surplus > 0):
        new = np.flatnonzero(include(updated[j]) & ~include(memory[j]))
        rank = np.argsort(hash32(make_key(key, Purpose.LIMIT, 0, j), new), kind="stable")
        updated[j, new[rank[max(0, len(new) - surplus[j]) :]]] = -1
    return updated


def update_weights(
    spec: Spec,
    weights: NDArray[np.int32],
    fires: Bool,
    selected: Bool,
    target: NDArray[np.uint8],
) -> NDArray[np.int32]:
    """W + (R^I + R^II) (c y - c (1 - y)), within the allowed magnitudes."""
    if not spec.learn_weights:
        return weights
    moves = fires[:, None] & selected
    updated = weights.astype(np.int64) + moves * np.where(target == 1, 1, -1)
    if not spec.sharing:  # a clause keeps its side: magnitudes never fall below 1
        updated = np.where(weights > 0, np.maximum(updated, 1), updated)
        updated = np.where(weights < 0, np.minimum(updated, -1), updated)
    return np.clip(updated, -spec.max_weight, spec.max_weight).astype(np.int32)


class ReferenceBackend:
    """The protocol of :mod:`cotm.backends` over the equations above."""

    name = "reference"

    def __init__(
        self,
        spec: Spec,
        memory: NDArray[np.int8],
        weights: NDArray[np.int32],
        n_jobs: int | None = 1,
    ) -> None:
        self.spec = spec
        self._memory = memory.copy()
        self._weights = weights.copy()
        self._marked = self._memory, self._weights

    def prepare(self, examples: Examples) -> Examples:
        return examples.on_host()

    def train(
        self,
        data: Examples,
        targets: Targets,
        scales: NDArray[np.uint64],
        order: NDArray[np.int64],
        step: int,
        first: int = 0,
        last: int | None = None,
    ) -> TrainCounts:
        hits = correct = missed = 0
        awake = awake_clauses(self.spec, step), awake_literals(self.spec, step)
        for offset, index in enumerate(order[first:last], start=first):
            scale = scales[index if len(scales) > 1 else 0]
            literals, (asked, target) = patch_literals(data, index), target_row(targets, index)
            votes = self._step(literals, asked, target, scale, *awake, step + offset)[asked]
            target = target[asked]
            if self.spec.regression:
                missed += int(np.abs(target.astype(np.int64) - votes).sum())
            elif asked.any():
                hits += int(target[np.argmax(votes)])
                correct += int(((votes >= 0) == (target == 1)).sum())
        return TrainCounts(hits, correct, missed)

    def mark(self) -> None:
        self._marked = self._memory, self._weights  # a step makes new arrays

    def undo(self) -> None:
        self._memory, self._weights = self._marked

    def _step(
        self,
        literals: NDArray[np.uint8],
        asked: Bool,
        target: NDArray[np.uint8 | np.int32],
        scale: NDArray[np.uint64],
        awake: Bool,
        known: Bool,
        step: int,
    ) -> Int:
        spec, memory, weights = self.spec, self._memory, self._weights
        key = step_key(spec.seed, step)
        actions = include(memory) & known
        graded = grades(spec, actions, literals)  # an empty clause fires in training
        outputs = np.where(awake, graded.max(axis=1), 0)
        fires = outputs > 0
        votes = vote_sums(weights, outputs)
        wanted, distance = wishes(spec, votes, target)
        thresholds = selection_thresholds(spec, distance, wanted, scale)
        speaks = speakers(spec, votes, wanted, asked, key)
        selected_1, selected_2 = select(spec, weights, wanted, thresholds, speaks, key)
        selected_1, selected_2 = selected_1 & awake[:, None], selected_2 & awake[:, None]
        fires_at = (graded == outputs[:, None]) & fires[:, None]
        chosen = literals[choose_patches(fires_at, key)]
        delta = feedback(spec, fires, chosen, selected_1, selected_2, actions, key) * known
        self._memory = update_memory(spec, memory, delta, key)
        self._weights = update_weights(spec, weights, fires, selected_1 | selected_2, wanted)
        return votes

    def votes(self, data: Examples, n_jobs: int | None = 1) -> Int:
        votes = np.empty((len(data), self.spec.m), dtype=np.int64)
        for index in range(len(data)):
            votes[index] = vote_sums(self._weights, self._outputs(data, index))
        return votes

    def clause_outputs(self, data: Examples, n_jobs: int | None = 1) -> ClauseOutputs:
        outputs = np.empty((len(data), self.spec.n), dtype=output_type(self.spec))
        for index in range(len(data)):
            outputs[index] = self._outputs(data, index)
        return outputs

    def _outputs(self, data: Examples, index: int) -> Int:
        actions = include(self._memory)
        outputs = grades(self.spec, actions, patch_literals(data, index)).max(axis=1)
        return outputs * np.any(actions, axis=1)  # an empty clause is silent in prediction

    def state(self) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        return self._memory.copy(), self._weights.copy()
