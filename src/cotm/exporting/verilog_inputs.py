"""How Verilog makes bits of what a model reads."""

from __future__ import annotations

import math
import struct

from .description import CannotExportError, ImageInput, Levels, TableInput, Test

#: What values may be: floats of 64 bits, or bytes. Bits are bits.
VALUES = ("double", "uint8")

_NAN, _SIGN = 0x7FF << 52, 1 << 63


def value_bits(source: TableInput | ImageInput, value: str) -> int:
    """How wide a value is."""
    return 1 if _holds_bits(source) else 8 if value == "uint8" else 64


def bit_expressions(source: TableInput | ImageInput, value: str) -> list[str]:
    """An expression of x for each bit; ["x"] where x has the bits."""
    if _holds_bits(source):
        return ["x"]
    if isinstance(source, TableInput):
        return [_test(source, test, value) for test in source.tests]
    if not isinstance(source.planes, Levels):
        kind = type(source.planes).__name__.lower()
        raise CannotExportError(
            "Verilog", f"the bits are of {kind}", "export with inputs='bits', or as C"
        )
    channels = source.shape[2]
    return [
        _above(k, threshold, value)
        for k in range(source.n_values)
        for threshold in source.planes.thresholds[k % channels]
    ]


def _holds_bits(source: TableInput | ImageInput) -> bool:
    if isinstance(source, ImageInput):
        return source.holds_bits
    return all(column.type == "bit" for column in source.columns) and source.tests == tuple(
        Test(k, ">", 0.5) for k in range(source.n_values)
    )


def _test(source: TableInput, test: Test, value: str) -> str:
    if isinstance(test.value, str):
        raise CannotExportError(
            "Verilog",
            f"column {source.columns[test.column].name!r:.200} holds text",
            "export with inputs='bits', or as C",
        )
    if source.columns[test.column].tells_booleans:
        raise CannotExportError(
            "Verilog",
            f"column {source.columns[test.column].name!r:.200} has both numbers and booleans as "
            "categories",
            "export with inputs='bits'",
        )
    k = test.column
    if test.op == "missing":
        return "1'b0" if value == "uint8" else f"({_magnitude(k)} > 63'd{_NAN})"
    assert test.value is not None
    if test.op == "=":
        return _equal(k, test.value, value)
    above = _above(k, test.value, value)
    if test.op == ">":
        return above
    return f"!{above}" if value == "uint8" else f"!({above} | ({_magnitude(k)} > 63'd{_NAN}))"


def _magnitude(k: int) -> str:
    return f"x[{64 * k} +: 63]"


def _above(k: int, threshold: float, value: str) -> str:
    """Whether value k is above a threshold."""
    if value == "uint8":
        whole = math.floor(threshold)
        if whole < 0 or whole >= 255:
            return "1'b1" if whole < 0 else "1'b0"
        return f"(x[{8 * k} +: 8] > 8'd{whole})"
    bits = _pattern(threshold)
    sign, magnitude = f"x[{64 * k + 63}]", _magnitude(k)
    if bits & _SIGN:  # above it is what is not negative, and what is negative and smaller
        limit = bits & (_SIGN - 1)
        return f"({sign} ? {magnitude} < 63'd{limit} : {magnitude} <= 63'd{_NAN})"
    return f"(!{sign} & ({magnitude} > 63'd{bits}) & ({magnitude} <= 63'd{_NAN}))"


def _equal(k: int, number: float, value: str) -> str:
    if float(number) != number:
        raise CannotExportError(
            "float64",
            f"the category {number!r} needs more than 53 bits",
            "turn the column into text before training, or export JSON",
        )
    if value == "uint8":
        fits = float(number).is_integer() and 0 <= number <= 255
        return f"(x[{8 * k} +: 8] == 8'd{int(number)})" if fits else "1'b0"
    if number == 0:
        return f"({_magnitude(k)} == 63'd0)"
    return f"(x[{64 * k} +: 64] == 64'd{_pattern(number)})"


def _pattern(number: float) -> int:
    """A float's 64 bits; zero has no sign."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(number) or 0.0))
    return int(bits)
