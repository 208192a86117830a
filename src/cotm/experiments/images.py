"""Accuracy and time against the number of clauses on gray images, and learning speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..booleanize import AdaptiveGaussianThreshold
from ..datasets import load_fashion_mnist, load_kmnist, load_mnist
from . import paper
from .lab import COLOURS, Lab, Run, last_epochs

_PATCH = (10, 10)
_KINDS = ("coalesced", "weighted")
_LOADERS = {"mnist": load_mnist, "fashion-mnist": load_fashion_mnist, "kmnist": load_kmnist}
TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "kmnist": "Kuzushiji-MNIST"}


def mnist(lab: Lab) -> None:
    """The MNIST table: 50 to 8,000 clauses per class, coalesced and weighted."""
    _clauses_table(lab, "mnist")


def fashion_mnist(lab: Lab) -> None:
    """The Fashion-MNIST table."""
    _clauses_table(lab, "fashion-mnist")


def kmnist(lab: Lab) -> None:
    """The Kuzushiji-MNIST table."""
    _clauses_table(lab, "kmnist")


def load_bits(name: str) -> tuple[Any, Any, Any, Any]:
    """A data set as bits, by adaptive Gaussian thresholds with window 11 and constant 2."""
    x_train, y_train, x_test, y_test = _LOADERS[name]()
    threshold = AdaptiveGaussianThreshold()
    return threshold.fit_transform(x_train), y_train, threshold.transform(x_test), y_test


def parameters(name: str, column: int) -> dict[str, Any]:
    """The paper's settings for a column of its table; pools of 10 times as many clauses."""
    table = paper.CLAUSES[name]
    k = paper.COLUMNS.index(column)
    return {
        "n_clauses": 10 * column,
        "T": int(table["T"][k]),
        "s": float(table["s"][k]),
        "patch_shape": _PATCH,
    }


def model_kilobytes(n_clauses: int, n_literals: int, n_outputs: int) -> float:
    """As the paper counts: a bit per clause and literal, and a byte per weight."""
    return n_clauses * (n_literals / 8 + n_outputs) / 1000


def _columns(lab: Lab) -> tuple[int, ...]:
    chosen = lab.options.clauses or ((50, 100, 250) if lab.options.quick else paper.COLUMNS)
    _check_columns(chosen)
    return tuple(chosen)


def one_column(lab: Lab, otherwise: int) -> int:
    """The column that an experiment with one is to take."""
    chosen = lab.options.clauses or (otherwise,)
    _check_columns(chosen)
    if len(chosen) > 1:
        raise ValueError(f"{lab.name} takes one --clauses, not {len(chosen)}")
    return chosen[0]


def _check_columns(chosen: tuple[int, ...]) -> None:
    for column in chosen:
        if column not in paper.COLUMNS:
            columns = ", ".join(map(str, paper.COLUMNS))
            raise ValueError(f"--clauses {column} is no column of the table; it has {columns}")


def _clauses_table(lab: Lab, name: str) -> None:
    title = TITLES[name]
    columns = _columns(lab)
    data = load_bits(name)
    epochs = lab.epochs(full=100, quick=8)
    lab.plan(epochs * len(lab.seeds()) * len(_KINDS) * 10 * sum(columns))
    runs = {
        (column, kind, seed): Run(
            f"{name} {column}", kind, data, parameters(name, column), name, epochs, seed
        )
        for column in columns
        for kind in _KINDS
        for seed in lab.seeds()
    }
    curves = lab.train_all(runs)
    rows = []
    for column in columns:
        k, table = paper.COLUMNS.index(column), paper.CLAUSES[name]
        row: dict[str, Any] = {"clauses per class": column}
        row |= {"T": table["T"][k], "s": table["s"][k]}
        for kind in _KINDS:
            found = [curves[column, kind, seed] for seed in lab.seeds()]
            ours = 100 * float(np.mean([curve.mean("test_accuracy") for curve in found]))
            row |= {
                f"{kind} %": ours,
                f"paper {kind} %": table[kind][k],
                f"{kind} difference": ours - table[kind][k],
            }
            for key in ("train_seconds", "test_seconds"):
                if kind == "coalesced":
                    what = f"{'training' if key == 'train_seconds' else 'testing'} s"
                    row[what] = float(np.mean([curve.mean(key) for curve in found]))
                    row[f"paper {what}"] = table[key][k]
        row["model kB"] = round(model_kilobytes(10 * column, 272, 10))
        row["paper model kB"] = paper.MODEL_KB[k]
        rows.append(row)
    _report(lab, title, data, epochs, rows)
    lab.figure(lambda axes: _draw_clauses(axes, rows, title))


def _report(lab: Lab, title: str, data: Any, epochs: int, rows: list[dict[str, Any]]) -> None:
    last = last_epochs(epochs)
    notes = [
        f"{title}, {len(data[1]):,} training and {len(data[3]):,} test images; convolution with "
        "10 x 10 patches; T and s as in the paper's table.",
        f"Accuracy and times are means over the last {last} of {epochs} epochs and "
        f"{lab.options.repeats} seed(s); the paper's over the last 25 epochs of 10 runs, its times "
        "are of a V100. Times are of the coalesced machine.",
    ]
    if epochs < 100:
        notes.append("Fewer epochs than the paper's: accuracies are below what they end at.")
    if len(data[1]) < 60_000:
        notes.append(f"Only {len(data[1]):,} of the 60,000 training images were at hand.")
    lab.report(f"{title}: accuracy and time against clauses", rows, notes)


def _draw_clauses(axes: Any, rows: list[dict[str, Any]], title: str) -> None:
    columns = [row["clauses per class"] for row in rows]
    for kind in _KINDS:
        ours, theirs = ([row[f"{who}{kind} %"] for row in rows] for who in ("", "paper "))
        axes.plot(columns, ours, "o-", color=COLOURS[kind], label=f"{kind}, ours")
        axes.plot(columns, theirs, "s--", color=COLOURS[kind], mfc="white", label=f"{kind}, paper")
    axes.set(xscale="log", xlabel="clauses per class", ylabel="test accuracy, %", title=title)
    axes.set_xticks(columns, [f"{column:,}" for column in columns])
    axes.minorticks_off()
    axes.legend(loc="lower right")


def learning_speed(lab: Lab) -> None:
    """Test accuracy per epoch on MNIST with 8,000 clauses per class."""
    column = one_column(lab, 50 if lab.options.quick else 8000)
    data = load_bits("mnist")
    epochs = lab.epochs(full=100, quick=8)
    bar = 99.3
    lab.plan(epochs * len(lab.seeds()) * len(_KINDS) * 10 * column)
    settings = parameters("mnist", column)
    found = lab.train_all(
        {
            (kind, seed): Run(f"mnist {column}", kind, data, settings, "mnist", epochs, seed)
            for kind in _KINDS
            for seed in lab.seeds()
        }
    )
    curves = {kind: [found[kind, seed] for seed in lab.seeds()] for kind in _KINDS}
    rows = []
    for kind in _KINDS:
        accuracy = np.mean([[e["test_accuracy"] for e in c.epochs] for c in curves[kind]], axis=0)
        passed = np.flatnonzero(100 * accuracy > bar)
        rows.append(
            {
                "machine": kind,
                f"first epoch above {bar} %": int(passed[0]) + 1 if len(passed) else "none",
                "paper": paper.LEARNING_SPEED[kind] if column == 8000 else None,
                "best %": 100 * float(accuracy.max()),
                "last epoch %": 100 * float(accuracy[-1]),
            }
        )
    notes = [
        f"MNIST, {column:,} clauses per class, {epochs} epochs, {lab.options.repeats} seed(s)."
    ]
    if column != 8000:
        notes.append("The paper's figure is of 8,000 clauses per class.")
    lab.report("Learning speed: test accuracy per epoch", rows, notes)

    def draw(axes: Any) -> None:
        for kind in _KINDS:
            for curve in curves[kind]:
                xs = [record["epoch"] for record in curve.epochs]
                ys = [100 * record["test_accuracy"] for record in curve.epochs]
                label = kind if curve is curves[kind][0] else None
                axes.plot(xs, ys, color=COLOURS[kind], label=label)
        axes.axhline(bar, color="#666666", ls="--", lw=1)
        axes.set(xlabel="epoch", ylabel="test accuracy, %")
        axes.legend(loc="lower right")

    lab.figure(draw)
