"""Settings that beat the paper's with as many clauses, chosen without the test set."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.randomness import split_order
from . import paper
from .images import TITLES, load_bits, one_column, parameters
from .lab import Lab, Run, last_epochs

_HELD_OUT = 6  # a sixth of the training images


def candidates(base: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is tried beside the paper's settings."""
    T, s = base["T"], base["s"]
    changes: dict[str, dict[str, Any]] = {
        "the paper's": {},
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


def better_mnist(lab: Lab) -> None:
    """MNIST with 500 clauses: settings chosen on held-out training images, then tested."""
    _better(lab, "mnist")


def better_fashion_mnist(lab: Lab) -> None:
    """Fashion-MNIST with 500 clauses: settings chosen on held-out images, then tested."""
    _better(lab, "fashion-mnist")


def _better(lab: Lab, name: str) -> None:
    column = one_column(lab, 50)
    x, y, x_test, y_test = load_bits(name)
    epochs = lab.epochs(full=100, quick=4)
    tried = candidates(parameters(name, column))
    if lab.options.quick:
        tried = dict(list(tried.items())[:2])
    order = split_order(0, len(y))  # the same split for all seeds
    held, rest = order[: len(y) // _HELD_OUT], order[len(y) // _HELD_OUT :]
    split = x[rest], y[rest], x[held], y[held]
    work = epochs * 10 * column * len(lab.seeds())
    lab.plan(work * (len(tried) + 2))
    held_out = f"{name} held out"
    score = _accuracies(lab, held_out, held_out, split, tried, epochs)
    best = max(score, key=lambda label: score[label])
    whole = x, y, x_test, y_test
    chosen = {label: tried[label] for label in ("the paper's", best)}
    test = _accuracies(lab, f"{name} {column}", name, whole, chosen, epochs)
    quoted = paper.CLAUSES[name]["coalesced"][paper.COLUMNS.index(column)]
    rows = [
        {
            "settings": label,
            "held-out %": score[label],
            "test %": test.get(label),
            "paper test %": quoted if label in test else None,
        }
        for label in sorted(tried, key=lambda label: -score[label])
    ]
    base = tried["the paper's"]
    title = TITLES[name]
    notes = [
        f"{title}, {10 * column:,} clauses, T {base['T']} and s {base['s']} unless it says "
        f"otherwise. Settings were trained on {len(rest):,} images and compared on {len(held):,} "
        "others of the training set; the best of them, and the paper's, were then trained on all "
        "and tested once.",
        f"Means over the last {last_epochs(epochs)} of {epochs} epochs, "
        f"{lab.options.repeats} seed(s).",
    ]
    lab.report(f"{title}: better than the paper with as many clauses", rows, notes)

    def draw(axes: Any) -> None:
        place = np.arange(len(rows))
        axes.barh(place, [row["held-out %"] for row in rows], color="#0072B2")
        axes.set_yticks(place, [row["settings"] for row in rows])
        axes.invert_yaxis()
        low = min(score.values())
        axes.set(xlim=(low - 0.5, max(score.values()) + 0.2), xlabel="held-out accuracy, %")

    lab.figure(draw)


def _accuracies(
    lab: Lab,
    label: str,
    data_name: str,
    data: Any,
    tried: dict[str, dict[str, Any]],
    epochs: int,
) -> dict[str, float]:
    """Accuracy in per cent by each of some settings, mean over seeds."""
    curves = lab.train_all(
        {
            (name, seed): Run(label, "coalesced", data, settings, data_name, epochs, seed)
            for name, settings in tried.items()
            for seed in lab.seeds()
        }
    )
    return {
        name: 100
        * float(np.mean([curves[name, seed].mean("test_accuracy") for seed in lab.seeds()]))
        for name in tried
    }
