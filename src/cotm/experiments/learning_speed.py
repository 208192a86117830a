"""How fast accuracy rises on MNIST: the paper's figure of accuracy against epochs."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import paper
from .gray_images import KINDS, chosen_column, load_bits, parameters
from .report import COLOURS, GREY, Report
from .runs import Curve, Run, Runs

_EPOCHS, _QUICK_EPOCHS = 100, 8
#: The paper's figure is of its largest machines.
_PAPER_COLUMN = paper.COLUMNS[-1]
_QUICK_COLUMN = paper.COLUMNS[0]
#: The paper tells after how many epochs test accuracy passes this many per cent.
_PASS_MARK = 99.3


def run(runs: Runs, report: Report) -> None:
    """Train both kinds of machine and find when each passes the mark."""
    column = chosen_column(
        report.name, runs.options, _QUICK_COLUMN if runs.options.quick else _PAPER_COLUMN
    )
    data = load_bits("mnist")
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    found = runs.train_all(
        {
            (kind, seed): Run(
                label=f"mnist {column}",
                kind=kind,
                data=data,
                data_name="mnist",
                parameters=parameters("mnist", column),
                epochs=epochs,
                seed=seed,
            )
            for kind in KINDS
            for seed in runs.seeds()
        }
    )
    curves = {kind: [found[kind, seed] for seed in runs.seeds()] for kind in KINDS}
    rows = [_row(kind, curves[kind], column) for kind in KINDS]
    notes = [
        f"MNIST, {column:,} clauses per class, {epochs} epochs, {runs.options.repeats} seed(s)."
    ]
    if column != _PAPER_COLUMN:
        notes.append(f"The paper's figure is of {_PAPER_COLUMN:,} clauses per class.")
    report.write("Learning speed: test accuracy per epoch", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, curves))


def _row(kind: str, curves: list[Curve], column: int) -> dict[str, Any]:
    accuracy = np.mean([[e["test_accuracy"] for e in curve.epochs] for curve in curves], axis=0)
    passed = np.flatnonzero(100 * accuracy > _PASS_MARK)
    return {
        "machine": kind,
        f"first epoch above {_PASS_MARK} %": int(passed[0]) + 1 if len(passed) else "none",
        "paper": paper.LEARNING_SPEED[kind] if column == _PAPER_COLUMN else None,
        "best %": 100 * float(accuracy.max()),
        "last epoch %": 100 * float(accuracy[-1]),
    }


def _draw(axes: Any, curves: dict[str, list[Curve]]) -> None:
    for kind, found in curves.items():
        for number, curve in enumerate(found):
            xs = [record["epoch"] for record in curve.epochs]
            ys = [100 * record["test_accuracy"] for record in curve.epochs]
            axes.plot(xs, ys, color=COLOURS[kind], label=kind if number == 0 else None)
    axes.axhline(_PASS_MARK, color=GREY, ls="--", lw=1)
    axes.set(xlabel="epoch", ylabel="test accuracy, %")
    axes.legend(loc="lower right")
