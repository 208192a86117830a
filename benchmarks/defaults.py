"""The defaults on scikit-learn's bundled data sets, beside a random forest and logistic regression.

Cross-validated accuracy: 5 stratified folds, 3 shuffles, every model as its library ships it
(logistic regression on standardised columns).
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotm
from cotm.experiments.report import processor_name

DATA = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits": load_digits(return_X_y=True),
}
MODELS: dict[str, Callable[[int], Any]] = {
    "CoTMClassifier()": lambda seed: cotm.CoTMClassifier(random_state=seed),
    "TMClassifier()": lambda seed: cotm.TMClassifier(random_state=seed),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "logistic regression": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
}


def accuracies(repeats: int = 3) -> None:
    print("| data set | " + " | ".join(MODELS) + " |")
    print("| --- |" + " --- |" * len(MODELS))
    seconds = dict.fromkeys(MODELS, 0.0)
    for name, (X, y) in DATA.items():
        cells = []
        for title, make in MODELS.items():
            began = time.perf_counter()
            scores = [
                cross_val_score(
                    make(seed), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=seed)
                )
                for seed in range(repeats)
            ]
            seconds[title] += time.perf_counter() - began
            cells.append(f"{100 * np.mean(scores):.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| seconds for all folds | " + " | ".join(f"{s:.0f}" for s in seconds.values()) + " |")


if __name__ == "__main__":
    print(
        f"cotm {cotm.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}, {processor_name()}\n"
    )
    accuracies()
