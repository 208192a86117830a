"""A machine's definition in integers: what every backend is given, and all it is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import check_integer
from .limits import MAX_FEATURES, MAX_OUTPUTS, WEIGHT_LIMIT
from .parameters import MachineParameters
from .patches import PatchGrid
from .room import Room, filled


class Negatives(IntEnum):
    """Which outputs with target 0 may give feedback."""

    ALL = 0
    DRAWN = 1  # one, each with the same probability
    FOCUSED = 2  # one, in proportion to how far its clipped votes are above -T


@dataclass(frozen=True)
class Spec:
    """Symbols as in the paper; see ``docs/algorithm.md``.

    ``native/spec.hpp`` and ``types.cuh`` of the CUDA backend have the same fields by the same
    names, and read them from here.
    """

    n: int  # clauses
    m: int  # outputs
    grid: PatchGrid  # o = grid.n_features, L = 2 o, P = grid.n_patches
    T: int  # voting margin
    q: int  # 1/s in 65536ths: a literal is forgotten iff its 16-bit draw < q
    N: int  # memory depth: entries lie in [-N, N - 1], included iff >= 0
    boost_true_positive: bool = True
    e_scales_type2: bool = False  # else e scales every pair of an output with y = 0
    max_literals: int = 0  # 0: no limit
    max_weight: int = WEIGHT_LIMIT
    sharing: bool = True  # off: clause j votes for output j * m // n only
    learn_weights: bool = True  # off: the plain Tsetlin machine
    seed: int = 0
    tolerance: int = 1  # misses that silence a clause
    picks: int = -1  # literals a silent clause forgets, in 65536ths; -1: each is drawn for
    growth_limit: int = 0  # literals beyond which a clause memorizes none; 0: no limit
    include_depth: int = 0  # entries lie below it; 0: below N
    negatives: int = 0  # one of Negatives
    drop_clauses: int = 0  # a clause sleeps for a pass iff its 32-bit draw is below this
    drop_literals: int = 0  # and so does a literal, in all clauses
    regression: bool = False  # targets are votes to come near, instead of 0 and 1
    negations: bool = True  # off: negated literals always sleep

    @classmethod
    def of(cls, parameters: MachineParameters, grid: PatchGrid, n_outputs: int, seed: int) -> Spec:
        """What backends get of a machine's parameters, for examples of this shape."""
        if grid.n_features > MAX_FEATURES:
            raise ValueError(f"X has {grid.n_features} bits per patch; at most {MAX_FEATURES} work")
        return cls(
            n=parameters.n_clauses,
            m=check_integer("the number of outputs", n_outputs, 1, MAX_OUTPUTS),
            grid=grid,
            T=parameters.T,
            q=forget_threshold(parameters.s),
            N=parameters.memory_depth,
            boost_true_positive=parameters.boost_true_positive,
            e_scales_type2=parameters.e_scales == "type2",
            max_literals=parameters.max_literals or 0,
            max_weight=parameters.max_weight or WEIGHT_LIMIT,
            sharing=parameters.sharing,
            learn_weights=parameters.sharing or parameters.weighted,
            seed=seed,
            tolerance=parameters.tolerance,
            picks=picked(parameters, grid),
            growth_limit=parameters.growth_limit or 0,
            include_depth=parameters.include_depth or 0,
            negatives=int(Negatives[parameters.negatives.upper()]),
            drop_clauses=drop_threshold(parameters.drop_clauses),
            drop_literals=drop_threshold(parameters.drop_literals),
            regression=parameters.regression,
            negations=parameters.negations,
        )

    @property
    def top(self) -> int:
        """The largest entry of the memory."""
        return (self.include_depth or self.N) - 1

    @property
    def most(self) -> int:
        """The largest output a clause can have."""
        return min(self.tolerance, self.grid.n_literals)

    @property
    def has_sleepers(self) -> bool:
        """Whether some literals sleep for a pass, or always."""
        return self.drop_literals > 0 or not self.negations

    def owners(self) -> NDArray[np.int64]:
        """The output that owns each clause when sharing is off."""
        return np.arange(self.n, dtype=np.int64) * self.m // self.n

    def clip_weights(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights within the allowed magnitude."""
        return np.clip(weights, -self.max_weight, self.max_weight)


def forget_threshold(s: float) -> int:
    """``q`` for specificity ``s``: 1/s rounded once to 16 bits.

    >>> forget_threshold(10.0), forget_threshold(1.0)
    (6554, 65536)
    """
    return round(65536 / s)


def drop_threshold(share: float) -> int:
    """A share that sleeps as the threshold of 32-bit draws."""
    return round(2**32 * share)


def picked(parameters: MachineParameters, grid: PatchGrid) -> int:
    """``picks``: one in s of the literals, where they are sampled."""
    if parameters.forgetting == "drawn":
        return -1
    return round(65536 * grid.n_literals / parameters.s)


def selection_scale(
    e: float, weight: NDArray[np.float64], room: Room = np.empty
) -> NDArray[np.uint64]:
    """``K``: the factor e times the example's weight in units of 2**-32.

    Up to a weight of 1 it is at most 1, whatever e is; a weight above 1 multiplies it, and the
    probability that comes of it is at most 1. Weights (rows, 2) have the two apart: what counts
    up to 1, and what multiplies. Column 0 of K is for pairs that ``e`` does not scale, column 1
    for those it does.

    >>> selection_scale(0.5, np.array([0.5, 1.0, 7.0])) / 2**32
    array([[0.5 , 0.25],
           [1.  , 0.5 ],
           [7.  , 3.5 ]])
    """
    scales: NDArray[np.uint64] = filled(
        (len(weight), 2), np.uint64, lambda piece: _scales_of(e, weight[piece]), room
    )
    return scales


def _scales_of(e: float, weight: NDArray[np.float64]) -> NDArray[np.uint64]:
    weight = np.asarray(weight, dtype=np.float64).reshape(len(weight), -1)
    if weight.shape[1] == 1:
        light, heavy = np.minimum(weight, 1.0), np.maximum(weight, 1.0)
    else:
        light, heavy = weight[:, :1], weight[:, 1:]
    factors = np.minimum(light * np.array([1.0, e]), 1.0) * heavy
    # No distance is so small a share of T that a larger factor would change anything.
    return np.rint(np.minimum(factors, 2.0**31) * 2.0**32).astype(np.uint64)
