"""Small models whose explanations are compared with all coalitions, and with their votes."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
import pandas as pd

import cotm
from cotm import CoTMClassifier, Snapshot, TMClassifier


def with_random_clauses(model: Any, rng: np.random.Generator, density: float = 0.4) -> Any:
    """The model with other clauses: any literals, even such as contradict each other."""
    machine = model.machine_
    snapshot = machine.snapshot()
    memory = np.where(rng.random(snapshot.memory.shape) < density, 0, -1).astype(np.int8)
    weights = rng.integers(-9, 10, snapshot.weights.shape).astype(np.int32)
    if not model._machine_kind()["sharing"]:
        weights = np.where(snapshot.weights != 0, np.abs(weights) + 1, 0) * np.sign(
            snapshot.weights
        )
    earlier = tuple(
        cotm.core.state.EarlierState(
            np.packbits(rng.random(memory.shape) < density, axis=1), weights[::-1].copy()
        )
        for _ in snapshot.earlier
    )
    machine.load_state(
        machine.spec.grid, Snapshot(memory, weights.astype(np.int32), snapshot.step, earlier)
    )
    return model


def with_clauses(model: Any, literals: Any, weights: Any) -> Any:
    """The model with these clauses alone."""
    machine = model.machine_
    snapshot = machine.snapshot()
    memory = np.full_like(snapshot.memory, -1)
    every = np.zeros_like(snapshot.weights)
    for j, (some, weight) in enumerate(zip(literals, weights, strict=True)):
        memory[j, some] = 0
        every[j] = weight
    machine.load_state(machine.spec.grid, Snapshot(memory, every, snapshot.step))
    return model


def table(rng: np.random.Generator, rows: int = 12) -> pd.DataFrame:
    """Numbers, categories, a bit and missing values."""
    numbers = rng.integers(0, 5, rows).astype(float)
    numbers[rng.random(rows) < 0.2] = np.nan
    texts = np.array([*"abc", None], dtype=object)[rng.integers(0, 4, rows)]
    return pd.DataFrame({"n": numbers, "t": texts, "b": rng.integers(0, 2, rows)})


def small(X: Any, kind: str, rng: np.random.Generator, **parameters: Any) -> Any:
    """A model of a kind with random clauses, over the rows of X."""
    y = np.arange(len(X)) % 3
    if kind == "labels":
        y = np.column_stack([y > 0, y == 1]).astype(int)
    make = TMClassifier if kind == "own" else CoTMClassifier
    few = {"n_clauses": 6, "epochs": 2, "preset": "paper", "random_state": 0, "T": 9}
    return with_random_clauses(make(**{**few, **parameters}).fit(X, y), rng)


def mixed(x: Any, z: Any, chosen: tuple[bool, ...]) -> Any:
    """A row with some columns of x, the others of z."""
    if isinstance(x, pd.DataFrame):
        columns = {
            name: (x if mine else z)[name].array for name, mine in zip(x, chosen, strict=True)
        }
        return pd.DataFrame(columns)
    return np.where(np.array(chosen), x, z)


def by_coalitions(votes: Any, x: Any, background: list[Any]) -> np.ndarray:
    """Shapley values (columns, m) by the votes of all coalitions, in fractions."""
    n = x.shape[1]
    total = 0
    for z in background:
        coalitions = list(itertools.product((False, True), repeat=n))
        rows = [mixed(x, z, chosen) for chosen in coalitions]
        all_rows = pd.concat(rows) if isinstance(x, pd.DataFrame) else np.concatenate(rows)
        value = dict(zip(coalitions, votes(all_rows).astype(object), strict=True))
        gained = []
        for player in range(n):
            sum_of = 0
            for chosen in coalitions:
                if chosen[player]:
                    continue
                size = sum(chosen)
                more = (*chosen[:player], True, *chosen[player + 1 :])
                weight = Fraction(factorial(size) * factorial(n - 1 - size), factorial(n))
                sum_of = sum_of + weight * (value[more] - value[chosen])
            gained.append(sum_of)
        total = total + np.array(gained, dtype=object) * Fraction(1, len(background))
    return np.asarray(total)
