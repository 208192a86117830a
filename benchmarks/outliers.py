"""CoTMOutlierDetector beside an isolation forest and local outlier factors: unseen classes.

Of each data set half of the classes are known: every detector learns from two thirds of their rows
without labels, and is asked about the rest of them and about rows of the other classes. The figure
is the area under the ROC curve. All are as their libraries ship them, local outlier factors on
standardised columns. "known classes" is a classifier that had the labels of the known rows: the
most votes that it gives to any of them.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from common import commit
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cotm
from cotm.experiments.report import processor_name

#: Those by which the way rows are made up was chosen, and others.
CHOSEN_BY = ("wine", "digits", "wdbc", "vehicle", "led7digit", "satimage", "texture")
OTHERS = ("optdigits", "movement_libras", "ionosphere", "magic", "phoneme", "sonar")
_MOST_KNOWN, _MOST_ASKED = 1500, 700


def read(name: str, folder: Path) -> tuple[NDArray[np.float64], NDArray[Any]]:
    if name in ("wine", "digits"):
        X, y = (load_wine if name == "wine" else load_digits)(return_X_y=True)
        return X, y
    frame = pd.read_csv(folder / f"{name}.csv")
    return frame.drop(columns="class").to_numpy(float), frame["class"].to_numpy().astype(str)


def detectors(seed: int) -> dict[str, Callable[[], Any]]:
    return {
        "CoTMOutlierDetector": lambda: cotm.CoTMOutlierDetector(
            cotm.CoTMClassifier(300, n_jobs=1), contamination=0.05, random_state=seed
        ),
        "isolation forest": lambda: IsolationForest(random_state=seed),
        "local outlier factor": lambda: make_pipeline(
            StandardScaler(), LocalOutlierFactor(novelty=True)
        ),
    }


def areas(X: Any, y: Any, seed: int, seconds: dict[str, float]) -> dict[str, float]:
    """The area under the curve of each detector, with one half of the classes known."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    count = (len(classes) + 1) // 2
    known = classes[[seed % 2]] if len(classes) == 2 else rng.permutation(classes)[:count]
    inside = rng.permutation(np.flatnonzero(np.isin(y, known)))
    outside = rng.permutation(np.flatnonzero(~np.isin(y, known)))[:_MOST_ASKED]
    cut = 2 * len(inside) // 3
    learned, asked = inside[:cut][:_MOST_KNOWN], inside[cut:][:_MOST_ASKED]
    rows = X[np.concatenate([asked, outside])]
    belongs = np.repeat([1, 0], [len(asked), len(outside)])
    found = {}
    for name, make in detectors(seed).items():
        began = time.process_time()
        detector = make().fit(X[learned])
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - began
        found[name] = roc_auc_score(belongs, detector.score_samples(rows))
    if len(known) > 1:
        classifier = cotm.CoTMClassifier(300, n_jobs=1, random_state=seed)
        classifier.fit(X[learned], y[learned])
        found["known classes"] = roc_auc_score(belongs, classifier.votes(rows).max(axis=1))
    return found


def shares() -> None:
    """Which share of new rows that belong, and of others, is said to be odd."""
    digits, digit = load_digits(return_X_y=True)
    tumours, kind = load_breast_cancer(return_X_y=True)
    print("| data | contamination | learned from | new | others |\n| --- | --- | --- | --- | --- |")
    for name, X, belongs in (
        ("digits 0 to 4", digits, digit < 5),
        ("benign tumours", tumours, kind == 1),
    ):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(belongs))
        parts = X[rows[::2]], X[rows[1::2]], X[~belongs]
        for contamination in ("auto", 0.05):
            detector = cotm.CoTMOutlierDetector(contamination=contamination, random_state=0)
            detector.fit(parts[0])
            odd = [f"{(detector.predict(part) == -1).mean():.1%}" for part in parts]
            print(f"| {name} | {contamination} | {' | '.join(odd)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of tables, CSV with a column class")
    parser.add_argument("--data", nargs="*", default=[*CHOSEN_BY, *OTHERS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shares", action="store_true", help="instead: who is said to be odd")
    options = parser.parse_args()
    if options.shares:
        return shares()
    print(f"{processor_name()}, Python {platform.python_version()}, ", end="")
    print(f"scikit-learn {sklearn.__version__}, cotm {commit()}, {options.seeds} seeds")
    names = [*detectors(0), "known classes"]
    print(f"| data | {' | '.join(names)} |\n|{' --- |' * (len(names) + 1)}")
    seconds: dict[str, float] = {}
    means = []
    for data in options.data:
        X, y = read(data, options.folder)
        runs = [areas(X, y, seed, seconds) for seed in range(options.seeds)]
        mean = [
            np.mean([run[name] for run in runs]) if name in runs[0] else np.nan for name in names
        ]
        means.append(mean)
        cells = " | ".join("" if np.isnan(value) else f"{value:.3f}" for value in mean)
        print(f"| {data} | {cells} |", flush=True)
    cells = " | ".join(f"{value:.3f}" for value in np.mean(np.array(means)[:, :-1], axis=0))
    print(f"| mean | {cells} | |")
    print(f"| seconds to fit, in all | {' | '.join(f'{s:.1f}' for s in seconds.values())} | |")


if __name__ == "__main__":
    main()
