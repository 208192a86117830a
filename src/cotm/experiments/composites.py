"""Composites for the highest accuracy: specialists that read the same examples in different ways.

Each specialist was chosen by itself on held-out training examples; here they train on all of
them, and their votes are added up, each divided by its range on the training examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..augmentation import Augmentation
from ..booleanize import AdaptiveGaussianThreshold, EdgeThermometer, GradientHistogram
from ..classifier import CoTMClassifier
from ..datasets import load_fashion_mnist, load_kmnist, load_mnist
from ..joining import join
from ..loading import load
from .report import BLUE, GREY, Report, describe_computer, read_kept, write_whole
from .runs import Curve, Data, Runs

_QUICK_EPOCHS, _QUICK_ROWS, _QUICK_CLAUSES = 2, 600, 20
_QUICK_SET = "mnist"


@dataclass(frozen=True)
class Specialist:
    """A member of a composite, before its training."""

    n_clauses: int
    epochs: int
    settings: Mapping[str, Any]  # of the classifier
    booleanize: Any  # a transformer
    whole: bool = False  # whether all of an image is looked at, without patches
    augment: Mapping[str, Any] = field(default_factory=dict)  # parameters of Augmentation

    def classifier(self, images: NDArray[Any], seed: int) -> CoTMClassifier:
        """What is to be trained, on such images."""
        settings = dict(self.settings)
        if self.whole:
            bits = self.booleanize.fit(images[:1]).transform(images[:1])
            settings["patch_shape"] = bits.shape[1:3]
        return CoTMClassifier(
            self.n_clauses,
            preset="paper",  # for whatever is left open
            epochs=self.epochs,
            booleanize=self.booleanize,
            augment=Augmentation(**self.augment) if self.augment else None,
            random_state=seed,
            **settings,
        )

    def facts(self) -> dict[str, Any]:
        """What tells it from others."""
        return {
            "n_clauses": self.n_clauses,
            "epochs": self.epochs,
            "booleanize": repr(self.booleanize),
            "whole": self.whole,
            "augment": dict(self.augment),
            **self.settings,
        }


@dataclass(frozen=True)
class Team:
    """The composite of a data set, and what became of the data elsewhere."""

    title: str
    load: Callable[[], Data]
    published: str
    published_percent: float
    specialists: Mapping[str, Specialist]


def _graded(T: int, s: float, tolerance: int) -> dict[str, Any]:
    """Graded clauses, as many literals as they may miss, ten states that vote."""
    return {
        "T": T,
        "s": s,
        "e": 0.4,
        "tolerance": tolerance,
        "growth_limit": tolerance,
        "forgetting": "sampled",
        "include_depth": 26,
        "average": 10,
    }


def _patches(s: float, epochs: int) -> Specialist:
    """The paper's machine, with the margin and e that are best on held-out images."""
    settings = {"T": 20_000, "s": s, "e": 1.0, "patch_shape": (10, 10), "average": 5}
    return Specialist(80_000, epochs, settings, AdaptiveGaussianThreshold())


def _images(s: float, longer: int = 1, **augment: Any) -> dict[str, Specialist]:
    """Levels and edges of the whole image, its gradients by cells, and patches of it."""
    edges, gradients = _graded(400_000, 1500.0, 200), _graded(100_000, 700.0, 100)
    return {
        "edges": Specialist(2000, 30 * longer, edges, EdgeThermometer(), True, augment),
        "gradients": Specialist(2000, 24 * longer, gradients, GradientHistogram(), True, augment),
        "patches": _patches(s, 30 * longer),
    }


TEAMS: dict[str, Team] = {
    "mnist": Team("MNIST", load_mnist, "99.51 (convolution, peak)", 99.51, _images(5.0, shift=1)),
    "fashion-mnist": Team(
        "Fashion-MNIST",
        load_fashion_mnist,
        "94.68 (graded, 80,000 clauses), 93.0 (composite)",
        94.68,
        _images(15.0, flip=True),
    ),
    "kmnist": Team(
        "Kuzushiji-MNIST",
        load_kmnist,
        "96.65 (coalesced, all 60,000 training images)",
        96.65,
        _images(10.0, longer=2, shift=1),
    ),
}


def run(runs: Runs, report: Report, *, names: tuple[str, ...] = tuple(TEAMS)) -> None:
    """Train every specialist that is not finished yet, and write the table."""
    rows = []
    for name in names if not runs.options.quick or len(names) == 1 else (_QUICK_SET,):
        team, data = TEAMS[name], _data(TEAMS[name], runs.options.quick)
        rows += [_row(runs, name, team, data, seed) for seed in runs.seeds()]
    notes = [
        "Votes of the specialists, each divided by its range on the training examples, are added "
        "up. Of each specialist the states after its last epochs vote together.",
        *(
            f"{name}, {member}: {specialist.facts()}"
            for name in dict.fromkeys(row["data"] for row in rows)
            for member, specialist in TEAMS[name].specialists.items()
        ),
    ]
    report.write("Composites of specialists", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows))


def trained(runs: Runs, name: str, member: str, data: Data, seed: int) -> CoTMClassifier:
    """A specialist of a data set; it is kept in a file, and never trained again."""
    specialist, (X, y, *_) = _quick(TEAMS[name].specialists[member], runs.options.quick), data
    settings = {"data": name, "rows": len(y), "seed": seed, **specialist.facts()}
    path = runs.path(f"composite {name} {member} {seed}", settings)
    if not path.exists():
        model = specialist.classifier(X, seed)
        options = runs.options
        model.set_params(backend=options.backend, n_jobs=options.n_jobs, verbose=2)
        model.fit(X, y)
        path.parent.mkdir(parents=True, exist_ok=True)
        model.save(path.with_suffix(".cotm"))
        computer = describe_computer(model.machine_.backend_)
        # Last: where it is, the model is whole.
        records: Any = model.history_
        write_whole(path, Curve(settings, records, computer).to_json())
    runs.ran_on(read_kept(path, Curve.from_json).computer)
    kept: CoTMClassifier = load(path.with_suffix(".cotm"))
    return kept


def _quick(specialist: Specialist, quick: bool) -> Specialist:
    if not quick:
        return specialist
    return replace(specialist, n_clauses=_QUICK_CLAUSES, epochs=_QUICK_EPOCHS)


def _data(team: Team, quick: bool) -> Data:
    X, y, X_test, y_test = team.load()
    if quick:
        some = np.random.default_rng(0).permutation(len(y))[:_QUICK_ROWS]
        return X[some], y[some], X_test[:_QUICK_ROWS], y_test[:_QUICK_ROWS]
    return X, y, X_test, y_test


def _row(runs: Runs, name: str, team: Team, data: Data, seed: int) -> dict[str, Any]:
    X, _, X_test, y_test = data
    members = {member: trained(runs, name, member, data, seed) for member in team.specialists}
    joined = join(members, X)
    return {
        "data": name,
        "seed": seed,
        **{f"{member} %": 100 * model.score(X_test, y_test) for member, model in members.items()},
        "composite %": 100 * joined.score(X_test, y_test),
        "published %": team.published,
    }


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Each composite beside the best of its members, and the published record as a line."""
    place = np.arange(len(rows))
    best = [max(row[f"{m} %"] for m in TEAMS[row["data"]].specialists) for row in rows]
    axes.barh(place - 0.2, [row["composite %"] for row in rows], 0.4, color=BLUE, label="composite")
    axes.barh(place + 0.2, best, 0.4, color=GREY, label="its best member")
    records = [TEAMS[row["data"]].published_percent for row in rows]
    axes.scatter(records, place, color="black", marker="|", s=300, label="published")
    axes.set_yticks(place, [row["data"] for row in rows])
    axes.invert_yaxis()
    axes.set(xlim=(min(80, *best, 100), 100), xlabel="test accuracy, %")
    axes.legend(loc="lower left")
