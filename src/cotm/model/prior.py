"""How frequent classes are, for votes that can hardly tell them apart.

Where labels are mostly noise, so are votes: what was memorized speaks on new examples too, and
less often right than the most frequent class would be. Machines that have not seen a part of the
examples say how much votes are worth there. By that, classes get votes for being frequent, in the
weights of two clauses of the oldest state that votes: one asks for a bit, the other for its
negation, so that one of them always speaks. The next pass drops that state, so that training goes
on as if nothing had been changed. All of it is reckoned in integers.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..backends.threads import step_nanoseconds
from ..core.randomness import split_order
from ..core.state import EarlierState
from ..machine import Machine
from .fitted import Fitted
from .outputs import OneLabel
from .probabilities import Sample, Sharpness, margins_of, sharpness_of

_logger = logging.getLogger(__name__)

#: Parts of the examples, of which each is held out once.
_PARTS = 3
#: So many standard errors above the share of the most frequent class, in this epoch: then votes
#: tell the classes, and nothing is held out.
_TOLD, _EPOCH = 3, 2
#: Of fewer examples nothing can be held out; and a machine without a part of them is not to
#: train longer than about this, but so many epochs at least.
_FEWEST_ROWS, _NANOSECONDS, _FEWEST_EPOCHS = 30, 5e8, 3

Integers = NDArray[np.object_]  # Python's, which have no limit


def with_prior(fitted: Fitted, sample: Sample) -> Fitted | None:
    """The model with votes for frequent classes where they help, and a sharpness.

    None where it is not called for: votes tell the classes, or more of them with votes for
    frequent ones do not, or those could not be undone by the next pass, or they would be against
    what the user asked for.
    """
    if not _is_free(fitted, sample) or not _is_in_doubt(fitted, sample):
        return None
    state = fitted.machine.snapshot()
    if _has_prior(state.earlier[0], fitted.machine.spec.grid.n_features):
        return fitted
    with suppress(MemoryError):  # a model without it is worth more than none
        return _judged(fitted, sample)
    return None


def _is_free(fitted: Fitted, sample: Sample) -> bool:
    machine, edits = fitted.machine, fitted.edits
    average = machine.parameters.average
    return (
        fitted.preset == "tables"
        and isinstance(fitted.outputs, OneLabel)
        and len(fitted.classes) > 1
        and machine.spec.grid.is_flat
        and machine.spec.sharing
        and machine.spec.negations
        and machine.spec.n > 1
        and average > 1
        and len(machine.snapshot().earlier) == average - 1
        and edits.constraints is None
        and not (edits.log or edits.pinned)
        and len(sample.weight) == 1  # weights say that classes are to count otherwise
        and len(sample.targets) >= _FEWEST_ROWS
    )


def _is_in_doubt(fitted: Fitted, sample: Sample) -> bool:
    """Whether examples of a pass were not much more often right than one class for all would be."""
    right = [r["train_accuracy"] for r in fitted.progress.history if r["epoch"] == _EPOCH]
    share = int(np.bincount(_labels(sample)).max()) / len(sample.targets)
    if not right or share == 1:
        return False
    above = right[0] - share
    return above <= 0 or above * above * sample.taken_from < _TOLD**2 * share * (1 - share)


def _labels(sample: Sample) -> NDArray[np.int64]:
    return np.asarray(sample.targets).argmax(axis=1)


def _has_prior(state: EarlierState, n_features: int) -> bool:
    """Whether it is there already: nothing was trained since."""
    memory = np.unpackbits(state.included, axis=1, count=2 * n_features)
    alone = memory.sum(axis=1, dtype=np.int64) == 1
    for votes in state.weights[alone & (memory[:, 0] == 1)]:
        others = state.weights[alone & (memory[:, n_features] == 1)]
        if votes.any() and votes.min() == 0 and (others == votes).all(axis=1).any():
            return True
    return False


def _judged(fitted: Fitted, sample: Sample) -> Fitted | None:
    machine, outputs = fitted.machine, fitted.outputs
    labels = _labels(sample)
    votes = _held_out_votes(machine, sample, labels, fitted.progress.epochs)
    if votes is None:
        return None
    own = machine.votes_of_states(sample.examples)[0]
    prior = _prior(votes, labels, int((own.max(axis=1) - own.min(axis=1)).max()))
    prior = machine.spec.clip_weights(prior)
    before = votes.argmax(axis=1) == labels
    after = (votes + prior).argmax(axis=1) == labels
    better, worse = int((after & ~before).sum()), int((before & ~after).sum())
    _logger.info(
        "classes are hard to tell apart; of %d examples held out %d were right, with votes for "
        "frequent classes %d",
        len(labels),
        before.sum(),
        after.sum(),
    )
    # By more than its standard error, or where votes alone are no better than one class for all.
    useless = before.sum() <= np.bincount(labels).max()
    if better <= worse or not (useless or (better - worse) ** 2 > better + worse):
        return None
    state = machine.snapshot()
    first = _with_votes(state.earlier[0], prior, machine.spec.grid.n_features)
    machine = machine.with_state(replace(state, earlier=(first, *state.earlier[1:])))
    votes = votes + prior
    margins = outputs.in_margins(votes.astype(np.float64), machine.parameters.T * machine.n_states_)
    seen = margins_of(machine, sample.examples, outputs), sample.targets
    sharpness = sharpness_of((margins, sample.targets), seen, outputs)
    return replace(fitted, machine=machine, sharpness=Sharpness(sharpness))


def _held_out_votes(
    machine: Machine, sample: Sample, labels: NDArray[np.int64], epochs: int
) -> Integers | None:
    """Of machines that have not seen an example, in units of the first one's votes.

    None where the votes of the first part tell the classes, or a machine says nothing.
    """
    order = split_order(machine.seed_, len(labels))
    part = np.empty(len(labels), dtype=np.int64)
    # By turns through each class, so that every part has its share of them.
    part[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % _PARTS
    votes = np.empty((len(labels), machine.spec.m), dtype=object)
    for number in range(_PARTS):
        seen, held = np.flatnonzero(part != number), np.flatnonzero(part == number)
        examples = sample.examples[seen]
        other = machine.fresh()
        training = other.prepare(examples, sample.targets[seen], sample.weight)
        affordable = int(_NANOSECONDS / step_nanoseconds(machine.spec) / len(seen))
        for _ in range(min(epochs, max(_FEWEST_EPOCHS, affordable))):
            other.train_pass(training)
        mine, theirs = _distance(machine.votes(examples)), _distance(other.votes(examples))
        if not theirs:
            return None
        votes[held] = other.votes(sample.examples[held]).astype(object) * mine // theirs
        if number == 0 and _tell(votes[held], labels[held]):
            return None
    return votes


def _tell(votes: Integers, labels: NDArray[np.int64]) -> bool:
    """Whether they are right by a standard error more often than one class for all would be."""
    right = int((votes.argmax(axis=1) == labels).sum())
    common, n = int(np.bincount(labels).max()), len(labels)
    return right > common and (right - common) ** 2 * n > common * (n - common)


def _distance(votes: NDArray[np.int64]) -> int:
    """How far the highest votes are above the second highest, in all."""
    ranked = np.partition(votes, -2, axis=1)
    return int((ranked[:, -1] - ranked[:, -2]).sum())


def _prior(votes: Integers, labels: NDArray[np.int64], most: int) -> Integers:
    """Votes to add to each class, 0 for one.

    Shares of classes are fitted by a line to votes, the same slope a for all: a class that has the
    share p and on average v votes has p + a (u - v) where it has u. Its votes plus p/a - v rank
    like that. No class is more than ``most`` above the next: so far votes are apart at most.
    """
    n, m = votes.shape
    truth = (labels[:, None] == np.arange(m)).astype(object)
    total, count = votes.sum(axis=0), truth.sum(axis=0)
    common = (votes * truth).sum() * n - (total * count).sum()
    spread = (votes * votes).sum() * n - (total * total).sum()
    # Where classes are the rarer the more votes they have, it is for their shares alone.
    prior = count * spread // (n * common) - total // n if common > 0 else count * most
    order = np.argsort(prior, kind="stable")
    gaps = np.minimum(np.diff(prior[order]), most)
    prior[order] = np.concatenate([np.zeros(1, dtype=object), np.cumsum(gaps)])
    return prior


def _with_votes(state: EarlierState, votes: Integers, n_features: int) -> EarlierState:
    """The state with two clauses that always give these votes, in the place of those that say
    least."""
    memory = np.unpackbits(state.included, axis=1, count=2 * n_features)
    said = np.where(memory.any(axis=1), np.abs(state.weights.astype(np.int64)).sum(axis=1), -1)
    places = np.argsort(said, kind="stable")[:2]
    included, weights = state.included.copy(), state.weights.copy()
    memory = np.zeros((2, 2 * n_features), dtype=np.uint8)
    memory[[0, 1], [0, n_features]] = 1
    included[places] = np.packbits(memory, axis=1)
    weights[places] = votes.astype(np.int32)
    return EarlierState(included, weights)
