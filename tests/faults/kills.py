"""Trainings that are killed at random moments, and go on to what they would have come to.

``python tests/faults/kills.py 100`` kills so many, some of them several times; ``make test-kills``
does that. Names of kinds after the number are those to try. Each training is a process of its own,
ended by SIGKILL somewhere between its beginning and its end, in the middle of an epoch or of a
file. The next process knows what is on the disk.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).parent.parent))

import cotm
from cotm import Checkpoint, CoTMClassifier, CoTMRegressor, TMClassifier, cli
from cotm.files import container

# What is imported here need not be in each of the processes, which begin as copies of this one.
for _module in ("loading", "tuning.page", "cli.data.table_examples", "cli.models", "cli.summary"):
    importlib.import_module(f"cotm.{_module}")
for _module in ("optuna", "sklearn.model_selection"):
    importlib.import_module(_module)

DIGITS, DIGIT = (part[:200] for part in load_digits(return_X_y=True))
GREY = (DIGITS * 15).astype(np.uint8).reshape(-1, 8, 8)
TEXTS = [
    f"the {animal} drinks {drink} {when}"
    for animal in ("cat", "dog", "cow")
    for drink in ("milk", "tea", "water")
    for when in ("today", "now", "again", "never")
] * 3
TABLE = "a,b,label\n" + "".join(
    f"{row * 7 % 31},{row * 5 % 17},{'xy'[row * 7 % 31 > 12]}\n" for row in range(300)
)


def _checkpointed(make: Callable[[], Any], X: Any, y: Any) -> Callable[[Path], None]:
    """A training with checkpoints, that goes on from the last one."""

    def run(folder: Path) -> None:
        path = folder / "run.cotm"
        model = cotm.load(path) if path.exists() else make()
        model.set_params(callbacks=[Checkpoint(path)])
        model.fit(X, y, resume=path.exists())
        model.set_params(callbacks=None).save(folder / "done.cotm")

    return run


def _saved(make: Callable[[], Any], epochs: int) -> Callable[[Path], None]:
    """A model of texts that is saved after each epoch."""

    def run(folder: Path) -> None:
        path = folder / "run.cotm"
        model = cotm.load(path) if path.exists() else None
        for epoch in range(1 + (0 if model is None else len(model.history_)), epochs + 1):
            again = model is not None
            model = (make() if model is None else model).set_params(epochs=epoch)
            model.fit(TEXTS, resume=again).save(path)
        assert model is not None
        model.save(folder / "done.cotm")

    return run


def _command(*words: str) -> Callable[[Path], None]:
    """A command of the program, which goes on where its files are there."""

    def run(folder: Path) -> None:
        path = folder / "t.csv"
        if not path.exists():
            path.write_text(TABLE)
        os.chdir(folder)
        resume = []
        if words[0] == "train" and Path("done.cotm").exists():
            done = cotm.load("done.cotm")
            if len(done.history_) == EPOCHS and done._now().sharpness.value() is not None:
                return  # killed when all was done, which a resumed training says as an error
            resume = ["--resume"]
        sys.argv = ["cotm", *words, *resume, "--quiet", "--jobs", "1"]
        cli.main()

    return run


FEW: dict[str, Any] = {"n_clauses": 40, "epochs": 8, "random_state": 5, "n_jobs": 1}
PATCHED = {**FEW, "epochs": 6, "patch_shape": (4, 4)}
CHANGED = {"T": cotm.Schedule(9, 50, epochs=4), "augment": cotm.Augmentation(shift=1)}
STOPPED = {"average": 3, "early_stopping": True, "patience": 10}
EPOCHS = 20
TRAIN = (
    "train t.csv --target label --out done.cotm --checkpoint-every 1 --seed 3 "
    f"--clauses 60 --epochs {EPOCHS}"
)
TUNE = (
    "tune t.csv --target label --study a.study --out done.cotm --page page.html --seed 3 "
    "--folds 2 --trials 6 --max-epochs 9 --clauses 20"
)
WORKS: dict[str, Callable[[Path], None]] = {
    "classifier": _checkpointed(lambda: CoTMClassifier(**FEW), DIGITS, DIGIT),
    "early stopping": _checkpointed(lambda: CoTMClassifier(**FEW, **STOPPED), DIGITS, DIGIT),
    "convolution": _checkpointed(lambda: TMClassifier(**PATCHED), GREY, DIGIT),
    "changed images": _checkpointed(lambda: CoTMClassifier(**PATCHED, **CHANGED), GREY, DIGIT),
    "regressor": _checkpointed(lambda: CoTMRegressor(**FEW), DIGITS, DIGITS.sum(axis=1)),
    "embedding": _saved(
        lambda: cotm.CoTMEmbedding(40, min_texts=1, max_share=1.0, window=2, random_state=1), 5
    ),
    "language model": _saved(lambda: cotm.CoTMLanguageModel(n_clauses=40, random_state=1), 4),
    "cotm train": _command(*TRAIN.split()),
    "cotm tune": _command(*TUNE.split()),
}


def contents(path: Path) -> tuple[str, dict[str, bytes]]:
    """All of a model file but for how long things took."""
    header, tensors = container.read_container(path)
    for record in header["history"]:
        del record["seconds"]
    return json.dumps(header), {name: t.tobytes() for name, t in tensors.items()}


def _begin(work: Callable[[Path], None], folder: Path) -> int:
    """A process that does the work; what it has imported is all that it has from this one."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        with (folder / "said").open("w") as said, contextlib.redirect_stdout(said):
            os.dup2(said.fileno(), 2)
            work(folder)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _end(process: int, name: str, folder: Path) -> None:
    _, status = os.waitpid(process, 0)
    if status:
        raise AssertionError(f"{name}: status {status}: {(folder / 'said').read_text()}")


def _killed(process: int, seconds: float) -> bool:
    """Kill it after so long; False where it had ended by then."""
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status)


def kill(name: str, count: int, seed: int = 0) -> dict[str, Any]:
    """Kill trainings of a kind so many times; what came of it, or an AssertionError."""
    work, dice = WORKS[name], random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        whole.mkdir()
        began = time.monotonic()
        _end(_begin(work, whole), name, whole)
        lasts = time.monotonic() - began
        expected, kills, trainings, resumed = contents(whole / "done.cotm"), 0, 0, 0
        while kills < count:
            folder = Path(place) / str(trainings)
            folder.mkdir()
            while kills < count and dice.random() < 0.7:
                kills += _killed(_begin(work, folder), dice.uniform(0.02, 1.0) * lasts)
            resumed += any(folder.glob("*.cotm")) or any(folder.glob("*.study"))
            _end(_begin(work, folder), name, folder)
            assert contents(folder / "done.cotm") == expected, f"{name}: another model"
            left = {path.name for path in folder.iterdir()} - {p.name for p in whole.iterdir()}
            assert not left, f"{name}: {left} are left"
            trainings += 1
    return {"kills": kills, "trainings": trainings, "resumed": resumed, "lasts": round(lasts, 2)}


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    total = 0
    titles = sys.argv[2:] or [*WORKS]
    for number, title in enumerate(titles):
        share = (wanted - total) // (len(titles) - number)
        told = kill(title, share)
        total += told["kills"]
        print(f"{title}: {json.dumps(told)}", flush=True)
    print(f"{total} kills: every training came to the same model")
