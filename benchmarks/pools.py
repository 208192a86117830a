"""Training by pools beside one machine: accuracy, processor seconds, and what many workers give.

`images` and `text` train on MNIST and IMDb from the folder COTM_DATA, or on generated data: one
machine, and 2 and 4 pools with as many clauses. Seconds are those of the processor, on one thread.
The longest pool and the passes after it come one after the other, however many workers there are:
their sum is the time that pools take where every pool has a worker.

`table` generates rows on the workers of a Dask cluster on this computer, trains there, and scores
other rows; the seconds are those of the workers' processors. `parts` measures, in this process,
what each part of that takes per row, with a pool for each of --workers, and reckons what so many
workers would take for --reckon-rows; `reckoned` says what is assumed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import data
import numpy as np
from common import RESULTS, commit
from scipy.sparse import csr_array

import cotm
from cotm.experiments.report import processor_name
from cotm.pools import fit_pools
from cotm.pools.course import REFINE, Course
from cotm.pools.shares import Rows

COLUMNS, ROWS_OF_A_PART = 10, 250_000
#: What is taken for granted of a cluster: bytes per second to each worker, seconds for each task.
NETWORK, TASK = 1e9, 0.002


@contextlib.contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Processor seconds of each pool and of all clauses together, while pools are trained."""
    seconds: dict[str, float] = {}
    visit = Course.visit

    def timed(course: Course, state: Any, rows: Any, pool: int | None, *rest: Any) -> Any:
        began = time.process_time()
        done = visit(course, state, rows, pool, *rest)
        name = "together" if pool is None else f"pool {pool}"
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - began
        return done

    with mock.patch.object(Course, "visit", timed):
        yield seconds


def workload(name: str, rows: int, test_rows: int) -> tuple[Any, ...]:
    if name == "text":
        arrays, source = data.text(rows, test_rows)
        sparse = []
        for part in ("train", "test"):
            start, words = arrays[f"{part}_indptr"], arrays[f"{part}_indices"]
            ones = np.ones(len(words), dtype=np.uint8)
            sparse.append(csr_array((ones, words, start), (len(start) - 1, data.N_WORDS)))
        return sparse[0], arrays["y_train"], sparse[1], arrays["y_test"], source, {}
    arrays, source = data.images(rows, test_rows)
    return (arrays["x_train"], arrays["y_train"], arrays["x_test"], arrays["y_test"], source,
            {"patch_shape": (10, 10), "booleanize": None})  # fmt: skip


def compare(options: argparse.Namespace) -> list[dict[str, Any]]:
    """One machine and pools, on data in memory."""
    X, y, X_test, y_test, source, more = workload(options.what, options.rows, options.test_rows)
    if options.held_out:  # settings are chosen without the test examples
        cut = X.shape[0] - X.shape[0] // 6
        X, y, X_test, y_test = X[:cut], y[:cut], X[cut:], y[cut:]
    found = []
    for clauses in options.clauses:
        for seed in options.seeds:
            for n_pools in options.pools:
                learner = cotm.CoTMClassifier(
                    clauses, **more, n_jobs=1, random_state=seed, **options.settings
                )
                with stopwatch() as seconds:
                    model = fit_pools(
                        learner, X, y, n_pools=n_pools, pool_rows=options.pool_rows,
                        refine=options.refine if n_pools > 1 else 0,
                    )  # fmt: skip
                pools = [taken for name, taken in seconds.items() if name != "together"]
                found.append({
                    "what": source, "clauses": clauses, "seed": seed, "pools": n_pools,
                    "rows": X.shape[0], "epochs": len(model.history_),
                    "accuracy": model.score(X_test, y_test),
                    "seconds": sum(seconds.values()), "longest_pool": max(pools),
                    "together": seconds.get("together", 0.0),
                })  # fmt: skip
                print(json.dumps(found[-1]), flush=True)
    return found


def made_part(number: int, rows: int) -> np.ndarray:
    """A part of a table of whole numbers, and in the last column labels, a tenth of them wrong."""
    random = np.random.default_rng(number)
    table = random.integers(0, 8, (rows, COLUMNS + 1), dtype=np.uint8)
    y = ((table[:, 0] > 3) ^ (table[:, 1] > 3)) | (table[:, 2] + table[:, 3] > 10)
    table[:, -1] = y ^ (random.integers(0, 10, rows, dtype=np.uint8) == 0)
    return table


def table(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows made by workers, on which they train; other rows of theirs are scored."""
    import dask.array
    import distributed

    from cotm.dask import CoTMClassifier

    def rows(first: int, count: int) -> Any:
        parts = [
            dask.array.from_delayed(
                dask.delayed(made_part)(first + number, ROWS_OF_A_PART),
                (ROWS_OF_A_PART, COLUMNS + 1), np.uint8,
            )
            for number in range(count // ROWS_OF_A_PART)
        ]  # fmt: skip
        return dask.array.concatenate(parts)

    train, held = rows(0, options.rows), rows(1_000_000, 4 * ROWS_OF_A_PART)
    found = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        for n_pools in options.pools:
            before = sum(client.run(time.process_time).values())
            began = time.perf_counter()
            model = CoTMClassifier(
                options.clauses[0], n_pools=n_pools, random_state=options.seeds[0],
                refine=options.refine if n_pools > 1 else 0, pool_rows=options.pool_rows,
                **options.settings,
            ).fit(train[:, :-1], train[:, -1])  # fmt: skip
            wall = time.perf_counter() - began
            seconds = sum(client.run(time.process_time).values()) - before
            accuracy = model.score(held[:, :-1], held[:, -1])
            found.append({
                "what": "table", "rows": options.rows, "clauses": options.clauses[0],
                "pools": n_pools, "epochs": len(model.history_), "accuracy": accuracy,
                "seconds": seconds, "wall": wall, "memory": peak(client),
            })  # fmt: skip
            print(json.dumps(found[-1]), flush=True)
    return found


def peak(client: Any) -> int:
    """The most bytes that a worker has ever had."""

    def own() -> int:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    return max(client.run(own).values())


def parts(options: argparse.Namespace) -> list[dict[str, Any]]:
    """What each part of a training on the generated table takes, and what that makes of many."""
    from cotm.dask.work import Meanings, look, make_rows, recount
    from cotm.model.input_parts import fit_reader

    rows = made_part(0, options.rows)
    X, y = rows[:, :-1], rows[:, -1]
    learner = cotm.CoTMClassifier(options.clauses[0], n_jobs=1, random_state=1, **options.settings)
    taken: dict[str, float] = {}

    def timed(name: str, function: Any, *given: Any) -> Any:
        began = time.process_time()
        result = function(*given)
        taken[name] = taken.get(name, 0.0) + time.process_time() - began
        return result

    seen = timed("look", look, learner, 0, X, y, None)
    again = [0]

    def recounts(empty: Any) -> list[Any]:
        again[0] += 1
        return [timed("look again", recount, learner, X, empty)]

    reader = fit_reader(learner, [seen.X], recounts)
    whole = timed("make bits", make_rows, Meanings(reader, np.array([0, 1]), None), X, y, None)
    pieces = timed("split into shares", whole.split, 1, 0, options.pools[-1])
    share = timed("join a share", Rows.join, pieces)
    score = fit_pools(learner, X[:20_000], y[:20_000], n_pools=1, refine=0)
    timed("score", score.predict, X)
    found: list[dict[str, Any]] = [{
        "what": "parts", "rows": len(X), "clauses": options.clauses[0],
        "microseconds per row": {name: 1e6 * value / len(X) for name, value in taken.items()},
        "bytes per row": share.bits.stored.nbytes / len(share),
    }]  # fmt: skip
    print(json.dumps(found[0], indent=1))
    held = made_part(1_000_000, ROWS_OF_A_PART)
    for workers in options.workers:
        refine = options.refine if workers > 1 else 0
        with stopwatch() as seconds:
            model = fit_pools(learner, X, y, n_pools=workers, refine=refine)
        state = model.machine_.snapshot()
        epochs = len(model.history_) - refine
        pools = sum(value for name, value in seconds.items() if name != "together")
        measured = {
            "workers": workers, "epochs": epochs, "refine": refine,
            "accuracy here": model.score(held[:, :-1], held[:, -1]),
            "pool": 1e6 * pools / (epochs * len(X)),
            "together": 1e6 * seconds.get("together", 0.0) / (max(1, refine) * len(X)),
            "bytes of a state": state.memory.nbytes + state.weights.nbytes,
        }  # fmt: skip
        found.append(measured | reckoned(found[0], measured, options.reckon_rows))
        print(json.dumps(found[-1]), flush=True)
    return found


def reckoned(known: dict[str, Any], measured: dict[str, Any], rows: int) -> dict[str, Any]:
    """Seconds of a training with a pool for each worker, from what its parts take.

    Assumed: every worker has one thread, an even share of the rows, NETWORK bytes per second and
    room for its share; a row takes as long as here; a task costs TASK seconds beside its work.
    """
    workers, epochs = measured["workers"], measured["epochs"]
    per_row = 1e-6 * sum(
        value for name, value in known["microseconds per row"].items() if name != "score"
    )
    own, state = rows / workers, measured["bytes of a state"]
    bits = per_row * own
    transfer = known["bytes per row"] * own * (workers - 1) / workers / NETWORK
    pools = epochs * (1e-6 * measured["pool"] * own + TASK + state / workers / NETWORK)
    together = measured["refine"] * (
        1e-6 * measured["together"] * rows + workers * (TASK + state / NETWORK)
    )
    return {"reckoned rows": rows, "bits": bits, "transfer": transfer, "pools": pools,
            "all clauses": together, "seconds": bits + transfer + pools + together}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["images", "text", "table", "parts"])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--test-rows", type=int, default=10_000)
    parser.add_argument("--held-out", action="store_true", help="score a sixth of the rows instead")
    parser.add_argument("--clauses", type=int, nargs="*", default=[500])
    parser.add_argument("--pools", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--pool-rows", default="turns")
    parser.add_argument("--refine", type=int, default=REFINE)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument(
        "--settings", type=json.loads, default={}, help="of the classifier, as JSON"
    )
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 4, 16, 100])
    parser.add_argument("--reckon-rows", type=int, default=10_000_000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    measure = {"table": table, "parts": parts}.get(options.what, compare)
    found = measure(options)
    about = {
        "processor": processor_name(), "processors": os.cpu_count(),
        "python": platform.python_version(), "cotm": cotm.__version__, "commit": commit(),
        "command": shlex.join(sys.argv), "date": datetime.date.today().isoformat(),
    }  # fmt: skip
    output = options.output or RESULTS / f"pools-{options.what}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"about": about, "results": found}, indent=1) + "\n")
    print(f"written to {output}")


if __name__ == "__main__":
    main()
