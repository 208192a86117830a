"""What graded clauses with sampled forgetting take: text beside an earlier commit, planes, rows.

Usage: python benchmarks/graded.py [text --against FOLDER] [planes] [rows] [--repeats N]

``text`` trains on a slice of IMDb as CSR, in turns with the checkout in FOLDER, which holds a built
cotm in ``src`` and trains by the paper's rule. ``planes`` trains 200 clauses on the 76 planes of
EdgeThermometer, images as a whole. ``rows`` predicts MNIST's bits by a small model. Data come from
the folder ``COTM_DATA``. Seconds are those of the processor in one thread, which other work on a
shared computer disturbs less than the clock on the wall; of repeats the least count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np
from common import RESULTS, commit

import cotm
from cotm._native import best_isa
from cotm.backends import make_backend
from cotm.core.examples import as_examples
from cotm.datasets import load_mnist
from cotm.experiments.report import processor_name

_GRADED = {"forgetting": "sampled", "include_depth": 26, "average": 1, "e": 1.0}
#: The machine of either side; the earlier one has the paper's rule alone.
TEXT = {"T": 20_000, "s": 200.0, "tolerance": 10, "growth_limit": 100, **_GRADED}
TEXT_BEFORE = {"T": 4000, "s": 5.0}
PLANES = {"T": 30_000, "s": 700.0, "tolerance": 200, "growth_limit": 200, **_GRADED}
ROWS = {
    "n_clauses": 700,
    "T": 3000,
    "s": 300.0,
    "tolerance": 7,
    "growth_limit": 20,
    "negatives": "focused",
    **_GRADED,
}
#: Run by an interpreter that finds the side's cotm: prints processor seconds and accuracies.
WORKER = """
import json, sys, time
import numpy as np
from scipy.sparse import csr_matrix
from cotm import CoTMClassifier
path, settings = sys.argv[1], json.loads(sys.argv[2])
arrays = np.load(path)
def matrix(name):
    ends, places = arrays[name + "_indptr"], arrays[name + "_indices"]
    shape = len(ends) - 1, int(arrays["words"])
    return csr_matrix((np.ones(len(places), np.uint8), places, ends), shape=shape)
X, y, X_test, y_test = matrix("train"), arrays["y_train"], matrix("test"), arrays["y_test"]
seconds, accuracies, began = [], [], time.process_time()
def note(model, record):
    global began
    seconds.append(time.process_time() - began)
    accuracies.append(float(model.score(X_test, y_test)))
    began = time.process_time()
CoTMClassifier(random_state=0, n_jobs=1, callbacks=[note], **settings).fit(X, y)
print(json.dumps([seconds, accuracies]))
"""


def text(folder: Path, repeats: int, rows: int = 2500, passes: int = 6) -> None:
    """Seconds of every pass on both sides, and the ratio of the last."""
    arrays, _ = data.text(rows, 2000)
    path = RESULTS / "text.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, words=data.N_WORDS, **arrays)
    ours = Path(cotm.__file__).parent.parent
    sides = {"cotm": (ours, TEXT), "the other": (folder.resolve() / "src", TEXT_BEFORE)}
    found: dict[str, list[Any]] = {}
    for _ in range(repeats):
        for name, (source, settings) in sides.items():
            asked = json.dumps({"n_clauses": 2000, "epochs": passes, **settings})
            environment = {**os.environ, "PYTHONPATH": str(source)}
            run = subprocess.run(
                [sys.executable, "-c", WORKER, str(path), asked],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            )
            found.setdefault(name, []).append(json.loads(run.stdout.splitlines()[-1]))
    least = {name: np.min([seconds for seconds, _ in runs], axis=0) for name, runs in found.items()}
    for name, runs in found.items():
        shown = ", ".join(f"{second:.2f}" for second in least[name])
        accuracies = ", ".join(f"{100 * value:.1f}" for value in runs[0][1])
        print(f"text, {rows:,} reviews, {name}: {shown} s per pass, {accuracies} %")
    print(f"ratio of each pass: {least['the other'] / least['cotm']}", flush=True)


def planes(epochs: int = 8) -> None:
    """Seconds of each epoch of 200 clauses on 59,584 bits of an image."""
    images, labels, test_images, test_labels = load_mnist()
    edges = cotm.EdgeThermometer().fit(images)
    test_bits = np.asarray(edges.transform(test_images)).reshape(len(test_images), -1)
    began = time.process_time()

    def note(model: Any, record: Any) -> None:
        nonlocal began
        seconds = time.process_time() - began
        accuracy = model.score(test_bits, test_labels)
        print(f"planes, epoch {record['epoch']}: {seconds:.2f} s, {accuracy:.2%}", flush=True)
        began = time.process_time()

    bits = np.empty((len(images), test_bits.shape[1]), np.uint8)
    for first in range(0, len(images), 4096):
        some = edges.transform(images[first : first + 4096])
        bits[first : first + 4096] = np.asarray(some).reshape(-1, bits.shape[1])
    model = cotm.CoTMClassifier(
        200, epochs=epochs, random_state=0, n_jobs=1, callbacks=[note], booleanize=None, **PLANES
    )
    model.fit(bits, labels)


def rows(repeats: int, epochs: int = 40) -> None:
    """Predictions per second: of all that `predict` does, and of packed bits alone."""
    images, labels, test_images, test_labels = load_mnist()
    threshold = cotm.AdaptiveGaussianThreshold()
    bits, test_bits = (
        threshold.fit_transform(x).reshape(len(x), -1) for x in (images, test_images)
    )
    model = cotm.CoTMClassifier(epochs=epochs, random_state=0, n_jobs=1, **ROWS).fit(bits, labels)
    accuracy = model.score(test_bits, test_labels)
    length = float((model.memory_ >= 0).sum(axis=1).mean())
    print(f"rows: {ROWS['n_clauses']} clauses of {length:.0f} literals, {accuracy:.2%}")
    machine, some = model.machine_, bits[:51_200]
    backend = make_backend("native", machine.spec, machine.memory_, machine.weights_, 1)
    prepared = backend.prepare(as_examples(some, machine.spec.grid))
    for name, call in {
        "predict": lambda: model.predict(some),
        "packed bits": lambda: backend.votes(prepared, 1),
    }.items():
        rate = len(some) / least_seconds(call, repeats) / 1e6
        print(f"rows, {name}: {rate:.2f} million per second of one core", flush=True)


def least_seconds(call: Callable[[], Any], repeats: int) -> float:
    """The least processor seconds of many calls."""
    seconds = []
    for _ in range(10 * repeats):
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="+", choices=["text", "planes", "rows"])
    parser.add_argument("--against", type=Path, help="a checkout with a built cotm in src")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if "text" in given.tasks and given.against is None:
        parser.error("text needs --against, the checkout to compare with")
    print(
        f"{processor_name()}, {best_isa()}; cotm {cotm.__version__}, commit {commit()}, "
        f"Python {platform.python_version()}"
    )
    if "text" in given.tasks:
        text(given.against, given.repeats)
    if "planes" in given.tasks:
        planes()
    if "rows" in given.tasks:
        rows(given.repeats)


if __name__ == "__main__":
    main()
