"""Training from a Parquet file that is larger than the memory it may take.

    python benchmarks/out_of_core.py [--rows 5000000] [--columns 50] [--limit 500] [--folder PATH]

writes a table of so many rows of float64 cells to a temporary folder, and trains three times:
from a stream, with a limit of so many MB on the data of the process beyond what the interpreter
takes after its imports (RLIMIT_DATA); from the same stream without one; and in memory, to compare,
unless --no-memory says that there is too little of it. It prints what each took, and whether the
models are the same to the bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
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


def limit_data(megabytes: int) -> None:
    """Let this process have so much more data than it has now."""
    status = Path("/proc/self/status").read_text().split()
    now = int(status[status.index("VmData:") + 1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (now + megabytes * 1_000_000,) * 2)


def peak() -> int:
    """The most memory the process has taken, in MB; ``ru_maxrss`` would begin with its parent's."""
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in x)
    return int(line.split()[1]) * 1024 // 1_000_000


def train(path: str, how: str, limit: int, folder: str) -> dict[str, object]:
    """Train in this process, and tell what it took and what came of it."""
    import cotm

    with tempfile.TemporaryDirectory() as small:  # all is imported, and threads have started
        write_table(Path(small) / "small.parquet", 100, 3)
        few = cotm.Stream(Path(small) / "small.parquet", target="y")
        cotm.CoTMClassifier(n_clauses=4, epochs=1, early_stopping=True).fit(few)
    model = cotm.CoTMClassifier(n_clauses=50, epochs=1, random_state=0, early_stopping=True)
    before = peak()
    if limit:
        limit_data(limit)
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
    parser.add_argument("--limit", type=int, default=500, help="MB beyond the interpreter's")
    parser.add_argument("--folder", default=None, help="for the table and temporary files")
    parser.add_argument("--no-memory", action="store_true", help="train from streams only")
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        print(json.dumps(train(*given.train, given.limit, given.folder)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, given.rows, given.columns)
        megabytes = path.stat().st_size // 1_000_000
        print(f"{given.rows:,} rows, {given.columns} columns: {megabytes:,} MB of Parquet")
        models = set()
        runs = [("stream", given.limit), ("stream", 0), ("memory", 0)]
        for how, limit in runs[:2] if given.no_memory else runs:
            words = ["--train", str(path), how, "--limit", str(limit), "--folder", folder]
            run = subprocess.run(
                [sys.executable, __file__, *words],
                capture_output=True,
                text=True,
                check=False,
                # pyarrow's own allocator takes 1 GB at once, used or not.
                env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
            )
            title = f"{how}, {f'{limit} MB more' if limit else 'no limit'}"
            if run.returncode:
                print(f"{title}: {run.stderr.strip().splitlines()[-1]}")
                continue
            found = json.loads(run.stdout)
            models.add(found["model"])
            print(f"{title}: {found}")
        print("the same model" if len(models) == 1 else "other models")


if __name__ == "__main__":
    main()
