"""The experiments of the paper, each by one command: ``cotm reproduce NAME``.

An experiment is a function of :class:`~cotm.experiments.lab.Lab`, which trains machines, keeps
what is finished, and writes tables and figures.
"""

from __future__ import annotations

from collections.abc import Callable

from .better import better_fashion_mnist, better_mnist
from .comparison import baselines
from .images import fashion_mnist, kmnist, learning_speed, mnist
from .imbalance import cifar10_imbalance, imdb_imbalance
from .interpret import interpret_xor
from .lab import Lab, Options

EXPERIMENTS: dict[str, Callable[[Lab], None]] = {
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "kmnist": kmnist,
    "learning-speed": learning_speed,
    "baselines": baselines,
    "imdb-imbalance": imdb_imbalance,
    "cifar10-imbalance": cifar10_imbalance,
    "interpret-xor": interpret_xor,
    "better-mnist": better_mnist,
    "better-fashion-mnist": better_fashion_mnist,
}
#: Experiments of one size, to which ``--clauses`` says nothing.
WITHOUT_COLUMNS = ("imdb-imbalance", "cifar10-imbalance", "interpret-xor")

__all__ = ["EXPERIMENTS", "WITHOUT_COLUMNS", "Lab", "Options"]
