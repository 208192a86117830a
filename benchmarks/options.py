"""What learning options do to accuracy and to the time per epoch: small trainings, held out.

Usage: python benchmarks/options.py [OPTION ...] [--tasks ...] [--seeds N] [--epochs N]

MNIST and IMDb come from the folder ``COTM_DATA``, and of both only training examples are used: some
to train on, others to measure. What is not said is as in the paper's preset. ``--tables FOLDER``
adds tables as CSV files with the class in the column ``class``, two thirds of each to train on.
Trainings of an option's values take turns, so that what else the computer does meets all of them.
Every line is a mean over the seeds; seconds are those of the fastest epoch.
"""

from __future__ import annotations

import argparse
import platform
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cotm
from cotm.datasets import load_imdb, load_mnist
from cotm.experiments.report import processor_name

Data = tuple[Any, np.ndarray, Any, np.ndarray]

#: For each option the settings that are compared, the usual one first.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "negatives": [
        {},
        {"e": 1.0},
        {"negatives": "drawn"},
        {"negatives": "focused"},
    ],
    "T": [{"T": "auto"}, *({"T": T} for T in (1_000, 5_000, 20_000, 60_000))],
    "forgetting": [
        {},
        {"forgetting": "sampled"},
        {"forgetting": "sampled", "s": 50.0},
        {"forgetting": "sampled", "s": 200.0},
    ],
    "drop_literals": [{}, *({"drop_literals": share} for share in (0.1, 0.25, 0.5))],
}
#: What the trainings on each data set have in common.
TASKS: dict[str, dict[str, Any]] = {
    "mnist": {"n_clauses": 2000, "T": 800, "s": 10.0},
    "graded": {
        "n_clauses": 200,
        "T": 10_000,
        "s": 200.0,
        "tolerance": 60,
        "growth_limit": 60,
        "include_depth": 26,
        "forgetting": "sampled",
    },
    "imdb": {"n_clauses": 1000, "T": 10_000, "s": 5.0},
    "tables": {},
}
ROWS = 10_000


def mnist() -> Data:
    """Pixels as bits; the first training images, and the last."""
    images, labels, _, _ = load_mnist()
    bits = cotm.AdaptiveGaussianThreshold().fit_transform(images).reshape(len(images), -1)
    return bits[:ROWS], labels[:ROWS], bits[-ROWS:], labels[-ROWS:]


def imdb() -> Data:
    """The 5,000 most frequent words of training reviews, which are sorted by class."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels, _, _ = load_imdb()
    order = np.random.default_rng(0).permutation(len(texts))[: 2 * ROWS]
    chosen, y = [texts[i] for i in order], np.asarray(labels)[order]
    words = CountVectorizer(binary=True, max_features=5_000, dtype=np.uint8)
    X = words.fit_transform(chosen[:ROWS]), words.transform(chosen[ROWS:])
    return X[0], y[:ROWS], X[1], y[ROWS:]


def table(path: Path) -> Data:
    frame = pl.read_csv(path)
    frame = frame[np.random.default_rng(0).permutation(frame.height)]
    y = frame["class"].cast(pl.String).to_numpy().astype(str)
    X, cut = frame.drop("class"), 2 * len(y) // 3
    return X[:cut], y[:cut], X[cut:], y[cut:]


def train(data: Data, epochs: int, seed: int, **parameters: Any) -> tuple[np.ndarray, float]:
    """Accuracy on the held-out examples after each epoch, and seconds of the fastest epoch."""
    X, y, X_held, y_held = data
    accuracies = []

    def note(model: Any, record: Any) -> None:
        accuracies.append(model.score(X_held, y_held))

    model = cotm.CoTMClassifier(
        preset="paper",
        epochs=epochs,
        random_state=seed,
        n_jobs=1,
        callbacks=[note],
        **parameters,
    ).fit(X, y)
    return np.array(accuracies), min(record["seconds"] for record in model.history_)


def data_of(task: str, folder: Path | None, option: str) -> list[Data]:
    if task != "tables":
        return [imdb() if task == "imdb" else mnist()]
    tables = [] if folder is None else [table(path) for path in sorted(folder.glob("*.csv"))]
    if option == "negatives":  # of two classes there is nothing to choose from
        tables = [data for data in tables if len(np.unique(data[1])) > 2]
    return tables


def compare(option: str, task: str, sets: list[Data], seeds: int, epochs: int) -> None:
    """Print a row for each value of an option."""
    print(f"\n## {option}: {task}, {TASKS[task]}, {len(sets)} data sets, {epochs} epochs\n")
    print("| settings | after 3 epochs | last quarter | spread over seeds | seconds per epoch |")
    print("| --- | --- | --- | --- | --- |")
    found: dict[int, list[tuple[float, float, float]]] = {}
    for seed in range(seeds):
        for data in sets:
            for k, settings in enumerate(OPTIONS[option]):
                curve, seconds = train(data, epochs, seed, **{**TASKS[task], **settings})
                last = curve[-max(1, epochs // 4) :].mean()
                found.setdefault(k, []).append((curve[min(2, epochs - 1)], last, seconds))
    for k, settings in enumerate(OPTIONS[option]):
        rows = np.array(found[k]).reshape(seeds, len(sets), 3)
        third, last, seconds = rows.mean(axis=(0, 1))
        spread = rows[:, :, 1].mean(axis=1).std()
        name = ", ".join(f"{key}={value!r}" for key, value in settings.items()) or "defaults"
        print(
            f"| {name} | {100 * third:.2f} | {100 * last:.2f} | {100 * spread:.2f} "
            f"| {seconds:.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("options", nargs="*", choices=[*OPTIONS, []], help="which to measure")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=["mnist"])
    parser.add_argument("--tables", type=Path, help="folder of the tables")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()
    print(f"cotm {cotm.__version__}, Python {platform.python_version()}, {processor_name()}")
    warnings.simplefilter("ignore")  # about columns, which are as they are
    for option in given.options or OPTIONS:
        for task in given.tasks:
            sets = data_of(task, given.tables, option)
            if sets:
                compare(option, task, sets, given.seeds, given.epochs)


if __name__ == "__main__":
    main()
