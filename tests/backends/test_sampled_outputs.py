"""Examples that ask some of the outputs: the others neither vote, nor count, nor learn."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from configurations import assert_equal, outcome, random_configuration, random_volume
from test_equality import every_kind, start
from test_reference import naive_literals, naive_speakers, naive_step, small_configurations

import cotm
from cotm import backends
from cotm.backends import kinds
from cotm.backends.reference import ReferenceBackend
from cotm.core.patches import PatchGrid
from cotm.core.sparse_targets import SparseTargets
from cotm.core.spec import Spec


def sampled(c, seed, share):
    asked = np.random.default_rng(seed).random(c.targets.shape) < share
    return dataclasses.replace(c, targets=SparseTargets.where(asked, c.targets))


@every_kind
@pytest.mark.parametrize("seed", range(60))
def test_random_machines(kind, seed):
    c = random_configuration(5000 + seed)
    d = sampled(c, seed, [0.0, 0.05, 0.3, 0.8][seed % 4])
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), d)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), d), c.spec)


@every_kind
@pytest.mark.parametrize("seed", range(16))
def test_volumes(kind, seed):
    c = random_configuration(7000 + seed, grid=random_volume(np.random.default_rng(seed)))
    d = sampled(c, seed, [0.0, 0.05, 0.3, 0.8][seed % 4])
    expected = outcome(ReferenceBackend(c.spec, c.memory, c.weights), d)
    assert_equal(expected, outcome(start(kind, c.spec, c.memory, c.weights), d), c.spec)


@every_kind
@pytest.mark.parametrize("seed", range(8))
def test_asking_all_outputs_is_what_it_was(kind, seed):
    c = random_configuration(6000 + seed)
    expected = outcome(start(kind, c.spec, c.memory, c.weights), c)
    found = outcome(start(kind, c.spec, c.memory, c.weights), sampled(c, seed, 2.0))
    assert_equal(expected, found, c.spec)


def test_the_reference_learns_from_what_is_asked(monkeypatch):
    """The scalar transcription, in which an output that is not asked never speaks."""
    rng = np.random.default_rng(0)
    for _, c in list(small_configurations())[:12]:
        backend = ReferenceBackend(c.spec, c.memory, c.weights)
        asked = rng.random(c.spec.m) < 0.5

        def speakers(spec, votes, target, key, asked=asked):
            there = np.flatnonzero(asked)
            part = dataclasses.replace(spec, m=len(there))
            said = naive_speakers(part, [votes[i] for i in there], [target[i] for i in there], key)
            return {int(there[place]) for place in said}

        monkeypatch.setattr("test_reference.naive_speakers", speakers)
        bits = c.examples.bits
        dense = bits if isinstance(bits, np.ndarray) else bits.toarray().reshape(3, 1, 1, -1)
        patches = naive_literals(dense[0], c.spec.grid)
        wanted = naive_step(
            c.spec, c.memory, c.weights, patches, c.targets[0], c.scales[0], c.step, c.step
        )
        rows = SparseTargets.where(np.tile(asked, (3, 1)), c.targets)
        backend.train(c.examples, rows, c.scales[:1], np.zeros(1, int), c.step)
        for found, expected in zip(backend.state(), wanted, strict=True):
            assert np.array_equal(found, expected)


def test_counts_are_of_what_is_asked():
    spec = Spec(n=2, m=4, grid=PatchGrid.flat(3), T=4, q=6554, N=128)
    memory = np.full((2, 6), -1, np.int8)
    weights = np.array([[5, 1, 0, -1], [5, 1, 0, -1]], np.int32)
    Y = scipy.sparse.csr_array(([0, 1, 1, 0], [1, 2, 2, 3], [0, 2, 4, 4]), shape=(3, 4))
    order, scales = np.array([0]), np.full((1, 2), 2**32, np.uint64)
    for row, hits, correct in ((0, 0, 1), (1, 1, 2), (2, 0, 0)):
        backend = ReferenceBackend(spec, memory, weights)
        data = cotm.core.examples.as_examples(np.ones((3, 3), np.uint8), spec.grid)
        counts = backend.train(data, SparseTargets.of(Y), scales, order + row, 0)
        assert (counts.hits, counts.correct) == (hits, correct)


def test_machines_take_what_is_stored_and_what_is_known():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (300, 12))
    Y = np.stack([X[:, 0], X[:, 1] & X[:, 2], 1 - X[:, 3]], axis=1).astype(float)
    known = rng.random(Y.shape) < 0.4
    rows, outputs = np.nonzero(known)
    stored = scipy.sparse.coo_array((Y[known], (rows, outputs)), shape=Y.shape)
    found = [
        cotm.Machine(30, T=20, s=3.0, random_state=0, n_jobs=2).fit(X, targets, epochs=20)
        for targets in (np.where(known, Y, np.nan), stored, stored.tocsc())
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].memory_, other.memory_)
        np.testing.assert_array_equal(found[0].weights_, other.weights_)
    assert (found[0].predict(X) == Y).mean() > 0.95, "what is not asked can still be learned"


def test_targets_that_will_not_do():
    machine, X = cotm.Machine(5, T=5, random_state=0), np.ones((2, 3), np.uint8)
    twice = scipy.sparse.csr_array(([1, 1], [0, 0], [0, 2, 2]), shape=(2, 2))
    with pytest.raises(ValueError, match="stores an output of an example twice"):
        machine.fit(X, twice)
    with pytest.raises(ValueError, match="stores an output of an example twice"):
        machine.fit(X, scipy.sparse.coo_array(([0, 1], ([0, 0], [1, 1])), shape=(2, 2)))
    with pytest.raises(ValueError, match="other than 0 and 1"):
        machine.fit(X, scipy.sparse.csr_array([[2.0, 0], [0, 1]]))
    with pytest.raises(ValueError, match="stores NaN"):
        machine.fit(X, scipy.sparse.csr_array([[np.nan, 0], [0, 1]]))
    with pytest.raises(ValueError, match="2 examples, but Y has 3 rows"):
        machine.fit(X, scipy.sparse.csr_array((3, 2)))
    assert machine.step_ == 0


def test_a_backend_that_spares_nothing_is_taken_when_asked_for(monkeypatch):
    monkeypatch.delenv("COTM_BACKEND", raising=False)
    monkeypatch.setattr(kinds.CudaKind, "is_there", lambda self: True)
    monkeypatch.setattr(kinds.CudaKind, "require", lambda self, name: None)
    spec = Spec(n=5000, m=10, grid=PatchGrid(28, 28, 1, 10, 10), T=100, q=6554, N=128)
    names = backends.backends_for
    assert names("auto", spec, 60_000, training=True) == ["cuda", "native"]
    assert names("auto", spec, 60_000, training=True, sampled=True) == ["native"]
    assert names("cuda", spec, 60_000, training=True, sampled=True) == ["cuda"]


def test_the_native_core_checks_what_is_asked():
    _native = pytest.importorskip("cotm._native", reason="the native extension is not built")
    spec = Spec(n=2, m=3, grid=PatchGrid.flat(4), T=4, q=6554, N=128)
    memory, weights = np.full((2, 8), -1, np.int8), np.ones((2, 3), np.int32)
    machine = _native.Machine(spec, memory, weights, isa="")
    data = _native.Examples.dense(np.ones((2, 1, 4), np.uint8))
    scales, order = np.ones((1, 2), np.uint64), np.zeros(1, np.int64)

    def make(starts, outputs):
        asked = np.array(starts, np.int64), np.array(outputs, np.int32)
        values = np.zeros((len(outputs), 1), np.uint8)
        return _native.Training(machine, data, values, scales, order, 0, asked)

    make([0, 2, 3], [0, 2, 1])
    for starts, outputs in (
        ([0, 2], [0, 1]), ([1, 2, 3], [0, 1, 2]), ([0, 2, 1], [0]), ([0, 1, 5], [0, 1]),
        ([0, 2, 2], [1, 1]), ([0, 2, 2], [2, 0]), ([0, 1, 2], [0, 3]), ([0, 1, 2], [-1, 0]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="outputs that are asked"):
            make(starts, outputs)
