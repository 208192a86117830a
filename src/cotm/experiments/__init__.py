"""The experiments of the paper, each by one command: ``cotm reproduce NAME``.

An experiment trains machines with :class:`~cotm.experiments.runs.Runs`, which keeps every finished
run in a file, and writes its table and figure with :class:`~cotm.experiments.report.Report`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from . import (
    baselines,
    better_settings,
    cifar10_imbalance,
    clauses_table,
    composites,
    imdb_imbalance,
    interpret_xor,
    learning_speed,
    records,
)
from .forms import FORMS, TEXT
from .report import Report
from .runs import Options, Runs

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Report", "Runs", "run_experiment"]


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it is, how it runs, and which options choose what of it."""

    summary: str
    run: Callable[[Runs, Report], None]
    takes_clauses: bool = True
    has_forms: bool = False


EXPERIMENTS = {
    "mnist": Experiment(
        "The MNIST table: 50 to 8,000 clauses per class, coalesced and weighted.",
        partial(clauses_table.run, data_set="mnist"),
        has_forms=True,
    ),
    "fashion-mnist": Experiment(
        "The Fashion-MNIST table.",
        partial(clauses_table.run, data_set="fashion-mnist"),
        has_forms=True,
    ),
    "kmnist": Experiment(
        "The Kuzushiji-MNIST table.",
        partial(clauses_table.run, data_set="kmnist"),
        has_forms=True,
    ),
    "learning-speed": Experiment(
        "Test accuracy per epoch on MNIST with 8,000 clauses per class.", learning_speed.run
    ),
    "baselines": Experiment(
        "2D Noisy XOR, MNIST, K-MNIST and F-MNIST beside scikit-learn's classifiers.",
        baselines.run,
    ),
    "imdb-imbalance": Experiment(
        "IMDb with 0 to 90 % of the positive training reviews removed.",
        imdb_imbalance.run,
        takes_clauses=False,
    ),
    "cifar10-imbalance": Experiment(
        "CIFAR-10 with 0.5**r of the data for the class of rank r: F1 per class.",
        cifar10_imbalance.run,
        takes_clauses=False,
    ),
    "interpret-xor": Experiment(
        "XOR, AND and OR of two bits by four shared clauses, drawn with their weights.",
        interpret_xor.run,
        takes_clauses=False,
    ),
    "better-mnist": Experiment(
        "MNIST with 500 clauses: settings chosen on held-out training images, then tested.",
        partial(better_settings.run, data_set="mnist"),
    ),
    "better-fashion-mnist": Experiment(
        "Fashion-MNIST with 500 clauses: settings chosen on held-out images, then tested.",
        partial(better_settings.run, data_set="fashion-mnist"),
    ),
    "records": Experiment(
        "The best settings found: five data sets, from few graded clauses to many.", records.run
    ),
    **{
        f"records-{name}": Experiment(
            f"The same for {collection.title} alone.", partial(records.run, names=(name,))
        )
        for name, collection in records.COLLECTIONS.items()
    },
    "composites": Experiment(
        "Composites of specialists: levels and edges, gradients, and patches of images.",
        composites.run,
        takes_clauses=False,
    ),
    **{
        f"composites-{name}": Experiment(
            f"The same for {team.title} alone.",
            partial(composites.run, names=(name,)),
            takes_clauses=False,
        )
        for name, team in composites.TEAMS.items()
    },
}


def run_experiment(name: str, options: Options, say: Callable[[str], None] = print) -> None:
    """Run the experiment of this name; ``say`` prints its table and where the results are."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    if options.clauses and not experiment.takes_clauses:
        raise ValueError(f"{name} has one size; leave --clauses out")
    if options.form not in FORMS:
        raise ValueError(f"--as {options.form}: a table is made as {' or '.join(FORMS)}")
    results = name
    if options.form != TEXT:
        if not experiment.has_forms:
            tables = ", ".join(key for key, table in EXPERIMENTS.items() if table.has_forms)
            raise ValueError(f"{name} has one form; leave --as out, it is for {tables}")
        results += f"-{options.form}"
    folder = options.folder / (f"{results}-quick" if options.quick else results)
    command = f"cotm reproduce {name}{options.flags()}"
    experiment.run(Runs(options), Report(name, folder, command, say))
