"""Training the machines of an experiment; a finished run is kept in a file and never repeated."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..backends import device_title, side_by_side
from ..classifier import CoTMClassifier, TMClassifier
from ..estimator.progress import Messages, format_seconds
from .forms import TEXT
from .report import describe_computer, read_kept, write_whole
from .unfinished import UnfinishedRun

Key = TypeVar("Key")
#: Training examples and labels, test examples and labels.
Data = tuple[Any, NDArray[Any], Any, NDArray[Any]]

#: The paper averages over the last 25 of 100 epochs; shorter trainings over their last quarter.
_MOST_LAST_EPOCHS = 25

#: Verbosity of the classifier: a line per epoch. A bar would draw itself while epochs are timed.
_LINES = 2


@dataclass(frozen=True)
class Options:
    """The options of ``cotm reproduce``."""

    epochs: int | None = None  # None: as many as the experiment's own default
    repeats: int = 1
    seed: int = 1
    backend: str = "auto"
    n_jobs: int | None = None
    workers: int = 1  # how many runs are trained at the same time
    quick: bool = False
    clauses: tuple[int, ...] | None = None  # per class; None: all columns of the table
    form: str = TEXT  # of the tables of images
    folder: Path = Path("reproduction")

    def flags(self) -> str:
        """These options as on the command line, without the folder and what is left at default."""
        flags = ""
        for name in ("epochs", "repeats", "seed", "backend", "n_jobs", "workers"):
            value = getattr(self, name)
            if value != getattr(Options, name):
                flags += f" --{name.removeprefix('n_')} {value}"
        flags += "".join(f" --clauses {n}" for n in self.clauses or ())
        flags += f" --as {self.form}" if self.form != TEXT else ""
        return flags + (" --quick" if self.quick else "")


def last_epochs(epochs: int) -> int:
    """The number of epochs averaged in reports: the last 25, or the last quarter of fewer."""
    return min(_MOST_LAST_EPOCHS, max(1, epochs // 4))


def measure_accuracy(predicted: NDArray[Any], expected: NDArray[Any]) -> dict[str, float]:
    """The share of test examples that were predicted correctly."""
    return {"test_accuracy": float(np.mean(predicted == expected))}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One machine to be trained, and the data to train and test it on."""

    label: str  # names the run in messages and in its file's name
    kind: str  # "coalesced", "weighted" or "plain"
    data: Data
    data_name: str  # stands for the data in the run's settings
    parameters: dict[str, Any]  # of the classifier
    epochs: int
    seed: int
    #: Parameters that settings cannot hold, as transformers; `data_name` stands for them, too.
    objects: dict[str, Any] = field(default_factory=dict)
    #: How many of the last states vote together, as `average` has it, beside each state alone.
    voting: int = 1
    #: Whether accuracy by votes that are clipped to the margin is recorded, too.
    clips_votes: bool = False
    #: Turns predictions and test labels into the figures that are recorded after each epoch.
    measure: Callable[[NDArray[Any], NDArray[Any]], dict[str, float]] = measure_accuracy

    @property
    def title(self) -> str:
        return f"{self.label}, {self.kind}, seed {self.seed}"

    @property
    def work(self) -> int:
        """An estimate of how long the run takes, in relation to the experiment's other runs."""
        return int(self.epochs * self.parameters["n_clauses"])

    def settings(self) -> dict[str, Any]:
        """What distinguishes this run from others; runs with equal settings share a file."""
        return {
            "data": self.data_name,
            "kind": self.kind,
            "rows": [len(self.data[1]), len(self.data[3])],
            "epochs": self.epochs,
            "seed": self.seed,
            **self.parameters,
            **({"clips_votes": True} if self.clips_votes else {}),
        }


@dataclass
class Curve:
    """A finished run: its settings, one record per epoch, and the computer it ran on."""

    settings: dict[str, Any]
    epochs: list[dict[str, float]]
    computer: dict[str, Any] = field(default_factory=dict)

    def last(self, key: str) -> list[float]:
        """The values of one quantity in the epochs that reports average."""
        return [record[key] for record in self.epochs[-last_epochs(len(self.epochs)) :]]

    def mean(self, key: str) -> float:
        return float(np.mean(self.last(key)))

    def to_json(self) -> str:
        # Files say "machine" for the computer, and those on disk must stay readable.
        stored = {"settings": self.settings, "epochs": self.epochs, "machine": self.computer}
        return json.dumps(stored) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Curve:
        stored = json.loads(text)
        return cls(stored["settings"], stored["epochs"], stored["machine"])


class Runs:
    """Trains machines and keeps finished runs in a folder that all experiments share."""

    def __init__(self, options: Options) -> None:
        self.options = options
        #: The computers that the runs were trained on, each once.
        self.computers: list[dict[str, Any]] = []

    def epochs(self, full: int, quick: int) -> int:
        """How many epochs to train for."""
        return self.options.epochs or (quick if self.options.quick else full)

    def seeds(self) -> list[int]:
        return [self.options.seed + k for k in range(self.options.repeats)]

    def path(self, label: str, settings: dict[str, Any]) -> Path:
        """The file of a finished run with these settings."""
        name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]
        return self.options.folder / "runs" / f"{name}-{digest}.json"

    def train_all(self, runs: dict[Key, Run]) -> dict[Key, Curve]:
        """The curves of all runs, training those that are not finished yet.

        With ``--workers``, several runs are trained at the same time, each on one processor, or
        all on one GPU.
        """
        missing = [run for run in runs.values() if not self._path(run).exists()]
        if self.options.workers > 1:
            from joblib import Parallel, delayed

            alone = replace(self.options, workers=1, n_jobs=1)
            tasks = (delayed(_train_in_worker)(alone, run) for run in missing)
            name = self.options.backend
            on_gpu = name != "auto" and device_title(name) is not None
            prefer = "threads" if on_gpu else "processes"
            Parallel(n_jobs=self.options.workers, prefer=prefer)(tasks)
        else:
            self._train_in_turn(missing)
        curves = {key: read_kept(self._path(run), Curve.from_json) for key, run in runs.items()}
        for curve in curves.values():
            self.ran_on(curve.computer)
        return curves

    def ran_on(self, computer: dict[str, Any]) -> None:
        """Remember a computer for the report."""
        if computer not in self.computers:
            self.computers.append(computer)

    def _path(self, run: Run) -> Path:
        return self.path(f"{run.label} {run.kind} {run.seed}", run.settings())

    def _train_in_turn(self, runs: list[Run]) -> None:
        began = time.perf_counter()
        total, done = sum(run.work for run in runs), 0
        for number, run in enumerate(runs, start=1):
            heading = f"run {number} of {len(runs)}: {run.title}"
            if done:
                left = (time.perf_counter() - began) / done * (total - done)
                heading += f"; {format_seconds(left)} left for all of them"
            print(heading, file=Messages())
            self.train(run, verbose=_LINES)
            done += run.work

    def train(self, run: Run, *, verbose: int) -> Curve:
        """Train one machine, test it after every epoch, and write its file.

        What was interrupted goes on at the epoch it was at. Runs of which several states vote
        begin anew, because the earlier states are gone.
        """
        path, unfinished = self._path(run), UnfinishedRun(self._path(run))
        X, y, X_test, y_test = run.data
        found = unfinished.find() if run.voting == 1 else None
        model, records = found or (self._model(run), [])
        curve = Curve(run.settings(), records)
        recent: deque[Any] = deque(maxlen=run.voting)  # votes after the last epochs

        def test(model: Any, record: dict[str, Any]) -> None:
            began = time.perf_counter()
            predicted = model.predict(X_test)
            seconds = time.perf_counter() - began
            figures = run.measure(predicted, y_test)
            if run.voting > 1:
                recent.append(model.votes(X_test))
                voted = model.classes_[np.argmax(sum(recent), axis=1)]
                figures["voting_accuracy"] = float(np.mean(voted == y_test))
            if run.clips_votes:
                clipped = np.clip(model.votes(X_test), -model.T_, model.T_)
                voted = model.classes_[np.argmax(clipped, axis=1)]
                figures["clipped_accuracy"] = float(np.mean(voted == y_test))
            times = {"train_seconds": record["seconds"], "test_seconds": seconds}
            curve.epochs.append({"epoch": record["epoch"], **figures, **times})
            if run.voting == 1:
                unfinished.keep_now_and_then(model, curve.epochs)

        model.set_params(
            backend=self.options.backend,
            n_jobs=self.options.n_jobs,
            callbacks=[test],
            verbose=verbose,
        )
        try:
            model.fit(X, y, resume=found is not None)
        except KeyboardInterrupt:
            finished = getattr(model, "history_", [])
            if len(finished) == len(curve.epochs) + 1:  # the test of the last one was interrupted
                test(model, finished[-1])
            if run.voting == 1 and finished:
                unfinished.keep(model, curve.epochs)
            raise
        curve.computer = describe_computer(model.machine_.backend_)
        write_whole(path, curve.to_json())
        unfinished.remove()
        return curve

    def _model(self, run: Run) -> Any:
        """The classifier of a run, before its training."""
        parameters: dict[str, Any] = {
            "preset": "paper",  # for whatever an experiment leaves open
            **run.parameters,
            "epochs": run.epochs,
            "random_state": run.seed,
            "booleanize": None,
            **run.objects,
        }
        if run.kind == "coalesced":
            return CoTMClassifier(**parameters)
        return TMClassifier(**parameters, weighted=run.kind == "weighted")


def _train_in_worker(options: Options, run: Run) -> None:
    """Train one run beside others; its curve is then found in its file."""
    with side_by_side():
        curve = Runs(options).train(run, verbose=0)
    accuracy = curve.epochs[-1]["test_accuracy"]
    print(f"finished: {run.title}; test accuracy {accuracy:.2%}", file=Messages())
