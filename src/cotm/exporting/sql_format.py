"""SQL: one query that scores a table, in words that SQLite, DuckDB and PostgreSQL share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .description import (
    CannotExportError,
    Clause,
    Description,
    Member,
    Quantities,
    TableInput,
    Test,
)
from .writing import text_bytes, wrapped

OPTIONS = ("table", "keep")

#: Columns of a table, and terms of a sum within parentheses: SQLite has limits of 2,000 and 1,000.
_COLUMNS, _TERMS = 1900, 200
#: NaN is above it where it is a number, and is a missing value here.
_LARGEST = "1.7976931348623157e308"
#: Numbers of so many digits are read without error by everyone.
_DIGITS = 15


def files(
    description: Description, path: Path, *, table: str = "examples", keep: Iterable[str] = ()
) -> dict[Path, bytes]:
    """One file."""
    if isinstance(keep, str):
        raise TypeError(f"keep={keep!r} must be a list of columns, as [{keep!r}]")
    return {path: text_bytes(_query(description, table, [*keep]))}


def _query(description: Description, table: str, keep: list[str]) -> Iterator[str]:
    _check(description)
    members = description.members
    inputs = [m.input for m in members if isinstance(m.input, TableInput)]
    kept = [f"k{index}" for index in range(len(keep))]
    used = [_used_bits(member) for member in members]
    bits = [f"b{m}_{k}" for m, numbers in enumerate(used) for k in numbers]
    votes = [f"v{i}" for i in range(description.n_outputs)]
    room = _COLUMNS - len(bits) - len(votes) - len(kept)
    if room < 100:
        raise CannotExportError(
            "a query",
            f"it needs {len(bits)} bits and {len(votes)} outputs at a time",
            "train with fewer columns, or export JSON or C",
        )
    yield "-- A model made of rules, exported by cotm. It reads the table"
    yield "-- in the last line of the first part, whose missing values are NULL."
    yield "WITH cells AS MATERIALIZED (SELECT"
    cells = [_cell(inputs, k) for k in range(inputs[0].n_values)]
    named = [f"{_name(n)} AS {k}" for n, k in zip(keep, kept, strict=True)]
    yield from _list([*named, *cells])
    yield f"FROM {_name(table)}"
    yield "), step0 AS MATERIALIZED (SELECT"
    tests = [
        f"CASE WHEN {_test(source, source.tests[k])} THEN 1 ELSE 0 END AS b{m}_{k}"
        for m, (source, numbers) in enumerate(zip(inputs, used, strict=True))
        for k in numbers
    ]
    zeros = [f"0 AS {vote}" for vote in votes]
    yield from _list([*kept, *tests, *zeros])
    yield "FROM cells"
    step = 0
    for number, member in enumerate(members):
        for begin in range(0, len(member.clauses), room):
            part = member.clauses[begin : begin + room]
            yield from _step(number, member, part, step, [*kept, *bits], votes)
            step += 1
    yield ")"
    yield "SELECT"
    final = [f"{k} AS {_name(n)}" for n, k in zip(keep, kept, strict=True)]
    final += [f"v{i} AS votes_{i}" for i in range(len(votes))]
    yield from _list([*final, *_labels(description, votes)])
    yield f"FROM step{step};"


def _check(description: Description) -> None:
    remedy = "export JSON, C, ONNX or JavaScript"
    if description.divisors is not None:
        raise CannotExportError("SQL", "votes of members are divided in 64 bits", remedy)
    if description.largest_vote >= 1 << 63:
        raise CannotExportError("SQL", "votes do not fit into 64 bits", "export JSON")
    for member in description.members:
        if not isinstance(member.input, TableInput):
            raise CannotExportError("SQL", "the model reads images", remedy)
    tables = [m.input for m in description.members if isinstance(m.input, TableInput)]
    if any(table.columns != tables[0].columns for table in tables):
        raise CannotExportError("one query", "members read different columns", "export each alone")
    seen: dict[str, str] = {}
    for name in (column.name for column in tables[0].columns):
        if name.lower() in seen:  # most databases give the same column for both
            raise CannotExportError(
                "SQL",
                f"columns {seen[name.lower()]!r:.200} and {name!r:.200} differ in case at most",
                "rename one of them before training, or export JSON",
            )
        seen[name.lower()] = name


def _used_bits(member: Member) -> list[int]:
    o = member.grid.n_features
    return sorted({literal % o for clause in member.clauses for literal in clause.literals})


def _step(
    number: int,
    member: Member,
    clauses: Sequence[Clause],
    step: int,
    carried: list[str],
    votes: list[str],
) -> Iterator[str]:
    """Votes with those of some more clauses."""
    yield f"), misses{step} AS MATERIALIZED (SELECT"
    outputs = [f"{_misses(number, member, c)} AS c{j}" for j, c in enumerate(clauses)]
    yield from _list([*carried, *votes, *outputs])
    yield f"FROM step{step}"
    if member.tolerance > 1:
        yield f"), outputs{step} AS MATERIALIZED (SELECT"
        graded = [
            f"CASE WHEN c{j} < {member.most(c)} THEN {member.most(c)} - c{j} ELSE 0 END AS c{j}"
            for j, c in enumerate(clauses)
        ]
        yield from _list([*carried, *votes, *graded])
        yield f"FROM misses{step}"
    yield f"), step{step + 1} AS MATERIALIZED (SELECT"
    sums = []
    for i, vote in enumerate(votes):
        terms = [f"{c.weights[i]} * c{j}" for j, c in enumerate(clauses) if c.weights[i]]
        sums.append(f"{_balanced([vote, *terms], ' + ')} AS {vote}")
    yield from _list([*carried, *sums])
    yield f"FROM {'outputs' if member.tolerance > 1 else 'misses'}{step}"


def _misses(number: int, member: Member, clause: Clause) -> str:
    """How many literals are false; of a strict clause whether none is."""
    o = member.grid.n_features
    pairs = [(f"b{number}_{literal % o}", literal // o) for literal in clause.literals]
    if member.tolerance == 1:
        asked = _balanced([f"{bit} = {1 - negated}" for bit, negated in pairs], " AND ")
        return f"CASE WHEN {asked} THEN 1 ELSE 0 END"
    return _balanced([bit if negated else f"1 - {bit}" for bit, negated in pairs], " + ")


def _predictions(quantities: Quantities, votes: list[str]) -> list[str]:
    """What a regressor predicts, computed as Python does."""
    names = ["prediction"] if quantities.one else [f"prediction_{i}" for i in range(len(votes))]
    return [
        f"CAST({vote} AS DOUBLE PRECISION) / {_number(unit)} + {_number(offset)} AS {name}"
        for vote, unit, offset, name in zip(
            votes, quantities.unit, quantities.offset, names, strict=True
        )
    ]


def _labels(description: Description, votes: list[str]) -> list[str]:
    if description.quantities is not None:
        return _predictions(description.quantities, votes)
    if description.multilabel:
        return [f"CASE WHEN {v} >= 0 THEN 1 ELSE 0 END AS label_{i}" for i, v in enumerate(votes)]
    whens = []
    for vote, label in zip(votes, description.classes, strict=True):
        most = _balanced([f"{vote} >= {other}" for other in votes if other != vote], " AND ")
        number = type(label) is int and abs(label) < 1 << 63
        whens.append(f"WHEN {most} THEN {label if number else _text(str(label))}")
    if len({type(label) for label in description.classes} - {int}) and any(
        type(label) is int for label in description.classes
    ):
        raise CannotExportError("a column of SQL", "classes are texts and numbers", "export JSON")
    return [f"CASE {' '.join(whens)} END AS label"]


def _balanced(terms: list[str], operator: str) -> str:
    """A sum or conjunction that is nowhere deep."""
    while len(terms) > _TERMS:
        groups = (terms[k : k + _TERMS] for k in range(0, len(terms), _TERMS))
        terms = [f"({operator.join(group)})" for group in groups]
    return operator.join(terms)


def _list(items: Sequence[str]) -> Iterator[str]:
    lines = [*wrapped(items)]
    lines[-1] = lines[-1].removesuffix(",")
    yield from lines


# Cells and tests ---------------------------------------------------------------------


def _cell(inputs: Sequence[TableInput], k: int) -> str:
    """A column of the table as it is compared."""
    column = inputs[0].columns[k]
    values = [t.value for s in inputs for t in s.tests if t.column == k and t.op == "="]
    texts = [isinstance(value, str) for value in values]
    if values and (column.tells_booleans or len({*texts}) > 1):
        raise CannotExportError(
            "SQL",
            f"column {column.name!r:.200} has categories of several types",
            "convert them all to text before training, or export JSON",
        )
    name = _name(column.name)
    if any(texts):
        return f"{name} AS x{k}"
    cast = f"CAST({name} AS DOUBLE PRECISION)"
    return f"CASE WHEN {cast} <= {_LARGEST} THEN {cast} END AS x{k}"


def _test(source: TableInput, test: Test) -> str:
    cell = f"x{test.column}"
    if test.op == "missing":
        return f"{cell} IS NULL"
    value = _text(test.value) if isinstance(test.value, str) else _number(test.value)
    return f"{cell} {test.op} {value}"


def _name(name: str) -> str:
    """A name of a column or table."""
    if not name:
        raise CannotExportError(
            "SQL", "a column or table without a name", "name it before training, or export JSON"
        )
    return '"' + _printable(name).replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + _printable(text).replace("'", "''") + "'"


def _printable(text: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise CannotExportError("SQL", f"{text!r:.200} is no text", "rename it, or export JSON")
    return text


def _number(value: object) -> str:
    """A float that everyone reads as this one: short, or as powers of two."""
    assert isinstance(value, int | float)
    number = float(value)
    if number != value:
        raise CannotExportError(
            "float64",
            f"the category {value!r} needs more than 53 bits",
            "turn the column into text before training, or export JSON",
        )
    text = repr(number)
    if "e" not in text and sum(character.isdigit() for character in text) <= _DIGITS:
        return f"{text}e0"
    mantissa, exponent = math.frexp(number)
    text, exponent = f"({int(mantissa * (1 << 53))}e0", exponent - 53
    while exponent:
        step = max(-60, min(60, exponent))
        text += f" {'*' if step > 0 else '/'} {1 << abs(step)}e0"
        exponent -= step
    return f"{text})"
