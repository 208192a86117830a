"""Accuracy and time against the number of clauses: the paper's tables of gray images."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import paper
from .gray_images import (
    KINDS,
    N_CLASSES,
    PATCH_SHAPE,
    TITLES,
    chosen_columns,
    load_bits,
    n_clauses,
    parameters,
)
from .report import COLOURS, Report
from .runs import Curve, Data, Run, Runs, last_epochs

_EPOCHS, _QUICK_EPOCHS = 100, 8
_QUICK_COLUMNS = (50, 100, 250)
_ALL_IMAGES = 60_000
#: A patch has 10 x 10 pixels and its position among 19 rows and 19 columns as 18 bits each; every
#: bit and its negation is a literal.
_N_LITERALS = 2 * (10 * 10 + 18 + 18)


def run(runs: Runs, report: Report, *, data_set: str) -> None:
    """Train all columns of one table, coalesced and weighted, and write it."""
    columns = chosen_columns(runs.options, _QUICK_COLUMNS if runs.options.quick else paper.COLUMNS)
    data = load_bits(data_set)
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    curves = runs.train_all(
        {
            (column, kind, seed): Run(
                label=f"{data_set} {column}",
                kind=kind,
                data=data,
                data_name=data_set,
                parameters=parameters(data_set, column),
                epochs=epochs,
                seed=seed,
            )
            for column in columns
            for kind in KINDS
            for seed in runs.seeds()
        }
    )
    rows = []
    for column in columns:
        by_kind = {kind: [curves[column, kind, seed] for seed in runs.seeds()] for kind in KINDS}
        rows.append(_row(data_set, column, by_kind))
    title = TITLES[data_set]
    notes = _notes(title, data, epochs, runs.options.repeats)
    report.write(f"{title}: accuracy and time against clauses", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows, title))


def _row(data_set: str, column: int, curves: dict[str, list[Curve]]) -> dict[str, Any]:
    """One column of the paper's table, which is a row of ours."""
    k, table = paper.COLUMNS.index(column), paper.CLAUSES[data_set]
    row: dict[str, Any] = {"clauses per class": column, "T": table["T"][k], "s": table["s"][k]}
    for kind, found in curves.items():
        ours = 100 * float(np.mean([curve.mean("test_accuracy") for curve in found]))
        row |= {
            f"{kind} %": ours,
            f"paper {kind} %": table[kind][k],
            f"{kind} difference": ours - table[kind][k],
        }
        if kind == "coalesced":
            for what, key in (("training s", "train_seconds"), ("testing s", "test_seconds")):
                row[what] = float(np.mean([curve.mean(key) for curve in found]))
                row[f"paper {what}"] = table[key][k]
    row["model kB"] = round(model_kilobytes(n_clauses(column)))
    row["paper model kB"] = paper.MODEL_KB[k]
    return row


def model_kilobytes(clauses: int) -> float:
    """The size of a model as the paper counts: a bit per clause and literal, a byte per weight."""
    return clauses * (_N_LITERALS / 8 + N_CLASSES) / 1000


def _notes(title: str, data: Data, epochs: int, repeats: int) -> list[str]:
    images, test_images = len(data[1]), len(data[3])
    height, width = PATCH_SHAPE
    notes = [
        f"{title}, {images:,} training and {test_images:,} test images; convolution with "
        f"{height} x {width} patches; T and s as in the paper's table.",
        f"Accuracy and times are means over the last {last_epochs(epochs)} of {epochs} epochs and "
        f"{repeats} seed(s); the paper's over the last 25 epochs of 10 runs, its times "
        "are of a V100. Times are of the coalesced machine.",
    ]
    if epochs < _EPOCHS:
        notes.append("Fewer epochs than the paper's: accuracies are below what they end at.")
    if images < _ALL_IMAGES:
        notes.append(f"Only {images:,} of the {_ALL_IMAGES:,} training images were available.")
    return notes


def _draw(axes: Any, rows: list[dict[str, Any]], title: str) -> None:
    columns = [row["clauses per class"] for row in rows]
    for kind in KINDS:
        ours, theirs = ([row[f"{who}{kind} %"] for row in rows] for who in ("", "paper "))
        axes.plot(columns, ours, "o-", color=COLOURS[kind], label=f"{kind}, ours")
        axes.plot(columns, theirs, "s--", color=COLOURS[kind], mfc="white", label=f"{kind}, paper")
    axes.set(xscale="log", xlabel="clauses per class", ylabel="test accuracy, %", title=title)
    axes.set_xticks(columns, [f"{column:,}" for column in columns])
    axes.minorticks_off()
    axes.legend(loc="lower right")
