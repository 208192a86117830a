"""Locks that survive forks, pickles and Ctrl-C."""

import os
import pickle
import signal
import threading

import pytest

from cotm.core.forks import Lock


def can_be_had(lock):
    """Whether another thread gets the lock at once."""
    answers = []

    def ask():
        answers.append(lock.acquire(blocking=False))
        if answers[0]:
            lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answers[0]


def test_a_lock_is_taken_as_often_as_it_is_left():
    lock = Lock()
    with lock:
        assert lock.is_mine()
        with lock:
            assert lock.is_mine() and not can_be_had(lock)
        assert lock.is_mine() and not can_be_had(lock)
    assert not lock.is_mine() and can_be_had(lock)
    assert can_be_had(pickle.loads(pickle.dumps(lock)))


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such timers here")
def test_interrupts_leave_no_lock_closed():
    """An exception comes at any moment of taking and leaving."""
    lock = Lock()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(400):
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-7 * k)
                while True:
                    with lock:
                        pass
                    with lock, lock:
                        pass
            assert not lock.is_mine() and can_be_had(lock)
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("held_by", ["nobody", "this thread", "another thread"])
def test_a_forked_child_finds_it_open(held_by):
    lock, ready, over = Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            ready.set()
            over.wait()

    thread = threading.Thread(target=hold)
    if held_by == "another thread":
        thread.start()
        ready.wait()
    if held_by == "this thread":
        lock.acquire()
    child = os.fork()
    if child == 0:
        good = not lock.is_mine() and lock.acquire(blocking=False)
        if good:
            lock.release()
        if held_by == "this thread":  # as a block that was entered before the fork does
            lock.release()
        os._exit(0 if good and not lock.is_mine() and lock.acquire(blocking=False) else 1)
    over.set()
    if held_by == "this thread":
        lock.release()
    if held_by == "another thread":
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert can_be_had(lock)
