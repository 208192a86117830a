"""Tables of C, and the clauses of a member as such."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files as resources
from typing import Any

from .describing import window_of
from .description import Clause, Member
from .writing import wrapped

#: What C99 compilers must take as one text.
_LONGEST_TEXT = 4000


def template(name: str, words: dict[str, Any]) -> str:
    """A file of C with words in the places of ``@NAMES@``."""
    text = resources(__package__).joinpath("c", name).read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", str(value))
    return text


def table(kind: str, name: str, values: Sequence[object]) -> Iterator[str]:
    """A constant array; without values it has one that nobody reads."""
    yield f"static const {kind} {name}[{max(1, len(values))}] = {{"
    yield from wrapped(values or [0])
    yield "};"


def texts(name: str, values: Sequence[str], linkage: str = "static ") -> Iterator[str]:
    """A constant array of texts, each as UTF-8."""
    items = []
    for number, value in enumerate(values):
        data = value.encode("utf-8", "surrogatepass")
        if len(data) <= _LONGEST_TEXT:
            items.append(literal(data))
        else:
            yield from table("char", f"{name}_{number}", [*map(_character, data), 0])
            items.append(f"{name}_{number}")
    yield f"{linkage}const char *const {name}[{max(1, len(items))}] = {{"
    yield from (f"  {item}," for item in items or ["0"])
    yield "};"


def _character(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def literal(data: bytes) -> str:
    r"""A text of C.

    >>> print(literal('a"\\?\n'.encode()))
    "a\042\134\077\012"
    """
    safe = b" !#$%&'()*+,-./:;<=>@[]^_`{|}~"
    return (
        '"'
        + "".join(
            chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in safe else f"\\{byte:03o}"
            for byte in data
        )
        + '"'
    )


def number(value: float) -> str:
    """A double of C."""
    text = repr(float(value))
    return text if "." in text or "e" in text else f"{text}.0"


def unsigned(largest: int) -> str:
    """The smallest type of C for numbers from 0 on."""
    return next(f"uint{bits}_t" for bits in (8, 16, 32, 64) if largest < 1 << bits)


def signed(least: int, largest: int) -> str:
    """The smallest type of C for numbers of both signs."""
    size = max(-least - 1, largest)
    return next(f"int{bits}_t" for bits in (8, 16, 32, 64) if size < 1 << (bits - 1))


class Bits:
    """A stream of bits, the lowest of a number first."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def put(self, value: int, count: int) -> None:
        """Add a number of so many bits."""
        if count:
            self._parts.append(f"{value:0{count}b}"[::-1])

    def data(self) -> bytes:
        """All of it, filled up with zeros to whole bytes."""
        text = "".join(self._parts)
        text += "0" * (-len(text) % 8)
        return int(text[::-1] or "0", 2).to_bytes(len(text) // 8, "little")


def split(member: Member, clause: Clause) -> list[tuple[int, int]]:
    """The literals of a clause as (feature, negated) that its window does not say, by feature."""
    o, first = member.grid.n_features, first_feature(member)
    pairs = sorted((literal % o, literal // o) for literal in clause.literals)
    return [pair for pair in pairs if pair[0] >= first]


def first_feature(member: Member) -> int:
    """The first feature that literals name: strict clauses have windows for those of position."""
    return member.grid.n_position_features if member.tolerance == 1 else 0


def place(member: Member, feature: int) -> int:
    """Where a feature of a patch lies in the image's bits, from the patch's first one on."""
    grid = member.grid
    if feature < grid.n_position_features:
        return feature
    inside = feature - grid.n_position_features
    row, rest = divmod(inside, grid.patch_width * grid.channels)
    return row * grid.width * grid.channels + rest


def windows(member: Member) -> list[tuple[int, int, int, int]]:
    """Of each clause the first and last row and column."""
    found = (window_of(member.grid, clause.literals) for clause in member.clauses)
    return [window for window in found if window is not None]


def stream(member: Member) -> tuple[bytes, dict[str, Any]]:
    """All clauses as a stream of bits, and what its reader has to know."""
    grid, first = member.grid, first_feature(member)
    literals = [split(member, clause) for clause in member.clauses]
    weights = [weight for clause in member.clauses for weight in clause.weights]
    least = min(weights, default=0)
    n_features = grid.n_features - first
    is_placed = member.tolerance == 1 and grid.n_patches > 1
    widths = {
        "WINDOW_BITS": (max(grid.rows, grid.columns) - 1).bit_length() if is_placed else 0,
        "COUNT_BITS": max(map(len, literals), default=0).bit_length(),
        "LITERAL_BITS": max(1, (2 * n_features - 1).bit_length()),
        "WEIGHT_BITS": (max(weights, default=0) - least).bit_length(),
    }
    bits = Bits()
    for clause, pairs, window in zip(
        member.clauses,
        literals,
        windows(member) if is_placed else [()] * len(literals),
        strict=True,
    ):
        for edge in window:
            bits.put(edge, widths["WINDOW_BITS"])
        as_list = widths["COUNT_BITS"] + len(pairs) * widths["LITERAL_BITS"] < 2 * n_features
        bits.put(int(as_list), 1)
        _put_literals(bits, pairs, first, widths, n_features if not as_list else None)
        for weight in clause.weights:
            bits.put(weight - least, widths["WEIGHT_BITS"])
    words: dict[str, Any] = {"FIRST": first, "LEAST_WEIGHT": _integer(least), **widths}
    words["EDGES"] = 4 if is_placed else 0
    words["MOST_LITERALS"] = max(1, max(map(len, literals), default=0))
    return bits.data(), words


def _put_literals(
    bits: Bits,
    pairs: Iterable[tuple[int, int]],
    first: int,
    widths: dict[str, int],
    n_features: int | None,
) -> None:
    pairs = [*pairs]
    if n_features is None:
        bits.put(len(pairs), widths["COUNT_BITS"])
        for feature, negated in pairs:
            bits.put((feature - first) << 1 | negated, widths["LITERAL_BITS"])
        return
    kinds = [0] * n_features
    for feature, negated in pairs:
        kinds[feature - first] |= 1 << negated
    for kind in kinds:
        bits.put(kind, 2)


def _integer(value: int) -> str:
    return f"INT64_C({value})" if abs(value) >= 1 << 31 else str(value)
