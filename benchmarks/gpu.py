"""The CUDA backend: time per epoch, example and clause, and how far that is from the hardware.

MNIST with 10 x 10 patches (from the folder COTM_DATA, otherwise generated images) through
CoTMClassifier: seconds of the third epoch and of 10,000 predictions for pools from 500 to 80,000
clauses. Beside them stands the least that is possible: how long the blocks of such a launch take
to exchange votes when there is nothing else to do.

--counters lets NVIDIA's ncu, which must be installed and permitted, count the instructions and
shared-memory accesses of a launch. --crossing measures from how many clauses on the GPU is faster
than this computer's processors. --check compares state and votes with the native backend's.
--graded trains graded clauses on the edges and levels of Fashion-MNIST, and --side-by-side several
machines at the same time. Results go to a JSON file.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cupy as cp
import data
import numpy as np
from common import RESULTS, commit

import cotm
from cotm.backends.cuda.layout import LaunchLayout
from cotm.backends.cuda.sources import PARTS, inlined
from cotm.core.examples import Examples
from cotm.core.randomness import pass_order
from cotm.core.spec import selection_scale
from cotm.datasets import load_fashion_mnist

#: clauses -> T, s
SETTINGS = {n: (n * 5 // 4, 10.0) for n in (500, 1000, 5000, 10_000, 20_000, 40_000)}
SETTINGS[80_000] = (10_000, 5.0)
#: ncu can count these in a single pass. It would otherwise replay the launch, whose blocks wait for
#: each other.
METRICS = {
    "instructions": "smsp__inst_executed.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "cycles": "sm__cycles_elapsed.max",
}
#: Examples of the launch that is counted.
PROFILED_ROWS = 6400
#: Per cycle and multiprocessor: four schedulers issue one instruction each, and shared memory
#: serves one wavefront of 128 bytes.
PEAK = {"instructions": 4, "shared_wavefronts": 1}

BARRIER = """
extern "C" __global__ void barrier(u64* ballot, const u32 m, const u32 steps, i64* total) {
  __shared__ u64 before[64];
  __shared__ i64 sum[32];
  if (threadIdx.x < 64) before[threadIdx.x] = 0;
  __syncthreads();
  for (u32 step = 0; step < steps; ++step) {
    if (threadIdx.x < m) {
      const u32 slot = step % 2 * 32 + threadIdx.x;
      cast(ballot + slot, 1);
      sum[threadIdx.x] = collect(ballot + slot, before[slot]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) total[blockIdx.x] = sum[0];
}
"""


def model(n: int, backend: str = "cuda", **options: Any) -> cotm.CoTMClassifier:
    T, s = SETTINGS.get(n, (n * 5 // 4, 10.0))
    chosen = {"patch_shape": (10, 10), "epochs": 3, "booleanize": None, "random_state": 1}
    return cotm.CoTMClassifier(n, T=T, s=s, backend=backend, **{**chosen, **options})


def barrier_microseconds(launch: LaunchLayout, m: int, steps: int = 20_000) -> float:
    """How long the blocks of a launch take to exchange the votes of one example."""
    options = dict(ENTRY="u16", SUM="i32", OUTPUT="u8", SHARED=0, LISTED=0, TEAM_WARPS=1,
                   SEARCHES=0, LONG_ROWS=0, MANY=0, LIMITED=0, HEAVY=0, PLANES=1, SAMPLED=0,
                   BOUNDED=0, ONE_NEGATIVE=0, DROPS=0, THREADS=1024)  # fmt: skip
    module = cp.RawModule(
        code=inlined("votes.cuh") + BARRIER,
        options=("-std=c++17", *(f"-DCOTM_{key}={value}" for key, value in options.items())),
        enable_cooperative_groups=True,
    )
    kernel, best = module.get_function("barrier"), np.inf
    total = cp.zeros(launch.blocks, dtype=np.int64)
    for _ in range(3):
        ballot = cp.zeros(64, dtype=np.uint64)
        events = [cp.cuda.Event(), cp.cuda.Event()]
        events[0].record()
        arguments = (ballot, np.uint32(m), np.uint32(steps), total)
        kernel((launch.blocks,), (launch.threads,), arguments)
        events[1].record()
        events[1].synchronize()
        best = min(best, cp.cuda.get_elapsed_time(*events) * 1e3 / steps)
    assert (total == launch.blocks).all()
    return float(best)


def measure(n: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    rows = len(arrays["y_train"])
    trained = model(n).fit(arrays["x_train"], arrays["y_train"])
    seconds = [record["seconds"] for record in trained.history_]
    predictions = []
    for _ in range(4):
        began = time.perf_counter()
        predicted = trained.predict(arrays["x_test"])
        predictions.append(time.perf_counter() - began)
    launch = trained.machine_._live.backend.launch
    T, s = SETTINGS[n]
    return {
        "n_clauses": n,
        "T": T,
        "s": s,
        "epoch_rows": rows,
        "epoch_seconds": seconds,
        "microseconds_per_example": seconds[-1] / rows * 1e6,
        "nanoseconds_per_clause": seconds[-1] / rows / n * 1e9,
        "prediction_rows": len(arrays["y_test"]),
        "prediction_seconds": float(np.median(predictions[1:])),
        "accuracy": float((predicted == arrays["y_test"]).mean()),
        "blocks": launch.blocks,
        "threads": launch.threads,
        "shared_bytes": launch.shared_bytes,
        "in_shared": [part for part in PARTS if launch.holds(part)],
        "listed": launch.listed,
        "barrier_microseconds": barrier_microseconds(launch, 10),
    }


def profiled(n: int, arrays: dict[str, np.ndarray]) -> None:
    """Two epochs, and a third launch whose instructions ncu counts."""
    x, y = arrays["x_train"][..., None], np.eye(10, dtype=np.uint8)[arrays["y_train"]]
    trained = model(n, epochs=0).fit(arrays["x_train"], arrays["y_train"])
    machine = trained.machine_
    backend = machine._make_live("cuda")
    examples = backend.prepare(Examples(x, machine.spec.grid))
    scales = selection_scale(machine.e, np.ones(1))
    step = 0
    for count in (len(y), len(y), PROFILED_ROWS):
        order = pass_order(machine.seed_, step, len(y))[:count]
        backend.train(examples, y, scales, order, step)
        step += count


def counters(n: int) -> dict[str, float]:
    """Counts of one launch, per example, and the share of what the hardware could do."""
    command = ["ncu", "--csv", "--kernel-name", "train", "--launch-skip", "2", "--launch-count"]
    command += ["1", "--metrics", ",".join(METRICS.values())]
    command += [sys.executable, __file__, "--profiled", str(n)]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith('"')]
    found = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(lines)}
    if not found:
        message = (run.stdout + run.stderr).strip().splitlines()
        print(f"  no counters: {message[-1] if message else 'ncu said nothing'}")
        return {}
    values = {key: float(found[name].replace(",", "")) for key, name in METRICS.items()}
    processors = cp.cuda.Device().attributes["MultiProcessorCount"]
    result = {f"{key}_per_example": values[key] / PROFILED_ROWS for key in values}
    for key, peak in PEAK.items():
        result[f"{key}_share"] = values[key] / (values["cycles"] * processors * peak)
    return result


def check(arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """State and votes after 2,000 examples beside the native backend's."""
    found = []
    for n in (500, 20_000):
        x, y = arrays["x_train"][:2000], arrays["y_train"][:2000]
        pair = [model(n, backend, epochs=1).fit(x, y) for backend in ("native", "cuda")]
        votes = [trained.machine_.votes(arrays["x_test"][:1000]) for trained in pair]
        equal = {
            "memory": bool(np.array_equal(pair[0].memory_, pair[1].memory_)),
            "weights": bool(np.array_equal(pair[0].weights_, pair[1].weights_)),
            "votes": bool(np.array_equal(*votes)),
        }
        print(f"{n:,} clauses, 2,000 examples: equal to native: {equal}", flush=True)
        found.append({"n_clauses": n, **equal})
    return found


def crossing(arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Microseconds per example of the third epoch, on one core, on all, on the GPU."""
    cores = os.cpu_count() or 1
    found = []
    rows = slice(20_000)
    for kind, pools in (("convolution", (50, 100, 200, 300, 500, 1000, 2000)),
                        ("flat", (25, 50, 100, 200, 400, 1000, 2000))):  # fmt: skip
        x, y = arrays["x_train"][rows], arrays["y_train"][rows]
        patch = (10, 10) if kind == "convolution" else None
        x = x if patch else x.reshape(len(x), -1)
        for n in pools:
            line: dict[str, Any] = {"kind": kind, "n_clauses": n}
            for name, backend, jobs in (("one core", "native", 1),
                                        (f"{cores} cores", "native", None),
                                        ("cuda", "cuda", 1)):  # fmt: skip
                trained = model(n, backend, n_jobs=jobs, patch_shape=patch).fit(x, y)
                line[name] = trained.history_[-1]["seconds"] / len(y) * 1e6
            shown = ", ".join(f"{k} {v:.2f}" for k, v in line.items() if isinstance(v, float))
            print(f"{kind}, {n:,} clauses: microseconds per example: {shown}", flush=True)
            found.append(line)
    return found


#: Of graded clauses on 59,584 bits of an image; the number of clauses is added.
GRADED = {"T": 30_000, "s": 700.0, "tolerance": 200, "growth_limit": 200, "include_depth": 26,
          "forgetting": "sampled", "booleanize": None, "random_state": 1}  # fmt: skip


def graded(rows: int, epochs: int = 10) -> list[dict[str, Any]]:
    """Seconds of each epoch on the edges and levels of Fashion-MNIST, flat."""
    x, y, x_test, y_test = load_fashion_mnist()
    edges = cotm.EdgeThermometer().fit(x[:1])
    bits = np.asarray(edges.transform(x[:rows])).reshape(rows, -1)
    test_bits = np.asarray(edges.transform(x_test)).reshape(len(x_test), -1)
    found = []
    for n in (200, 2000):
        trained = cotm.CoTMClassifier(n, epochs=epochs, backend="cuda", **GRADED)
        trained.fit(bits, y[:rows])
        seconds = [record["seconds"] for record in trained.history_]
        times = []
        for _ in range(3):
            began = time.perf_counter()
            accuracy = trained.score(test_bits, y_test)
            times.append(time.perf_counter() - began)
        found.append(
            {
                "n_clauses": n,
                "epoch_rows": rows,
                "epoch_seconds": seconds,
                "accuracy": accuracy,
                "prediction_seconds": float(np.median(times)),
            }
        )
        shown = ", ".join(f"{second:.2f}" for second in seconds)
        print(f"graded, {n:,} clauses: s per epoch {shown}; accuracy {accuracy:.2%}", flush=True)
    return found


def side_by_side(arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Seconds of the last epoch of several machines of 500 clauses in as many threads."""
    found = []
    for count in (1, 2, 4, 8):
        models = [model(500, random_state=k) for k in range(count)]
        wait = threading.Barrier(count).wait  # for each other, so that they train at the same time
        for one in models:
            one.callbacks = [lambda trained, record, wait=wait: wait() and None]
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda one: one.fit(arrays["x_train"], arrays["y_train"]), models))
        seconds = [one.history_[-1]["seconds"] for one in models]
        each = max(seconds) / count
        print(f"{count} machines at once: {max(seconds):.3f} s, {each:.3f} s for each", flush=True)
        found.append({"machines": count, "epoch_seconds": seconds, "seconds_for_each": each})
    return found


def describe() -> dict[str, Any]:
    device = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)
    return {
        "gpu": device["name"].decode(),
        "multiprocessors": device["multiProcessorCount"],
        "gpu_memory": device["totalGlobalMem"],
        "driver": cp.cuda.runtime.driverGetVersion(),
        "cuda": cp.cuda.runtime.runtimeGetVersion(),
        "cupy": cp.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "cotm": cotm.__version__,
        "commit": commit(),
        "command": shlex.join(["python", *sys.argv]),
        "date": datetime.date.today().isoformat(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clauses", type=int, nargs="*", default=list(SETTINGS))
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--counters", action="store_true")
    parser.add_argument("--crossing", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--graded", action="store_true")
    parser.add_argument("--side-by-side", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS / "gpu.json")
    parser.add_argument("--profiled", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    arrays, source = data.images(options.rows, 10_000)
    if options.profiled:
        profiled(options.profiled, arrays)
        return
    report: dict[str, Any] = {**describe(), "data": source, "results": []}
    print(f"{report['gpu']}, CuPy {report['cupy']}, cotm {report['cotm']}; {source}")
    if options.check:
        report["equal"] = check(arrays)
    if options.counters and not shutil.which("ncu"):
        parser.error("--counters needs ncu, which is part of NVIDIA's Nsight Compute")
    for n in options.clauses:
        result = measure(n, arrays)
        if options.counters:
            result.update(counters(n))
        report["results"].append(result)
        text = (
            f"{n:>7,} clauses: {result['epoch_seconds'][-1]:.3f} s per epoch, "
            f"{result['microseconds_per_example']:.2f} µs per example "
            f"(barrier {result['barrier_microseconds']:.2f}), "
            f"{result['nanoseconds_per_clause']:.2f} ns per clause; "
            f"{result['prediction_rows']:,} predictions {result['prediction_seconds'] * 1e3:.1f} "
            f"ms; accuracy {result['accuracy']:.2%}"
        )
        if "instructions_share" in result:
            text += (
                f"; instructions {result['instructions_share']:.0%}, shared memory "
                f"{result['shared_wavefronts_share']:.0%} of what is possible"
            )
        print(text, flush=True)
    if options.crossing:
        report["crossing"] = crossing(arrays)
    if options.graded:
        report["graded"] = graded(options.rows)
    if options.side_by_side:
        report["side by side"] = side_by_side(arrays)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(f"results in {options.output}")


if __name__ == "__main__":
    main()
