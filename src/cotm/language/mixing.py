"""Probabilities from an n-gram model and votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.decoding import expect
from ..estimator.machine_model import FittedMachine
from .next_symbols import Symbols
from .ngrams import NGramModel

Float = NDArray[np.float64]

#: Numbers that are worked on at once, and places by which the weights are fitted.
_ENTRIES = 8_000_000
_MOST_PLACES = 10_000


class Weights(NamedTuple):
    """How much the n-gram model and the votes count."""

    prior: float = 1.0
    votes: float = 1.0

    @classmethod
    def decoded(cls, value: Any) -> Weights:
        """From a file, which may be hostile."""
        expect(
            isinstance(value, list)
            and len(value) == 2
            and all(type(part) is float and np.isfinite(part) for part in value),
            f"weights are {value!r:.100}",
        )
        return cls(*value)


class Mixture:
    """p(symbol) in proportion to p(n-gram model)^a exp(b votes / T)."""

    def __init__(
        self,
        prior: NGramModel,
        votes: Callable[[Symbols], NDArray[np.int64]],
        T: int,
        weights: Weights,
    ) -> None:
        self._prior, self._votes, self._T, self._weights = prior, votes, T, weights

    def logs(self, before: Symbols) -> Float:
        """Logarithms of the probabilities of all symbols, (rows, m)."""
        return _normalized(*self._parts(before), self._weights)

    def surprise(self, before: Symbols, symbols: Symbols) -> float:
        """The mean of -log p of the symbols that came."""
        total, step = 0.0, max(1, _ENTRIES // self._prior.n_symbols)
        for first in range(0, len(symbols), step):
            rows = slice(first, first + step)
            logs = self.logs(before[rows])
            total -= float(logs[np.arange(len(logs)), symbols[rows]].sum())
        return total / len(symbols)

    def fitted_on(self, before: Symbols, symbols: Symbols, fitted: FittedMachine) -> FittedMachine:
        """What was learned, with the weights under which these symbols are most likely."""
        from scipy.optimize import minimize

        most = min(_MOST_PLACES, max(1, _ENTRIES // self._prior.n_symbols))
        rows = np.unique(np.linspace(0, len(symbols) - 1, most).astype(int))
        parts, came = self._parts(before[rows]), symbols[rows]

        def surprise(weights: NDArray[np.float64]) -> float:
            logs = _normalized(*parts, Weights(*weights.tolist()))
            return -float(logs[np.arange(len(rows)), came].mean())

        found = minimize(surprise, np.array([1.0, 1.0]), method="Nelder-Mead", tol=1e-4)
        weights = Weights(*(float(value) for value in found.x))
        return replace(fitted, extra=replace(fitted.extra, weights=weights))

    def _parts(self, before: Symbols) -> tuple[Float, Float]:
        history = before[:, before.shape[1] - self._prior.order + 1 :]
        return np.log(self._prior.probabilities(history)), self._votes(before) / self._T


def _normalized(prior: Float, votes: Float, weights: Weights) -> Float:
    logs = weights.prior * prior + weights.votes * votes
    logs -= logs.max(axis=1, keepdims=True)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))
