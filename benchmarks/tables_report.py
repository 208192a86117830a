"""What tables.py has measured: means, ranks, and a critical-difference plot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from cotm.experiments.report import GREY, STYLE, markdown_table, save_figure

#: Whether more of it is better.
METRICS = {"accuracy": True, "log_loss": False, "auc": True}
#: Of the Nemenyi test.
SIGNIFICANCE = 0.05

#: (data, method, fold) -> what was measured.
Lines = dict[tuple[str, str, int], dict[str, Any]]


def read(path: Path) -> tuple[list[dict[str, Any]], Lines]:
    """The runs that a file holds, and its results: of equal keys, the last one."""
    runs: list[dict[str, Any]] = []
    lines: Lines = {}
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # cut off when the computer stopped
            if "data" in line:
                lines[line["data"], line["method"], line["fold"]] = line
            else:
                runs.append(line)
    return runs, lines


def complete(lines: Lines, methods: list[str], data: Iterable[str], folds: int) -> list[str]:
    """The data on which every fold of all these methods is there."""
    keys = [(method, fold) for method in methods for fold in range(folds)]
    return [name for name in data if all((name, *key) in lines for key in keys)]


class Results:
    """Means over folds, of some methods on data that all of them have finished."""

    def __init__(self, lines: Lines, methods: list[str], data: list[str], folds: int) -> None:
        self.lines, self.methods, self.data, self.folds = lines, methods, data, folds

    def mean(self, name: str, method: str, key: str) -> float:
        """NaN where a method does not have it, as tmu has no log loss."""
        values = [self.lines[name, method, fold].get(key, np.nan) for fold in range(self.folds)]
        return float(np.mean(values))

    def matrix(self, key: str) -> np.ndarray:
        """A row for each of the data, a column for each method."""
        rows = [[self.mean(name, method, key) for method in self.methods] for name in self.data]
        return np.array(rows).reshape(len(self.data), len(self.methods))

    def ranked(self, metric: str) -> tuple[list[str], np.ndarray]:
        """The methods that have this metric everywhere, and their ranks, 1 the best."""
        values = self.matrix(metric)
        there = ~np.isnan(values).any(axis=0)
        # Rounded, so that equal shares of rows that were summed otherwise stay equal.
        signed = np.round(values[:, there], 9) * (-1 if METRICS[metric] else 1)
        return [m for m, has in zip(self.methods, there, strict=True) if has], rankdata(
            signed, axis=1
        )

    def summary(self) -> str:
        """A Markdown table with a row for each method."""
        found = {key: self.matrix(key).mean(axis=0) for key in METRICS}
        balanced = self.matrix("balanced").mean(axis=0)
        seconds = {key: self.matrix(f"{key}_seconds").sum(axis=0) for key in ("fit", "predict")}
        below = (self.matrix("accuracy") < self.matrix("majority") - 1e-9).sum(axis=0)
        rows = []
        for k, method in enumerate(self.methods):
            row: dict[str, Any] = {
                "method": method,
                "accuracy": f"{100 * found['accuracy'][k]:.2f}",
                "balanced": text(100 * balanced[k], 2),
                "log loss": text(found["log_loss"][k], 3),
                "AUC": text(100 * found["auc"][k], 2),
            }
            for metric in METRICS:
                names, ranks = self.ranked(metric)
                known = method in names
                column = f"rank by {words(metric)}"
                row[column] = f"{ranks.mean(axis=0)[names.index(method)]:.2f}" if known else ""
            row["below majority"] = str(below[k])
            row |= {f"{key}, s": text(seconds[key][k], 1) for key in seconds}
            sizes = {key: self.matrix(key)[:, k] for key in ("rules", "literals", "conditions")}
            if not np.isnan(sizes["rules"]).all():
                row |= {key: text(np.nanmean(values), 1) for key, values in sizes.items()}
            rows.append(row)
        return markdown_table(rows)

    def each(self, metric: str) -> str:
        """A Markdown table with a row for each of the data."""
        scale, digits = (1, 3) if metric == "log_loss" else (100, 1)
        rows = []
        for name, values in zip(self.data, self.matrix(metric), strict=True):
            row: dict[str, Any] = {"data": name}
            if metric == "accuracy":
                row["majority"] = f"{100 * self.mean(name, self.methods[0], 'majority'):.1f}"
            cells = zip(self.methods, values, strict=True)
            rows.append(row | {method: text(scale * value, digits) for method, value in cells})
        return markdown_table(rows)

    def difference(self, metric: str) -> str:
        """In words, how far apart mean ranks must be to tell methods from one another."""
        names, ranks = self.ranked(metric)
        if len(names) < 2 or len(ranks) < 2:
            return ""
        told = f"critical difference of mean ranks by {words(metric)} (Nemenyi, "
        told += f"{SIGNIFICANCE:.0%}): {critical_difference(*ranks.shape):.2f}"
        if len(names) > 2:
            told += f"; Friedman test p = {friedmanchisquare(*ranks.T).pvalue:.2g}"
        return told

    def draw(self, metric: str, folder: Path, source: str) -> bool:
        """The plot of Demšar (2006): mean ranks, and bars over what cannot be told apart."""
        names, ranks = self.ranked(metric)
        if len(names) < 2 or len(ranks) < 2:
            return False
        import matplotlib

        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        gap = critical_difference(*ranks.shape)
        order = np.argsort(ranks.mean(axis=0), kind="stable")
        means = ranks.mean(axis=0)[order]
        bars = list(indistinct(means, gap))
        first_line = 0.5 + 0.22 * len(bars)
        with plt.rc_context(STYLE):
            height = 1.6 + 0.2 * len(bars) + 0.18 * len(names)
            figure, axes = plt.subplots(figsize=(8, height), layout="constrained")
            half = (len(names) + 1) // 2
            for k, (mean, column) in enumerate(zip(means, order, strict=True)):
                left = k < half
                depth = first_line + 0.4 * (k if left else len(names) - 1 - k)
                edge = 0.7 if left else len(names) + 0.3
                axes.plot([mean, mean, edge], [0, depth, depth], color="black", lw=1)
                label = f"{names[column]} ({mean:.2f})"
                side = {"ha": "right" if left else "left", "va": "center"}
                axes.annotate(
                    label,
                    (edge, depth),
                    xytext=(-4 if left else 4, 0),
                    textcoords="offset points",
                    annotation_clip=False,
                    **side,
                )
            for level, (first, last) in enumerate(bars):
                y = 0.3 + 0.22 * level
                ends = [means[first] - 0.03, means[last] + 0.03]
                axes.plot(ends, [y, y], color=GREY, lw=4, solid_capstyle="butt")
            axes.set(xlim=(0.7, len(names) + 0.3), ylim=(first_line + 0.4 * half, 0))
            axes.set_xticks(range(1, len(names) + 1))
            axes.xaxis.tick_top()
            axes.xaxis.set_label_position("top")
            axes.set_xlabel(f"mean rank by {words(metric)}, critical difference {gap:.2f}")
            axes.set_yticks([])
            axes.grid(visible=False)
            for side in ("left", "bottom"):
                axes.spines[side].set_visible(False)
            axes.spines["top"].set_visible(True)
            figure.supxlabel(source, x=0.01, ha="left", fontsize=10, color=GREY)
            save_figure(figure, folder, f"ranks-{metric.replace('_', '-')}")
        return True


def words(metric: str) -> str:
    return "AUC" if metric == "auc" else metric.replace("_", " ")


def text(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:,.{digits}f}"


def critical_difference(n_data: int, n_methods: int) -> float:
    """Of the Nemenyi test: mean ranks that are further apart are different."""
    quantile = studentized_range.ppf(1 - SIGNIFICANCE, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


def indistinct(means: np.ndarray, gap: float) -> Iterator[tuple[int, int]]:
    """First and last of the longest runs of rising mean ranks within the gap."""
    reached = 0
    for first in range(len(means)):
        last = int(np.searchsorted(means, means[first] + gap, side="right")) - 1
        if last > max(first, reached):
            yield first, last
            reached = last
