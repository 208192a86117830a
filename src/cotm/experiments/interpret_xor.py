"""The paper's example of clause sharing: XOR, AND and OR of two bits from one pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine import Machine
from .report import Report, describe_computer
from .runs import Runs

_OUTPUTS = ("XOR", "AND", "OR")
_LITERALS = ("x1", "x2", "NOT x1", "NOT x2")
_INPUTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
#: Every input is shown this often in an epoch.
_COPIES = 50
_EPOCHS = 60
_T, _S, _DEPTH = 8, 3.0, 4
#: Four clauses are as few as can express the outputs, and not every seed learns them.
_N_CLAUSES, _MOST_SEEDS = 4, 200


def train_xor(seed: int, *, epochs: int = _EPOCHS, backend: str = "auto") -> Machine:
    """Four clauses that learn three outputs of two bits, as in the paper's figure."""
    X = np.tile(_INPUTS, (_COPIES, 1))
    machine = Machine(
        _N_CLAUSES, T=_T, s=_S, memory_depth=_DEPTH, backend=backend, random_state=seed
    )
    return machine.fit(X, truth(X), epochs=epochs)


def truth(X: NDArray[Any]) -> NDArray[Any]:
    """The outputs of inputs (N, 2)."""
    a, b = X.T
    return np.column_stack([a ^ b, a & b, a | b])


def clause_text(included: Any) -> str:
    """A clause over x1 and x2 in words.

    >>> clause_text([True, False, False, True])
    'x1 AND NOT x2'
    """
    words = [name for name, used in zip(_LITERALS, included, strict=True) if used]
    return " AND ".join(words) or "(empty)"


def run(runs: Runs, report: Report) -> None:
    """Train with one seed after another until all outputs are right; write the clauses."""
    epochs = runs.epochs(full=_EPOCHS, quick=_EPOCHS)
    first = runs.options.seed
    for seed in range(first, first + _MOST_SEEDS):
        machine = train_xor(seed, epochs=epochs, backend=runs.options.backend)
        if np.array_equal(machine.predict(_INPUTS), truth(_INPUTS)):
            break
    else:
        raise RuntimeError(f"no seed of {_MOST_SEEDS} learned all three outputs; try more --epochs")
    runs.ran_on(describe_computer(machine.backend_))
    memory, weights = machine.memory_, machine.weights_
    rows: list[dict[str, Any]] = [
        {
            "clause": f"#{j + 1}",
            "literals": clause_text(memory[j] >= 0),
            **{name: int(w) for name, w in zip(_OUTPUTS, weights[j], strict=True)},
        }
        for j in range(len(weights))
    ]
    notes = [
        "Weights of clauses that four shared clauses of depth 4 learned; an output is 1 where "
        "the weights of the clauses that are true sum to 0 or more. All four inputs are right.",
        f"Seed {seed}, the first of {seed - first + 1} tried from {first} on that learned all; "
        f"T {_T}, s {_S:g}, {epochs} epochs of {_COPIES * len(_INPUTS)} examples.",
    ]
    report.write("XOR, AND and OR from one pool of clauses", rows, notes, runs.computers)
    report.figure(lambda axes: _draw(axes, rows, memory, weights))


def _draw(axes: Any, rows: list[dict[str, Any]], memory: Any, weights: Any) -> None:
    """Memory and weights as numbers in coloured squares, a row per clause."""
    table = np.concatenate([memory, weights], axis=1).astype(float)
    shown = table / np.abs(table).max(axis=0, keepdims=True).clip(1)
    axes.imshow(shown, cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
    for (j, k), value in np.ndenumerate(table):
        axes.text(k, j, f"{value:.0f}", ha="center", va="center")
    columns = [*_LITERALS, *_OUTPUTS]
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), [f"{row['clause']}  {row['literals']}" for row in rows])
    axes.axvline(len(_LITERALS) - 0.5, color="black")
    axes.grid(visible=False)
    axes.set_title("memory (included from 0 up) and weights")
