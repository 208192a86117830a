"""How ONNX makes bits of what a model reads."""

from __future__ import annotations

import numpy as np

from .c_inputs import reads_texts
from .description import (
    Adaptive,
    CannotExportError,
    ImageInput,
    Levels,
    Member,
    TableInput,
    Test,
)
from .onnx_graph import Graph

__all__ = ["bits_of", "reads_texts"]


def bits_of(graph: Graph, member: Member) -> str:
    """Bits as float32: (rows, bits), or of images (rows, channels, height, width)."""
    source, grid = member.input, member.grid
    if isinstance(source, TableInput):
        return graph.cast(_table(graph, source), "FLOAT")
    if isinstance(source.planes, Levels):
        bits = _levels(graph, source, source.planes)
    elif isinstance(source.planes, Adaptive):
        bits = _adaptive(graph, source, source.planes)
    else:
        kind = type(source.planes).__name__.lower()
        raise CannotExportError(
            "ONNX", f"the bits are of {kind}", "export with inputs='bits', or as C or JavaScript"
        )
    if grid.is_whole:  # features are then in the order of (row, column, channel)
        bits = graph.node("Transpose", [bits], perm=[0, 2, 3, 1])
        bits = graph.shaped(bits, -1, grid.height * grid.width * grid.channels)
    return graph.cast(bits, "FLOAT")


def _table(graph: Graph, source: TableInput) -> str:
    """Groups of tests of one kind, put back in order."""
    kinds = [_kind(source, test) for test in source.tests]
    parts, order = [], []
    for kind in dict.fromkeys(kinds):
        numbers = [k for k, other in enumerate(kinds) if other == kind]
        parts.append(_tests(graph, kind, [source.tests[k] for k in numbers]))
        order += numbers
    bits = parts[0] if len(parts) == 1 else graph.node("Concat", parts, axis=1)
    if order == sorted(order):
        return bits
    return graph.columns(bits, np.argsort(order).tolist())


def _kind(source: TableInput, test: Test) -> str:
    column = source.columns[test.column]
    values = [t.value for t in source.tests if t.column == test.column and t.op == "="]
    with_texts = any(isinstance(value, str) for value in values)
    with_numbers = any(not isinstance(value, str) for value in values)
    if values and column.tells_booleans:
        raise CannotExportError(
            "ONNX",
            f"column {column.name!r:.200} has both numbers and booleans as categories",
            "convert one of them to text before training, or export JSON",
        )
    if with_texts and test.op == "missing":
        if "" in values:
            raise CannotExportError(
                "ONNX",
                f"column {column.name!r:.200} has the category '', and may be missing",
                "rename the category, or export JSON",
            )
        return "nothing" if with_numbers else "no text"
    if test.op == "=":
        return "text" if isinstance(test.value, str) else "number"
    return test.op


def _tests(graph: Graph, kind: str, tests: list[Test]) -> str:
    """Bits (rows, tests) of one kind of tests, as booleans."""
    columns = [test.column for test in tests]
    values = [test.value for test in tests]
    if kind == "text":
        constant = graph.constant(np.array([values], dtype=object))
        return graph.node("Equal", [graph.columns("texts", columns), constant])
    empty = graph.constant(np.array([[""]], dtype=object)) if kind.startswith("no") else ""
    if kind == "no text":
        return graph.node("Equal", [graph.columns("texts", columns), empty])
    numbers = graph.columns("X", columns)
    if kind in ("missing", "nothing"):
        missing = graph.node("IsNaN", [numbers])
        if kind == "missing":
            return missing
        no_text = graph.node("Equal", [graph.columns("texts", columns), empty])
        return graph.node("And", [missing, no_text])
    for value in values:
        if float(value) != value:  # type: ignore[arg-type]
            raise CannotExportError(
                "float64",
                f"the category {value!r} needs more than 53 bits",
                "turn the column into text before training, or export JSON",
            )
    constant = graph.constant(np.array([values], dtype=np.float64))
    if kind == "number":
        return graph.node("Equal", [numbers, constant])
    return graph.node("Greater" if kind == ">" else "LessOrEqual", [numbers, constant])


def _image(graph: Graph, source: ImageInput) -> str:
    """Images (rows, channels, height, width)."""
    return graph.node("Transpose", [graph.shaped("X", -1, *source.shape)], perm=[0, 3, 1, 2])


def _levels(graph: Graph, source: ImageInput, planes: Levels) -> str:
    channels = [c for c, thresholds in enumerate(planes.thresholds) for _ in thresholds]
    flat = np.array([t for thresholds in planes.thresholds for t in thresholds])
    values = graph.columns(_image(graph, source), channels)
    return graph.node("Greater", [values, graph.constant(flat.reshape(1, -1, 1, 1))])


def _adaptive(graph: Graph, source: ImageInput, planes: Adaptive) -> str:
    """The float32 steps of :mod:`cotm.booleanize.blur`, which are OpenCV's."""
    height, width, _ = source.shape
    taps, half = len(planes.kernel), len(planes.kernel) // 2
    image = graph.cast(_image(graph, source), "FLOAT")
    blurred = image
    if width > 1:
        padded = _padded(graph, blurred, 3, half)
        terms = [graph.part(padded, 3, tap, tap + width) for tap in range(taps)]
        unrolled = taps // 4 * 4 + 1
        blurred = _sums(graph, terms, planes.kernel, width // 4 * 4, unrolled, width)
    if height > 1:
        padded = _padded(graph, blurred, 2, half)
        shifted = [graph.part(padded, 2, tap, tap + height) for tap in range(taps)]
        terms = [shifted[half]] + [
            graph.node("Add", [shifted[half + tap], shifted[half - tap]])
            for tap in range(1, half + 1)
        ]
        blurred = _sums(graph, terms, planes.kernel[half:], width // 8 * 8, taps, width)
    limits = [graph.constant(np.array(limit, dtype=np.float32)) for limit in (0, 255)]
    mean = graph.node("Clip", [graph.node("Round", [blurred]), *limits])
    constant = graph.constant(np.array(planes.constant, dtype=np.float32))
    return graph.node("Greater", [image, graph.node("Sub", [mean, constant])])


def _padded(graph: Graph, value: str, axis: int, half: int) -> str:
    pads = np.zeros(8, dtype=np.int64)
    pads[[axis, axis + 4]] = half
    return graph.node("Pad", [value, graph.constant(pads)], mode="edge")


def _sums(
    graph: Graph,
    terms: list[str],
    weights: tuple[float, ...],
    vector: int,
    unrolled: int,
    width: int,
) -> str:
    """Sums of weighted terms, the first columns fused from 1 on, the others from ``unrolled``."""
    parts = []
    for begin, end, fused in ((0, vector, 1), (vector, width, unrolled)):
        if begin < end:
            mine = [
                term if (begin, end) == (0, width) else graph.part(term, 3, begin, end)
                for term in terms
            ]
            parts.append(_sum(graph, mine, weights, fused))
    return parts[0] if len(parts) == 1 else graph.node("Concat", parts, axis=3)


def _sum(graph: Graph, terms: list[str], weights: tuple[float, ...], fused_from: int) -> str:
    def product(index: int, kind: type) -> str:
        term = graph.cast(terms[index], "DOUBLE") if kind is np.float64 else terms[index]
        return graph.node("Mul", [term, graph.constant(np.array(weights[index], dtype=kind))])

    total = product(0, np.float32)
    for index in range(1, len(terms)):
        if index >= fused_from:
            exact = [product(index, np.float64), graph.cast(total, "DOUBLE")]
            total = graph.cast(graph.node("Add", exact), "FLOAT")
        else:
            total = graph.node("Add", [total, product(index, np.float32)])
    return total
