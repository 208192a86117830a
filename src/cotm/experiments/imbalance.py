"""Training data of which some classes have few examples: IMDb and CIFAR-10."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..booleanize import AdaptiveGaussianThreshold
from ..datasets import load_cifar10, load_imdb
from ..datasets.reviews import SetOfWords
from . import paper
from .lab import COLOURS, Curve, Lab

_KINDS = ("coalesced", "plain", "weighted")
#: The paper gives no settings for these; what was tried is in docs/reproduction.md.
IMDB: dict[str, Any] = {"n_clauses": 2000, "T": 4000, "s": 2.0}
IMDB_WORDS: dict[str, int] = {"n_features": 5000, "n_grams": 2}
CIFAR: dict[str, Any] = {"n_clauses": 10_000, "T": 5000, "s": 10.0, "patch_shape": (8, 8)}


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
    settings = {**IMDB, "n_clauses": 200, "T": 400} if quick else IMDB
    removed = (0.0, 0.5, 0.9) if quick else paper.IMDB_REMOVED
    kinds = _KINDS[:2] if quick else _KINDS
    epochs = lab.epochs(full=30, quick=4)
    lab.plan(epochs * settings["n_clauses"] * len(removed) * len(kinds) * len(lab.seeds()))
    accuracy: dict[tuple[str, float], float] = {}
    for share in removed:
        for seed in lab.seeds():
            rows = remove_positive(y, share, seed)
            chosen = [texts[i] for i in rows]
            # The words are chosen on what is left, as one would have to.
            vectorizer = SetOfWords(**words).fit(chosen, y[rows])
            data = (vectorizer.transform(chosen), y[rows], vectorizer.transform(test_texts), y_test)
            for kind in kinds:
                curve = lab.train(
                    f"imdb {share}",
                    kind,
                    data,
                    settings,
                    data_name=f"imdb without {share}, {words}",
                    epochs=epochs,
                    seed=seed,
                )
                key = kind, share
                mean = curve.mean("test_accuracy") / len(lab.seeds())
                accuracy[key] = accuracy.get(key, 0.0) + 100 * mean
    rows_out = []
    for share in removed:
        row: dict[str, Any] = {"removed": share}
        for kind in kinds:
            row[f"{kind} %"] = accuracy[kind, share]
            row[f"{kind} loss"] = accuracy[kind, 0.0] - accuracy[kind, share]
            if kind in paper.IMDB_LOSS:
                k = paper.IMDB_REMOVED.index(share)
                row[f"paper {kind} loss"] = paper.IMDB_LOSS[kind][k]
        rows_out.append(row)
    notes = [
        f"IMDb, {len(y):,} training reviews before removal, {len(y_test):,} test reviews; "
        f"the {words['n_features']:,} words and {words['n_grams']}-grams with the highest "
        "chi-squared statistic on the training reviews that are left.",
        f"{settings}; mean of the last quarter of {epochs} epochs, {lab.options.repeats} seed(s). "
        "The paper gives no settings; see docs/reproduction.md.",
    ]
    lab.report("IMDb with positive reviews removed", rows_out, notes)

    def draw(axes: Any) -> None:
        for kind in kinds:
            losses = [row[f"{kind} loss"] for row in rows_out]
            style = ":" if kind == "weighted" else "-"
            axes.plot(removed, losses, f"o{style}", color=COLOURS[kind], label=f"{kind}, ours")
            if kind in paper.IMDB_LOSS:
                theirs = [row[f"paper {kind} loss"] for row in rows_out]
                axes.plot(removed, theirs, "s--", color=COLOURS[kind], mfc="white",
                          label=f"{kind}, paper")  # fmt: skip
        axes.set(xlabel="share of positive reviews removed", ylabel="points of accuracy lost")
        axes.legend()

    lab.figure(draw)


def cifar10_imbalance(lab: Lab) -> None:
    """CIFAR-10 with 0.5**r of the data for the class of rank r: F1 per class."""
    x, y, x_test, y_test = load_cifar10()
    quick = lab.options.quick
    if quick:
        x_test, y_test = x_test[::10], y_test[::10]
    threshold = AdaptiveGaussianThreshold().fit(x)
    settings = {**CIFAR, "n_clauses": 200, "T": 250} if quick else CIFAR
    epochs = lab.epochs(full=100, quick=3)
    kinds = ("coalesced", "plain")
    lab.plan(epochs * settings["n_clauses"] * len(kinds) * len(lab.seeds()))
    test_bits = threshold.transform(x_test)
    curves: dict[str, list[Curve]] = {kind: [] for kind in kinds}
    for seed in lab.seeds():
        rows = halve_by_rank(y, seed)
        if quick:
            rows = rows[:2000]
        data = (threshold.transform(x[rows]), y[rows], test_bits, y_test)
        for kind in kinds:
            curves[kind].append(
                lab.train(
                    "cifar10 imbalance",
                    kind,
                    data,
                    settings,
                    data_name="cifar10 imbalanced",
                    epochs=epochs,
                    seed=seed,
                    measure=_f1,
                )
            )
    rows_out = []
    for k, name in enumerate(paper.CIFAR_CLASSES):
        row: dict[str, Any] = {"class": name, "examples": int(np.sum(y[rows] == k))}
        for kind in kinds:
            row[f"{kind} F1"] = float(np.mean([curve.mean(f"f1_{k}") for curve in curves[kind]]))
            row[f"paper {kind} F1"] = paper.CIFAR_F1[kind][k]
        rows_out.append(row)
    notes = [
        f"CIFAR-10, adaptive Gaussian thresholds per channel; {len(rows):,} training images; "
        f"{settings}; mean of the last quarter of {epochs} epochs (25 at most), "
        f"{lab.options.repeats} seed(s). The paper gives no settings; see docs/reproduction.md.",
    ]
    lab.report("CIFAR-10 with classes of halving size: F1", rows_out, notes)

    def draw(axes: Any) -> None:
        place = np.arange(len(rows_out))
        for offset, kind in ((-0.2, "coalesced"), (0.2, "plain")):
            ours = [row[f"{kind} F1"] for row in rows_out]
            theirs = [row[f"paper {kind} F1"] for row in rows_out]
            axes.bar(place + offset, ours, 0.36, color=COLOURS[kind], label=f"{kind}, ours")
            axes.plot(place + offset, theirs, "k_", ms=14, label=f"{kind}, paper")
        axes.set_xticks(place, [row["class"] for row in rows_out], rotation=45, ha="right")
        axes.set(ylabel="F1")
        axes.legend()

    lab.figure(draw)


def _f1(predicted: Any, expected: Any) -> dict[str, float]:
    from sklearn.metrics import f1_score

    scores = f1_score(expected, predicted, average=None, labels=range(10), zero_division=0)
    accuracy = {"test_accuracy": float(np.mean(predicted == expected))}
    return accuracy | {f"f1_{k}": float(score) for k, score in enumerate(scores)}
