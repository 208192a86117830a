"""JSON: the whole description, for programs of any language. ``docs/exports.md`` has the schema."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from .. import __version__
from ..booleanize.gradients import direction_table
from .description import (
    Adaptive,
    Description,
    Edges,
    Gradients,
    ImageInput,
    Levels,
    Member,
    TableInput,
    Test,
)
from .writing import text_bytes

OPTIONS: tuple[str, ...] = ()

#: Of the schema; a reader refuses what is above the one it knows.
VERSION = 1


def files(description: Description, path: Path) -> dict[Path, bytes]:
    """One file."""
    return {path: text_bytes(json_text(description) + "\n")}


def json_text(description: Description) -> str:
    """The description as JSON, a clause a line."""
    data = as_data(description)
    members = data.pop("members")
    head = json.dumps(data, indent=1)[:-2]
    return f'{head},\n "members": [\n{",".join(map(_member_text, members))}\n ]\n}}'


def _member_text(member: dict[str, Any]) -> str:
    clauses = member.pop("clauses")
    head = json.dumps(member)[:-1]
    lines = ",\n    ".join(json.dumps(clause, separators=(",", ":")) for clause in clauses)
    return f'  {head}, "clauses": [\n    {lines}\n  ]}}'


def as_data(description: Description) -> dict[str, Any]:
    """The description as dictionaries and lists."""
    quantities, columns = description.quantities, description.label_columns
    return {
        "format": "cotm-export",
        "version": VERSION,
        "cotm": __version__,
        "classes": [*description.classes],
        "multilabel": description.multilabel,
        "margin": description.margin,
        "sharpness": description.sharpness,
        # As text: they may be beyond what doubles hold.
        "divisors": description.divisors and [str(d) for d in description.divisors],
        **({"quantities": dataclasses.asdict(quantities)} if quantities else {}),
        **({"label_columns": [*map(dataclasses.asdict, columns)]} if columns else {}),
        "members": [_member_data(member) for member in description.members],
    }


def _member_data(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "input": _input_data(member.input),
        "patches": dataclasses.asdict(member.grid),
        "tolerance": member.tolerance,
        "clauses": [[clause.literals, clause.weights] for clause in member.clauses],
    }


def _input_data(source: TableInput | ImageInput) -> dict[str, Any]:
    if isinstance(source, TableInput):
        columns = [
            {"name": c.name, "type": c.type}
            | ({"tells_booleans": True} if c.tells_booleans else {})
            for c in source.columns
        ]
        return {"kind": "table", "columns": columns, "bits": [*map(_test_data, source.tests)]}
    planes = source.planes
    data: dict[str, Any] = {"kind": "image", "shape": [*source.shape]}
    if isinstance(planes, Levels):
        return data | {"bits": "levels", "thresholds": planes.thresholds}
    if isinstance(planes, Adaptive):
        return data | {
            "bits": "adaptive",
            "kernel": planes.kernel,
            "constant": planes.constant,
        }
    if isinstance(planes, Edges):
        return data | {"bits": "edges"} | dataclasses.asdict(planes)
    assert isinstance(planes, Gradients)
    table = direction_table(planes.directions, planes.signed)
    # Mostly runs of the same direction: [direction, how many], row by row.
    return data | {"bits": "gradients"} | dataclasses.asdict(planes) | {"table": _runs(table)}


def _test_data(test: Test) -> list[Any]:
    return [test.column, test.op] if test.op == "missing" else [test.column, test.op, test.value]


def _runs(table: Any) -> list[list[int]]:
    runs: list[list[int]] = []
    for value in table.ravel().tolist():
        if runs and runs[-1][0] == value:
            runs[-1][1] += 1
        else:
            runs.append([value, 1])
    return runs
