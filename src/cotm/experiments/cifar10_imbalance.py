"""CIFAR-10 with classes of halving size: F1 of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import AdaptiveGaussianThreshold
from ..datasets import load_cifar10
from . import paper
from .report import COLOURS, Report
from .runs import Curve, Run, Runs, measure_accuracy

_EPOCHS, _QUICK_EPOCHS = 100, 3
#: With --quick, so many training images, every tenth test image, and small machines.
_QUICK_ROWS, _QUICK_TEST_STEP = 2000, 10
_QUICK_SIZE: dict[str, Any] = {"n_clauses": 200, "T": 50}

#: The paper gives no settings; what was tried is in docs/reproduction.md.
MACHINES: dict[str, dict[str, Any]] = {
    "coalesced": {"n_clauses": 10_000, "T": 1250, "s": 3.0, "patch_shape": (8, 8)},
    "plain": {"n_clauses": 10_000, "T": 1250, "s": 10.0, "patch_shape": (8, 8)},
}


def halve_by_rank(y: NDArray[Any], seed: int) -> NDArray[np.intp]:
    """Rows with 0.5**r of the examples of the class of rank r, in random order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    kept = []
    for rank, label in enumerate(np.unique(y)):
        rows = order[y[order] == label]
        kept.append(rows[: max(1, round(len(rows) * 0.5**rank))])
    return rng.permutation(np.concatenate(kept))


def run(runs: Runs, report: Report) -> None:
    """Train both machines on classes of halving size and write the F1 of each class."""
    quick = runs.options.quick
    x, y, x_test, y_test = load_cifar10()
    if quick:
        x_test, y_test = x_test[::_QUICK_TEST_STEP], y_test[::_QUICK_TEST_STEP]
    threshold = AdaptiveGaussianThreshold().fit(x)
    test_bits = threshold.transform(x_test)
    machines = {
        kind: settings | (_QUICK_SIZE if quick else {}) for kind, settings in MACHINES.items()
    }
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    curves: dict[str, list[Curve]] = {kind: [] for kind in machines}
    for seed in runs.seeds():
        kept = halve_by_rank(y, seed)
        if quick:
            kept = kept[:_QUICK_ROWS]
        data = threshold.transform(x[kept]), y[kept], test_bits, y_test
        found = runs.train_all(
            {
                kind: Run(
                    label="cifar10 imbalance",
                    kind=kind,
                    data=data,
                    data_name="cifar10 imbalanced",
                    parameters=settings,
                    epochs=epochs,
                    seed=seed,
                    measure=_measure_f1,
                )
                for kind, settings in machines.items()
            }
        )
        for kind, curve in found.items():
            curves[kind].append(curve)
    rows = []
    for k, name in enumerate(paper.CIFAR_CLASSES):
        row: dict[str, Any] = {"class": name, "examples": int(np.sum(y[kept] == k))}
        for kind in machines:
            row[f"{kind} F1"] = float(np.mean([curve.mean(f"f1_{k}") for curve in curves[kind]]))
            row[f"paper {kind} F1"] = paper.CIFAR_F1[kind][k]
        rows.append(row)
    notes = [
        f"CIFAR-10, adaptive Gaussian thresholds per channel; {len(kept):,} training images; "
        f"{machines}; mean of the last quarter of {epochs} epochs (25 at most), "
        f"{runs.options.repeats} seed(s). The paper gives no settings; see docs/reproduction.md.",
    ]
    report.write("CIFAR-10 with classes of halving size: F1", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows))


def _measure_f1(predicted: NDArray[Any], expected: NDArray[Any]) -> dict[str, float]:
    from sklearn.metrics import f1_score

    labels = range(len(paper.CIFAR_CLASSES))
    scores = f1_score(expected, predicted, average=None, labels=labels, zero_division=0)
    f1 = {f"f1_{k}": float(score) for k, score in enumerate(scores)}
    return measure_accuracy(predicted, expected) | f1


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    place = np.arange(len(rows))
    for offset, kind in ((-0.2, "coalesced"), (0.2, "plain")):
        ours = [row[f"{kind} F1"] for row in rows]
        theirs = [row[f"paper {kind} F1"] for row in rows]
        axes.bar(place + offset, ours, 0.36, color=COLOURS[kind], label=f"{kind}, ours")
        label = "paper" if kind == "coalesced" else None  # one entry in the legend
        axes.plot(place + offset, theirs, "k_", ms=14, label=label)
    axes.set_xticks(place, [row["class"] for row in rows], rotation=45, ha="right")
    axes.set(ylabel="F1")
    axes.legend()
