"""Training from a Parquet file that is larger than the memory it may take.

    python benchmarks/out_of_core.py [--rows 5000000] [--columns 50] [--limit MB] [--addresses]
                                     [--table FILE] [--folder PATH] [--no-memory]

writes a table of so many rows of float64 cells to a temporary folder, unless one is given, and
trains three times: from a stream in a process that may have so many MB of data in all, the
interpreter and its libraries included (RLIMIT_DATA as ``ulimit -d`` sets it, or with --addresses
RLIMIT_AS, ``ulimit -v``; by default a quarter of the file); from the same stream without a limit;
and in memory, to compare, unless --no-memory says that there is too little of it. It prints what
each took, and whether the models are the same to the bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

#: Rows that are made at a time.
ROWS_AT_ONCE = 250_000


def write_table(path: Path, rows: int, columns: int) -> None:
    """A table whose first columns decide on y."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for first in range(0, rows, ROWS_AT_ONCE):
        rng = np.random.default_rng(first)
        X = rng.normal(size=(min(ROWS_AT_ONCE, rows - first), columns))
        y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)
        table = pa.table({**{f"x{i}": X[:, i] for i in range(columns)}, "y": y})
        if writer is None:
            writer = parquet.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def peak() -> int:
    """The most memory the process has taken, in MB; ``ru_maxrss`` would begin with its parent's."""
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in x)
    return int(line.split()[1]) * 1024 // 1_000_000


def train(path: str, how: str, folder: str) -> dict[str, object]:
    """Train in this process, and tell what it took and what came of it."""
    import cotm

    model = cotm.CoTMClassifier(n_clauses=50, epochs=1, random_state=0, early_stopping=True)
    before = peak()
    began, used = time.perf_counter(), time.process_time()
    if how == "stream":
        model.fit(cotm.Stream(path, target="y", folder=folder))
    else:
        import polars as pl

        frame = pl.read_parquet(path)
        model.fit(frame.drop("y"), frame["y"])
    digest = hashlib.blake2b(digest_size=8)
    for array in (model.memory_, model.weights_, *model.booleanizer_.to_state()[1].values()):
        digest.update(np.ascontiguousarray(array).data)
    return {
        "MB before": before,
        "MB at most": peak(),
        "seconds": round(time.perf_counter() - began),
        "processor seconds": round(time.process_time() - used),
        "model": digest.hexdigest(),
        "accuracy": model.history_[-1]["validation_accuracy"],
    }


def main() -> None:
    """Make the table, and train in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--limit", type=int, help="MB; by default a quarter of the file")
    parser.add_argument("--addresses", action="store_true", help="limit addresses, not data")
    parser.add_argument("--table", type=Path, help="a table that this script has written")
    parser.add_argument("--folder", default=None, help="for the table and temporary files")
    parser.add_argument("--no-memory", action="store_true", help="train from streams only")
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        print(json.dumps(train(*given.train, given.folder)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = given.table or Path(folder) / "table.parquet"
        if given.table is None:
            write_table(path, given.rows, given.columns)
        megabytes = path.stat().st_size // 1_000_000
        print(f"{path.name}: {megabytes:,} MB of Parquet")
        models = set()
        limit = given.limit or megabytes // 4
        kind = resource.RLIMIT_AS if given.addresses else resource.RLIMIT_DATA
        runs = [("stream", limit), ("stream", 0), ("memory", 0)]
        for how, most in runs[:2] if given.no_memory else runs:
            words = ["--train", str(path), how, "--folder", folder]
            set_limit = partial(resource.setrlimit, kind, (most * 1_000_000,) * 2)
            run = subprocess.run(
                [sys.executable, __file__, *words],
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=set_limit if most else None,
            )
            title = f"{how}, {f'{most} MB in all' if most else 'no limit'}"
            if run.returncode:
                print(f"{title}: {run.stderr.strip().splitlines()[-1]}")
                continue
            found = json.loads(run.stdout)
            models.add(found["model"])
            print(f"{title}: {found}", flush=True)
        print("the same model" if len(models) == 1 else "other models")


if __name__ == "__main__":
    main()
