"""cotm's settings beside other classifiers, on tables, text and images.

    python benchmarks/tables.py FOLDER --jobs 4

FOLDER holds tables as CSV files with a header and the class in the last column; scikit-learn's
bundled sets, generated noisy and imbalanced ones, a text and an image set come on top. Of each at
most 3,000 rows; three stratified folds with fixed seeds; every process has one thread.

A line of JSON is written for each fold of a method that is finished. The same command goes on
where it was stopped; lines of other settings under the same name are not taken for finished.
Without --methods: cotm, forest, boosting, logistic, and what --settings names.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import importlib.metadata
import json
import multiprocessing
import os
import platform
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from common import RESULTS, commit
from tables_data import load, sources
from tables_methods import LIBRARIES, N_FOLDS, OTHERS, SETTINGS, USUAL, is_installed, measure
from tables_report import METRICS, Lines, Results, complete, read, words

import cotm
from cotm.experiments.report import processor_name

Task = tuple[str, str, int]  # data, method, fold


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of CSV files")
    parser.add_argument(
        "--data", nargs="+", default=["*"], metavar="PATTERN", help="such as 'tables/*' noisy"
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="'all': all that is installed")
    parser.add_argument(
        "--settings", default="{}", help='more settings of cotm: {"NAME": {"T": 1000}}, or a file'
    )
    parser.add_argument("--again", nargs="+", default=[], metavar="NAME", help="measure anew")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--folds",
        type=int,
        choices=range(1, N_FOLDS + 1),
        default=N_FOLDS,
        help=f"only the first of the {N_FOLDS}, for methods that take long",
    )
    parser.add_argument("--output", type=Path, default=RESULTS / "tables.jsonl")
    parser.add_argument("--report", action="store_true", help="measure nothing, show what is there")
    parser.add_argument(
        "--each", nargs="+", choices=METRICS, default=["accuracy"], help="shown for each table"
    )
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="for figures of mean ranks")
    parser.epilog = f"methods: {', '.join([*SETTINGS, *OTHERS])}"
    return parser.parse_args()


def read_settings(given: str) -> dict[str, dict[str, Any]]:
    """Settings of cotm by name, from JSON or a file of it."""
    text = given if given.lstrip().startswith("{") else Path(given).read_text(encoding="utf-8")
    settings = json.loads(text)
    wrong = [name for name in settings if name in OTHERS]
    if wrong:
        sys.exit(f"error: {wrong[0]!r} in --settings is the name of another method")
    for name, parameters in settings.items():
        kind = getattr(cotm, parameters.get("class", "CoTMClassifier"))
        unknown = set(parameters) - set(kind().get_params()) - {"class"}
        if unknown:
            sys.exit(f"error: {name!r} in --settings has {unknown.pop()!r}, which cotm has not")
    return settings


def chosen_methods(arguments: argparse.Namespace, settings: dict[str, Any]) -> list[str]:
    known = [*settings, *OTHERS]
    methods = arguments.methods or [*USUAL, *read_settings(arguments.settings)]
    if methods == ["all"]:
        methods = [name for name in known if is_installed(name)]
    for name in [*methods, *arguments.again]:
        if name not in known:
            sys.exit(f"error: no method {name!r}; there are {', '.join(known)}")
    for name in methods:
        if not is_installed(name) and not arguments.report:
            sys.exit(f"error: {name} needs {LIBRARIES[name]}; install it, or choose --methods")
    return list(dict.fromkeys(methods))


def chosen_data(arguments: argparse.Namespace, lines: Lines) -> list[str]:
    """Names of data that match a pattern, or whose group is named."""
    if arguments.folder is not None and not arguments.folder.is_dir():
        sys.exit(f"error: {arguments.folder} is not a folder")
    names = list(sources(arguments.folder))
    if arguments.report:  # also what lies in no folder here
        names = list(dict.fromkeys(name for name, _, _ in lines))
    chosen = []
    for pattern in arguments.data:
        found = [n for n in names if fnmatch.fnmatch(n, pattern) or n.split("/")[0] == pattern]
        if not found and not arguments.report:
            sys.exit(f"error: no data match {pattern!r}; there are {', '.join(names)}")
        chosen += found
    return list(dict.fromkeys(chosen))


def work(folder: Path | None, task: Task, settings: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own: measure one method on one fold."""
    name, method, fold = task
    return measure(load(name, folder), method, settings, fold)


def about_this_run() -> dict[str, Any]:
    libraries = ["cotm", "numpy", "scikit-learn", "lightgbm", "interpret-core", "imodels", "tmu"]
    versions = {}
    for library in libraries:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def run_all(
    tasks: list[Task], arguments: argparse.Namespace, settings: dict[str, Any], run: int
) -> list[str]:
    """Measure all tasks, and write a line for each; what went wrong comes back."""
    # Before the processes start, so that their libraries see it.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    failures: list[str] = []
    began, done = time.perf_counter(), 0
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")  # the same on every system
    with (
        arguments.output.open("a", encoding="utf-8") as output,
        ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool,
    ):
        output.write("\n" * bool(output.tell()))  # ends a line that was cut off
        output.write(json.dumps({"run": run, **about_this_run()}) + "\n")
        waiting: dict[Future[dict[str, Any]], Task] = {
            pool.submit(work, arguments.folder, task, settings.get(task[1], {})): task
            for task in tasks
        }
        try:
            for future in as_completed(waiting):
                name, method, fold = waiting.pop(future)
                done += 1
                title = f"{name}, {method}, fold {fold}"
                try:
                    found = future.result()
                except BrokenProcessPool:
                    failures.append("a process died, perhaps for lack of memory; start again")
                    break
                except Exception as error:
                    failures.append(f"{name}, {method}: {type(error).__name__}: {error}")
                    print(f"FAILED {failures[-1]}", flush=True)
                    continue
                line = {"data": name, "method": method, "fold": fold, "run": run, **found}
                if method in settings:
                    line["settings"] = settings[method]
                output.write(json.dumps(line) + "\n")
                output.flush()
                print(
                    f"{title}: {100 * found['accuracy']:.1f} % in {found['fit_seconds']:.1f} s "
                    f"[{done} of {len(tasks)}, {time.perf_counter() - began:.0f} s]",
                    flush=True,
                )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return failures


def show(
    lines: Lines, runs: list[dict[str, Any]], methods: list[str], arguments: argparse.Namespace
) -> None:
    """Tables of means and ranks, of each group of data and of all, and the plots."""
    names = chosen_data(arguments, lines)
    methods = [m for m in methods if any((name, m, 0) in lines for name in names)]
    data = complete(lines, methods, names, arguments.folds) if methods else []
    if not data:
        print("nothing is finished for all of these methods yet")
        return
    if len(data) < len(names):
        unfinished = ", ".join(sorted(set(names) - set(data)))
        print(f"\nleft out, because not finished by every method: {unfinished}")
    used = {
        lines[name, m, k]["run"] for name in data for m in methods for k in range(arguments.folds)
    }
    told = [runs[number] for number in sorted(used)]
    commits = ", ".join(dict.fromkeys(run["commit"] for run in told))
    processors = "; ".join(dict.fromkeys(run["processor"] for run in told))
    source = f"{processors}; cotm {cotm.__version__}, commit {commits}"
    print(f"\n{source}; {arguments.folds} of {N_FOLDS} folds")
    groups = list(dict.fromkeys(name.split("/")[0] for name in data))
    for group in [*groups, "all"] if len(groups) > 1 else groups:
        part = [name for name in data if group in ("all", name.split("/")[0])]
        results = Results(lines, methods, part, arguments.folds)
        print(f"\n{group}: {len(part)}\n\n{results.summary()}")
        for metric in METRICS if len(part) > 1 else ():
            print(f"\n{results.difference(metric)}", end="")
        print()
    everything = Results(lines, methods, data, arguments.folds)
    for metric in arguments.each:
        print(f"\n{words(metric)}\n\n{everything.each(metric)}")
    if arguments.plot:
        arguments.plot.mkdir(parents=True, exist_ok=True)
        for metric in METRICS:
            if everything.draw(metric, arguments.plot, f"{len(data)} data sets; {source}"):
                print(f"{arguments.plot}/ranks-{metric.replace('_', '-')}.svg and .png")


def main() -> int:
    arguments = parse()
    settings = {**SETTINGS, **read_settings(arguments.settings)}
    methods = chosen_methods(arguments, settings)
    runs, lines = read(arguments.output)
    # A name may have meant other settings when a line was written.
    lines = {
        key: line
        for key, line in lines.items()
        if key[1] in OTHERS or line["settings"] == settings.get(key[1])
    }
    failures: list[str] = []
    status = 0
    if not arguments.report:
        tasks = [
            task
            for name in chosen_data(arguments, lines)
            for fold in range(arguments.folds)
            for method in methods
            if (task := (name, method, fold)) not in lines or method in arguments.again
        ]
        print(f"{len(tasks)} folds to measure; results in {arguments.output}", flush=True)
        if tasks:
            try:
                failures = run_all(tasks, arguments, settings, len(runs))
            except KeyboardInterrupt:
                print("\ninterrupted; the same command goes on from here")
                status = 130
            runs, lines = read(arguments.output)
    show(lines, runs, methods, arguments)
    for failure in dict.fromkeys(failures):
        print(f"not measured: {failure}")
    return status or bool(failures)


if __name__ == "__main__":
    sys.exit(main())
