"""The best settings found for each data set, from few clauses to many, beside published peaks.

The settings were chosen on held-out training examples; here they train on all of them, and are
tested.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..augmentation import Augmentation
from ..booleanize import EdgeThermometer, GradientHistogram, ImageThermometer, ImageUnion
from ..booleanize.text import SetOfWords
from ..datasets import load_cifar10, load_fashion_mnist, load_imdb, load_kmnist, load_mnist
from .report import BLUE, GREY, Report
from .runs import Data, Run, Runs

_QUICK_EPOCHS, _QUICK_ROWS, _QUICK_CLAUSES = 4, 600, 20
_QUICK_SETS = ("mnist", "imdb")
#: A state alone swings from epoch to epoch; so many of the last vote together beside it.
_VOTING = 10

_GRADED: dict[str, Any] = {"forgetting": "sampled", "include_depth": 26}
#: What images become bits by.
_BITS: dict[str, Any] = {
    "edges": EdgeThermometer(),
    "gradients": GradientHistogram(),
    "all": ImageUnion([EdgeThermometer(), GradientHistogram(step=1), ImageThermometer(8)]),
    "colours": ImageUnion(
        [
            GradientHistogram(colour="each"),
            GradientHistogram(cell=8, step=4, colour="each"),
            ImageThermometer(4),
        ]
    ),
}
#: On the 76 planes of a gray image; T grows with the clauses.
_IMAGES = {**_GRADED, "tolerance": 200, "growth_limit": 200, "s": 1500.0, "e": 0.4}
_GRADIENTS = {**_GRADED, "tolerance": 100, "growth_limit": 100, "s": 700.0, "e": 0.4}
_TEXTS = {**_GRADED, "tolerance": 200, "growth_limit": 200, "s": 1000.0}


@dataclass(frozen=True)
class Record:
    """One line of the table."""

    n_clauses: int
    epochs: int
    settings: dict[str, Any]  # of the classifier
    augment: dict[str, Any] | None = None  # parameters of Augmentation
    bits: str = "edges"  # of images, see _BITS
    mirrored: bool = False  # whether mirror images are trained on after the images, as more rows


@dataclass(frozen=True)
class Collection:
    """A data set, what became of it elsewhere, and our records on it."""

    title: str
    load: Callable[[], Data]
    published: str
    published_percent: float
    records: tuple[Record, ...]
    is_text: bool = False


def _images(n_clauses: int, T: int, epochs: int, bits: str, **more: Any) -> Record:
    return Record(n_clauses, epochs, {**_IMAGES, "T": T}, bits=bits, **more)


def _gradients(n_clauses: int, T: int, epochs: int, augment: dict[str, Any]) -> Record:
    return Record(n_clauses, epochs, {**_GRADIENTS, "T": T}, augment, "gradients")


#: What says so in settings and notes.
_MIRRORED = "with mirror images"
_SHIFT = {"shift": 1}
_MOVED = {"shift": 1, "rotate": 8, "zoom": 0.06}
COLLECTIONS: dict[str, Collection] = {
    "mnist": Collection(
        "MNIST",
        load_mnist,
        "98.56 with 200 clauses (FPTM, peak), 99.51 with any (convolution, peak)",
        99.51,
        (
            _gradients(20, 5000, 40, _SHIFT),
            _gradients(200, 20_000, 40, _SHIFT),
            _gradients(2000, 100_000, 40, _MOVED),
        ),
    ),
    "fashion-mnist": Collection(
        "Fashion-MNIST",
        load_fashion_mnist,
        "93.19 with 200 clauses, 94.68 with 80,000 and augmentation (FPTM)",
        94.68,
        (
            _images(20, 10_000, 40, "edges"),
            _images(200, 100_000, 40, "all"),
            _images(2000, 400_000, 15, "all", mirrored=True),
        ),
    ),
    "kmnist": Collection(
        "Kuzushiji-MNIST",
        load_kmnist,
        "96.65 (coalesced, all 60,000 training images)",
        96.65,
        (_gradients(200, 20_000, 60, _SHIFT), _gradients(2000, 100_000, 60, _SHIFT)),
    ),
    "cifar10": Collection(
        "CIFAR-10",
        load_cifar10,
        "75.1 single (Drop Clause), 82.8 composite",
        82.8,
        (_images(4000, 800_000, 24, "colours", augment={"flip": True, "shift": 2}),),
    ),
    "imdb": Collection(
        "IMDb",
        load_imdb,
        "90.15 with 2 clauses (FPTM), 91.27 (Drop Clause)",
        91.27,
        (
            Record(2, 30, {**_TEXTS, "T": 100_000, "tolerance": 64, "growth_limit": 64}),
            Record(20, 40, {**_TEXTS, "T": 1_000_000}),
            Record(200, 12, {**_TEXTS, "T": 1_000_000, "s": 300.0, "tolerance": 64}),
        ),
        is_text=True,
    ),
}
_WORDS = {"n_features": 40_000, "n_grams": 4, "min_texts": 5}


def run(runs: Runs, report: Report, *, names: tuple[str, ...] = tuple(COLLECTIONS)) -> None:
    """Train every record that is not finished yet, and write the table."""
    quick = runs.options.quick
    rows = []
    for name, chosen in _chosen(runs, names).items():
        collection = COLLECTIONS[name]
        data = _bits(collection, quick)
        for record in chosen[:1] if quick else chosen:
            rows.append(_row(runs, name, collection, record, data))
    notes = [
        "Images as levels and edges (`EdgeThermometer`) or as gradients of cells "
        "(`GradientHistogram`), or as both beside gray levels (`ImageUnion`), looked at as a "
        "whole; "
        f"texts as the {_WORDS['n_features']:,} words and phrases of up to "
        f"{_WORDS['n_grams']} words that tell the classes apart best.",
        f"Test %: the mean of single states over the last quarter of the epochs; voting %: the "
        f"last {_VOTING} states together. {runs.options.repeats} seed(s). Published figures are "
        "mostly of the best epoch.",
        *(
            f"{name}, {record.n_clauses:,} clauses: {record.settings}"
            + ("" if COLLECTIONS[name].is_text else f", {record.bits}")
            + (f", {record.augment}" if record.augment else "")
            + (f", {_MIRRORED}" if record.mirrored else "")
            for name in dict.fromkeys(row["data"] for row in rows)
            for record in COLLECTIONS[name].records
        ),
    ]
    report.write("Records, from few clauses to many", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows))


def _chosen(runs: Runs, names: tuple[str, ...]) -> dict[str, list[Record]]:
    """The records of each data set that has some, with as many clauses as were asked for."""
    quick, asked = runs.options.quick, runs.options.clauses
    tried = [name for name in names if not quick or len(names) == 1 or name in _QUICK_SETS]
    found = {
        name: [r for r in COLLECTIONS[name].records if asked is None or r.n_clauses in asked]
        for name in tried
    }
    if asked is not None and not any(found.values()):
        known = sorted({record.n_clauses for name in tried for record in COLLECTIONS[name].records})
        raise ValueError(
            f"there is no record with {' or '.join(map(str, asked))} clauses; there are "
            f"{', '.join(map(str, known))}"
        )
    return {name: records for name, records in found.items() if records}


def _bits(collection: Collection, quick: bool) -> Data:
    """Images stay as they are: the classifier makes bits of them, changed ones too."""
    X, y, X_test, y_test = collection.load()
    if quick:
        some = np.random.default_rng(0).permutation(len(y))[:_QUICK_ROWS]
        X, y = (X[some] if not collection.is_text else [X[i] for i in some]), y[some]
        X_test, y_test = X_test[:_QUICK_ROWS], y_test[:_QUICK_ROWS]
    if collection.is_text:
        words = SetOfWords(**_WORDS).fit(X, y)
        return words.transform(X), y, words.transform(X_test), y_test
    return X, y, X_test, y_test


def _row(
    runs: Runs, name: str, collection: Collection, record: Record, data: Data
) -> dict[str, Any]:
    epochs = runs.epochs(full=record.epochs, quick=_QUICK_EPOCHS)
    settings = {**record.settings, "n_clauses": record.n_clauses}
    objects: dict[str, Any] = {}
    data_name = name
    if not collection.is_text:
        objects["booleanize"] = bits = _BITS[record.bits]
        settings["patch_shape"] = bits.fit(data[0][:1]).transform(data[0][:1]).shape[1:3]  # whole
        data_name += f", {record.bits}"
    if record.augment:
        objects["augment"] = Augmentation(**record.augment)
        data_name += f", {record.augment}"
    if record.mirrored:
        data = _with_mirror_images(data)
        data_name += f", {_MIRRORED}"
    curves = runs.train_all(
        {
            seed: Run(
                label=f"{name} {record.n_clauses}",
                kind="coalesced",
                data=data,
                data_name=data_name,
                parameters=settings,
                objects=objects,
                epochs=epochs,
                seed=seed,
                voting=_VOTING,
            )
            for seed in runs.seeds()
        }
    ).values()
    singles = [curve.mean("test_accuracy") for curve in curves]
    voted = [curve.epochs[-1]["voting_accuracy"] for curve in curves]
    seconds = [curve.mean("train_seconds") for curve in curves]
    return {
        "data": name,
        "clauses": record.n_clauses,
        "test %": 100 * float(np.mean(singles)),
        "voting %": 100 * float(np.mean(voted)),
        "epochs": epochs,
        "s per epoch": float(np.mean(seconds)),
        "published %": collection.published,
    }


def _with_mirror_images(data: Data) -> Data:
    """Training images followed by their mirror images, left to right, with the same labels."""
    X, y, X_test, y_test = data
    return np.concatenate([X, X[:, :, ::-1]]), np.concatenate([y, y]), X_test, y_test


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    """Accuracy against clauses, with the published record as a line."""
    place = np.arange(len(rows))
    axes.barh(place, [row["test %"] for row in rows], color=BLUE)
    best = [COLLECTIONS[row["data"]].published_percent for row in rows]
    axes.scatter(best, place, color=GREY, marker="|", s=300, label="published, any size")
    axes.set_yticks(place, [f"{row['data']}, {row['clauses']:,} clauses" for row in rows])
    axes.invert_yaxis()
    axes.set(xlim=(min(50, *(row["test %"] for row in rows)), 100), xlabel="test accuracy, %")
    axes.legend(loc="lower left")
