"""IMDb with ever fewer positive training reviews: how much accuracy each machine loses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize.text import SetOfWords
from ..datasets import load_imdb
from ..datasets.reviews import Reviews
from . import paper
from .report import COLOURS, GREEN, Report
from .runs import Run, Runs

_EPOCHS, _QUICK_EPOCHS = 8, 4
_QUICK_REVIEWS, _QUICK_SHARES, _QUICK_MACHINES = 2000, (0.0, 0.5, 0.9), 2

#: The paper gives no settings; what was tried is in docs/reproduction.md.
WORDS: dict[str, int] = {"n_features": 2000, "n_grams": 2}
_QUICK_WORDS = {**WORDS, "n_features": 1000}
_SHARED: dict[str, Any] = {"n_clauses": 1000, "s": 2.0, "average": 8, "class_weight": "balanced"}
#: Kind and settings of each machine. The first three weigh the classes; the last two do not.
MACHINES: dict[str, tuple[str, dict[str, Any]]] = {
    "coalesced": ("coalesced", {**_SHARED, "T": 100_000}),
    "plain": ("plain", {**_SHARED, "T": 300}),
    "weighted": ("weighted", {**_SHARED, "T": 100_000}),
    "coalesced, no class weights": ("coalesced", {**_SHARED, "T": 100_000, "class_weight": None}),
    "plain, no class weights": ("plain", {**_SHARED, "T": 300, "class_weight": None}),
}


def remove_positive(y: NDArray[Any], share: float, seed: int) -> NDArray[np.intp]:
    """Rows that remain when a share of the positive ones is removed, in random order.

    >>> y = np.array([0, 1] * 50)
    >>> rows = remove_positive(y, 0.9, seed=0)
    >>> np.bincount(y[rows])
    array([50,  5])
    """
    rng = np.random.default_rng(seed)
    positive = rng.permutation(np.flatnonzero(y == 1))
    kept = positive[round(share * len(positive)) :]
    return rng.permutation(np.concatenate([np.flatnonzero(y == 0), kept]))


def run(runs: Runs, report: Report) -> None:
    """Train every machine on what remains after each removal and write the losses."""
    quick = runs.options.quick
    reviews = _load(quick)
    words = _QUICK_WORDS if quick else WORDS
    machines = dict(list(MACHINES.items())[:_QUICK_MACHINES]) if quick else MACHINES
    shares = _QUICK_SHARES if quick else paper.IMDB_REMOVED
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    accuracy = {
        (name, share): found
        for share in shares
        for name, found in _accuracies(runs, reviews, share, words, machines, epochs).items()
    }
    rows = []
    for share in shares:
        row: dict[str, Any] = {"removed": share}
        for name in machines:
            row[f"{name} %"] = accuracy[name, share]
            row[f"{name} loss"] = accuracy[name, 0.0] - accuracy[name, share]
            if name in paper.IMDB_LOSS:
                k = paper.IMDB_REMOVED.index(share)
                row[f"paper {name} loss"] = paper.IMDB_LOSS[name][k]
        rows.append(row)
    _, y, _, y_test = reviews
    notes = [
        f"IMDb, {len(y):,} training reviews before removal, {len(y_test):,} test reviews; "
        f"the {words['n_features']:,} words and pairs of words that tell the classes apart best in "
        "the training reviews that are left.",
        *(f"{name}: {settings}" for name, (_, settings) in machines.items()),
        f"After {epochs} epochs, {runs.options.repeats} seed(s). The paper gives no settings; see "
        "docs/reproduction.md.",
    ]
    report.write("IMDb with positive reviews removed", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows, list(machines)))


def _load(quick: bool) -> Reviews:
    """All reviews, or a random part of them: they are sorted by class."""
    texts, y, test_texts, y_test = load_imdb()
    if not quick:
        return texts, y, test_texts, y_test
    rng = np.random.default_rng(0)
    pick = rng.permutation(len(y))[:_QUICK_REVIEWS]
    test_pick = rng.permutation(len(y_test))[:_QUICK_REVIEWS]
    return (
        [texts[i] for i in pick],
        y[pick],
        [test_texts[i] for i in test_pick],
        y_test[test_pick],
    )


def _accuracies(
    runs: Runs,
    reviews: Reviews,
    share: float,
    words: dict[str, int],
    machines: dict[str, tuple[str, dict[str, Any]]],
    epochs: int,
) -> dict[str, float]:
    """Each machine's accuracy in per cent after one removal, as the mean over seeds."""
    texts, y, test_texts, y_test = reviews
    found = dict.fromkeys(machines, 0.0)
    for seed in runs.seeds():
        rows = remove_positive(y, share, seed)
        kept = [texts[i] for i in rows]
        # Whoever has only these reviews could choose words from them alone.
        vectorizer = SetOfWords(**words).fit(kept, y[rows])
        data = vectorizer.transform(kept), y[rows], vectorizer.transform(test_texts), y_test
        curves = runs.train_all(
            {
                name: Run(
                    label=f"imdb {share}",
                    kind=kind,
                    data=data,
                    data_name=f"imdb without {share}, {words}",
                    parameters=settings,
                    epochs=epochs,
                    seed=seed,
                )
                for name, (kind, settings) in machines.items()
            }
        )
        for name, curve in curves.items():
            # The machine averages over epochs itself, so its last epoch counts alone.
            found[name] += 100 * (curve.epochs[-1]["test_accuracy"] / len(runs.seeds()))
    return found


def _draw(axes: Any, rows: list[dict[str, Any]], machines: list[str]) -> None:
    removed = [row["removed"] for row in rows]
    for name in machines:
        losses = [row[f"{name} loss"] for row in rows]
        style = "^:" if name == "weighted" else "o:" if "no class" in name else "o-"
        colour = GREEN if name == "weighted" else COLOURS[name.partition(",")[0]]
        axes.plot(removed, losses, style, color=colour, label=f"{name}, ours")
        if name in paper.IMDB_LOSS:
            theirs = [row[f"paper {name} loss"] for row in rows]
            axes.plot(removed, theirs, "s--", color=colour, mfc="white", label=f"{name}, paper")
    axes.set(xlabel="share of positive reviews removed", ylabel="points of accuracy lost")
    axes.legend()
