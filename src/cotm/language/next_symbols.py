"""What comes before each symbol of texts, as bits, and which outputs are asked about it."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..core.randomness import Purpose, hash32, make_key, step_key
from ..core.sparse_targets import SparseTargets
from .ngrams import NGramModel

Symbols = NDArray[np.int32]


def histories(texts: list[Symbols], length: int, n_symbols: int) -> tuple[Symbols, Symbols]:
    """For each symbol of the texts those before it, (rows, length), the nearest last; and it.

    Before the beginning of a text it is ``n_symbols``.
    """
    border = np.full(length, n_symbols, dtype=np.int32)
    stream = np.concatenate([part for text in texts for part in (border, text)])
    is_symbol = np.concatenate(
        [part for t in texts for part in (np.zeros(length, bool), np.ones(len(t), bool))]
    )
    places = np.flatnonzero(is_symbol)
    windows = np.lib.stride_tricks.sliding_window_view(stream, length)
    return windows[places - length], stream[places]


def as_bits(before: Symbols, n_symbols: int, context: int, bag: int) -> scipy.sparse.csr_array:
    """A bit for each symbol at each of the nearest places, and one for each among the nearest.

    Bit ``k * n_symbols + i`` is symbol i, k places before the nearest; after those of all places
    come the bits of the bag.
    """
    context, bag = int(context), int(bag)  # 8.0 is a number of places, too
    nearest = before[:, before.shape[1] - context :][:, ::-1]
    columns = nearest + np.arange(context, dtype=np.int32) * np.int32(n_symbols)
    known = nearest < n_symbols
    n_bits = context * n_symbols
    if bag:
        among = np.sort(before[:, before.shape[1] - bag :], axis=1)
        fresh = np.ones(among.shape, dtype=bool)
        fresh[:, 1:] = among[:, 1:] != among[:, :-1]
        columns = np.concatenate([columns, among + np.int32(n_bits)], axis=1)
        known = np.concatenate([known, fresh & (among < n_symbols)], axis=1)
        n_bits += n_symbols
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    entries = np.ones(starts[-1], dtype=np.uint8), columns[known], starts
    return scipy.sparse.csr_array(entries, shape=(len(before), n_bits))


def asked(
    prior: NGramModel, before: Symbols, symbols: Symbols, others: int, seed: int
) -> SparseTargets:
    """Each row asks its symbol with target 1, and with target 0 those that the prior draws.

    So the machine learns how what comes differs from what the prior expects.
    """
    rows = np.arange(len(symbols))
    history = before[:, before.shape[1] - prior.order + 1 :]
    drawn = [symbols]
    for turn in range(others):
        keys = make_key(step_key(seed, 0), Purpose.TEXT, turn, rows)
        draws = hash32(keys[:, None], np.arange(2 * prior.order))
        drawn.append(prior.draw(history, draws))
    all_ = np.stack(drawn, axis=1)
    order = np.argsort(all_, axis=1, kind="stable")  # of equal ones the symbol itself is first
    outputs = np.take_along_axis(all_, order, axis=1)
    keep = np.ones(outputs.shape, dtype=bool)
    keep[:, 1:] = outputs[:, 1:] != outputs[:, :-1]
    starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))]).astype(np.int64)
    values = (order == 0).astype(np.uint8)
    return SparseTargets(starts, outputs[keep], values[keep], prior.n_symbols)
