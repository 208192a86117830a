"""Keyed randomness: a pure function of (seed, step, purpose, output, clause, index).

Nothing here is a stream, so the order in which clauses, threads or devices ask does not
matter, and every backend gets the same numbers. ``native/randomness.hpp`` is the same
arithmetic in C++, ``backends/cuda/kernels/randomness.cuh`` in CUDA; ``tests/hash_vectors.json``
pins all three. The functions are frozen with model-file format 1: a loaded model must train on
identically. Why these functions and not others is told, with measurements, in
``docs/algorithm.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import check_integer
from .room import Room

U32 = np.uint32
U64 = np.uint64

_GOLDEN64 = U64(0x9E3779B97F4A7C15)
_GOLDEN32 = U32(0x9E3779B9)

#: So many rows, as a power of 2, are sorted at a time.
_BUCKET_BITS = 17


class Purpose(IntEnum):
    """What a random number is for; numbers of different purposes are unrelated."""

    SELECT = 0  # which (clause, output) pairs get feedback
    DRAW = 1  # which literals are forgotten
    PATCH = 2  # which of the matching patches a clause learns from
    LIMIT = 3  # which literals stay out of a clause that is full
    ORDER = 4  # the order of examples in a pass
    START = 5  # the first weights
    SPLIT = 6  # which examples are held out for early stopping
    NEGATIVE = 7  # which output with target 0 gives feedback
    CLAUSES = 8  # which clauses sleep for a pass
    LITERALS = 9  # which literals do
    AUGMENT = 10  # how an image is changed in a pass
    TEXT = 11  # contexts of words, words that do not come next, words that are said
    PIXEL = 12  # which windows of an image a pass looks at
    POOL = 13  # which rows are of which share, and the seeds of machines that learn apart
    SYMBOL = 16  # which bits of a hypervector stand for a symbol
    MADE_UP = 24  # which cells made-up rows have


def mix64(z: ArrayLike) -> NDArray[np.uint64]:
    """Scramble 64 bits (splitmix64).

    >>> hex(int(mix64(0)))
    '0xe220a8397b1dcdaf'
    """
    with np.errstate(over="ignore"):
        x = np.asarray(z, dtype=U64) + _GOLDEN64
        x = (x ^ (x >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> U64(27))) * U64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> U64(31)))


def step_key(seed: int, step: int) -> np.uint64:
    """The key all random numbers of one step come from."""
    with np.errstate(over="ignore"):
        return U64(mix64(U64(seed) + mix64(U64(step))))


def make_key(
    key: np.uint64, purpose: Purpose, output: ArrayLike = 0, clause: ArrayLike = 0
) -> NDArray[np.uint64]:
    """The 64-bit key of one (step, purpose, output, clause)."""
    lane = (
        (U64(purpose) << U64(56))
        | (np.asarray(output, dtype=U64) << U64(32))
        | np.asarray(clause, dtype=U64)
    )
    with np.errstate(over="ignore"):
        return mix64(key + lane * _GOLDEN64)


def hash32(key: ArrayLike, index: ArrayLike) -> NDArray[np.uint32]:
    """32 random bits for each index under a key; the two broadcast against each other.

    One multiplication by a keyed quadratic, ``x (2x + b)`` with ``b`` odd, which is a
    bijection of 32-bit words and, unlike a product with a constant, not linear.
    """
    key = np.asarray(key, dtype=U64)
    a = (key & U64(0xFFFFFFFF)).astype(U32)
    b = (key >> U64(32)).astype(U32) | U32(1)
    with np.errstate(over="ignore"):
        w = np.asarray(index, dtype=U32) * _GOLDEN32
        x = (w ^ (w >> U32(16))) ^ a
        x = x * (x + x + b)
        return np.asarray(x ^ (x >> U32(16)))


def literal_draws(key: ArrayLike, n_features: int) -> NDArray[np.uint32]:
    """16 random bits per literal, the features' first and then their negations'.

    A feature spends one hash: its low half goes to the feature, the high half to the
    negation. ``key`` of shape (...,) gives draws of shape (..., 2 * n_features).
    """
    words = hash32(np.asarray(key, dtype=U64)[..., None], np.arange(n_features, dtype=U32))
    return np.concatenate([words & U32(0xFFFF), words >> U32(16)], axis=-1)


def pass_order(seed: int, step: int, n_examples: int, room: Room = np.empty) -> NDArray[np.int64]:
    """The order in which a shuffled pass that starts at ``step`` presents the examples."""
    return _shuffled(make_key(step_key(seed, step), Purpose.ORDER), n_examples, room)


def split_order(seed: int, n_examples: int, room: Room = np.empty) -> NDArray[np.int64]:
    """The shuffle whose first rows are held out for early stopping."""
    return _shuffled(make_key(step_key(seed, 0), Purpose.SPLIT), n_examples, room)


def share_of_rows(seed: int, first: int, n_rows: int, n_shares: int) -> NDArray[np.int64]:
    """The share that each of so many rows is in, whichever others there are; by their numbers."""
    key = make_key(step_key(seed, 0), Purpose.POOL)
    rows = np.arange(first, first + n_rows, dtype=U64)
    with np.errstate(over="ignore"):
        words = mix64(key + rows * _GOLDEN64) >> U64(32)
        return np.asarray((words * U64(n_shares)) >> U64(32)).astype(np.int64)


def pool_seed(seed: int, pool: int) -> int:
    """The seed of one of several machines that learn apart; the first has that of all."""
    return int(make_key(step_key(seed, 0), Purpose.POOL, 1, pool)) if pool else seed


def _shuffled(key: NDArray[np.uint64], n_examples: int, room: Room) -> NDArray[np.int64]:
    """Rows in the ascending order of their keys; many are put into buckets first, which takes
    little memory beside the order itself."""
    if n_examples <= 1 << _BUCKET_BITS:
        rows = np.arange(n_examples, dtype=U64)
        return np.argsort(_order_keys(key, rows), kind="stable")
    order = room(n_examples, np.int64)
    bits = n_examples.bit_length() - _BUCKET_BITS
    counts = np.zeros(1 << bits, dtype=np.int64)
    for rows in _chunks(n_examples):
        counts += np.bincount(_bucket(_order_keys(key, rows), bits), minlength=len(counts))
    ends = np.cumsum(counts)
    places = ends - counts
    for rows in _chunks(n_examples):
        bucket = _bucket(_order_keys(key, rows), bits)
        together = np.argsort(bucket, kind="stable")
        here = np.bincount(bucket, minlength=len(counts))
        shift = places - (np.cumsum(here) - here)
        order[np.arange(len(rows)) + shift[bucket[together]]] = rows[together]
        places += here
    for first, last in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        rows = order[first:last].astype(U64)
        order[first:last] = rows[np.argsort(_order_keys(key, rows), kind="stable")]
    return order


def _order_keys(key: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        return mix64(key + rows * _GOLDEN64)


def _bucket(keys: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """The first bits of keys, one or more."""
    return (keys >> U64(64 - bits)).astype(np.int64)


def _chunks(n_examples: int) -> Iterator[NDArray[np.uint64]]:
    """All rows, some at a time."""
    for first in range(0, n_examples, 1 << _BUCKET_BITS):
        yield np.arange(first, min(first + (1 << _BUCKET_BITS), n_examples), dtype=U64)


def new_seed(random_state: Any) -> int:
    """A 64-bit seed from an int, None, or a NumPy generator."""
    if random_state is None:
        return int(np.random.default_rng().integers(0, 2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63))
    return check_integer("random_state", random_state, 0, 2**64 - 1)
