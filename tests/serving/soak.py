"""Ten minutes of full load with reloads, broken files and killed workers: ``make soak``.

Every answer is compared with the model's own; times and memory are told. Only 127.0.0.1 is
asked. Usage: python tests/serving/soak.py [SECONDS] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from load import load, request
from running import Program, megabytes, processor_seconds
from workload import Workload

#: Seconds between two changes of files, two broken files, and two killed workers.
_CHANGES, _BREAKS, _KILLS = 3.0, 20.0, 45.0
_CONNECTIONS = 8


class Trouble(threading.Thread):
    """Changes and breaks files, and kills workers, until it is told to stop."""

    def __init__(self, server: Program, workload: Workload, kill: bool) -> None:
        super().__init__(daemon=True)
        self._server, self._workload, self._kill = server, workload, kill
        self._done = threading.Event()
        self.changed = self.broken = self.killed = 0

    def run(self) -> None:
        began = time.monotonic()
        version = 1
        while not self._done.wait(_CHANGES):
            for name in self._workload.names:
                self._workload.put(name, version)
                self.changed += 1
            version = 1 - version
            elapsed = time.monotonic() - began
            if elapsed / _BREAKS > self.broken + 1:
                self._workload.files["table"].write_bytes(b"half a mod")
                self.broken += 1
            if self._kill and elapsed / _KILLS > self.killed + 1:
                # The youngest: so the other one's memory is seen from the first second to the last.
                os.kill(max(self._server.workers()), signal.SIGKILL)
                self.killed += 1

    def stop(self) -> None:
        self._done.set()
        self.join()


class Memory(threading.Thread):
    """The memory of each worker, from second to second."""

    def __init__(self, server: Program) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._done = threading.Event()
        self.seen: dict[int, list[float]] = {}

    def run(self) -> None:
        while not self._done.wait(1.0):
            for worker in self._server.workers():
                try:
                    self.seen.setdefault(worker, []).append(megabytes(worker))
                except OSError:
                    continue  # it was killed just now

    def told(self) -> dict[str, Any]:
        """Of workers that lived long enough: the mean of the second quarter, and of the last."""
        self._done.set()
        self.join()
        found = {}
        for worker, values in self.seen.items():
            quarter = len(values) // 4
            if quarter >= 5:
                early, late = values[quarter : 2 * quarter], values[-quarter:]
                found[str(worker)] = {
                    "seconds": len(values),
                    "second_quarter": round(sum(early) / quarter, 1),
                    "last_quarter": round(sum(late) / quarter, 1),
                }
        return found


def half_load(server: Program, workload: Workload, seconds: float) -> dict[str, Any]:
    """Single rows at half of what the server can, beside a request that does nothing."""
    rows = workload.requests(single=True)
    nothing = request("nothing", "/health", b"", lambda body: None)
    nothing.content = nothing.content.replace(b"POST", b"GET", 1)
    load(server.port, rows, seconds=1.0, connections=4)
    full = load(server.port, rows, seconds=seconds / 4, connections=_CONNECTIONS)
    rate = full.answered / full.elapsed / 2
    some = [*rows, *([nothing] * (len(rows) // 5))]
    before = processor_seconds(server.process.pid)
    half = load(server.port, some, seconds=seconds, connections=16, rate=rate)
    spent = processor_seconds(server.process.pid) - before
    quarter = load(server.port, some, seconds=seconds, connections=16, rate=rate / 2)
    return {
        "full": full.told(),
        "half_rate": round(rate, 1),
        "processor_microseconds_a_request": round(spent / half.answered * 1e6, 1),
        "half": half.told(),
        "quarter": quarter.told(),
    }


def soak(seconds: float) -> dict[str, Any]:
    """All of it; what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        workload = Workload(Path(folder))
        words = [*workload.files.values(), "--watch", 0.5, "--log-level", "warning"]
        with Program(*words) as server:
            alone = half_load(server, workload, min(20.0, seconds / 6))
        with Program(*words, "--workers", 2) as server:
            memory, trouble = Memory(server), Trouble(server, workload, kill=True)
            memory.start()
            trouble.start()
            outcome = load(
                server.port, workload.requests(), seconds=seconds, connections=_CONNECTIONS
            )
            trouble.stop()
            told = outcome.told()
            told["first_wrong"] = outcome.wrong[:3]
            found = memory.told()
    return {
        "one_process_single_rows": alone,
        "two_workers_all_kinds": told,
        "files_changed": trouble.changed,
        "files_broken": trouble.broken,
        "workers_killed": trouble.killed,
        "megabytes": found,
        "log": sorted({entry["message"][:60] for entry in server.log}),
    }


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=600.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    told = json.dumps(soak(given.seconds), indent=2)
    print(told)
    if given.out is not None:
        given.out.write_text(told + "\n")
    found = json.loads(told)
    two = found["two_workers_all_kinds"]
    if two["wrong"] or two["lost"] > _CONNECTIONS * (found["workers_killed"] + 1):
        sys.exit("error: answers were wrong, or lost without a worker that was killed")
    for worker, values in found["megabytes"].items():
        if values["last_quarter"] > values["second_quarter"] * 1.1 + 5:
            sys.exit(f"error: worker {worker} grows: {values}")


if __name__ == "__main__":
    main()
