"""Where experiments are run: machines are trained, finished runs kept, tables written."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import __version__
from ..backends import describe_backend
from ..classifier import CoTMClassifier, TMClassifier
from ..core.system import available_processors
from ..core.whole_files import replace_file
from ..estimator.progress import format_seconds

Key = TypeVar("Key")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    epochs: int | None = None  # None: as many as the experiment wants
    repeats: int = 1
    seed: int = 1
    backend: str = "auto"
    n_jobs: int | None = None
    workers: int = 1  # runs side by side
    quick: bool = False
    clauses: tuple[int, ...] | None = None  # per class; None: all columns of the table
    folder: Path = Path("reproduction")


def last_epochs(epochs: int) -> int:
    """How many count, at the end: 25 of 100 or more, a quarter of fewer."""
    return min(25, max(1, epochs // 4))


@dataclass
class Curve:
    """One training: its settings, and a record per epoch."""

    settings: dict[str, Any]
    epochs: list[dict[str, float]]
    machine: dict[str, Any] = field(default_factory=dict)

    def last(self, key: str) -> list[float]:
        """A quantity over the epochs that count."""
        return [record[key] for record in self.epochs[-last_epochs(len(self.epochs)) :]]

    def mean(self, key: str) -> float:
        return float(np.mean(self.last(key)))


@dataclass(frozen=True)
class Run:
    """What :meth:`Lab.train` takes."""

    label: str
    kind: str
    data: tuple[Any, Any, Any, Any]
    parameters: dict[str, Any]
    data_name: str
    epochs: int
    seed: int

    def settings(self) -> dict[str, Any]:
        """What tells a run from others."""
        return {
            "data": self.data_name,
            "kind": self.kind,
            "rows": [len(self.data[1]), len(self.data[3])],
            "epochs": self.epochs,
            "seed": self.seed,
            **self.parameters,
        }


class Lab:
    """The folder of one experiment, beside the runs that all experiments share."""

    def __init__(self, name: str, options: Options, say: Callable[[str], None] = print) -> None:
        self.name = name
        self.options = options
        self.say = say
        self.folder = options.folder / (name + "-quick" if options.quick else name)
        self._runs = options.folder / "runs"
        self._began = time.perf_counter()
        self._planned = self._done = 0
        self._machines: list[dict[str, Any]] = []

    # Training ------------------------------------------------------------------------

    def epochs(self, full: int, quick: int) -> int:
        """How many epochs to train for."""
        return self.options.epochs or (quick if self.options.quick else full)

    def seeds(self) -> list[int]:
        return [self.options.seed + k for k in range(self.options.repeats)]

    def plan(self, clause_epochs: int) -> None:
        """Announce work, epochs times clauses, so that the time left can be told."""
        self._planned += clause_epochs

    def run_path(self, label: str, settings: dict[str, Any]) -> Path:
        """Where a finished run with these settings is kept."""
        return self._runs / f"{_file_name(label)}-{_digest(settings)}.json"

    def train_all(self, runs: dict[Key, Run]) -> dict[Key, Curve]:
        """Train machines, with ``--workers`` some at a time, each on one processor."""
        if self.options.workers > 1:
            from joblib import Parallel, delayed

            missing = [run for run in runs.values() if not self._path(run).exists()]
            tasks = (delayed(_train_apart)(self.name, self.options, run) for run in missing)
            Parallel(n_jobs=self.options.workers)(tasks)
        return {key: self.train(run) for key, run in runs.items()}

    def _path(self, run: Run) -> Path:
        return self.run_path(f"{run.label} {run.kind} {run.seed}", run.settings())

    def train(
        self, run: Run, measure: Callable[[Any, Any], dict[str, float]] | None = None
    ) -> Curve:
        """Train a machine and test it after every epoch; a finished run is read instead.

        ``run.kind`` is "coalesced", "weighted" or "plain"; ``measure`` turns predictions and
        test labels into figures, by default the accuracy.
        """
        label, kind, epochs = run.label, run.kind, run.epochs
        settings = run.settings()
        path = self._path(run)
        work = settings["n_clauses"]
        if path.exists():
            self._planned -= epochs * work
            stored = json.loads(path.read_text())
            return self._seen(Curve(stored["settings"], stored["epochs"], stored["machine"]))
        curve = Curve(settings, [])
        X, y, X_test, y_test = run.data

        def test(model: Any, record: dict[str, Any]) -> None:
            began = time.perf_counter()
            predicted = model.predict(X_test)
            seconds = time.perf_counter() - began
            found = (measure or _accuracy)(predicted, y_test)
            times = {"train_seconds": record["seconds"], "test_seconds": seconds}
            curve.epochs.append({"epoch": record["epoch"], **found, **times})
            self._done += work
            self._show(f"{label}, {kind}", len(curve.epochs), epochs, found)

        chosen: dict[str, Any] = {
            **run.parameters,
            "epochs": epochs,
            "random_state": run.seed,
            "backend": self.options.backend,
            "n_jobs": self.options.n_jobs,
            "callbacks": [test],
            "booleanize": None,
        }
        if kind == "coalesced":
            model: Any = CoTMClassifier(**chosen)
        else:
            model = TMClassifier(**chosen, weighted=kind == "weighted")
        model.fit(X, y)
        curve.machine = describe_machine(model.machine_.backend_)
        write_whole(path, json.dumps(vars(curve)) + "\n")
        return self._seen(curve)

    def _seen(self, curve: Curve) -> Curve:
        self.ran_on(curve.machine)
        return curve

    def ran_on(self, machine: dict[str, Any]) -> None:
        """Remember where a run was, for the report."""
        if machine not in self._machines:
            self._machines.append(machine)

    def _show(self, what: str, epoch: int, epochs: int, found: dict[str, float]) -> None:
        """Progress: a line that is overwritten on a terminal, else one now and then."""
        spent = time.perf_counter() - self._began
        left = spent / max(1, self._done) * max(0, self._planned - self._done)
        shown = ", ".join(f"{key.replace('_', ' ')} {value:.4f}" for key, value in found.items())
        text = f"{what}: epoch {epoch} of {epochs}, {shown[:60]}, {format_seconds(left)} left"
        if sys.stderr.isatty():
            end = "\n" if epoch == epochs else ""
            print(f"\r\x1b[K{text}", end=end, file=sys.stderr, flush=True)
        elif epoch == epochs or epoch % max(1, epochs // 4) == 0:
            print(text, file=sys.stderr, flush=True)

    # Results -------------------------------------------------------------------------

    def report(self, title: str, rows: list[dict[str, Any]], notes: list[str]) -> None:
        """Write rows as JSON, CSV and a Markdown table, and print the table."""
        machines = self._machines
        command = f"cotm reproduce {self.name}" + _flags(self.options)
        facts = {"title": title, "command": command, "machines": machines, "notes": notes}
        document = json.dumps({**facts, "rows": rows}, indent=1) + "\n"
        write_whole(self.folder / "results.json", document)
        keys = list(dict.fromkeys(key for row in rows for key in row))
        table = io.StringIO()
        writer = csv.DictWriter(table, keys)
        writer.writeheader()
        writer.writerows(rows)
        write_whole(self.folder / "results.csv", table.getvalue())
        text = f"# {title}\n\n{markdown_table(rows)}\n\n" + "\n".join(f"- {note}" for note in notes)
        text += f"\n- `{command}`; " + "; ".join(dict.fromkeys(map(_machine_words, machines)))
        text += "\n"
        write_whole(self.folder / "table.md", text)
        self.say(text)
        self.say(f"Results are in {self.folder}")

    def figure(self, draw: Callable[[Any], None], name: str = "figure") -> None:
        """Draw on matplotlib's axes, as PNG and SVG; without matplotlib, say so."""
        try:
            import matplotlib
        except ImportError:
            self.say("No figure: matplotlib is missing; pip install matplotlib")
            return
        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        style: Any = {"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
                 "grid.color": "#E4E4E4", "legend.frameon": False, "svg.hashsalt": "cotm",
                 "axes.axisbelow": True, "font.size": 12}  # fmt: skip
        self.folder.mkdir(parents=True, exist_ok=True)
        with plt.rc_context(style):
            figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
            draw(axes)
            for ending in ("png", "svg"):
                metadata = {"Date": None} if ending == "svg" else None
                figure.savefig(self.folder / f"{name}.{ending}", dpi=150, metadata=metadata)
            plt.close(figure)


def _train_apart(name: str, options: Options, run: Run) -> None:
    """One run in a process of its own; its result is found in the folder."""
    lab = Lab(name, replace(options, workers=1, n_jobs=1), lambda text: None)
    lab.plan(run.epochs * run.parameters["n_clauses"])
    lab.train(run)


#: Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
COLOURS = {"coalesced": "#0072B2", "weighted": "#D55E00", "plain": "#D55E00"}


def markdown_table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table, a column per key.

    >>> print(markdown_table([{"clauses": 500, "ours": 98.4312}, {"clauses": 1000}]))
    | clauses | ours |
    | --- | --- |
    | 500 | 98.43 |
    | 1,000 | |
    """
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(keys) + " |", "| " + " | ".join("---" for _ in keys) + " |"]
    for row in rows:
        cells = [_cell(row.get(key)) for key in keys]
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe_machine(backend: str | None) -> dict[str, Any]:
    """What times depend on beside the command; results do not."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            found = re.search(r"model name\s*: (.*)", lines.read())
            processor = found[1] if found else processor
    except OSError:
        pass
    return {
        "processor": processor,
        "cores": available_processors(),
        "backend": backend,
        "gpu": backend and describe_backend(backend),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cotm": __version__,
    }


def _machine_words(machine: dict[str, Any]) -> str:
    place = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
    return f"{place}, cotm {machine['cotm']}"


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all, and the folders to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), "the result")


def _accuracy(predicted: Any, expected: Any) -> dict[str, float]:
    return {"test_accuracy": float(np.mean(predicted == expected))}


def _digest(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def _file_name(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


def _flags(options: Options) -> str:
    default = Options()
    found = ""
    for name in ("epochs", "repeats", "seed", "backend", "n_jobs", "workers"):
        value = getattr(options, name)
        if value != getattr(default, name):
            found += f" --{name.removeprefix('n_')} {value}"
    if options.clauses:
        found += "".join(f" --clauses {n}" for n in options.clauses)
    return found + (" --quick" if options.quick else "")
