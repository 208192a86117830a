"""How C makes bits of what a model reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..booleanize.filters import PARTS
from ..core.angles import TURN, cosine, sine
from .c_tables import number, table, template, texts, unsigned
from .description import (
    Adaptive,
    CannotExportError,
    Edges,
    Gradients,
    ImageInput,
    Levels,
    TableInput,
    Test,
)

#: The kinds of tests that the tables name.
_CASES = {
    ">": "holds = value > @P@_value[k];",
    "<=": "holds = value <= @P@_value[k];",
    "=": "holds = value == @P@_value[k];",
    "missing": "holds = value != value;",
    "text": "holds = texts[column] != 0 && strcmp(texts[column], @P@_text[@P@_number[k]]) == 0;",
    "no text": "holds = texts[column] == 0;",
    "nothing": "holds = texts[column] == 0 && value != value;",
    "number": "holds = texts[column] == 0 && value == @P@_value[k];",
}


def reads_texts(source: TableInput | ImageInput) -> bool:
    """Whether some of the cells are texts."""
    return isinstance(source, TableInput) and any(isinstance(t.value, str) for t in source.tests)


def value_type(source: TableInput | ImageInput) -> str:
    """What values are, unless users say something else."""
    if isinstance(source, TableInput):
        return "uint8_t" if all(column.type == "bit" for column in source.columns) else "double"
    return "double" if isinstance(source.planes, Levels) and not source.holds_bits else "uint8_t"


def reader(source: TableInput | ImageInput, words: dict[str, Any]) -> str:
    """The function ``read`` and its tables."""
    if isinstance(source, TableInput):
        return _table(source, words)
    height, width, channels = source.shape
    words = words | {"VALUE": words["VALUE"]}
    prefix = words["P"]
    sizes = {
        "IMAGE_HEIGHT": height,
        "IMAGE_WIDTH": width,
        "IMAGE_CHANNELS": channels,
        "PIXELS": height * width,
    }
    defined = "".join(f"#define {prefix}_{name} {value}\n" for name, value in sizes.items())
    planes = source.planes
    if source.holds_bits:
        return template("in_order.c", words | {"LIMIT": "0.5"})
    if isinstance(planes, Levels):
        return defined + _levels(planes, words)
    if isinstance(planes, Adaptive):
        return defined + _adaptive(planes, words)
    if isinstance(planes, Edges):
        return defined + _edges(planes, height * width, words)
    return defined + _gradients(planes, source.shape, words)


def _lines(*parts: Any) -> str:
    return "\n".join(line for part in parts for line in part) + "\n"


def _table(source: TableInput, words: dict[str, Any]) -> str:
    tests = source.tests
    ordered = len(tests) == source.n_values and all(
        test.column == k and test.op == ">" for k, test in enumerate(tests)
    )
    if ordered and len({test.value for test in tests}) == 1:
        return template("in_order.c", words | {"LIMIT": number(_float(tests[0]))})
    with_texts = {test.column for test in tests if isinstance(test.value, str)}
    with_numbers = {t.column for t in tests if t.op == "=" and not isinstance(t.value, str)}
    for column in (source.columns[k] for k in with_texts | with_numbers):
        if column.tells_booleans:
            raise CannotExportError(
                "C",
                f"column {column.name!r:.200} has both numbers and booleans as categories",
                "convert one of them to text before training, or export JSON",
            )
    kinds = [_kind(test, with_texts, with_numbers) for test in tests]
    used = [kind for kind in _CASES if kind in kinds]
    names = [*dict.fromkeys(test.value for test in tests if isinstance(test.value, str))]
    for name in names:
        if "\0" in name:
            raise CannotExportError(
                "C", f"the category {name!r:.200} holds a NUL", "rename it, or export JSON"
            )
    place = {name: index for index, name in enumerate(names)}
    prefix = words["P"]
    columns = [test.column for test in tests]
    parts: list[Any] = [
        table(unsigned(source.n_values), f"{prefix}_column", columns),
        table("uint8_t", f"{prefix}_test", [used.index(kind) for kind in kinds]),
    ]
    if {*used} - {"missing", "text", "no text", "nothing"}:
        values = ["0" if isinstance(t.value, str | None) else number(_float(t)) for t in tests]
        parts.append(table("double", f"{prefix}_value", values))
    if names:
        parts.append(texts(f"{prefix}_text", names))
        numbers = [place[t.value] if isinstance(t.value, str) else 0 for t in tests]
        parts.append(table(unsigned(len(names)), f"{prefix}_number", numbers))
    cases = [
        f"      {f'case {index}' if index < len(used) - 1 else 'default'}:\n"
        f"        {_CASES[kind]}\n        break;"
        for index, kind in enumerate(used)
    ]
    # Where all tests are of texts nobody reads numbers, of which compilers would warn.
    unused = "" if {*used} - {"text", "no text"} else "    (void)value;\n"
    words = {"CASES": "\n".join(cases), "UNUSED": unused} | words
    return _lines(*parts) + template("set.c", words) + template("table.c", words)


def _kind(test: Test, with_texts: set[int], with_numbers: set[int]) -> str:
    if test.column not in with_texts:
        return test.op
    if test.op == "missing":
        return "nothing" if test.column in with_numbers else "no text"
    return "text" if isinstance(test.value, str) else "number"


def _float(test: Test) -> float:
    """A test's number, which must be one of float64."""
    assert isinstance(test.value, int | float)
    value = float(test.value)
    if value != test.value:
        raise CannotExportError(
            "float64",
            f"the category {test.value!r} needs more than 53 bits",
            "turn the column into text before training, or export JSON",
        )
    return value


def _levels(planes: Levels, words: dict[str, Any]) -> str:
    ends = np.cumsum([0, *map(len, planes.thresholds)]).tolist()
    flat = [number(value) for thresholds in planes.thresholds for value in thresholds]
    return (
        _lines(
            table(unsigned(ends[-1]), f"{words['P']}_first_threshold", ends),
            table("double", f"{words['P']}_thresholds", flat),
        )
        + template("set.c", words)
        + template("levels.c", words)
    )


def _adaptive(planes: Adaptive, words: dict[str, Any]) -> str:
    defined = (
        f"#define {words['P']}_TAPS {len(planes.kernel)}\n"
        f"#define {words['P']}_CONSTANT {planes.constant}\n"
    )
    kernel = [f"{number(weight)}f" for weight in planes.kernel]
    return (
        defined
        + _lines(table("float", f"{words['P']}_kernel", kernel))
        + template("set.c", words)
        + template("adaptive.c", words)
    )


def _quantiles(count: int, words: dict[str, Any]) -> str:
    assert PARTS == 10_000  # as quantiles.c has it
    defined = f"#define {words['P']}_NUMBERS {count}\n"
    return defined + template("set.c", words) + template("quantiles.c", words)


def _edges(planes: Edges, pixels: int, words: dict[str, Any]) -> str:
    prefix = words["P"]
    lists = {name: getattr(planes, name) for name in ("levels", "positive", "negative")}
    defined = "".join(
        f"#define {prefix}_{name.upper()} {len(parts)}\n" for name, parts in lists.items()
    )
    flat = [[entry for row in kernel for entry in row] for kernel in planes.kernels]
    kernels = [f"{{{', '.join(map(str, kernel))}}}" for kernel in flat]
    return (
        defined
        + f"#define {prefix}_KERNELS {len(kernels)}\n"
        + _lines(
            *(table("uint16_t", f"{prefix}_{name}", parts) for name, parts in lists.items()),
            [f"static const int8_t {prefix}_kernels[{max(1, len(kernels))}][49] = {{"],
            [f"  {kernel}," for kernel in kernels or ["{0}"]],
            ["};"],
        )
        + _quantiles(pixels, words)
        + template("edges.c", words)
    )


def _gradients(planes: Gradients, shape: tuple[int, int, int], words: dict[str, Any]) -> str:
    prefix, count = words["P"], planes.directions
    rows = (shape[0] - planes.cell[0]) // planes.step[0] + 1
    columns = (shape[1] - planes.cell[1]) // planes.step[1] + 1
    span = TURN if planes.signed else TURN // 2
    borders = ((2 * np.arange(-1, count) + 1) * span + count) // (2 * count)
    sizes = {
        "DIRECTIONS": count,
        "SIGNED": int(planes.signed),
        "GROUPS": shape[2] if planes.each else 1,
        "CELL_ROWS": rows,
        "CELL_COLUMNS": columns,
        "CELL_HEIGHT": planes.cell[0],
        "CELL_WIDTH": planes.cell[1],
        "STEP_ROWS": planes.step[0],
        "STEP_COLUMNS": planes.step[1],
        "PARTS": len(planes.quantiles),
    }
    return (
        "".join(f"#define {prefix}_{name} {value}\n" for name, value in sizes.items())
        + _lines(
            table("int32_t", f"{prefix}_along", cosine(borders).tolist()),
            table("int32_t", f"{prefix}_across", sine(borders).tolist()),
            table("uint16_t", f"{prefix}_parts", planes.quantiles),
        )
        + _quantiles(rows * columns * count, words)
        + template("gradients.c", words)
    )
