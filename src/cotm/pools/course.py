"""Who learns from which rows, when and with what: the same wherever it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..backends import TrainCounts
from ..classifier import CoTMClassifier
from ..core.checks import check_choice, check_flag, check_integer
from ..core.limits import MAX_CLAUSES
from ..core.patches import PatchGrid
from ..core.randomness import pool_seed
from ..core.state import Snapshot
from ..estimator.settings import check_parameters, machine_parameters
from ..machine import Machine
from ..model.bounds import limits_for
from ..model.constraints import Limits
from ..model.fitted import Fitted, Record, TrainingProgress
from ..model.labels import Labels
from ..model.outputs import Judge
from ..model.presets import epochs_of
from ..model.probabilities import Sample, Sharpness
from .shares import Rows

#: From which shares a pool learns: the next one in each epoch, its own, or all in each epoch.
POOL_ROWS = ("turns", "share", "all")
#: Pools, unless users say how many; what came of it is in ``docs/dask.md``.
N_POOLS = 4
#: Passes of all clauses over all rows, once the pools are one; likewise.
REFINE = 10
#: More than anyone has machines.
_MOST_POOLS = 10_000


@dataclass(frozen=True)
class PoolOptions:
    """How many pools there are, and how they learn."""

    n_pools: int
    pool_rows: str
    refine: int

    @classmethod
    def checked(
        cls, learner: CoTMClassifier, n_pools: Any, pool_rows: Any, refine: Any
    ) -> PoolOptions:
        """The options, or a ValueError for what cannot be, or cannot be done by pools."""
        check_parameters(learner)
        n_pools = check_integer("n_pools", n_pools, 1, _MOST_POOLS)
        n_clauses = check_integer("n_clauses", learner.n_clauses, 1, MAX_CLAUSES)
        if n_clauses < n_pools:
            raise ValueError(
                f"n_pools={n_pools}, but n_clauses={n_clauses} are all there are to share; take "
                "fewer pools or more clauses"
            )
        check_choice("pool_rows", pool_rows, POOL_ROWS)
        refine = check_integer("refine", refine, 0)
        for name in ("early_stopping", "warm_start"):
            if check_flag(name, getattr(learner, name)):
                raise ValueError(
                    f"{name}=True, but pools train for as many epochs as `epochs` and `refine` "
                    f"say, from the start; set {name}=False"
                )
        for name in ("augment", "callbacks"):
            if getattr(learner, name):
                raise ValueError(
                    f"{name}={getattr(learner, name)!r:.200} is for one machine, and pools are "
                    f"several, that may be anywhere; set {name}=None"
                )
        return cls(n_pools, pool_rows, refine)

    def shares_of(self, pool: int, epoch: int) -> list[int]:
        """The shares that a pool learns from in an epoch, counted from 1, one after the other."""
        if self.pool_rows == "share":
            return [pool]
        if self.pool_rows == "turns":
            return [(pool + epoch - 1) % self.n_pools]
        return [(pool + number) % self.n_pools for number in range(self.n_pools)]

    def epochs(self, learner: CoTMClassifier, preset: str, n_rows: int) -> int:
        """Epochs of the pools. "auto" goes by the rows that a pool is shown in each."""
        shown = n_rows if self.pool_rows == "all" else n_rows // self.n_pools
        return epochs_of(learner.epochs, preset, shown)


@dataclass(frozen=True)
class Course:
    """What must be known, beside a state and rows, to go on with a pool or with all of them."""

    learner: CoTMClassifier  # not fitted: its parameters
    options: PoolOptions
    preset: str
    epochs: int  # of the pools
    n_rows: int
    seed: int
    grid: PatchGrid
    n_outputs: int
    judge: Judge
    limits: Limits
    n_jobs: int | None = None  # threads of a step, which change nothing; None: as the learner says

    @property
    def last_epoch(self) -> int:
        """The number of epochs, those of all clauses together included."""
        return self.epochs + self.options.refine

    @classmethod
    def of(
        cls, learner: CoTMClassifier, options: PoolOptions, fitted: Fitted, n_rows: int
    ) -> Course:
        """Of a classifier that has learned nothing yet but how its data look."""
        grid = fitted.reader.grid
        assert grid is not None
        return cls(
            learner,
            options,
            fitted.preset,
            options.epochs(learner, fitted.preset, n_rows),
            n_rows,
            fitted.machine.seed_,
            grid,
            len(fitted.classes),
            fitted.judge,
            limits_for(fitted, fitted.edits.constraints),
        )

    def start(self, pool: int) -> Snapshot:
        """Where a pool begins."""
        machine = self.machine(pool, 1)
        machine.start(self.grid, self.n_outputs)
        return machine.snapshot()

    def machine(self, pool: int | None, epoch: int) -> Machine:
        """The machine of a pool in an epoch, or of all clauses, as yet without a state."""
        parameters = machine_parameters(
            self.learner, self.preset, self.n_outputs, self.judge, max(1, epoch)
        )
        parameters |= {"random_state": self.seed, "n_jobs": self.n_jobs or self.learner.n_jobs}
        if pool is not None:
            count, n_clauses = self.options.n_pools, parameters["n_clauses"]
            own = n_clauses // count + (pool < n_clauses % count)
            before = pool * (n_clauses // count) + min(pool, n_clauses % count)
            margin = parameters["T"]
            # Margins are in the proportion of clauses, and their sum is the margin of all.
            share = margin * (before + own) // n_clauses - margin * before // n_clauses
            parameters |= {
                "n_clauses": own,
                "T": max(1, share),
                "average": parameters["average"] if count == 1 else 1,
                "random_state": pool_seed(self.seed, pool),
            }
        return Machine(**parameters)

    def visit(
        self, state: Snapshot, rows: Rows, pool: int | None, epoch: int, first: bool
    ) -> tuple[Snapshot, TrainCounts]:
        """One pass of a pool, or of all clauses, over a share; ``first`` in its epoch."""
        machine = self.machine(pool, epoch)
        machine.load_state(self.grid, state)
        training = machine.prepare(rows.bits, rows.all_targets(), rows.weight)
        counts = machine.train_pass(
            training,
            shuffle=self.learner.shuffle,
            amend=self.limits.apply if self.limits else None,
        )
        assert counts is not None
        after = machine.snapshot()
        # The states that vote together are those after whole epochs of all clauses: what pools
        # were before they knew each other is worse.
        apart = pool is None and epoch == self.epochs + 1 and self.options.n_pools > 1
        if apart or not first:
            after = replace(after, earlier=state.earlier)
        return after, counts

    def record(self, epoch: int, counts: Sequence[TrainCounts]) -> Record:
        """The entry of an epoch. It has no seconds: those depend on where it was done."""
        all_pools = epoch <= self.epochs and self.options.pool_rows == "all"
        shown = self.n_rows * (self.options.n_pools if all_pools else 1)
        total = TrainCounts(*map(sum, zip(*counts, strict=True)))
        accuracy = self.judge.training_accuracy(total, shown, n_outputs=self.n_outputs)
        return cast(Record, {"epoch": epoch, "train_accuracy": accuracy, "seconds": 0.0})

    def finished(
        self, fitted: Fitted, state: Snapshot, history: Sequence[Record], sample: Sample
    ) -> Fitted:
        """The model in the end, of what there was before."""
        epoch = len(history)
        machine = self.machine(None, epoch)
        machine.load_state(self.grid, state)
        sharpness = Sharpness.to_learn(machine, sample, fitted.outputs, epoch)
        progress = TrainingProgress(tuple(history), until_epoch=epoch, step=state.step)
        return replace(fitted, machine=machine, progress=progress, sharpness=sharpness)


def check_labels(labels: Labels) -> Labels:
    """Labels that pools can learn, or a ValueError."""
    if labels.several:
        raise ValueError(
            "y has several columns of labels, which pools do not learn; fit a classifier for each "
            "column, or a cotm.CoTMClassifier"
        )
    return labels


def united(*states: Snapshot) -> Snapshot:
    """The clauses of all pools as those of one, which votes as all of them together."""
    if len(states) == 1:
        return states[0]
    return Snapshot(
        np.concatenate([state.memory for state in states]),
        np.concatenate([state.weights for state in states]),
        sum(state.step for state in states),
    )
