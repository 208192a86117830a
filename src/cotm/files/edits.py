"""Constraints and changes by hand, in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.decoding import expect, expect_integer, expect_keys
from ..core.state import Snapshot
from ..machine import Machine
from ..model.bounds import limits_for
from ..model.constraints import Constraints
from ..model.edits import KINDS, Edit, Edits, Rows, rows_of
from ..model.fitted import Fitted
from .container import Tensors

_PARTS = ("clauses", "memory", "weights")
#: The tensors that hold how changed clauses were before.
TENSORS = tuple(f"edits.{part}" for part in _PARTS)
_FIELDS = ("kind", "text", "step", "rows", "mark", "pinned", "held", "constraints")
_MOST_EDITS = 100_000


def plain_constraints(constraints: Constraints | None) -> Any:
    """Constraints as lists, since keys of JSON are texts."""
    if constraints is None:
        return None
    monotone = [
        [column, [[label, way] for label, way in said.items()] if hasattr(said, "items") else said]
        for column, said in (constraints.monotone or {}).items()
    ]
    forbid = [[column, [*labels]] for column, labels in (constraints.forbid or {}).items()]
    return {
        "monotone": None if constraints.monotone is None else monotone,
        "forbid": None if constraints.forbid is None else forbid,
    }


def constraints_from(encoded: Any) -> Constraints | None:
    """What ``plain_constraints`` made; it may be hostile."""
    if encoded is None:
        return None
    expect_keys(encoded, ("monotone", "forbid"), "constraints")
    read = {name: None if pairs is None else _pairs(pairs) for name, pairs in encoded.items()}
    monotone, forbid = read["monotone"], read["forbid"]
    if monotone is not None:
        monotone = {
            column: _pairs(said) if isinstance(said, list) else said
            for column, said in monotone.items()
        }
    for labels in (forbid or {}).values():
        expect(isinstance(labels, list) and all(map(_is_name, labels)), "constraints are damaged")
    constraints = Constraints(monotone, forbid)
    constraints.check()
    return constraints


def _pairs(pairs: Any) -> dict[Any, Any]:
    expect(
        isinstance(pairs, list)
        and all(isinstance(p, list) and len(p) == 2 and _is_name(p[0]) for p in pairs),
        "constraints are damaged",
    )
    return {name: value for name, value in pairs}


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int | float)


def encode_edits(edits: Edits) -> tuple[Any, Tensors]:
    """The log and the pins, and the clauses as they were before each change."""
    if not edits.log and not edits.pinned:
        return None, {}
    log = [
        {
            "kind": edit.kind,
            "text": edit.text,
            "step": edit.step,
            "rows": len(edit.before.clauses),
            "mark": edit.mark,
            "pinned": [*edit.pinned],
            "held": [*edit.held],
            "constraints": plain_constraints(edit.constraints),
        }
        for edit in edits.log
    ]
    tensors = {
        f"edits.{part}": np.concatenate([getattr(edit.before, part) for edit in edits.log])
        for part in (_PARTS if edits.log else ())
    }
    return {"log": log, "pinned": [*edits.pinned], "held": [*edits.held]}, tensors


def decode_edits(
    encoded: Any,
    tensors: Tensors,
    machine: Machine,
    state: Snapshot,
    constraints: Constraints | None,
) -> Edits:
    """What ``encode_edits`` encoded, which must fit the state; it may be hostile."""
    if encoded is None:
        expect(not any(name in tensors for name in TENSORS), "changes by hand are not named")
        return Edits(constraints=constraints)
    expect_keys(encoded, ("log", "pinned", "held"), "edits")
    log = encoded["log"]
    expect(isinstance(log, list) and len(log) <= _MOST_EDITS, "the log of changes is damaged")
    n, n_literals = state.memory.shape
    pinned, held = _pins(encoded, n)
    if not log:
        return Edits((), pinned, held, constraints)
    expect(all(name in tensors for name in TENSORS), "what was changed by hand is missing")
    clauses, memory, weights = (tensors[name] for name in TENSORS)
    expect(
        clauses.dtype == np.int64
        and clauses.ndim == 1
        and memory.dtype == np.int8
        and memory.shape == (len(clauses), n_literals)
        and weights.dtype == np.int32
        and weights.shape == (len(clauses), state.weights.shape[1]),
        "what was changed by hand does not fit the model",
    )
    spec = machine.spec
    expect(bool((memory >= -spec.N).all() and (memory < spec.N).all()), "memory out of range")
    expect(np.array_equal(spec.clip_weights(weights), weights), "weights too large")
    edits, start, step = [], 0, 0
    for entry in log:
        expect_keys(entry, _FIELDS, "a change by hand")
        expect(entry["kind"] in KINDS and isinstance(entry["text"], str), "a change is unknown")
        count = expect_integer(entry, "rows", 0, len(clauses) - start)
        step = expect_integer(entry, "step", step, state.step)
        mark = expect_integer(entry, "mark", 0, 2**32 - 1)
        own = slice(start, start + count)
        start += count
        rows = Rows(clauses[own], memory[own], weights[own])
        expect(
            bool((rows.clauses >= 0).all() and (np.diff(rows.clauses) > 0).all()),
            "changed clauses are out of order",
        )
        before = constraints_from(entry["constraints"])
        edits.append(Edit(entry["kind"], entry["text"], step, rows, mark, *_pins(entry, n), before))
    expect(start == len(clauses), "the log of changes is damaged")
    last = edits[-1]
    if last.step == state.step:  # so it can be undone
        expect(
            bool((last.before.clauses < n * (1 + len(state.earlier))).all())
            and rows_of(state, last.before.clauses).mark() == last.mark,
            "the last change by hand contradicts the state",
        )
    return Edits(tuple(edits), pinned, held, constraints)


def _pins(fields: Any, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pinned, held = fields["pinned"], fields["held"]
    for clauses in (pinned, held):
        expect(
            isinstance(clauses, list)
            and all(type(c) is int and 0 <= c < n for c in clauses)
            and clauses == sorted({*clauses}),
            "pinned clauses are damaged",
        )
    expect({*held} <= {*pinned}, "clauses are held that are not pinned")
    return tuple(pinned), tuple(held)


def check_constraints(fitted: Fitted) -> None:
    """Refuse a model whose clauses do what its constraints forbid."""
    limits = limits_for(fitted, fitted.edits.constraints)
    states = [fitted.machine.snapshot()]
    states += [] if fitted.progress.best is None else [fitted.progress.best]
    expect(
        not any(limits.violations(state) for state in states),
        "its clauses violate its constraints",
    )
