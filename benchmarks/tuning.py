"""Searches of settings: trials per hour side by side, beside one machine at a time.

The same search (chance asks for candidates, so that Optuna is not needed) runs with one training at
a time and with all that there is room for: threads on the processors, on a GPU, on both. All must
find the same, to the last bit: else the script ends with an error. Images are MNIST from the folder
COTM_DATA, or generated; the table is generated. Ratios are to the faster of the ways that have one
machine at a time, on a processor or on the GPU. --at-least R fails if a workload stays below.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import data
import numpy as np
from common import RESULTS, commit

import cotm
from cotm.backends import backend_names, check_backend, device_title


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of which some decide, with a tenth of the labels wrong."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 20)).round(3)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > 0.3)
    wrong = random.random(rows) < 0.1
    return X, np.where(wrong, random.integers(0, 4, rows), y)


def workload(name: str, rows: int) -> tuple[Any, np.ndarray, np.ndarray, str]:
    if name == "table":
        return (cotm.CoTMClassifier(random_state=1), *table(rows), "generated")
    arrays, source = data.images(rows, 100)
    learner = cotm.CoTMClassifier(500, patch_shape=(10, 10), booleanize=None, random_state=1)
    return learner, arrays["x_train"], arrays["y_train"], source


def is_there(backend: str) -> bool:
    try:
        check_backend(backend)
    except ValueError:
        return False
    return True


def search(
    learner: Any, X: Any, y: Any, trials: int, max_epochs: int, backend: str, jobs: int | None
) -> tuple[dict[str, Any], str]:
    """Trials per hour, and all that was found, without times."""
    found = cotm.CoTMSearchCV(
        learner.set_params(backend=backend), n_trials=trials, max_epochs=max_epochs, cv=0.2,
        sampler="random", refit=False, n_jobs=jobs, random_state=1,
    )  # fmt: skip
    began = time.perf_counter()
    found.fit(X, y)
    seconds = time.perf_counter() - began
    results = {
        name: np.ma.getdata(values).tolist() if hasattr(values, "tolist") else values
        for name, values in found.cv_results_.items()
        if not name.endswith("_time")
    }
    figures = {"backend": backend, "jobs": jobs, "seconds": seconds,
               "trials_per_hour": trials / seconds * 3600}  # fmt: skip
    return figures, repr(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", nargs="*", default=["images", "table"])
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--trials", type=int, default=36)
    parser.add_argument("--max-epochs", type=int, default=18)
    parser.add_argument("--jobs", type=int, nargs="*", default=[8, 16], help="on a GPU alone")
    parser.add_argument("--alone", choices=["both", "gpu"], default="both",
                        help="where one at a time is tried, if there is a GPU")  # fmt: skip
    parser.add_argument("--at-least", type=float, metavar="R")
    parser.add_argument("--output", type=Path, default=RESULTS / "tuning.json")
    options = parser.parse_args()
    gpu = next((n for n in backend_names()[1:] if is_there(n) and device_title(n)), None)
    report: dict[str, Any] = {
        "cores": os.cpu_count(), "machine": platform.processor() or platform.machine(),
        "gpu": device_title(gpu) if gpu else None, "commit": commit(),
        "date": datetime.date.today().isoformat(), "cotm": cotm.__version__,
        "command": shlex.join(["python", *sys.argv]), "workloads": {},
    }  # fmt: skip
    for name in options.workloads:
        learner, X, y, source = workload(name, options.rows)
        ways: list[tuple[str, int | None]] = [("auto", 1), ("auto", None)]
        if gpu:
            ways = ways[options.alone == "gpu" :]
            ways = [(gpu, 1), *ways, *((gpu, jobs) for jobs in options.jobs)]
            # Kernels are compiled for each kind of machine that the candidates are.
            search(learner, X[:300], y[:300], options.trials, 2, gpu, 4)
        rows, first, alone = [], None, 0.0
        for backend, jobs in ways:
            figures, found = search(
                learner, X, y, options.trials, options.max_epochs, backend, jobs
            )
            first = found if first is None else first
            if found != first:
                sys.exit(f"{name}: {backend} with jobs={jobs} found something else")
            rows.append(figures)
            alone = max(row["trials_per_hour"] for row in rows if row["jobs"] == 1)
            figures["ratio"] = figures["trials_per_hour"] / alone
            print(
                f"{name} ({source}, {len(X):,} rows): {backend}, "
                f"{'all there is' if jobs is None else jobs} at a time: {figures['seconds']:.2f} s,"
                f" {figures['trials_per_hour']:,.0f} trials per hour, {figures['ratio']:.2f} times",
                flush=True,
            )
        for figures in rows:
            figures["ratio"] = figures["trials_per_hour"] / alone
        report["workloads"][name] = rows
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(f"all found the same; results in {options.output}")
    best = {name: max(row["ratio"] for row in rows) for name, rows in report["workloads"].items()}
    if options.at_least and min(best.values()) < options.at_least:
        sys.exit(f"no more than {best} times the trials per hour of one machine at a time")


if __name__ == "__main__":
    main()
