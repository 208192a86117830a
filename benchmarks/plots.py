"""Figures of benchmark results: ``python benchmarks/plots.py RESULTS.json... --to FOLDER``.

Draws, as far as there are results for it, ``speedup`` (ratios to cotm), ``clauses`` (time of an
epoch against the size of the pool) and ``threads``, each as SVG and PNG. A task is taken whole
from the last file that has it: a ratio never mixes two runs. Files of two computers are refused.
A file of gpu.py gives ``gpu``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

try:
    import matplotlib
except ImportError:
    sys.exit("error: the figures need matplotlib: pip install matplotlib")

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from summary import NEARER, number

from cotm.experiments.report import BLUE, GREEN, GREY, STYLE, VERMILION, save_figure

COLOURS = {"cotm": BLUE, "tmu": VERMILION, "green-tsetlin": GREEN}


class Results:
    """The tasks of several files, all measured on one computer."""

    def __init__(self, paths: list[Path]) -> None:
        self.reports = [json.loads(path.read_text()) for path in paths]
        computers = {(r["processor"], r["cores"], r["isa"]) for r in self.reports}
        if len(computers) > 1:
            names = "; ".join(sorted(f"{p}, {c} cores, {i}" for p, c, i in computers))
            sys.exit(f"error: results of different computers ({names}): draw them one by one")
        self._tasks: dict[str, tuple[dict, list[dict]]] = {}
        for report in self.reports:
            for name in dict.fromkeys(r["task"] for r in report["results"]):
                found = [r for r in report["results"] if r["task"] == name]
                self._tasks[name] = report, found

    def of(self, *groups: str, but: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        chosen = [r for _, found in self._tasks.values() for r in found]
        return [r for r in chosen if (r["group"] in groups or not groups) and r["group"] not in but]

    def version(self, library: str) -> str:
        versions = (r["cotm"] if library == "cotm" else r["peers"][library] for r in self.reports)
        return f"{library} {' and '.join(dict.fromkeys(v for v in versions if v))}"

    def source(self, results: list[dict[str, Any]], threads: str = "one thread") -> str:
        """What stands under a figure: computer, commit, data, and whether it is the short mode."""
        used = {r["task"] for r in results}
        reports = [report for name, (report, _) in self._tasks.items() if name in used]
        first = reports[0]
        commits = " and ".join(dict.fromkeys(r["commit"] for r in reports))
        kinds = ["text" if task.startswith("text") else "images" for task in sorted(used)]
        data = dict.fromkeys(r["data"][k] for r in reports for k in kinds if k in r["data"])
        computer = f"{first['processor']}, {first['cores']} cores, {first['isa']}, {threads}"
        lines = [f"{computer}; cotm {first['cotm']}, commit {commits}", *data]
        if any(r["mode"] == "short" for r in reports):
            lines.append("short mode: small slices only")
        return "\n".join(lines)


def finish(figure, name: str, folder: Path, source: str) -> None:
    figure.supxlabel(source, x=0.01, ha="left", fontsize=10, color=GREY)
    save_figure(figure, folder, name)
    print(f"{folder / name}.svg and .png")


def pale(colour: str) -> tuple[float, ...]:
    """A lighter version of a colour, not a transparent one, which would show the grid behind."""
    return tuple(1 - 0.45 * (1 - part) for part in to_rgb(colour))


def title(task: str) -> str:
    kind, clauses = task.rsplit("-", 1)
    return f"{kind}, {int(clauses):,} clauses"


def draw_speedup(results: Results, folder: Path) -> None:
    """Bars of how many times as long as cotm each peer takes, training above prediction."""
    chosen = [r for r in results.of(but=("threads", "clauses")) if r["library"] in COLOURS]
    bars = []
    for r in chosen:
        if r["library"] == "cotm" or not r["ratios"]:
            continue
        what = f"{r['library']}, {r['scaled']}" if r["scaled"] else r["library"]
        bars.append((f"{title(r['task'])}\n{what}", r["library"], r["ratios"]))
        if r.get("ratios_nearer_rule"):
            label = f"{title(r['task'])}\n{r['library']} ÷ {NEARER[r['library']]}"
            bars.append((label, r["library"], r["ratios_nearer_rule"]))
    if not bars:
        return
    figure, axes = plt.subplots(figsize=(9, 1.9 + 0.8 * len(bars)), layout="constrained")
    for k, (_, library, ratios) in enumerate(bars):
        full = COLOURS[library]
        for offset, cost, colour in ((-0.19, "training", full), (0.19, "prediction", pale(full))):
            ratio = ratios[cost]
            # Bars begin at 1, where both take equally long; to the left of it cotm is slower.
            axes.barh(k + offset, ratio - 1, 0.36, left=1, color=colour)
            axes.annotate(
                number(ratio),
                (max(ratio, 1), k + offset),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
            )
    every = [ratio for _, _, ratios in bars for ratio in ratios.values()]
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, *(0.8 * r for r in every)), 2.5 * max(10, *every))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.axvline(1, color=COLOURS["cotm"], lw=2)
    axes.set_yticks(range(len(bars)), [label for label, _, _ in bars])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("time divided by cotm's")
    libraries = dict.fromkeys(library for _, library, _ in bars)
    handles = [Patch(color=COLOURS[name], label=results.version(name)) for name in libraries]
    handles += [Patch(color=GREY, label="training"), Patch(color=pale(GREY), label="prediction")]
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles))
    finish(figure, "speedup", folder, results.source(chosen))


def draw_clauses(results: Results, folder: Path) -> None:
    """Seconds per epoch against the number of clauses."""
    chosen = results.of("clauses")
    curves: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for r in chosen:
        point = r["n_clauses"], r["epoch_seconds"]
        curves.setdefault((r["library"], r["scaled"]), []).append(point)
    if not curves:
        return
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    for (library, scaled), points in curves.items():
        label = results.version(library) + (f" ({scaled})" if scaled else "")
        own_slice = scaled and library == "cotm"
        pools, seconds = zip(*sorted(points), strict=True)
        style = {"ls": "--", "mfc": "white"} if own_slice else {"ls": "-"}
        axes.plot(pools, seconds, marker="o", lw=2, color=COLOURS[library], label=label, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted({r["n_clauses"] for r in chosen})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_xlabel("clauses")
    axes.set_ylabel(f"seconds per epoch of {chosen[0]['epoch_rows']:,} images")
    axes.legend(loc="upper left")
    finish(figure, "clauses", folder, results.source(chosen))


def draw_threads(results: Results, folder: Path) -> None:
    """Speedup against the number of threads."""
    chosen = sorted(results.of("threads"), key=lambda r: r["threads"])
    if not chosen or not chosen[0]["ratios"]:
        return
    threads = [r["threads"] for r in chosen]
    speedup = [1 / r["ratios"]["training"] for r in chosen]
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    axes.plot(threads, threads, "--", color=GREY, label="ideal")
    label = f"{results.version('cotm')}, {chosen[0]['n_clauses']:,} clauses"
    axes.plot(threads, speedup, "o-", color=COLOURS["cotm"], lw=2, label=label)
    for r, x, y in zip(chosen, threads, speedup, strict=True):
        axes.annotate(
            f"{number(r['epoch_seconds'])} s",
            (x, y),
            xytext=(6, -6),
            textcoords="offset points",
            va="top",
        )
    axes.set(xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(threads))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlim(0.9, threads[-1] * 1.5)
    axes.set_ylim(0.8, threads[-1] * 1.3)
    axes.set_xlabel("threads")
    axes.set_ylabel("speedup")
    axes.legend(loc="upper left")
    rows = f"{chosen[0]['rows']:,} images per pass"
    finish(figure, "threads", folder, results.source(chosen, threads=rows))


#: Seconds per epoch of the authors' CUDA code on an H200, settings as in gpu.py.
AUTHORS = {500: 20.6, 10_000: 22.3, 20_000: 22.6, 80_000: 65.0}


def draw_gpu(report: dict[str, Any], folder: Path) -> None:
    """Seconds per epoch on a GPU against clauses, and the least that exchanging votes takes."""
    results = sorted(report["results"], key=lambda r: r["n_clauses"])
    pools = [r["n_clauses"] for r in results]
    seconds = [r["epoch_seconds"][-1] for r in results]
    rows = results[0]["epoch_rows"]
    floor = [r["barrier_microseconds"] * rows / 1e6 for r in results]
    figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
    axes.plot(list(AUTHORS), list(AUTHORS.values()), "s-", color=VERMILION, lw=2,
              label="the authors' CUDA code")  # fmt: skip
    axes.plot(pools, seconds, "o-", color=COLOURS["cotm"], lw=2, label=f"cotm {report['cotm']}")
    axes.plot(pools, floor, "--", color=GREY, label="votes crossing the blocks, nothing else")
    for x, y in zip(pools, seconds, strict=True):
        axes.annotate(number(y), (x, y), xytext=(0, 8), textcoords="offset points", ha="center")
    axes.set(xscale="log", yscale="log", xlabel="clauses")
    axes.set_ylabel(f"seconds per epoch of {rows:,} images")
    axes.xaxis.set_major_locator(FixedLocator(pools))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_ylim(0.02, 200)
    axes.legend(loc="upper left")
    source = (
        f"{report['gpu']}, CuPy {report['cupy']}; cotm {report['cotm']}, commit "
        f"{report['commit']}; third epoch\n{report['data']}, patches of 10 × 10; T and s as in "
        "docs/performance.md"
    )
    finish(figure, "gpu", folder, source)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS.json")
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    reports = {path: json.loads(path.read_text()) for path in arguments.results}
    others = [path for path, report in reports.items() if "gpu" not in report]
    with plt.rc_context(STYLE):
        for report in reports.values():
            if "gpu" in report:
                draw_gpu(report, arguments.to)
        if others:
            results = Results(others)
            for draw in (draw_speedup, draw_clauses, draw_threads):
                draw(results, arguments.to)


if __name__ == "__main__":
    main()
