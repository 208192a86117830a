"""Tries inputs of one target, in a process of its own: by keys, by hypothesis, or led by coverage.

Before an input is tried it is in the file ``current``: what kills this process, or never ends, can
be tried again.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
for _folder in (HERE, HERE.parent, HERE.parent / "serving", HERE.parent / "exporting"):
    sys.path.insert(0, str(_folder))

from targets import CrashError  # noqa: E402

#: A batch of hypothesis, which draws with a seed of its own.
BATCH = 50
#: Files that thousands of cases write need not come to a disk.
_QUICK = "/dev/shm"
#: Bytes of inputs that are led by coverage.
_LONGEST = 1 << 16


def megabytes() -> float:
    """What this process takes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


class Trial:
    """Tries inputs one after the other, within limits."""

    def __init__(self, name: str, work: Path) -> None:
        self.name, self.work = name, work
        self.raises = False  # hypothesis makes a crash smaller ...
        self.last: Exception | None = None
        self.known: set[str] = set()  # ... unless it has done so before
        self._scratch = tempfile.TemporaryDirectory(dir=_QUICK if os.path.isdir(_QUICK) else None)
        self.target = importlib.import_module(f"fuzz_{name}").TARGET(Path(self._scratch.name))
        self.outcomes: Counter[str] = Counter()
        self.slowest = self._limit = 0.0
        self._base = 0.0
        self._current = (work / "current").open("w+b", buffering=0)
        self.number = os.open(work / "number", os.O_RDWR | os.O_CREAT)
        self._traces = (work / "traces").open("w")

    def take_the_process(self) -> None:
        """Have this process end by an alarm where a case does not, even where no Python is run."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.register(signal.SIGALRM, self._traces, chain=True)
        self._limit = self.target.limit
        os.chdir(self._scratch.name)
        os.fsync = lambda descriptor: None

    def limit_memory(self) -> None:
        """From here on; right inputs have been tried before, with all that they load."""
        self._base = megabytes()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = used + self.target.megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def __call__(self, data: bytes) -> None:
        self._current.truncate(0)
        self._current.seek(0)
        self._current.write(data)
        signal.setitimer(signal.ITIMER_REAL, self._limit)
        began = time.monotonic()
        try:
            outcome = self.target.tried(data)
        except Exception as error:
            self._keep(data, error)
            self.last = error
            if self.raises and self.mark(error) not in self.known:
                raise
            outcome = "crash"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.outcomes[outcome] += 1

    def _keep(self, data: bytes, error: Exception) -> None:
        """One input of each crash: of the same kind, at the same line."""
        path = self.work / f"crash-{self.name}-{self.mark(error)}"
        if not path.exists() or (self.raises and self.mark(error) not in self.known):
            path.write_bytes(data)
            path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))

    @staticmethod
    def mark(error: BaseException) -> str:
        while error.__cause__ is not None and isinstance(error, CrashError):
            error = error.__cause__
        frame = traceback.extract_tb(error.__traceback__)[-1]
        said = str(error).partition("mistake in cotm")[2][:40]
        mark = hashlib.sha256(f"{type(error)} {frame.filename} {frame.lineno} {said}".encode())
        return mark.hexdigest()[:8]

    def told(self) -> dict[str, Any]:
        """What came of it so far."""
        return {
            "cases": self.outcomes.total(),
            "outcomes": dict(self.outcomes.most_common()),
            "slowest_seconds": round(self.slowest, 3),
            "grown_megabytes": round(megabytes() - self._base),
        }


def keyed(target: Any, seed: int, first: int) -> Iterator[bytes]:
    """Inputs, each as its number and the seed have it, from a number on."""
    seeds = target.seeds()
    number = first
    while True:
        dice = random.Random(f"{seed} {number}")
        data = seeds[number % len(seeds)]
        for _ in range(dice.choice((1, 1, 1, 2, 4))):
            data = target.changed(data, dice)
        yield data
        number += 1


def drawn(trial: Trial, strategy: Any, seed: int, go_on: Callable[[int], bool]) -> None:
    """Batches by hypothesis; of what crashes, the smallest is the last one that is tried."""
    import hypothesis

    batch, trial.raises = 0, True
    settings = hypothesis.settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        print_blob=False,
    )
    while go_on(batch * BATCH):

        def tries(data: bytes) -> None:
            trial(data)

        tries = hypothesis.seed(f"{seed} {batch}")(settings(hypothesis.given(strategy)(tries)))
        try:
            tries()
        except Exception as error:
            if error is not trial.last:
                raise
            trial.known.add(trial.mark(error))
        batch += 1


def led(trial: Trial, seed: int, seconds: float) -> None:
    """By coverage of the branches of the target's modules; this ends the process."""
    import atheris

    def change(data: bytes, most: int, number: int) -> bytes:
        dice = random.Random(number)
        if dice.random() < 0.1:
            return atheris.Mutate(data, most)  # type: ignore[no-any-return]
        return trial.target.changed(data, dice)[:most]  # type: ignore[no-any-return]

    corpus = trial.work / "corpus"
    corpus.mkdir()
    for number, data in enumerate(trial.target.seeds()):
        (corpus / str(number)).write_bytes(data)
    words = [sys.argv[0], f"-seed={seed + 1}", f"-max_total_time={max(1, int(seconds))}"]
    words += [f"-max_len={_LONGEST}", "-rss_limit_mb=0", "-timeout=0", "-verbosity=0"]
    words += [f"-artifact_prefix={trial.work}/", str(corpus)]
    count = 0

    def one(data: bytes) -> None:
        nonlocal count
        trial(data)
        count += 1
        if count % 100 == 0:
            tell(trial)

    atheris.Setup(words, one, custom_mutator=change)
    atheris.Fuzz()


def tell(trial: Trial) -> None:
    """Write what came of it, for the runner."""
    beside = trial.work / "told.new"
    beside.write_text(json.dumps(trial.told()))
    beside.replace(trial.work / "told")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--led", action="store_true")
    parser.add_argument("--again", type=Path)
    given = parser.parse_args()
    if given.led:
        import atheris

        modules = importlib.import_module(f"fuzz_{given.name}").TARGET.led_by
        for name in [name for name in sys.modules if name.split(".")[0] == "cotm"]:
            del sys.modules[name]
        del sys.modules[f"fuzz_{given.name}"]
        with atheris.instrument_imports(include=list(modules)):
            trial = Trial(given.name, given.work.resolve())
    else:
        trial = Trial(given.name, given.work.resolve())
    trial.take_the_process()
    if given.again is not None:
        trial(given.again.read_bytes())
        print(json.dumps(trial.told()))
        return
    strategy = trial.target.strategy()
    if strategy is None:
        for data in trial.target.seeds():
            trial(data)
        trial.limit_memory()
    end = time.monotonic() + given.seconds

    def go_on(done: int) -> bool:
        tell(trial)
        return done < given.cases if given.cases else time.monotonic() < end

    if given.led:
        led(trial, given.seed, given.seconds)
    elif strategy is not None:
        drawn(trial, strategy, given.seed, go_on)
    else:
        for done, data in enumerate(keyed(trial.target, given.seed, given.first)):
            if done % 50 == 0 and not go_on(done):
                break
            os.pwrite(trial.number, b"%12d" % (given.first + done), 0)
            trial(data)
    tell(trial)


if __name__ == "__main__":
    main()
