"""One machine for two columns of labels beside two machines with half of its clauses each.

Data are scikit-learn's, generated ones and, with a folder of tables, those in it: the second
column of labels is a column of the table in three ranges, which is then no column of X any more.
Accuracy is the mean of both columns, on a quarter of the rows that was held out; several seeds.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from common import commit
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import cotm
from cotm.experiments.report import processor_name

Data = tuple[Any, NDArray[Any]]


def digits() -> Data:
    """Digits, and whether they are odd."""
    X, y = load_digits(return_X_y=True)
    return X, np.column_stack([y, np.where(y % 2, "odd", "even")])


def parts(rows: int = 2000, seed: int = 0) -> Data:
    """Two labels that are different mixtures of the same steps and corners of ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 10))
    steps = [X[:, k] > 0.5 for k in range(3)]
    steps += [(X[:, k] > 0.5) & (X[:, k + 1] > 0.5) for k in range(3, 8)]
    sums = np.column_stack(steps) @ rng.normal(size=(len(steps), 2))
    sums += rng.normal(0, 0.2, sums.shape)
    return X, np.column_stack([ranges(sums[:, 0], 4), ranges(sums[:, 1], 3)])


def ranges(values: Any, count: int = 3) -> NDArray[Any]:
    """Values as so many ranges of about as many rows."""
    return np.asarray(pd.qcut(values, count, labels=False, duplicates="drop"))


def with_range(frame: pd.DataFrame, label: Any) -> Data:
    """A table whose column with the most values becomes a second column of labels."""
    numbers = frame.select_dtypes("number")
    taken = numbers.nunique().idxmax()
    known = numbers[taken].notna().to_numpy()
    second = ranges(numbers.loc[known, taken])
    first = np.asarray(label)[known].astype(str)
    return frame.loc[known].drop(columns=taken), np.column_stack([first, second.astype(str)])


def bundled(load: Callable[..., Any]) -> Data:
    X, y = load(return_X_y=True, as_frame=True)
    return with_range(X, y)


def table(path: Path) -> Data:
    frame = pd.read_csv(path)
    return with_range(frame.drop(columns="class"), frame["class"])


def accuracies(data: Data, clauses: int, seed: int) -> list[float]:
    """Of both columns together, and apart: the mean, and how often both are right."""
    X, Y = data
    X, X_test, Y, Y_test = train_test_split(X, Y, random_state=seed)
    options = {"random_state": seed, "n_jobs": 1}
    one = cotm.CoTMClassifier(clauses, **options).fit(X, Y).predict(X_test)
    two = np.column_stack(
        [
            cotm.CoTMClassifier(clauses // 2, **options).fit(X, Y[:, k]).predict(X_test)
            for k in (0, 1)
        ]
    )
    right = [found == Y_test for found in (one, two)]
    return [*(r.mean() for r in right), *(r.all(axis=1).mean() for r in right)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="of tables, CSV with a column class")
    parser.add_argument("--tables", nargs="*", default=["satimage", "vehicle"])
    parser.add_argument("--clauses", nargs="*", type=int, default=[40, 160, 640])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    sets: dict[str, Callable[[], Data]] = {
        "digits: digit, odd": digits,
        "parts": parts,
        "breast cancer": lambda: bundled(load_breast_cancer),
        "wine": lambda: bundled(load_wine),
    }
    if options.folder is not None:
        for name in options.tables:
            sets[name] = lambda name=name: table(options.folder / f"{name}.csv")
    print(f"{processor_name()}, Python {platform.python_version()}, ", end="")
    print(f"scikit-learn {sklearn.__version__}, cotm {commit()}, {options.seeds} seeds")
    print("| data | clauses | one machine | two machines | both right, one | two |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, load in sets.items():
        data = load()
        for clauses in options.clauses:
            runs = [accuracies(data, clauses, seed) for seed in range(options.seeds)]
            means = " | ".join(f"{value:.1%}" for value in np.mean(runs, axis=0))
            print(f"| {name} | {clauses} | {means} |", flush=True)


if __name__ == "__main__":
    main()
