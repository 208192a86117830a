"""What is measured: the machines' settings, the libraries, and how much data each of them gets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

#: Installed into an environment of their own, because tmu needs an older NumPy.
REQUIREMENTS = {"tmu": "==0.8.3", "green-tsetlin": "==1.1.0", "numpy": "<2"}

#: Name in the tables -> (package, options that differ from the package's defaults).
LIBRARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "cotm": ("cotm", {}),
    # green-tsetlin draws the negative class in proportion to its error and does not boost true
    # positives. Its times belong beside those of a machine that learns in nearly the same way.
    "cotm (e=1, no boost)": ("cotm", {"e": 1.0, "boost_true_positive": False}),
    # The settings for speed: clauses that may miss literals need few of them to be forgotten.
    "cotm (graded)": (
        "cotm",
        {
            "T": 2000,
            "s": 400.0,
            "e": 1.0,
            "negatives": "focused",
            "tolerance": 15,
            "growth_limit": 30,
            "include_depth": 26,
            "forgetting": "sampled",
        },
    ),
    "tmu": ("tmu", {}),
    "green-tsetlin": ("green-tsetlin", {}),
}


@dataclass(frozen=True)
class Size:
    """How much data; ``slices`` are for peers that would take hours or too much memory."""

    rows: int
    test_rows: int
    slices: dict[str, tuple[int, int]] = field(default_factory=dict)
    repeats: int = 3

    def limited(self, rows: int | None, peer_rows: int | None, test_rows: int | None) -> Size:
        """This size with what the command line asked for."""
        rows, test_rows = rows or self.rows, test_rows or self.test_rows
        slices = dict(self.slices)
        if peer_rows:
            peers = [name for name, (package, _) in LIBRARIES.items() if package != "cotm"]
            slices = {name: (peer_rows, slices.get(name, (0, test_rows))[1]) for name in peers}
        return replace(
            self,
            rows=rows,
            test_rows=test_rows,
            slices={name: (min(n, rows), min(m, test_rows)) for name, (n, m) in slices.items()},
        )


@dataclass(frozen=True)
class Task:
    """A machine, its data, and the libraries to be measured; the last of ``epochs`` counts."""

    group: str
    data: str
    n_clauses: int
    T: int
    s: float
    full: Size
    short: Size | None = None
    patch: tuple[int, int] | None = None
    epochs: int = 3
    libraries: tuple[str, ...] = ("cotm", "tmu")
    threads: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Entry:
    """One library in one task: what is run once per seed."""

    library: str
    rows: int
    test_rows: int
    threads: int


def entries(task: Task, size: Size, libraries: list[str]) -> list[Entry]:
    """Which library runs on what. Where a peer gets a slice, cotm runs on that slice, too."""
    chosen = [name for name in task.libraries if name in libraries]
    ours = [name for name in chosen if LIBRARIES[name][0] == "cotm"]
    found: list[Entry] = []
    for name in chosen:
        rows, test_rows = size.slices.get(name, (size.rows, size.test_rows))
        if rows < size.rows:
            found += [Entry(variant, rows, size.test_rows, 1) for variant in ours]
        found += [Entry(name, rows, test_rows, n) for n in task.threads]
    return list(dict.fromkeys(found))


def thread_counts() -> tuple[int, ...]:
    """1, 2, 4, ... and the number of cores."""
    cores = os.cpu_count() or 1
    return tuple(sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores}))


def convolution(n_clauses: int, full: Size, short: Size | None = None, **options: Any) -> Task:
    group = options.pop("group", f"convolution-{n_clauses}")
    T = n_clauses * 5 // 4
    return Task(group, "images", n_clauses, T, 10.0, full, short, patch=(10, 10), **options)


MNIST = Size(60_000, 10_000)

TASKS: dict[str, Task] = {
    "convolution-500": convolution(500, MNIST, Size(200, 1000, {"tmu": (200, 100)})),
    "convolution-5000": convolution(5000, MNIST, Size(40, 200, {"tmu": (40, 20)}, repeats=1)),
    "convolution-20000": convolution(20_000, Size(60_000, 10_000, {"tmu": (1000, 1000)})),
    "flat-2000": Task(
        "flat-2000",
        "images",
        n_clauses=2000,
        T=5000,
        s=10.0,
        full=MNIST,
        short=Size(200, 1000, repeats=1),
        epochs=4,
        libraries=("cotm", "cotm (e=1, no boost)", "cotm (graded)", "tmu", "green-tsetlin"),
    ),
    # Dense, as tmu needs them, 25,000 rows of 10,000 words are 1 GB.
    "text-2000": Task(
        "text-2000",
        "text",
        n_clauses=2000,
        T=4000,
        s=5.0,
        full=Size(25_000, 10_000, {"tmu": (2500, 1000), "green-tsetlin": (2500, 1000)}),
        short=Size(60, 200, repeats=1),
        libraries=("cotm", "tmu", "green-tsetlin"),
    ),
    "threads": convolution(
        5000,
        MNIST,
        Size(500, 200, repeats=1),
        group="threads",
        libraries=("cotm",),
        threads=thread_counts(),
    ),
}
for _n in (500, 1000, 2000, 5000, 10_000, 20_000):
    TASKS[f"clauses-{_n}"] = convolution(
        _n,
        Size(60_000, 1000, {"tmu": (600, 300)}),
        Size(40, 200, {"tmu": (40, 20)}, repeats=1) if _n <= 2000 else None,
        group="clauses",
    )
GROUPS = list(dict.fromkeys(task.group for task in TASKS.values()))
