"""CoTMRegressor beside other regressors: R², and seconds to fit, in cross-validation.

Data are scikit-learn's, and generated ones; every model is as its library ships it (ridge on
standardised columns). ``--shared`` compares one machine for several targets with one for each.
EBM (``pip install interpret-core``) and tmu's Regression Tsetlin Machine (``pip install tmu``) are
measured where they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from common import commit
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import (
    load_diabetes,
    load_linnerud,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
)
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotm
from cotm.experiments.report import processor_name

Data = tuple[NDArray[np.float64], NDArray[np.float64]]


def housing(rows: int = 4000, seed: int = 0) -> Data:
    """Prices of districts by income, age, rooms, occupants, place and population, up to 5."""
    rng = np.random.default_rng(seed)
    income, rooms = rng.lognormal(1.2, 0.5, rows), rng.lognormal(1.6, 0.3, rows)
    age, occupants = rng.integers(1, 52, rows), rng.lognormal(1.0, 0.4, rows)
    north, west = rng.uniform(32, 42, rows), rng.uniform(-124, -114, rows)
    people = rng.exponential(1400, rows)
    bay = np.exp(-((north - 37.7) ** 2 + (west + 122.3) ** 2) / 1.5)
    city = np.exp(-((north - 34) ** 2 + (west + 118.3) ** 2))
    price = 0.45 * income + 1.2 * bay + city + 0.01 * age
    price -= 0.1 * np.log(people + 1) * (occupants > 3)
    price += rng.normal(0, 0.4, rows)
    return np.column_stack([income, age, rooms, occupants, north, west, people]), price.clip(
        0.15, 5
    )


def curves(rows: int = 1500, targets: int = 6, seed: int = 0) -> Data:
    """Several targets that are different sums of the same bends and steps of ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 10))
    parts = [np.sin(6 * X[:, k]) for k in range(4)]
    parts += [(X[:, k] > 0.5) * (X[:, k + 1] > 0.5) * 2.0 for k in range(4, 8)]
    Y = np.column_stack(parts) @ rng.normal(size=(len(parts), targets))
    return X, Y + rng.normal(0, 0.2, Y.shape)


SINGLE: dict[str, Callable[[], Data]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "Friedman 1": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    "Friedman 2": lambda: make_friedman2(2000, noise=50.0, random_state=0),
    "Friedman 3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
    "housing": housing,
}
SEVERAL: dict[str, Callable[[], Data]] = {
    "curves, 6 targets": curves,
    "linear, 5 targets": lambda: make_regression(
        1000, 20, n_informative=10, n_targets=5, noise=20.0, random_state=0
    ),
    "Linnerud, 3 targets": lambda: load_linnerud(return_X_y=True),
}


class Tmu(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """tmu's machine behind the bits that cotm's has."""

    def fit(self, X: Any, y: Any) -> Tmu:
        from tmu.models.regression.vanilla_regressor import TMRegressor

        self.bits = cotm.Booleanizer(40).fit(X)
        self.model = TMRegressor(500, 1000, 5.5, platform="CPU", weighted_clauses=True)
        bits = np.ascontiguousarray(self.bits.transform(X), dtype=np.uint32)
        for _ in range(30):
            self.model.fit(bits, y)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        bits = np.ascontiguousarray(self.bits.transform(X), dtype=np.uint32)
        return np.asarray(self.model.predict(bits), dtype=float)


def models() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "CoTMRegressor": lambda: cotm.CoTMRegressor(random_state=0, n_jobs=1),
        "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
        "forest": lambda: RandomForestRegressor(random_state=0),
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    }
    if importlib.util.find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingRegressor

        found["EBM"] = lambda: ExplainableBoostingRegressor(random_state=0, n_jobs=1)
    if importlib.util.find_spec("tmu"):
        found["tmu"] = Tmu
    return found


def together_and_apart() -> dict[str, Callable[[], Any]]:
    """One machine for all targets, and as many clauses in machines of their own."""
    return {
        f"{clauses} shared": lambda clauses=clauses: cotm.CoTMRegressor(
            clauses, random_state=0, n_jobs=1
        )
        for clauses in (120, 480)
    } | {
        f"{clauses} in all, apart": lambda clauses=clauses: Apart(clauses) for clauses in (120, 480)
    }


class Apart(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A machine for each target, with its part of the clauses."""

    def __init__(self, clauses: int) -> None:
        self.clauses = clauses

    def fit(self, X: Any, Y: Any) -> Apart:
        single = cotm.CoTMRegressor(self.clauses // Y.shape[1], random_state=0, n_jobs=1)
        self.model = MultiOutputRegressor(single).fit(X, Y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def measured(make: Callable[[], Any], X: Any, y: Any, folds: int) -> tuple[float, float]:
    """Mean R² over folds, and seconds to fit."""
    scores, seconds = [], 0.0
    for rows, others in KFold(folds, shuffle=True, random_state=1).split(X):
        model = make()
        began = time.perf_counter()
        model.fit(X[rows], y[rows])
        seconds += time.perf_counter() - began
        scores.append(r2_score(y[others], model.predict(X[others])))
    return float(np.mean(scores)), seconds


def table(
    data: dict[str, Callable[[], Data]], found: dict[str, Callable[[], Any]], folds: int
) -> None:
    print("| data | " + " | ".join(found) + " |")
    print("| --- |" + " --- |" * len(found))
    total = dict.fromkeys(found, 0.0)
    for name, load in data.items():
        X, y = load()
        cells = []
        for title, make in found.items():
            score, seconds = measured(make, X, y, folds)
            total[title] += seconds
            cells.append(f"{score:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| seconds to fit, in all | " + " | ".join(f"{s:.1f}" for s in total.values()) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--models", nargs="+", help="some of them; by default all there are")
    parser.add_argument("--shared", action="store_true", help="several targets, one pool or many")
    options = parser.parse_args()
    print(
        f"{processor_name()}, Python {platform.python_version()}, scikit-learn "
        f"{sklearn.__version__}, cotm {cotm.__version__} at {commit()}\n"
    )
    if options.shared:
        table(SEVERAL, together_and_apart(), options.folds)
    else:
        found = models()
        chosen = {name: found[name] for name in options.models or found}
        table(SINGLE, chosen, options.folds)
