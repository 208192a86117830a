"""The paper's example of clause sharing: XOR, AND and OR of two bits from one pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine import Machine
from .lab import Lab, describe_machine

_OUTPUTS = ("XOR", "AND", "OR")


def train_xor(seed: int, *, epochs: int = 60, backend: str = "auto") -> Machine:
    """Four clauses that learn three outputs of two bits, as in the paper's figure."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50)
    machine = Machine(4, T=8, s=3.0, memory_depth=4, backend=backend, random_state=seed)
    return machine.fit(X, truth(X), epochs=epochs)


def truth(X: Any) -> Any:
    """The outputs of inputs (N, 2)."""
    a, b = X.T
    return np.column_stack([a ^ b, a & b, a | b])


def clause_text(included: Any) -> str:
    """A clause over x1 and x2 in words.

    >>> clause_text([True, False, False, True])
    'x1 AND NOT x2'
    """
    names = ("x1", "x2", "NOT x1", "NOT x2")
    words = [name for name, used in zip(names, included, strict=True) if used]
    return " AND ".join(words) or "(empty)"


def interpret_xor(lab: Lab) -> None:
    """XOR, AND and OR of two bits by four shared clauses, drawn with their weights."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    epochs = lab.epochs(full=60, quick=60)
    # Four clauses are as few as can do it; not every start finds them.
    for seed in range(lab.options.seed, lab.options.seed + 200):
        machine = train_xor(seed, epochs=epochs, backend=lab.options.backend)
        if np.array_equal(machine.predict(X), truth(X)):
            break
    else:
        raise RuntimeError("no seed of 200 learned all three outputs; try more --epochs")
    lab.ran_on(describe_machine(machine.backend_))
    memory, weights = machine.memory_, machine.weights_
    rows: list[dict[str, Any]] = [
        {
            "clause": f"#{j + 1}",
            "literals": clause_text(memory[j] >= 0),
            **{name: int(w) for name, w in zip(_OUTPUTS, weights[j], strict=True)},
        }
        for j in range(len(weights))
    ]
    tried = seed - lab.options.seed + 1
    notes = [
        "Weights of clauses that four shared clauses of depth 4 learned; an output is 1 where "
        "the weights of the clauses that are true sum to 0 or more. All four inputs are right.",
        f"Seed {seed}, the first of {tried} tried from {lab.options.seed} on that learned all; "
        f"T 8, s 3, {epochs} epochs of 200 examples.",
    ]
    lab.report("XOR, AND and OR from one pool of clauses", rows, notes)
    lab.figure(lambda axes: _draw(axes, rows, memory, weights))


def _draw(axes: Any, rows: list[dict[str, Any]], memory: Any, weights: Any) -> None:
    """Memory and weights as numbers in coloured squares, a row per clause."""
    table = np.concatenate([memory, weights], axis=1).astype(float)
    shown = table / np.abs(table).max(axis=0, keepdims=True).clip(1)
    axes.imshow(shown, cmap="RdBu", vmin=-2, vmax=2, aspect="auto")
    for (j, k), value in np.ndenumerate(table):
        axes.text(k, j, f"{value:.0f}", ha="center", va="center")
    columns = ["x1", "x2", "NOT x1", "NOT x2", *_OUTPUTS]
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), [f"{row['clause']}  {row['literals']}" for row in rows])
    axes.axvline(3.5, color="black")
    axes.grid(visible=False)
    axes.set_title("memory (included from 0 up) and weights")
