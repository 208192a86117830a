"""Ctrl-C, once and often, and several programs at one file: nothing that was learned is lost."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import program, run, same_model

import cotm
from cotm.core.interrupts import InterruptFlag, InterruptGuard

#: Makes every file take its time to appear.
SLOW_SAVE = """
import os, sys, time
replace = os.replace
def slow(*arguments, **keywords):
    print("saving", file=sys.stderr, flush=True)
    time.sleep(1.5)
    replace(*arguments, **keywords)
os.replace = slow
"""

#: Makes a table take its time to be read.
SLOW_READ = """
import polars, sys, time
def slow(*arguments, **keywords):
    print("reading", file=sys.stderr, flush=True)
    time.sleep(60)
polars.read_csv = slow
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.npz"
    X = np.random.default_rng(0).integers(0, 2, (2000, 40))
    np.savez(path, X=X, y=X[:, 0] ^ X[:, 1])
    return path


def wait_for(process: subprocess.Popen[str], text: str) -> str:
    """What standard error holds up to a line with the text."""
    assert process.stderr is not None
    lines = ""
    for line in process.stderr:
        lines += line
        if text in line:
            return lines
    raise AssertionError(f"{text!r} never came: {lines}")


def keep_interrupting(process: subprocess.Popen[str], pause: float = 0.005) -> tuple[str, str]:
    """Ctrl-C until the program ends, then what is left of its output."""

    def interrupt() -> None:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(pause)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        return process.communicate(timeout=60)
    finally:
        thread.join()


def settings(data: Path, out: Path, *more: Any) -> list[Any]:
    return ["train", data, "--out", out, "--clauses", 200, "--seed", 5, *more]


@pytest.mark.parametrize("options", [[], ["--checkpoint-every", 1], ["--early-stopping"]])
def test_many_interrupts_lose_nothing(data: Path, tmp_path: Path, options: list[Any]) -> None:
    out, whole = tmp_path / "model.cotm", tmp_path / "whole.cotm"
    options = ["--epochs", 400, "--patience", 400, *options]
    process = program(*settings(data, out, *options))
    wait_for(process, "epoch 2/")
    stdout, stderr = keep_interrupting(process)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "interrupted; saving" in stderr
    finished = len(cotm.load(out).history_)
    assert 2 <= finished < 400
    assert f"epoch {finished} of 400" in stderr
    assert [*tmp_path.iterdir()] == [out]
    command = shlex.split(stderr.splitlines()[-1])
    run(*command[1:], "--quiet")
    run(*settings(data, whole, *options, "--quiet"))
    assert same_model(out, whole)


@pytest.mark.parametrize("epochs", [2000, 3], ids=["after an interrupt", "at the end"])
def test_interrupts_while_saving(data: Path, tmp_path: Path, epochs: int) -> None:
    out = tmp_path / "model.cotm"
    process = program(*settings(data, out, "--epochs", epochs), before=SLOW_SAVE)
    wait_for(process, "epoch 3/")
    if epochs == 3:
        wait_for(process, "saving")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    wait_for(process, "interrupted; saving")
    assert time.monotonic() - began < 1  # long before it is saved
    _, stderr = keep_interrupting(process, 0.05)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    model = cotm.load(out)
    assert len(model.history_) >= 3
    assert ("is complete" if epochs == 3 else "Go on with") in stderr
    assert [*tmp_path.iterdir()] == [out]


def test_interrupt_in_a_slow_checkpoint(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    words = settings(data, out, "--epochs", 2000, "--checkpoint-every", 2)
    process = program(*words, before=SLOW_SAVE)
    wait_for(process, "saving")
    _, stderr = keep_interrupting(process, 0.05)
    assert process.returncode == 130, stderr
    assert len(cotm.load(out).history_) == 2


def test_interrupt_before_training_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,y\n1,x\n")
    out = tmp_path / "model.cotm"
    process = program("train", tmp_path / "data.csv", "--target", "y", "--out", out,
                      before=SLOW_READ)  # fmt: skip
    wait_for(process, "reading")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout, stderr) == (130, "", "interrupted\n")
    assert not out.exists()


# The flag and its guard ----------------------------------------------------------------


@pytest.fixture
def default_handler() -> Any:
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("default_handler")
def test_guard_holds_from_the_first_training_on() -> None:
    notices: list[int] = []
    with pytest.raises(KeyboardInterrupt), InterruptGuard(lambda: notices.append(1)):
        interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with InterruptGuard(lambda: notices.append(1)) as guard:
        with InterruptFlag() as flag:
            assert not flag()
        interrupt()
        assert not flag()
        assert guard.interrupted
    assert notices == [1]
    interrupt()  # of no effect: the program is ending


@pytest.mark.usefixtures("default_handler")
def test_guard_and_flag_both_note() -> None:
    notices: list[int] = []
    with InterruptGuard(lambda: notices.append(1)) as guard:
        with pytest.raises(KeyboardInterrupt), InterruptFlag() as flag:
            interrupt()
            interrupt()
            assert flag()
        assert guard.interrupted
        interrupt()
    assert notices == [1]


@pytest.mark.usefixtures("default_handler")
def test_flag_without_a_guard() -> None:
    with pytest.raises(KeyboardInterrupt), InterruptFlag() as flag:
        interrupt()
        assert flag()
    with pytest.raises(ZeroDivisionError), InterruptFlag():
        interrupt()
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handler_of_the_program_stands() -> None:
    seen: list[int] = []

    def handle(number: int, frame: Any) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with InterruptGuard(lambda: None) as guard, InterruptFlag() as flag:
            interrupt()
            assert not flag()
            assert not guard.interrupted
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


@pytest.mark.usefixtures("default_handler")
def test_other_threads_change_nothing() -> None:
    def enter() -> None:
        with InterruptGuard(lambda: None), InterruptFlag():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[Any] = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


# One file for several programs ---------------------------------------------------------


def test_programs_that_write_one_file(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.cotm"
    words = settings(data, out, "--epochs", 40, "--quiet")
    processes = [program(*words, *(["--checkpoint-every", 1] if k < 2 else [])) for k in range(4)]
    loaded = 0
    while any(process.poll() is None for process in processes):
        if out.exists():
            assert 1 <= len(cotm.load(out).history_) <= 40
            loaded += 1
        time.sleep(0.02)
    assert loaded > 0
    for process in processes:
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0
    assert len(cotm.load(out).history_) == 40
    assert [*tmp_path.iterdir()] == [out]
