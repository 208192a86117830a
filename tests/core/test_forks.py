"""Locks that survive forks, pickles and Ctrl-C."""

import threading

import pytest

from cotm.core.forks import Lock


def can_be_had(lock):
    """Whether another thread gets the lock at once."""
    answers = []

    def ask():
        answers.append(lock.take(blocking=False))
        if answers[0]:
            lock.leave()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answers[0]


def test_a_lock_is_taken_as_often_as_it_is_left():
    lock = Lock()
    with lock:
        assert lock.is_mine() and lock.is_outermost()
        with lock:
            assert lock.is_mine() and not lock.is_outermost()
            assert not can_be_had(lock)
        assert not can_be_had(lock)
    assert not lock.is_mine()
    assert can_be_had(lock)


class Interrupted:
    """A lock in whose taking Ctrl-C comes, before or after it was taken."""

    def __init__(self, lock, after):
        self._inner, self._after = lock, after

    def acquire(self, blocking=True):
        if self._after:
            self._inner.acquire()
        raise KeyboardInterrupt

    def __getattr__(self, name):
        return getattr(self._inner, name)


@pytest.mark.parametrize("after", [False, True])
def test_interrupted_taking_leaves_the_lock_open(after):
    lock = Lock()
    whole = lock._lock
    lock._lock = Interrupted(whole, after)
    with pytest.raises(KeyboardInterrupt), lock:
        pass
    lock._lock = whole
    assert not lock.is_mine() and can_be_had(lock)
    with lock:
        assert lock.is_outermost()
