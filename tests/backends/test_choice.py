"""Which backend is taken: by name, by what gains, and what takes its place."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import cotm
from cotm import backends
from cotm.backends import kinds
from cotm.backends.kind import BackendKind
from cotm.core.patches import PatchGrid
from cotm.core.spec import Spec


def names_for(name="auto", n=10, rows=10, training=True):
    spec = Spec(n=n, m=2, grid=PatchGrid.flat(3), T=4, q=6554, N=128)
    return backends.backends_for(name, spec, rows, training=training)


def test_choice_of_backend(monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    assert names_for() == ["native"]
    assert names_for("reference") == ["reference"]
    monkeypatch.setenv("COTM_BACKEND", "reference")
    assert names_for() == ["reference"]
    assert names_for("native") == ["native"]
    monkeypatch.setenv("COTM_BACKEND", "abacus")
    with pytest.raises(ValueError, match="abacus"):
        names_for()
    with pytest.raises(ValueError, match="abacus"):
        backends.check_backend("auto")


def test_missing_extension_falls_back_with_one_warning(monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    monkeypatch.setitem(sys.modules, "cotm._native", None)
    monkeypatch.setattr("cotm.backends._warned", set())
    with pytest.warns(RuntimeWarning, match="falling back to the NumPy reference"):
        assert names_for() == ["reference"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names_for() == ["reference"]
    with pytest.raises(ValueError, match=r"backend='native' is not available.*reinstall"):
        backends.check_backend("native")


class Abacus(BackendKind):
    """A made-up backend for much work, faster than all others."""

    name = "abacus"
    module = "reference"

    def __init__(self, room=True):
        self.room = room

    def gains(self, work):
        return work is not None and work.rows > 100

    def describe(self, name):
        return "with ten beads"

    def start(self, name, *state):
        if not self.room:
            raise MemoryError("out of beads")
        backend = self.load(name).ReferenceBackend(*state)
        backend.name = "abacus"
        return backend


@pytest.mark.parametrize("room", [True, False])
def test_a_backend_is_an_entry_in_the_registry(monkeypatch, room):
    """Nothing above the registry knows a backend by its name."""
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    monkeypatch.setattr(backends, "KINDS", (Abacus(room), *kinds.KINDS[1:]))
    assert backends.backend_names() == ["auto", "reference", "native", "abacus"]
    assert backends.describe_backend("abacus") == "with ten beads"
    assert names_for(rows=1000) == ["abacus", "native"]
    assert names_for(rows=10) == ["native"]
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 2, (200, 4)), rng.integers(0, 2, (200, 2))
    machine = cotm.Machine(5, T=5, random_state=0).fit(X, Y)
    assert machine.backend_ == ("abacus" if room else "native")
    native = cotm.Machine(5, T=5, random_state=0, backend="native").fit(X, Y)
    assert (machine.memory_ == native.memory_).all()
    if not room:
        with pytest.raises(MemoryError, match="beads"):
            cotm.Machine(5, T=5, backend="abacus").fit(X, Y)


def large_spec(n=5000):
    return Spec(n=n, m=10, grid=PatchGrid(28, 28, 1, 10, 10), T=100, q=6554, N=128)


def test_auto_takes_a_device_where_it_gains(monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    monkeypatch.setattr(kinds.CudaKind, "is_there", lambda self: True)
    names = backends.backends_for
    assert names("auto", large_spec(), 60_000, training=True) == ["cuda", "native"]
    assert names("auto", large_spec(50), 60_000, training=True) == ["native"]
    assert names("auto", large_spec(), 10, training=True) == ["native"]
    assert names("auto", large_spec(), 10, training=False) == ["native"]
    assert names("auto", large_spec(), 10**6, training=False) == ["cuda", "native"]
    assert names("native", large_spec(), 10**6, training=True) == ["native"]
    monkeypatch.setenv("COTM_BACKEND", "native")
    assert names("auto", large_spec(), 60_000, training=True) == ["native"]


@pytest.mark.parametrize("option, value", [("drop_clauses", 5)])
def test_auto_takes_no_device_without_an_option(option, value, monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    monkeypatch.setattr(kinds.CudaKind, "is_there", lambda self: True)
    spec = dataclasses.replace(large_spec(), **{option: value})
    assert backends.backends_for("auto", spec, 60_000, training=True) == ["native"]
    (cuda,) = (kind for kind in kinds.KINDS if kind.name == "cuda")
    with pytest.raises(ValueError, match=rf"'cuda' has no {option}.*backend='native'"):
        cuda.start("cuda", spec, None, None, None)


def test_auto_stays_on_the_processor_where_the_device_is_full(monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)

    def start(self, *arguments):
        raise MemoryError("the device is full")

    monkeypatch.setattr(kinds.CudaKind, "is_there", lambda self: True)
    monkeypatch.setattr(kinds.CudaKind, "gains", lambda self, work: work is not None)
    monkeypatch.setattr(kinds.CudaKind, "start", start)
    machine = cotm.Machine(4, T=2, random_state=1).fit([[0], [1]], [[0], [1]])
    assert machine.backend_ == "native"
    assert machine.predict([[0], [1]]).shape == (2, 1)
