"""Accuracy and time against the number of clauses: the paper's tables of gray images.

A table has two forms: as the paper's text says how it was made, and as the programs that its
authors released would make it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import paper
from .forms import FORMS, Form, TableMachine
from .gray_images import (
    N_CLASSES,
    PATCH_SHAPE,
    TITLES,
    chosen_columns,
    load_bits,
    n_clauses,
    parameters,
)
from .report import COLOURS, GREEN, Report
from .runs import Curve, Data, Run, Runs, last_epochs

_EPOCHS, _QUICK_EPOCHS = 100, 8
_QUICK_COLUMNS = (50, 100, 250)
_ALL_IMAGES = 60_000
#: A patch has 10 x 10 pixels and its position among 19 rows and 19 columns as 18 bits each; every
#: bit and its negation is a literal.
_N_LITERALS = 2 * (10 * 10 + 18 + 18)
_COLOURS = {**COLOURS, "weighted, one drawn": GREEN}


def run(runs: Runs, report: Report, *, data_set: str) -> None:
    """Train all columns of one table with each machine of its form, and write it."""
    columns = chosen_columns(runs.options, _QUICK_COLUMNS if runs.options.quick else paper.COLUMNS)
    form = FORMS[runs.options.form]
    level = form.levels.get(data_set)
    data = load_bits(data_set, level)
    data_name = data_set if level is None else f"{data_set}, pixels from {level} on"
    epochs = runs.epochs(full=_EPOCHS, quick=_QUICK_EPOCHS)
    curves = runs.train_all(
        {
            (column, machine.title, seed): Run(
                label=f"{data_set} {column}",
                kind=machine.kind,
                data=data,
                data_name=data_name,
                parameters=parameters(data_set, column) | machine.settings(data_set, column),
                epochs=epochs,
                seed=seed,
                clips_votes=form.clips_votes,
            )
            for column in columns
            for machine in form.machines
            for seed in runs.seeds()
        }
    )
    rows = []
    for column in columns:
        found = [
            (machine, [curves[column, machine.title, seed] for seed in runs.seeds()])
            for machine in form.machines
        ]
        rows.append(_row(data_set, column, found))
    title = TITLES[data_set]
    notes = _notes(title, data, epochs, runs.options.repeats, form)
    report.write(f"{title}: accuracy and time against clauses", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows, title, form))


def _row(
    data_set: str, column: int, found: list[tuple[TableMachine, list[Curve]]]
) -> dict[str, Any]:
    """One column of the paper's table, which is a row of ours."""
    k, table = paper.COLUMNS.index(column), paper.CLAUSES[data_set]
    row: dict[str, Any] = {"clauses per class": column, "T": table["T"][k], "s": table["s"][k]}
    for machine, curves in found:
        title, quoted = machine.title, table[machine.kind][k]
        accuracies = [100 * curve.mean("test_accuracy") for curve in curves]
        ours = float(np.mean(accuracies))
        for name in ("T", "s"):
            if (used := curves[0].settings[name]) != row[name]:
                row[f"{title} {name}"] = used
        row |= {
            f"{title} %": ours,
            f"paper {title} %": quoted,
            f"{title} difference": ours - quoted,
        }
        if len(curves) > 1:
            row[f"{title} spread"] = float(np.std(accuracies, ddof=1))
        if curves[0].settings.get("clips_votes"):
            clipped = [100 * curve.mean("clipped_accuracy") for curve in curves]
            row[f"{title}, clipped %"] = float(np.mean(clipped))
        if title == "coalesced":
            for what, key in (("training s", "train_seconds"), ("testing s", "test_seconds")):
                row[what] = float(np.mean([curve.mean(key) for curve in curves]))
                row[f"paper {what}"] = table[key][k]
    row["model kB"] = round(model_kilobytes(n_clauses(column)))
    row["paper model kB"] = paper.MODEL_KB[k]
    return row


def model_kilobytes(clauses: int) -> float:
    """The size of a model as the paper counts: a bit per clause and literal, a byte per weight."""
    return clauses * (_N_LITERALS / 8 + N_CLASSES) / 1000


def _notes(title: str, data: Data, epochs: int, repeats: int, form: Form) -> list[str]:
    images, test_images = len(data[1]), len(data[3])
    height, width = PATCH_SHAPE
    settings = "T and s as in the paper's table."
    if form.clips_votes:
        settings = (
            "bits, T, s and rules of the programs that the authors released, where they differ "
            "from the paper's text; see docs/reproduction.md. Those programs predict by votes "
            'that are clipped to T, as the columns "clipped" do.'
        )
    notes = [
        f"{title}, {images:,} training and {test_images:,} test images; convolution with "
        f"{height} x {width} patches; {settings}",
        f"Accuracy and times are means over the last {last_epochs(epochs)} of {epochs} epochs and "
        f"{repeats} seed(s); the paper's over the last 25 epochs of 10 runs, its times "
        "are of a V100. Times are of the coalesced machine.",
    ]
    if repeats > 1:
        notes.append("The spread is the standard deviation between seeds.")
    if epochs < _EPOCHS:
        notes.append("Fewer epochs than the paper's: accuracies are below what they end at.")
    if images < _ALL_IMAGES:
        notes.append(f"Only {images:,} of the {_ALL_IMAGES:,} training images were available.")
    return notes


def _draw(axes: Any, rows: list[dict[str, Any]], title: str, form: Form) -> None:
    columns = [row["clauses per class"] for row in rows]
    drawn = set()
    for machine in form.machines:
        name, colour = machine.title, _COLOURS[machine.title]
        ours = [row[f"{name} %"] for row in rows]
        axes.plot(columns, ours, "o-", color=colour, label=f"{name}, ours")
        if machine.kind not in drawn:  # several machines may be compared with the same row
            drawn.add(machine.kind)
            theirs = [row[f"paper {name} %"] for row in rows]
            label = f"{machine.kind}, paper"
            axes.plot(columns, theirs, "s--", color=colour, mfc="white", label=label)
    axes.set(xscale="log", xlabel="clauses per class", ylabel="test accuracy, %", title=title)
    axes.set_xticks(columns, [f"{column:,}" for column in columns])
    axes.minorticks_off()
    axes.legend(loc="lower right")
