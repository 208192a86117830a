"""Settings that beat the paper's with as many clauses, chosen without the test set."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.randomness import split_order
from . import paper
from .gray_images import TITLES, chosen_column, load_bits, n_clauses, parameters
from .report import BLUE, Report
from .runs import Data, Run, Runs, last_epochs

_EPOCHS, _QUICK_EPOCHS = 100, 4
_COLUMN = 50
#: One in so many training images is held out to compare settings.
_HELD_OUT_PART = 6
#: The images that are held out are the same for all seeds of training.
_SPLIT_SEED = 0
_PAPERS = "the paper's"
#: How many of the candidates --quick compares.
_QUICK_CANDIDATES = 2


def candidates(base: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings to be compared, by name: the paper's and changes of them."""
    T, s = base["T"], base["s"]
    changes: dict[str, dict[str, Any]] = {
        _PAPERS: {},
        "e = 1": {"e": 1.0},
        "e = 1, T halved": {"e": 1.0, "T": T // 2},
        "e = 1, s halved": {"e": 1.0, "s": s / 2},
        "e = 1, T and s halved": {"e": 1.0, "T": T // 2, "s": s / 2},
        "e = 1, T a quarter, s halved": {"e": 1.0, "T": T // 4, "s": s / 2},
        "e = 1, T doubled": {"e": 1.0, "T": 2 * T},
        "e = 1, T doubled, s halved": {"e": 1.0, "T": 2 * T, "s": s / 2},
        "e = 1, T x 4, s halved": {"e": 1.0, "T": 4 * T, "s": s / 2},
        "e = 1, s a third": {"e": 1.0, "s": s / 3},
    }
    shorter = {"e": 1.0, "T": T // 2, "s": round(2 * s / 3, 1)}
    name = "e = 1, T halved, s two thirds"
    changes |= {
        f"{name}, weights to 63": {**shorter, "max_weight": 63},
        f"{name}, 8 x 8 patches": {**shorter, "patch_shape": (8, 8)},
        f"{name}, 6 x 6 patches": {**shorter, "patch_shape": (6, 6)},
    }
    return {name: {**base, **change} for name, change in changes.items()}


def run(runs: Runs, report: Report, *, data_set: str) -> None:
    """Compare settings on held-out images, then test the best and the paper's on the test set."""
    column = chosen_column(report.name, runs.options, _COLUMN)
    x, y, x_test, y_test = load_bits(data_set)
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    tried = candidates(parameters(data_set, column))
    if runs.options.quick:
        tried = dict(list(tried.items())[:_QUICK_CANDIDATES])
    order = split_order(_SPLIT_SEED, len(y))
    held_out, rest = np.split(order, [len(y) // _HELD_OUT_PART])
    split = x[rest], y[rest], x[held_out], y[held_out]
    name = f"{data_set} held out"
    score = _accuracies(runs, name, name, split, tried, epochs)
    best = max(score, key=lambda settings: score[settings])
    chosen = {settings: tried[settings] for settings in (_PAPERS, best)}
    whole = x, y, x_test, y_test
    test = _accuracies(runs, f"{data_set} {column}", data_set, whole, chosen, epochs)
    quoted = paper.CLAUSES[data_set]["coalesced"][paper.COLUMNS.index(column)]
    rows = [
        {
            "settings": settings,
            "held-out %": score[settings],
            "test %": test.get(settings),
            "paper test %": quoted if settings in test else None,
        }
        for settings in sorted(tried, key=lambda settings: -score[settings])
    ]
    base = tried[_PAPERS]
    title = TITLES[data_set]
    notes = [
        f"{title}, {n_clauses(column):,} clauses, T {base['T']} and s {base['s']} unless it says "
        f"otherwise. Settings were trained on {len(rest):,} images and compared on "
        f"{len(held_out):,} others of the training set; the best of them, and the paper's, were "
        "then trained on all and tested once.",
        f"Means over the last {last_epochs(epochs)} of {epochs} epochs, "
        f"{runs.options.repeats} seed(s).",
    ]
    heading = f"{title}: better than the paper with as many clauses"
    report.write(heading, rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows))


def _accuracies(
    runs: Runs,
    label: str,
    data_name: str,
    data: Data,
    tried: dict[str, dict[str, Any]],
    epochs: int,
) -> dict[str, float]:
    """Accuracy in per cent with each of the settings, as the mean over seeds."""
    curves = runs.train_all(
        {
            (name, seed): Run(
                label=label,
                kind="coalesced",
                data=data,
                data_name=data_name,
                parameters=settings,
                epochs=epochs,
                seed=seed,
            )
            for name, settings in tried.items()
            for seed in runs.seeds()
        }
    )
    return {
        name: 100
        * float(np.mean([curves[name, seed].mean("test_accuracy") for seed in runs.seeds()]))
        for name in tried
    }


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    """A bar of held-out accuracy for each of the settings."""
    place = np.arange(len(rows))
    scores = [row["held-out %"] for row in rows]
    axes.barh(place, scores, color=BLUE)
    axes.set_yticks(place, [row["settings"] for row in rows])
    axes.invert_yaxis()
    axes.set(xlim=(min(scores) - 0.5, max(scores) + 0.2), xlabel="held-out accuracy, %")
