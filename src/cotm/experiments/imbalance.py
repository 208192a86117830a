"""Training data of which some classes have few examples: IMDb and CIFAR-10."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..booleanize import AdaptiveGaussianThreshold, SetOfWords
from ..datasets import load_cifar10, load_imdb
from . import paper
from .lab import COLOURS, Curve, Lab, Run

#: The paper gives no settings for these; what was tried is in docs/reproduction.md.
IMDB_WORDS: dict[str, int] = {"n_features": 2000, "n_grams": 2}
_SHARED: dict[str, Any] = {"n_clauses": 1000, "s": 2.0, "average": 8, "class_weight": "balanced"}
#: Kind and settings of each machine; the last two learn from the reviews as they come.
IMDB: dict[str, tuple[str, dict[str, Any]]] = {
    "coalesced": ("coalesced", {**_SHARED, "T": 100_000}),
    "plain": ("plain", {**_SHARED, "T": 300}),
    "weighted": ("weighted", {**_SHARED, "T": 100_000}),
    "coalesced, no class weights": ("coalesced", {**_SHARED, "T": 100_000, "class_weight": None}),
    "plain, no class weights": ("plain", {**_SHARED, "T": 300, "class_weight": None}),
}
CIFAR: dict[str, dict[str, Any]] = {
    "coalesced": {"n_clauses": 10_000, "T": 1250, "s": 3.0, "patch_shape": (8, 8)},
    "plain": {"n_clauses": 10_000, "T": 1250, "s": 10.0, "patch_shape": (8, 8)},
}


def remove_positive(y: Any, share: float, seed: int) -> Any:
    """Rows that stay when a share of the positive ones is removed, shuffled.

    >>> y = np.array([0, 1] * 50)
    >>> rows = remove_positive(y, 0.9, seed=0)
    >>> np.bincount(y[rows])
    array([50,  5])
    """
    rng = np.random.default_rng(seed)
    positive = rng.permutation(np.flatnonzero(y == 1))
    kept = positive[round(share * len(positive)) :]
    return rng.permutation(np.concatenate([np.flatnonzero(y == 0), kept]))


def halve_by_rank(y: Any, seed: int) -> Any:
    """Rows with 0.5**r of the examples of the class of rank r, shuffled."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    kept = []
    for rank, label in enumerate(np.unique(y)):
        rows = order[y[order] == label]
        kept.append(rows[: max(1, round(len(rows) * 0.5**rank))])
    return rng.permutation(np.concatenate(kept))


def imdb_imbalance(lab: Lab) -> None:
    """IMDb with 0 to 90 % of the positive training reviews removed."""
    texts, y, test_texts, y_test = load_imdb()
    quick = lab.options.quick
    rng = np.random.default_rng(0)
    if quick:  # the reviews are sorted by class
        pick, test_pick = rng.permutation(len(y))[:2000], rng.permutation(len(y_test))[:2000]
        texts, y = [texts[i] for i in pick], y[pick]
        test_texts, y_test = [test_texts[i] for i in test_pick], y_test[test_pick]
    words = {**IMDB_WORDS, "n_features": 1000} if quick else IMDB_WORDS
    machines = dict(list(IMDB.items())[:2]) if quick else IMDB
    removed = (0.0, 0.5, 0.9) if quick else paper.IMDB_REMOVED
    epochs = lab.epochs(full=8, quick=4)
    clauses = sum(settings["n_clauses"] for _, settings in machines.values())
    lab.plan(epochs * clauses * len(removed) * len(lab.seeds()))
    accuracy: dict[tuple[str, float], float] = {}
    for share in removed:
        for seed in lab.seeds():
            rows = remove_positive(y, share, seed)
            chosen = [texts[i] for i in rows]
            # The words are chosen on what is left, as one would have to.
            vectorizer = SetOfWords(**words).fit(chosen, y[rows])
            data = (vectorizer.transform(chosen), y[rows], vectorizer.transform(test_texts), y_test)
            for name, (kind, settings) in machines.items():
                data_name = f"imdb without {share}, {words}"
                run = Run(f"imdb {share}", kind, data, settings, data_name, epochs, seed)
                curve = lab.train(run)
                # States vote together already, so the last epoch stands for itself.
                last = curve.epochs[-1]["test_accuracy"] / len(lab.seeds())
                accuracy[name, share] = accuracy.get((name, share), 0.0) + 100 * last
    rows_out = []
    for share in removed:
        row: dict[str, Any] = {"removed": share}
        for name in machines:
            row[f"{name} %"] = accuracy[name, share]
            row[f"{name} loss"] = accuracy[name, 0.0] - accuracy[name, share]
            if name in paper.IMDB_LOSS:
                k = paper.IMDB_REMOVED.index(share)
                row[f"paper {name} loss"] = paper.IMDB_LOSS[name][k]
        rows_out.append(row)
    notes = [
        f"IMDb, {len(y):,} training reviews before removal, {len(y_test):,} test reviews; "
        f"the {words['n_features']:,} words and pairs of words that tell the classes apart best in "
        "the training reviews that are left.",
        *(f"{name}: {settings}" for name, (_, settings) in machines.items()),
        f"After {epochs} epochs, {lab.options.repeats} seed(s). The paper gives no settings; see "
        "docs/reproduction.md.",
    ]
    lab.report("IMDb with positive reviews removed", rows_out, notes)
    lab.figure(lambda axes: _draw_losses(axes, rows_out, list(machines)))


def _draw_losses(axes: Any, rows: list[dict[str, Any]], machines: list[str]) -> None:
    removed = [row["removed"] for row in rows]
    for name in machines:
        losses = [row[f"{name} loss"] for row in rows]
        style = "^:" if name == "weighted" else "o:" if "no class" in name else "o-"
        colour = COLOURS[name.partition(",")[0]] if name != "weighted" else "#009E73"
        axes.plot(removed, losses, style, color=colour, label=f"{name}, ours")
        if name in paper.IMDB_LOSS:
            theirs = [row[f"paper {name} loss"] for row in rows]
            axes.plot(removed, theirs, "s--", color=colour, mfc="white", label=f"{name}, paper")
    axes.set(xlabel="share of positive reviews removed", ylabel="points of accuracy lost")
    axes.legend()


def cifar10_imbalance(lab: Lab) -> None:
    """CIFAR-10 with 0.5**r of the data for the class of rank r: F1 per class."""
    x, y, x_test, y_test = load_cifar10()
    quick = lab.options.quick
    if quick:
        x_test, y_test = x_test[::10], y_test[::10]
    threshold = AdaptiveGaussianThreshold().fit(x)
    small = {"n_clauses": 200, "T": 50} if quick else {}
    machines = {kind: {**settings, **small} for kind, settings in CIFAR.items()}
    epochs = lab.epochs(full=100, quick=3)
    clauses = sum(settings["n_clauses"] for settings in machines.values())
    lab.plan(epochs * clauses * len(lab.seeds()))
    test_bits = threshold.transform(x_test)
    curves: dict[str, list[Curve]] = {kind: [] for kind in machines}
    for seed in lab.seeds():
        rows = halve_by_rank(y, seed)
        if quick:
            rows = rows[:2000]
        data = (threshold.transform(x[rows]), y[rows], test_bits, y_test)
        for kind, settings in machines.items():
            name, data_name = "cifar10 imbalance", "cifar10 imbalanced"
            run = Run(name, kind, data, settings, data_name, epochs, seed)
            curves[kind].append(lab.train(run, measure=_f1))
    rows_out = []
    for k, name in enumerate(paper.CIFAR_CLASSES):
        row: dict[str, Any] = {"class": name, "examples": int(np.sum(y[rows] == k))}
        for kind in machines:
            row[f"{kind} F1"] = float(np.mean([curve.mean(f"f1_{k}") for curve in curves[kind]]))
            row[f"paper {kind} F1"] = paper.CIFAR_F1[kind][k]
        rows_out.append(row)
    notes = [
        f"CIFAR-10, adaptive Gaussian thresholds per channel; {len(rows):,} training images; "
        f"{machines}; mean of the last quarter of {epochs} epochs (25 at most), "
        f"{lab.options.repeats} seed(s). The paper gives no settings; see docs/reproduction.md.",
    ]
    lab.report("CIFAR-10 with classes of halving size: F1", rows_out, notes)

    def draw(axes: Any) -> None:
        place = np.arange(len(rows_out))
        for offset, kind in ((-0.2, "coalesced"), (0.2, "plain")):
            ours = [row[f"{kind} F1"] for row in rows_out]
            theirs = [row[f"paper {kind} F1"] for row in rows_out]
            axes.bar(place + offset, ours, 0.36, color=COLOURS[kind], label=f"{kind}, ours")
            label = "paper" if kind == "coalesced" else None
            axes.plot(place + offset, theirs, "k_", ms=14, label=label)
        axes.set_xticks(place, [row["class"] for row in rows_out], rotation=45, ha="right")
        axes.set(ylabel="F1")
        axes.legend()

    lab.figure(draw)


def _f1(predicted: Any, expected: Any) -> dict[str, float]:
    from sklearn.metrics import f1_score

    scores = f1_score(expected, predicted, average=None, labels=range(10), zero_division=0)
    accuracy = {"test_accuracy": float(np.mean(predicted == expected))}
    return accuracy | {f"f1_{k}": float(score) for k, score in enumerate(scores)}
