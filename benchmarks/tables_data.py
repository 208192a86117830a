"""The data of tables.py: a folder of CSV files, scikit-learn's sets, generated ones, text, images.

Names are ``GROUP/NAME``: the folder's files are ``tables/NAME``. Of everything at most MOST_ROWS
rows are taken, drawn at random with a fixed seed. Only numpy, scipy and scikit-learn are needed;
nothing comes from the net.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import data
import numpy as np
from sklearn import datasets

from cotm.datasets.archives import find_archive

MOST_ROWS = 3000
#: Words of a text set: the most frequent ones, since boosting wants them in dense columns.
N_WORDS = 2000
#: What stands for a missing value in a CSV file.
MISSING = {"", "?", "NA", "NaN", "nan"}


@dataclass(frozen=True)
class Table:
    """Examples of any kind, and what a user of cotm would have to say about them."""

    X: Any  # floats; floats and text as objects; sparse counts; images (N, H, W)
    y: np.ndarray  # text
    parameters: dict[str, Any] = field(default_factory=dict)  # of a classifier: patches of images

    @property
    def flat(self) -> Any:
        """X as others than cotm take it: images as rows of pixels."""
        return self.X if self.X.ndim == 2 else self.X.reshape(len(self.y), -1)


def sources(folder: Path | None) -> dict[str, Callable[[], Table]]:
    """Everything there is, by name, with what loads it."""
    found: dict[str, Callable[[], Table]] = {}
    if folder is not None:
        for path in sorted(folder.glob("*.csv")):
            found[f"tables/{path.stem}"] = partial(read_csv, path)
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found[f"bundled/{name}"] = partial(bundled, name)
    for percent in (0, 10, 20, 30, 40):
        found[f"noisy/classes-{percent}"] = partial(noisy_classes, percent)
    for percent in (20, 40):
        found[f"noisy/xor-{percent}"] = partial(noisy_xor, percent)
    found["noisy/ten-classes-20"] = partial(noisy_classes, 20, n_classes=10)
    found["noisy/chessboard-10"] = partial(chessboard, 10)
    found["imbalanced/apart"] = partial(imbalanced, 1.5)
    found["imbalanced/overlapping"] = partial(imbalanced, 0.7)
    found["imbalanced/noisy"] = partial(imbalanced, 1.5, percent=10)
    for shares in ((63, 37), (75, 25), (50, 30, 20)):
        found[f"weak/nothing-{shares[0]}"] = partial(nothing, shares)
    for percent in (65, 75):
        found[f"weak/line-{percent}"] = partial(weak_line, percent)
    found["weak/categories"] = weak_categories
    found["edge/rare"] = rare_at_edges
    found["images/digits"] = digits
    found["text/generated" if find_archive("imdb.npz") is None else "text/imdb"] = text
    return found


@lru_cache(maxsize=1)
def load(name: str, folder: Path | None) -> Table:
    """A table by name, cut to MOST_ROWS rows."""
    table = sources(folder)[name]()
    keep = np.random.default_rng(0).permutation(len(table.y))[:MOST_ROWS]
    return Table(table.X[keep], table.y[keep].astype(str), table.parameters)


def read_csv(path: Path) -> Table:
    """A table with a header and the class in the last column; columns are numbers or text."""
    with path.open(newline="", encoding="utf-8") as lines:
        _, *rows = [row for row in csv.reader(lines) if row]
    *columns, labels = ([cell.strip() for cell in column] for column in zip(*rows, strict=True))
    read = [numbers_or_text(column) for column in columns]
    dtype = object if any(isinstance(c, str) for column in read for c in column) else float
    X = np.empty((len(rows), len(read)), dtype)
    for k, column in enumerate(read):
        X[:, k] = column
    return Table(X, np.array(labels))


def numbers_or_text(column: list[str]) -> list[Any]:
    """A column as floats, NaN where missing, or if a cell is no number as text, None there."""
    try:
        return [np.nan if cell in MISSING else float(cell) for cell in column]
    except ValueError:
        return [None if cell in MISSING else cell for cell in column]


def bundled(name: str) -> Table:
    return Table(*getattr(datasets, f"load_{name}")(return_X_y=True))


def digits() -> Table:
    """scikit-learn's digits as 8-bit images."""
    images, labels = datasets.load_digits().images, datasets.load_digits().target
    # To 0 to 255, as images are.
    return Table((images * 15.9375).astype(np.uint8), labels, {"patch_shape": (4, 4)})


def text() -> Table:
    """Sets of words: IMDb's reviews from COTM_DATA, otherwise generated ones."""
    make = data.made_text if find_archive("imdb.npz") is None else data.imdb
    X, y, _, _ = make(MOST_ROWS, 1)
    frequent = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:N_WORDS]
    return Table(X[:, np.sort(frequent)].tocsr(), y)


def wrong_labels(y: np.ndarray, percent: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of which so many are wrong: another class, each as often as any other."""
    m = int(y.max()) + 1
    wrong = rng.permutation(len(y))[: round(len(y) * percent / 100)]
    y = y.copy()
    y[wrong] = (y[wrong] + rng.integers(1, m, len(wrong))) % m
    return y


def noisy_classes(percent: int, n_classes: int = 2) -> Table:
    """Two clusters per class in 10 of 20 columns of numbers, and wrong labels."""
    X, y = datasets.make_classification(
        2000,
        20,
        n_informative=10,
        n_classes=n_classes,
        flip_y=0,
        class_sep=1.5,
        random_state=percent,
    )
    return Table(X, wrong_labels(y, percent, np.random.default_rng(percent)))


def noisy_xor(percent: int) -> Table:
    """The XOR of two of 12 random bits, with wrong labels."""
    rng = np.random.default_rng(percent)
    bits = rng.integers(0, 2, (2000, 12))
    return Table(bits.astype(float), wrong_labels(bits[:, 0] ^ bits[:, 1], percent, rng))


def chessboard(percent: int) -> Table:
    """The colours of a 4 x 4 chessboard in two of 8 columns of numbers, with wrong labels."""
    rng = np.random.default_rng(percent)
    X = rng.random((2000, 8))
    squares = (4 * X[:, :2]).astype(int).sum(axis=1) % 2
    return Table(X, wrong_labels(squares, percent, rng))


def imbalanced(apart: float, percent: int = 0) -> Table:
    """Two classes 95:5, more or less far apart, with wrong labels."""
    X, y = datasets.make_classification(
        3000,
        20,
        n_informative=10,
        weights=[0.95],
        flip_y=0,
        class_sep=apart,
        random_state=1,
    )
    return Table(X, wrong_labels(y, percent, np.random.default_rng(percent)))


def nothing(shares: tuple[int, ...]) -> Table:
    """Labels with these shares in percent that eight columns of numbers say nothing about."""
    rng = np.random.default_rng(shares[0])
    X = rng.normal(size=(450, 8)).round(2)
    return Table(X, rng.choice(len(shares), len(X), p=np.array(shares) / 100))


def weak_line(percent: int) -> Table:
    """Labels that four of ten columns of numbers say a little about, so many percent of a class."""
    rng = np.random.default_rng(percent)
    X = rng.normal(size=(450, 10)).round(2)
    return Table(X, drawn(0.4 * X[:, :4] @ [1, -1, 1, 1], percent, rng))


def weak_categories() -> Table:
    """Three of nine columns of few whole numbers say a little, 70 % are of a class."""
    rng = np.random.default_rng(9)
    X = rng.integers(0, [5, 3, 8, 6, 2, 3, 2, 5, 2], (450, 9)).astype(float)
    return Table(X, drawn(0.8 * X[:, 4] + 0.6 * X[:, 5] + 0.2 * X[:, 3], 70, rng))


def drawn(log_odds: np.ndarray, percent: int, rng: np.random.Generator) -> np.ndarray:
    """Labels with log odds that differ so, shifted until about so many percent are 0."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        chances = 1 / (1 + np.exp(-log_odds - middle))
        low, high = (low, middle) if chances.mean() > 1 - percent / 100 else (middle, high)
    return (rng.random(len(log_odds)) < chances).astype(int)


def rare_at_edges() -> Table:
    """A class of 6 % of the rows, where one column is above 0.97 or another below 0.03."""
    X = np.random.default_rng(3).random((900, 6)).round(4)
    return Table(X, ((X[:, 0] > 0.97) | (X[:, 1] < 0.03)).astype(int))
