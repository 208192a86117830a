"""Settings of cotm on small generated tables: of noise, of weak signals, and without noise.

    python benchmarks/noise.py

Every table is drawn three times, with 2,000 rows to test on; those that hold all the cases there
are, are split into three. "without" is cotm without votes for frequent classes.
"""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cotm import CoTMClassifier, Schedule

N_DRAWS, TEST_ROWS = 3, 2000

SETTINGS: dict[str, dict[str, Any]] = {
    "without": {"average": 17},
    "cotm": {},
    "s 8, T rising to 2 n": {"s": 8.0, "T": Schedule(60, 1000, epochs=40), "average": 17},
    "s 3, T 10 n": {"s": 3.0, "T": 5000, "average": 17},
    "drop_clauses=0.3": {"drop_clauses": 0.3, "average": 17},
    "max_literals=3": {"max_literals": 3, "average": 17},
}

Rows = tuple[np.ndarray, np.ndarray]
Draw = Callable[[int, np.random.Generator], Rows]  # so many rows


def nothing(shares: tuple[float, ...], count: int, rng: np.random.Generator) -> Rows:
    return rng.normal(size=(count, 8)).round(2), rng.choice(len(shares), count, p=shares)


def drawn(log_odds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def line(strength: float, bias: float, count: int, rng: np.random.Generator) -> Rows:
    """Four of ten columns count, half of the columns are whole numbers."""
    X = rng.normal(size=(count, 10))
    X[:, 5:] = (2 * X[:, 5:]).round()
    log_odds = X[:, :4] @ rng.choice([-1, 1], 4) * strength / 2 + bias
    return X.round(2), drawn(log_odds, rng)


def nodes(count: int, rng: np.random.Generator) -> Rows:
    """Two columns say next to nothing, one that is mostly 0 says something."""
    X = np.column_stack(
        [
            rng.integers(30, 84, count),
            rng.integers(58, 70, count),
            np.minimum(52, rng.geometric(0.2, count) - 1) * (rng.random(count) < 0.6),
        ]
    )
    return X.astype(float), drawn(0.12 * X[:, 2] + 0.01 * X[:, 0] - 2.1, rng)


def categories(count: int, rng: np.random.Generator) -> Rows:
    X = rng.integers(0, [5, 3, 8, 6, 2, 3, 2, 5, 2], (count, 9)).astype(float)
    return X, drawn(0.8 * (0.8 * X[:, 5] + X[:, 4] + 0.25 * X[:, 3]) - 2.4, rng)


def chessboard(count: int, rng: np.random.Generator) -> Rows:
    X = rng.random((count, 6)).round(3)
    return X, (4 * X[:, :2]).astype(int).sum(axis=1) % 2


def parity(count: int, rng: np.random.Generator) -> Rows:
    X = rng.integers(0, 2, (count, 8)).astype(float)
    return X, X[:, :3].sum(axis=1).astype(int) % 2


def two_normals(count: int, rng: np.random.Generator) -> Rows:
    y = rng.integers(0, 2, count)
    return (rng.normal(size=(count, 20)) + (2 * y - 1)[:, None] * 0.45).round(2), y


def monk(number: int) -> Rows:
    """MONK's problems, all cases."""
    X = np.array(list(itertools.product(*map(range, (3, 3, 2, 3, 4, 2))))) + 1
    a, b, _, d, e, _ = X.T
    second, third = (X == 1).sum(axis=1) == 2, ((e == 3) & (d == 1)) | ((e != 4) & (b != 3))
    return X.astype(float), ((a == b) | (e == 1), second, third)[number - 1].astype(int)


def balance() -> Rows:
    """A balance of four integers: to the left, level, to the right."""
    X = np.array(list(itertools.product(range(1, 6), repeat=4)))
    return X.astype(float), np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]) + 1


DRAWN: dict[str, tuple[int, Draw]] = {
    **{
        f"nothing/{count} rows, {shares[0]}": (count, partial(nothing, shares))
        for count in (150, 300, 1000)
        for shares in ((0.63, 0.37), (0.75, 0.25), (0.5, 0.3, 0.2))
    },
    **{
        f"weak/line, {count} rows, {bias}": (count, partial(line, 0.8, bias))
        for count in (200, 400, 1000)
        for bias in (-0.6, -1.1)
    },
    "weak/line, 310 rows": (310, partial(line, 1.3, -0.8)),
    "weak/nodes": (200, nodes),
    "weak/categories, 190 rows": (190, categories),
    "weak/categories, 600 rows": (600, categories),
    "clean/chessboard": (600, chessboard),
    "clean/parity": (200, parity),
    "clean/two normals": (300, two_normals),
}
WHOLE: dict[str, Callable[[], Rows]] = {
    **{f"clean/monk {number}": partial(monk, number) for number in (1, 2, 3)},
    "clean/balance": balance,
}


def splits(name: str) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """X and y to train on, X and y to test on, three times."""
    if name in DRAWN:
        count, draw = DRAWN[name]
        for seed in range(N_DRAWS):
            X, y = draw(count + TEST_ROWS, np.random.default_rng(seed))
            yield X[:count], y[:count], X[count:], y[count:]
    else:
        X, y = WHOLE[name]()
        folds = StratifiedKFold(N_DRAWS, shuffle=True, random_state=0).split(X, y)
        for train, test in folds:
            yield X[train], y[train], X[test], y[test]


def models(seed: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        name: CoTMClassifier(n_jobs=1, random_state=seed, **settings)
        for name, settings in SETTINGS.items()
    }
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return made | {"forest": RandomForestClassifier(random_state=seed), "logistic": logistic}


def main() -> None:
    warnings.simplefilter("ignore")
    groups: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for name in [*DRAWN, *WHOLE]:
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for seed, (X, y, X_test, y_test) in enumerate(splits(name)):
            common = np.bincount(y).argmax()
            found["majority"].append((100 * np.mean(y_test == common), np.nan))
            for method, model in models(seed).items():
                shares = model.fit(X, y).predict_proba(X_test)
                loss = log_loss(y_test, np.clip(shares, 1e-9, 1), labels=model.classes_)
                found[method].append((100 * np.mean(model.predict(X_test) == y_test), loss))
        for method, values in found.items():
            groups[name.split("/")[0]][method].append(np.mean(values, axis=0))
        print(f"{name:28}", *(f"{v[-1][0]:6.1f}" for v in groups[name.split("/")[0]].values()))
    for group, methods in groups.items():
        print(f"\n{group}: {len(methods['cotm'])} tables")
        majority = np.array(methods["majority"])[:, 0]
        for method, values in methods.items():
            accuracy, loss = np.mean(values, axis=0)
            below = int((np.array(values)[:, 0] < majority - 1e-9).sum())
            print(f"{method:24} {accuracy:6.2f} %  log loss {loss:.3f}  below majority {below}")


if __name__ == "__main__":
    main()
