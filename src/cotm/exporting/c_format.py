"""C99: a header and a source that allocate nothing, in a small and in a fast form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.checks import check_choice
from .c_inputs import reader, reads_texts, value_type
from .c_tables import (
    place,
    signed,
    split,
    stream,
    table,
    template,
    texts,
    unsigned,
    windows,
)
from .description import CannotExportError, Description, Member, TableInput
from .writing import check_identifier, comment_text, identifier, text_bytes

OPTIONS = ("form", "name")

FORMS = ("small", "fast")

#: Words side by side in the fast form, where that many fit into the cache; and the most bits of an
#: example, of which it has as many words on the stack.
_LANES, _CACHED_BITS, _MOST_BITS = 8, 1 << 16, 1 << 19
#: Outputs up to which votes are summed for all examples, and not for those on which clauses fire.
_DENSE_OUTPUTS = 32


def files(
    description: Description, path: Path, *, form: str = "small", name: str | None = None
) -> dict[Path, bytes]:
    """The header and the source."""
    check_choice("form", form, FORMS)
    name = identifier(path) if name is None else check_identifier(name)
    header = path.with_suffix(".h")
    words = _words(description, name, form)
    source = _source(description, words, header.name, form)
    return {header: text_bytes(_header(description, words)), path: text_bytes(source)}


def _words(description: Description, name: str, form: str) -> dict[str, Any]:
    """What templates have words for."""
    members = description.members
    first = members[0].input
    if any(m.input.n_values != first.n_values for m in members):
        raise CannotExportError(
            "one function of C",
            "members read X of different widths",
            "export each of them alone, or all as JSON",
        )
    tables = [m.input for m in members if isinstance(m.input, TableInput)]
    if any(t.columns != tables[0].columns for t in tables if reads_texts(t) or reads_texts(first)):
        raise CannotExportError(
            "one function of C",
            "members read different columns",
            "export each of them alone, or all as JSON",
        )
    most = description.largest_vote
    divided = description.divisors is not None
    if most >= 1 << 63 or (divided and max(m.largest_vote for m in members) >= 1 << 31):
        raise CannotExportError("a sum of 64 bits", "votes are too large", "export JSON")
    with_texts = any(map(reads_texts, (m.input for m in members)))
    kinds = {value_type(m.input) for m in members}
    return {
        "NAME": name,
        "UPPER": name.upper(),
        "VALUE": f"{name}_value",
        "VALUE_DEFAULT": "double" if "double" in kinds else "uint8_t",
        "VOTE": f"{name}_vote",
        "VOTE_TYPE": "int64_t" if divided or most >= 1 << 31 else "int32_t",
        "OUTPUTS": f"{name.upper()}_OUTPUTS",
        "WITH_TEXTS": with_texts,
        "WORD": "uint8_t" if form == "small" else "uint64_t",
        "WORD_BITS": 8 if form == "small" else 64,
    }


def _arguments(words: dict[str, Any], with_texts: bool) -> dict[str, str]:
    values = f"const {words['VALUE']} *values"
    size = f"{words['UPPER']}_VALUES"
    each = f"values + example * {size}"
    if not with_texts:
        return {"ARGUMENTS": values, "VALUES": "values", "VALUES_OF_EXAMPLE": each}
    return {
        "ARGUMENTS": f"{values}, const char *const *texts",
        "VALUES": "values, texts",
        "VALUES_OF_EXAMPLE": f"{each}, texts + example * {size}",
    }


def _header(description: Description, words: dict[str, Any]) -> str:
    members = description.members
    both = {**words, **_arguments(words, words["WITH_TEXTS"])}
    both |= {
        "N_VALUES": members[0].input.n_values,
        "N_OUTPUTS": description.n_outputs,
        "SCALE": _scale(description, words),
        "COLUMNS": _columns(members[0], words["WITH_TEXTS"]),
        "PREDICTED": "{1} *{0}".format(*predicted(description)),
        "MEANING": _MEANINGS[predicted(description)[0]],
        "UNIT": "" if description.divisors is None else ", in units of 2 to the power of -32",
    }
    return template("header.h", both)


def _scale(description: Description, words: dict[str, Any]) -> str:
    """What votes mean beside what is predicted."""
    quantities = description.quantities
    if quantities is None:
        scale = {
            "MARGIN": repr(float(description.margin)),
            "SHARPNESS": repr(description.sharpness),
        }
        return template("probabilities.h", words | scale)
    scale = {
        "UNITS": ", ".join(map(repr, quantities.unit)),
        "OFFSETS": ", ".join(map(repr, quantities.offset)),
    }
    return template("quantities.h", words | scale)


def _columns(member: Member, with_texts: bool) -> str:
    """What the values are, as lines of a comment."""
    source = member.input
    if not isinstance(source, TableInput):
        height, width, channels = source.shape
        return f"   An image's {height} rows of {width} pixels of {channels} channels."
    seconds = {"date": "s since 1970, UTC", "duration": "s", "time": "s since midnight"}
    of_texts = {test.column for test in source.tests if isinstance(test.value, str)}
    lines = []
    for k, column in enumerate(source.columns):
        unit = seconds.get(column.type, "text" if k in of_texts else "")
        lines.append(f"   {k}: {comment_text(column.name)}{unit and f' ({unit})'}")
    missing = "NAN is a missing number"
    return "\n".join([*lines, f"   {missing}{', 0 a missing text' if with_texts else ''}."])


def _source(description: Description, words: dict[str, Any], header: str, form: str) -> str:
    parts = [template("top.c", words | {"HEADER": header})]
    lanes = 1
    for index, member in enumerate(description.members):
        inner = {**words, "P": f"{words['NAME']}_{index}"}
        inner |= _arguments(words, reads_texts(member.input))
        inner["N_OUTPUTS"] = description.n_outputs
        parts.append(_sizes(member, inner["P"]))
        parts.append(reader(member.input, inner) + "\n")
        parts.append(_small(member, inner) if form == "small" else _fast(member, inner))
    if form == "fast":
        lanes = min(map(_lanes, description.members))
    classes = [str(label) for label in description.classes]
    for label in classes:
        if "\0" in label:
            raise CannotExportError(
                "C", f"the class {label!r:.200} holds a NUL", "rename it, or export JSON"
            )
    parts += ["\n", "\n".join(texts(f"{words['NAME']}_classes", classes, "")), "\n"]
    parts.append(_combination(description, words, form, lanes))
    parts.append(template("main.c", words | _main_words(description, words)))
    return "".join(parts)


def _sizes(member: Member, prefix: str) -> str:
    grid = member.grid
    sizes = {
        "BITS": grid.height * grid.width * grid.channels,
        "CHANNELS": grid.channels,
        "ROWS": grid.rows,
        "COLUMNS": grid.columns,
        "STRIDE_ROWS": grid.stride_rows,
        "STRIDE_COLUMNS": grid.stride_columns,
        "IMAGE_ROW": grid.width * grid.channels,
        "PATCH_ROW": grid.patch_width * grid.channels,
        "ABOVES": grid.n_position_features,
        "FEATURES": grid.n_features,
        "TOLERANCE": member.tolerance,
        "CLAUSES": len(member.clauses),
    }
    return "\n" + "".join(f"#define {prefix}_{name} {value}\n" for name, value in sizes.items())


def _small(member: Member, words: dict[str, Any]) -> str:
    data, sizes = stream(member)
    taken = "uint64_t" if sizes.pop("WIDE") else "uint32_t"
    prefix = words["P"]
    defined = "".join(f"#define {prefix}_{name} {value}\n" for name, value in sizes.items())
    lines = table("uint8_t", f"{prefix}_clauses", [*data])
    return defined + "\n".join(lines) + "\n\n" + template("small.c", words | {"TAKEN": taken})


def _lanes(member: Member) -> int:
    bits = member.grid.height * member.grid.width * member.grid.channels
    if bits > _MOST_BITS:
        raise CannotExportError(
            "the fast form of C", f"an example has {bits} bits", "take form='small'"
        )
    lanes = max(1, min(_LANES, _CACHED_BITS // bits))
    return 1 << (lanes.bit_length() - 1)


def _fast(member: Member, words: dict[str, Any]) -> str:
    prefix, grid = words["P"], member.grid
    literals, ends, middles = [], [0], []
    for clause in member.clauses:
        pairs = split(member, clause)
        literals += [place(member, feature) << 1 | negated for feature, negated in pairs]
        positions = sum(feature < grid.n_position_features for feature, _ in pairs)
        middles.append(ends[-1] + positions)
        ends.append(len(literals))
    largest = max((abs(w) for clause in member.clauses for w in clause.weights), default=0)
    digits = max((member.most(clause) for clause in member.clauses), default=1).bit_length()
    weights = [f"{{{', '.join(map(str, clause.weights))}}}" for clause in member.clauses]
    stored = signed(-largest, largest)
    lines = [
        f"#define {prefix}_LANES {_lanes(member)}",
        f"#define {prefix}_DIGITS {digits}",
        f"typedef {stored} {prefix}_stored;",
        *table(unsigned(max(literals, default=0)), f"{prefix}_literals", literals),
        *table(unsigned(ends[-1]), f"{prefix}_ends", ends),
        f"static const {prefix}_stored {prefix}_weights[{max(1, len(weights))}]"
        f"[{words['OUTPUTS']}] = {{",
        *(f"  {row}," for row in weights or ["{0}"]),
        "};",
    ]
    if member.tolerance == 1:
        bounds = windows(member)
        kind = unsigned(max(grid.rows, grid.columns))
        lines.append(f"static const {kind} {prefix}_windows[{max(1, len(bounds))}][4] = {{")
        lines += [f"  {{{', '.join(map(str, b))}}}," for b in bounds or [(0, 0, 0, 0)]]
        lines.append("};")
    else:
        lines += table(unsigned(ends[-1]), f"{prefix}_middles", middles)
    evaluate = "fast_strict.c" if member.tolerance == 1 else "fast_graded.c"
    words = words | {
        "ONES": ", ".join(["~UINT64_C(0)"] * _lanes(member)),
        "SUBTRACT": "\n".join(_subtract(digits)),
    }
    most = member.largest_vote
    dense = words["N_OUTPUTS"] <= _DENSE_OUTPUTS and digits <= 8 and most < 1 << 31
    words = words | {"SUM": signed(-max(most, 1 << 8), max(most, 1 << 8))}
    add = template("fast_dense.c" if dense else "fast_sparse.c", words)
    words = {"EVALUATE": template(evaluate, words), "ADD": add} | words
    return "\n".join(lines) + "\n\n" + template("fast.c", words)


def _subtract(digits: int) -> Iterator[str]:
    """Numbers of so many digits less numbers of three: m0, m1, m2."""
    for k in range(digits):
        less = f"m{k} | " if k < 3 else ""
        yield f"    from = grade[{k}][lane];"
        yield f"    grade[{k}][lane] = from ^ borrow{f' ^ m{k}' if k < 3 else ''};"
        also = f" | (m{k} & borrow)" if k < 3 else ""
        yield f"    borrow = (~from & ({less}borrow)){also};"
    yield from (f"    borrow |= m{k};" for k in range(digits, 3))


def _combination(description: Description, words: dict[str, Any], form: str, lanes: int) -> str:
    block = 64 * lanes if form == "fast" else 1
    outer = {**words, **_arguments(words, words["WITH_TEXTS"]), "BLOCK": block}
    calls = []
    divisors = description.divisors or (None,) * len(description.members)
    for index, (member, divisor) in enumerate(zip(description.members, divisors, strict=True)):
        passed = _arguments(words, reads_texts(member.input))["VALUES_OF_EXAMPLE"]
        target = "votes" if len(description.members) == 1 and divisor is None else "part"
        rows = "count, " if form == "fast" else ""
        calls.append(f"    {words['NAME']}_{index}_votes({passed}, {rows}{target});")
        if target == "part":
            added = "part[i]" if divisor is None else f"divided(part[i], INT64_C({divisor}))"
            sign = "=" if index == 0 else "+="
            calls.append(
                f"    for (i = 0; i < count * {words['OUTPUTS']}; ++i) votes[i] {sign} {added};"
            )
    outer |= {
        "CALLS": "\n".join(calls),
        "DIVIDED": template("divided.c", words) if description.divisors else "",
        "PART": (
            f"  {words['VOTE']} part[{block} * {words['OUTPUTS']}];\n  size_t i;\n"
            if "part" in "".join(calls)
            else ""
        ),
    }
    predict = f"{predicted(description)[0]}.c"
    return template("votes.c", outer) + template(predict, outer)


#: Of what is predicted, what the argument is called, and its type.
_PREDICTED = {"classes": "int32_t", "labels": "uint8_t", "quantities": "double"}
_MEANINGS = {
    "classes": "the number of the class with the most votes, the first of equals",
    "labels": "for each output 1 where it has 0 votes or more",
    "quantities": "the quantities",
}
#: How the program for a quick test shows them.
_PRINTS = {
    "classes": "show(@NAME@_classes[classes[0]]);",
    "labels": """for (i = 0; i < @OUTPUTS@; ++i)
      if (labels[i]) {
        show(@NAME@_classes[i]);
        putchar(' ');
      }""",
    "quantities": """for (i = 0; i < @OUTPUTS@; ++i)
      printf("%s%.17g", i ? "\\t" : "", quantities[i]);""",
}


def predicted(description: Description) -> tuple[str, str]:
    """What NAME_predict writes, as its argument is called, and its type."""
    kind = "labels" if description.multilabel else "classes"
    if description.quantities is not None:
        kind = "quantities"
    return kind, _PREDICTED[kind]


def _main_words(description: Description, words: dict[str, Any]) -> dict[str, str]:
    """What the program for a quick test has to know."""
    kind, type_ = predicted(description)
    size = 1 if kind == "classes" else words["OUTPUTS"]
    shown = _PRINTS[kind]
    for word in ("NAME", "OUTPUTS"):
        shown = shown.replace(f"@{word}@", words[word])
    return {
        "SHOW": "" if kind == "quantities" else template("show.c", {}),
        "MADE": f"{type_} {kind}[{size}]",
        "INTO": kind,
        "PRINT": shown,
        "TEXTS": (
            f"  static const char *texts[{words['UPPER']}_VALUES];\n" if words["WITH_TEXTS"] else ""
        ),
        "TEXT": (
            "\n      texts[k] = 0;\n      if (*cell && *rest) texts[k] = cell;"
            if words["WITH_TEXTS"]
            else ""
        ),
        "PASSED": "values, texts" if words["WITH_TEXTS"] else "values",
    }
