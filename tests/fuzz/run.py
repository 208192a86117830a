"""Fuzzes one target after the other, each in processes of its own, for so many seconds in all.

The same seed gives the same inputs, but for those that are led by coverage. A crash is any
exception that is no documented error, a hang, memory without bounds, a process that dies, and a
loaded file that then fails; its input is kept, with the line that tries it again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py"))
#: Exports wait for other programs, and requests are 200 a case.
_PARTS = {"model_files": 4.0}
#: How much longer than asked a process may take to begin and to end, with its last case.
_SLACK = 180.0
#: The share of a target's time in which it is led by coverage.
_LED = 0.25


def trial(name: str, work: Path, given: argparse.Namespace, seconds: float, *, led: bool) -> Any:
    """Run one process, begun again where a case ended it; what it tells, and crashes it left."""
    told: dict[str, Any] = {"cases": 0, "outcomes": {}}
    end, first = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 1 and not (given.cases and first >= given.cases):
        words = [sys.executable, HERE / "trying.py", name, work, "--seed", given.seed]
        words += ["--seconds", left, "--cases", max(0, given.cases - first), "--first", first]
        words += ["--led"] if led else []
        (work / "told").unlink(missing_ok=True)
        with (work / "output").open("wb") as output:
            process = subprocess.Popen(
                [*map(str, words)], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                code = process.wait(left + _SLACK)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        now = json.loads((work / "told").read_text()) if (work / "told").exists() else {}
        told["cases"] += now.get("cases", 0)
        for outcome, count in now.get("outcomes", {}).items():
            told["outcomes"][outcome] = told["outcomes"].get(outcome, 0) + count
        for figure in ("slowest_seconds", "grown_megabytes"):
            told[figure] = max(told.get(figure, 0), now.get(figure, 0))
        if code == 0:
            break
        lines = (work / "output").read_text(errors="replace").splitlines()
        why = "hang" if code == -signal.SIGALRM else f"exit {code}"
        kept = work / f"crash-{name}-{why.replace(' ', '')}-{first}"
        kept.write_bytes((work / "current").read_bytes() if (work / "current").exists() else b"")
        kept.with_suffix(".txt").write_text("\n".join([why, *lines[-40:]]))
        number = (work / "number").read_text() if (work / "number").exists() else ""
        if not number:  # before it tried anything, and so it would again
            break
        first = int(number) + 1
    return told


def report(name: str, work: Path, kept: Path, said: str, told: dict[str, Any]) -> int:
    """Print what came of a target; the number of its crashes."""
    print(f"{name}{said}: {json.dumps(told)}", flush=True)
    crashes = sorted(path for path in work.glob("crash-*") if path.suffix != ".txt")
    for path in crashes:
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, kept / path.name)
        text = path.with_suffix(".txt")
        shutil.copy(text, kept / text.name)
        last = text.read_text(errors="replace").strip().splitlines()[-1:]
        print(f"  CRASH {last[0] if last else ''}")
        print(f"  {sys.executable} {HERE / 'run.py'} {name} --again {kept / path.name}")
    return len(crashes)


def main() -> int:
    """Fuzz; 1 if anything crashed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=float, default=600.0, help="in all")
    parser.add_argument("--cases", type=int, default=0, help="of each target, instead of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, help="try the input in this file")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder of crashes")
    given = parser.parse_args()
    names = given.names or NAMES
    if unknown := {*names} - {*NAMES}:
        parser.error(f"{', '.join(sorted(unknown))} is none of {', '.join(NAMES)}")
    if given.cases:
        given.seconds = 24 * 3600.0 * len(names)
    work = given.keep.resolve() / "work"
    shutil.rmtree(work, ignore_errors=True)
    if given.again is not None:
        (work / names[0]).mkdir(parents=True)
        words = [HERE / "trying.py", names[0], work / names[0], "--again", given.again.resolve()]
        return subprocess.run([sys.executable, *map(str, words)]).returncode
    has_atheris = importlib.util.find_spec("atheris") is not None
    if not has_atheris:
        print("atheris is not installed: nothing is led by coverage")
    share, crashes = given.seconds / sum(_PARTS.get(name, 1.0) for name in names), 0
    for name in names:
        seconds = share * _PARTS.get(name, 1.0)
        leads = (
            has_atheris and not given.cases and "led_by" in (HERE / f"fuzz_{name}.py").read_text()
        )
        for led in (False, True)[: 1 + leads]:
            place = work / f"{name}{'-led' * led}"
            place.mkdir(parents=True)
            part = (_LED if led else 1 - _LED) if leads else 1.0
            told = trial(name, place, given, seconds * part, led=led)
            said = ", led by coverage" if led else ""
            crashes += report(name, place, given.keep.resolve(), said, told)
    print(f"{crashes} crashes" if crashes else "no crash")
    return int(crashes > 0)


if __name__ == "__main__":
    sys.exit(main())
