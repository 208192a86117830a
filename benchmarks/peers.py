"""cotm beside its peers, interleaved on the same data in one run; medians and ratios.

``python benchmarks/peers.py`` takes a slice of the data and about two minutes; ``--full`` all of
it and some hours, most of them the peers'. On a slice the machines are at the very beginning of
training, where feedback is most frequent and ratios are lowest.

The peers are installed into ``build/peers``, an environment of their own. MNIST comes from the
folder ``COTM_DATA`` (mnist.npz with x_train, y_train, x_test, y_test), otherwise images of the
same shape are made from scikit-learn's digits; the output says which. Every library runs in one
thread. Results go to ``build/peers.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

import cotm

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
REQUIREMENTS = ["tmu==0.8.3", "green-tsetlin==1.1.0", "numpy<2"]
#: task -> (peers, epochs; the last one counts)
COMPARISONS = {
    "convolution-500": (["tmu"], 3),
    "convolution-5000": (["tmu"], 3),
    "flat-2000": (["tmu", "green-tsetlin"], 4),
}
SHORT = ["convolution-500", "flat-2000"]


def peer_python() -> Path:
    python = PEERS / "bin" / "python"
    if not python.exists():
        print("installing the peers ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def load_bits(rows: int, test_rows: int) -> tuple[dict[str, np.ndarray], str]:
    source = Path(os.environ.get("COTM_DATA", "")) / "mnist.npz"
    if source.is_file():
        raw = np.load(source)
        threshold = cotm.AdaptiveGaussianThreshold()
        data = {
            "x_train": threshold.fit_transform(raw["x_train"][:rows]),
            "y_train": raw["y_train"][:rows],
            "x_test": threshold.transform(raw["x_test"][:test_rows]),
            "y_test": raw["y_test"][:test_rows],
        }
        return data, "MNIST"
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    images, labels = load_digits(return_X_y=True)
    large = np.kron(images.reshape(-1, 8, 8) > 7, np.ones((3, 3), dtype=bool))
    large = np.pad(large, ((0, 0), (2, 2), (2, 2)))
    pick = rng.integers(0, len(labels), rows + test_rows)
    bits = (large[pick] ^ (rng.random((len(pick), 28, 28)) < 0.05)).astype(np.uint8)
    data = {
        "x_train": bits[:rows],
        "y_train": labels[pick[:rows]],
        "x_test": bits[rows:],
        "y_test": labels[pick[rows:]],
    }
    return data, "made from scikit-learn's digits with 5 % noise, not MNIST"


def measure(library: str, task: str, data: Path, epochs: int, seed: int) -> dict:
    python = sys.executable if library == "cotm" else peer_python()
    command = [
        python,
        ROOT / "benchmarks" / "worker.py",
        library,
        task,
        data,
        str(epochs),
        str(seed),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def commit() -> str:
    run = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return run.stdout.strip() or "unknown"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.split(":")[1] for line in info.read_text().splitlines() if "model name" in line]
    return names[0].strip() if names else platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all data, all tasks, three repeats")
    parser.add_argument("--rows", type=int, help="training examples")
    parser.add_argument("--repeats", type=int, help="runs per library, each with its own seed")
    parser.add_argument("--tasks", nargs="+", choices=COMPARISONS, help="which comparisons")
    arguments = parser.parse_args()
    rows, test_rows, repeats = (60_000, 10_000, 3) if arguments.full else (1500, 1000, 1)
    rows, repeats = arguments.rows or rows, arguments.repeats or repeats
    tasks = arguments.tasks or (list(COMPARISONS) if arguments.full else SHORT)
    peer_python()
    data, source = load_bits(rows, test_rows)
    path = ROOT / "build" / "bits.npz"
    np.savez(path, **data)
    report = {
        "processor": processor(),
        "isa": __import__("cotm._native", fromlist=["best_isa"]).best_isa(),
        "python": platform.python_version(),
        "cotm": cotm.__version__,
        "commit": commit(),
        "peers": REQUIREMENTS,
        "data": f"{source}; {rows} training and {test_rows} test examples",
        "results": [],
    }
    print(f"{report['processor']} ({report['isa']}), commit {report['commit']}, {report['data']}\n")
    print("| task | library | s, last epoch | ratio | s, prediction | ratio | accuracy |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for task in tasks:
        peers, epochs = COMPARISONS[task]
        runs: dict[str, list[dict]] = {library: [] for library in ("cotm", *peers)}
        for seed in range(repeats):
            for library, found in runs.items():
                found.append(measure(library, task, path, epochs, seed))
        medians = {
            library: {
                "epoch": statistics.median(run["epoch_seconds"][-1] for run in found),
                "predict": statistics.median(run["predict_seconds"] for run in found),
                "accuracy": statistics.mean(run["accuracy"] for run in found),
            }
            for library, found in runs.items()
        }
        ours = medians["cotm"]
        for library, m in medians.items():
            print(
                f"| {task} | {library} | {m['epoch']:.3f} | {m['epoch'] / ours['epoch']:.1f} "
                f"| {m['predict']:.4f} | {m['predict'] / ours['predict']:.1f} "
                f"| {100 * m['accuracy']:.1f} |",
                flush=True,
            )
            report["results"].append({"task": task, "library": library, **m, "runs": runs[library]})
    (ROOT / "build" / "peers.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
