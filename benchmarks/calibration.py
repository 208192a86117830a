"""How often predictions are right, beside how often predict_proba says they are, at several T.

Usage: python benchmarks/calibration.py FOLDER [--average N] [--early-stopping]

FOLDER holds tables as CSV files with the class in the column ``class``. Two thirds of each are
trained on, with the paper's preset. "before" is the softmax of 2/T times the votes, whatever the
data.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import softmax

import cotm
from cotm.experiments.report import processor_name

MARGINS = (50, 200, 1000, 5000, 30000)
TITLES = ("right", "mean probability", "log loss", "ECE", "log loss before", "ECE before")


def table(path: Path) -> tuple[pl.DataFrame, np.ndarray]:
    frame = pl.read_csv(path)
    frame = frame[np.random.default_rng(0).permutation(frame.height)]
    return frame.drop("class"), frame["class"].cast(pl.String).to_numpy().astype(str)


def measure(found: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Log loss, and the expected calibration error over ten bins."""
    sure, right = found.max(axis=1), found.argmax(axis=1) == labels
    bins = np.minimum((10 * sure).astype(int), 9)
    errors = [
        (bins == b).mean() * abs(right[bins == b].mean() - sure[bins == b].mean())
        for b in np.unique(bins)
    ]
    loss = -np.log(np.maximum(found[np.arange(len(labels)), labels], 1e-15)).mean()
    return float(loss), float(sum(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--average", type=int, default=1)
    parser.add_argument("--early-stopping", action="store_true")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.csv"))
    print(
        f"cotm {cotm.__version__}, Python {platform.python_version()}, {processor_name()}, "
        f"{len(paths)} tables; means\n"
    )
    print("| T | " + " | ".join(TITLES) + " | seconds to fit, to first probabilities |")
    print("| --- |" + " --- |" * (len(TITLES) + 1))
    warnings.simplefilter("ignore")  # about columns, which are as they are
    for margin in MARGINS:
        rows = []
        for path in paths:
            X, y = table(path)
            cut = 2 * len(y) // 3
            model = cotm.CoTMClassifier(
                T=margin,
                preset="paper",
                average=options.average,
                early_stopping=options.early_stopping,
                random_state=1,
                n_jobs=1,
            )
            times = [time.perf_counter()]
            model.fit(X[:cut], y[:cut])
            times.append(time.perf_counter())
            found = model.predict_proba(X[cut:])
            times.append(time.perf_counter())
            known = np.isin(y[cut:], model.classes_)
            labels = np.searchsorted(model.classes_, y[cut:][known])
            found, votes = found[known], model.votes(X[cut:])[known]
            usual = softmax(2 * votes / (margin * model.machine_.n_states_), axis=1)
            right = float((found.argmax(axis=1) == labels).mean())
            rows.append(
                [
                    right,
                    float(found.max(axis=1).mean()),
                    *measure(found, labels),
                    *measure(usual, labels),
                    *np.diff(times),
                ]
            )
        *cells, fit, first = np.mean(rows, axis=0)
        texts = [f"{value:.3f}" for value in cells]
        print(f"| {margin} | " + " | ".join(texts) + f" | {fit:.2f}, {first:.2f} |", flush=True)


if __name__ == "__main__":
    main()
