"""cotm beside its peers, interleaved on the same data in one run; medians and ratios.

The short mode takes slices of some tens to some hundreds of rows and less than two minutes. It
leaves out convolution-20000 and, in "clauses", pools of more than 2,000 clauses; only
convolution-500 is repeated. A slice is the very beginning of training, where feedback is most
frequent: the short mode shows that everything works, not how fast it is.

--full takes all data and some hours, most of them tmu's. Even there, peers that would take too
long or too much memory get a slice: tmu in convolution-20000, text-2000 and "clauses",
green-tsetlin in text-2000. The time of a slice is scaled to the whole epoch, and cotm runs on the
whole and on the same slice.

The peers are installed into build/peers, an environment of their own. Data come from the folder
COTM_DATA (mnist.npz with x_train, y_train, x_test, y_test; imdb.npz with train_text, train_end,
y_train and the same for test), otherwise they are generated; the output says which. Every run is a
process of its own, with one thread except in "threads". The JSON is written after every run, so
what was measured before Ctrl-C is kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import data
import numpy as np
import summary
from common import RESULTS, ROOT, commit
from tasks import GROUPS, LIBRARIES, REQUIREMENTS, TASKS, Entry, Task, entries

import cotm
from cotm._native import best_isa
from cotm.experiments.report import processor_name

PEERS_PYTHON = ROOT / "build" / "peers" / "bin" / "python"

VERSIONS = """
import importlib.metadata as m, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


class Failed(Exception):
    """A library that could not be installed or run; the message is one line."""


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def peer_versions() -> dict[str, str | None]:
    if not PEERS_PYTHON.exists():
        return dict.fromkeys(REQUIREMENTS)
    command = [PEERS_PYTHON, "-c", VERSIONS, *REQUIREMENTS]
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else dict.fromkeys(REQUIREMENTS)


def install_peers() -> dict[str, str | None]:
    """Install the peers; return their versions, None where that failed, which is printed."""

    def missing(versions: dict[str, str | None]) -> list[str]:
        wanted = {name: want for name, want in REQUIREMENTS.items() if want.startswith("==")}
        wrong = [name for name, want in wanted.items() if versions[name] != want[2:]]
        return wrong + [name for name in REQUIREMENTS if not versions[name] and name not in wanted]

    versions = peer_versions()
    if not missing(versions):
        return versions
    print("installing the peers ...", flush=True)
    try:
        if not PEERS_PYTHON.exists():
            subprocess.run([sys.executable, "-m", "venv", PEERS_PYTHON.parent.parent], check=True)
    except subprocess.CalledProcessError as error:
        print(f"no environment for the peers, so only cotm is measured: {error}")
        return versions
    # One by one, so that a peer that cannot be installed does not prevent the other.
    for name in missing(versions):
        packages = dict.fromkeys([f"{name}{REQUIREMENTS[name]}", f"numpy{REQUIREMENTS['numpy']}"])
        command = [PEERS_PYTHON, "-m", "pip", "install", "--quiet", *packages]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            print(f"{name} could not be installed: {last_line(run.stderr)}", flush=True)
    return peer_versions()


def measure(task: Task, entry: Entry, seed: int) -> dict[str, Any]:
    package, options = LIBRARIES[entry.library]
    job = {
        "library": package,
        "options": options,
        "n_clauses": task.n_clauses,
        "T": task.T,
        "s": task.s,
        "patch": task.patch,
        "epochs": task.epochs,
        "data": str(data_folder(task.data)),
        "n_features": data.N_WORDS,
        "rows": entry.rows,
        "test_rows": entry.test_rows,
        "threads": entry.threads,
        "seed": seed,
    }
    python = sys.executable if package == "cotm" else PEERS_PYTHON
    command = [python, ROOT / "benchmarks" / "worker.py", json.dumps(job)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode < 0:
        raise Failed(f"killed by signal {-run.returncode}; perhaps there is too little memory")
    if run.returncode:
        raise Failed(last_line(run.stderr))
    return json.loads(run.stdout.splitlines()[-1])


def data_folder(kind: str) -> Path:
    return RESULTS / "data" / kind


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all data, all tasks, three repeats")
    parser.add_argument("--tasks", nargs="+", choices=GROUPS, default=GROUPS, metavar="TASK")
    parser.add_argument(
        "--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES), metavar="LIBRARY"
    )
    parser.add_argument("--rows", type=int, help="training examples in an epoch")
    parser.add_argument("--peer-rows", type=int, help="the slice of them that every peer gets")
    parser.add_argument("--test-rows", type=int, help="predictions")
    parser.add_argument("--repeats", type=int, help="runs per library, each with its own seed")
    parser.add_argument("--output", type=Path, help="default: build/bench/short.json or full.json")
    parser.epilog = f"tasks: {', '.join(GROUPS)}; libraries: {', '.join(LIBRARIES)}"
    return parser.parse_args()


def write_data(plan: dict[str, tuple[Task, Any]]) -> tuple[dict, dict]:
    """Write the data of a plan; per kind, what they are and how many rows there are."""
    sources, available = {}, {}
    for kind in dict.fromkeys(task.data for task, _ in plan.values()):
        sizes = [size for task, size in plan.values() if task.data == kind]
        rows, test_rows = max(s.rows for s in sizes), max(s.test_rows for s in sizes)
        sources[kind] = data.write(kind, data_folder(kind), rows, test_rows)
        print(f"{kind}: {sources[kind]}", flush=True)
        available[kind] = tuple(
            len(np.load(data_folder(kind) / f"y_{split}.npy")) for split in ("train", "test")
        )
    return sources, available


def write(path: Path, report: dict[str, Any]) -> None:
    """Write a report completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1) + "\n")
    partial.replace(path)


def run_all(plan, arguments: argparse.Namespace, report: dict[str, Any], output: Path) -> None:
    """Every task: all libraries with the first seed, then all with the next, ..."""
    began = time.perf_counter()
    for name, (task, size) in plan.items():
        failed = set()
        for seed in range(arguments.repeats or size.repeats):
            for entry in entries(task, size, arguments.libraries):
                if entry in failed:
                    continue
                label = f"{name}, {entry.library}, {entry.rows:,} rows, seed {seed}"
                if len(task.threads) > 1:
                    label += f", threads={entry.threads}"
                print(f"{label}: ", end="", flush=True)
                identity = {
                    "group": task.group,
                    "task": name,
                    "library": entry.library,
                    "n_clauses": task.n_clauses,
                    "T": task.T,
                    "s": task.s,
                    "rows": entry.rows,
                    "epoch_rows": size.rows,
                    "test_rows": entry.test_rows,
                    "threads": entry.threads,
                    "seed": seed,
                }
                try:
                    if not report["peers"].get(LIBRARIES[entry.library][0], "installed"):
                        raise Failed("not installed")
                    run = measure(task, entry, seed)
                except Failed as error:
                    failed.add(entry)
                    report["failures"].append({**identity, "error": str(error)})
                    print(f"FAILED: {error}", flush=True)
                else:
                    report["runs"].append({**identity, **run})
                    print(
                        f"last epoch {summary.number(run['epoch_seconds'][-1])} s, "
                        f"{entry.test_rows:,} predictions {summary.number(run['predict_seconds'])}"
                        f" s, accuracy {100 * run['accuracy']:.1f} % "
                        f"[{time.perf_counter() - began:.0f} s]",
                        flush=True,
                    )
                report["results"] = summary.summarise(report["runs"])
                write(output, report)


def main() -> int:
    arguments = parse()
    mode = "full" if arguments.full else "short"
    output = arguments.output or RESULTS / f"{mode}.json"
    limits = arguments.rows, arguments.peer_rows, arguments.test_rows
    sizes = {name: task.full if arguments.full else task.short for name, task in TASKS.items()}
    plan = {
        name: (task, sizes[name].limited(*limits))
        for name, task in TASKS.items()
        if sizes[name] and task.group in arguments.tasks
    }
    if not plan:
        sys.exit(f"error: {', '.join(arguments.tasks)} needs --full")
    report: dict[str, Any] = {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "isa": best_isa(),
        "system": platform.platform(),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cotm": cotm.__version__,
        "commit": commit(),
        "command": shlex.join(["python", "benchmarks/peers.py", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "mode": mode,
        "complete": False,
        "failures": [],
        "runs": [],
        "results": [],
    }
    print(
        f"{report['processor']}, {report['cores']} cores, {report['isa']}; "
        f"cotm {report['cotm']}, commit {report['commit']}; {mode} mode",
        flush=True,
    )
    status = 0
    try:
        report["peers"] = install_peers()
        report["data"], available = write_data(plan)
        for name, (task, size) in plan.items():
            rows, test_rows = available[task.data]
            limit = min(size.rows, rows), None, min(size.test_rows, test_rows)
            plan[name] = task, size.limited(*limit)
        run_all(plan, arguments, report, output)
        report["complete"] = True
        write(output, report)
    except KeyboardInterrupt:
        print("\ninterrupted; what was measured so far:")
        status = 130
    if report["runs"]:
        parts = [summary.table(report["results"]), summary.threads_table(report["results"])]
        parts += summary.notes(report["results"])
        print("\n" + "\n\n".join(part for part in parts if part))
        write(output, report)
        print(f"\nwritten to {os.path.relpath(output)}")
    failures = sorted({(f["task"], f["library"], f["error"]) for f in report["failures"]})
    for task_name, library, error in failures:
        print(f"not measured: {library} in {task_name}: {error}")
    return status


if __name__ == "__main__":
    sys.exit(main())
