"""Tables of C, and the clauses of a member as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files as resources
from typing import Any

from .describing import ranges_of
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

    def put_rice(self, value: int, low: int) -> None:
        """Add a number of any size: what is above so many bits in ones and a zero, then these."""
        self._parts.append("1" * (value >> low) + "0")
        self.put(value & ((1 << low) - 1), low)

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
    found = (ranges_of(member.grid, clause.literals) for clause in member.clauses)
    return [(*ranges[1], *ranges[2]) for ranges in found if ranges is not None]


def stream(member: Member) -> tuple[bytes, dict[str, Any]]:
    """All clauses as a stream of bits, and what its reader has to know."""
    grid, first = member.grid, first_feature(member)
    literals = [split(member, clause) for clause in member.clauses]
    n_literals = 2 * (grid.n_features - first)
    is_placed = member.tolerance == 1 and grid.n_patches > 1
    weights = [_unsigned(weight) for clause in member.clauses for weight in clause.weights]
    low = min(range(64), key=lambda low: sum((weight >> low) + 1 + low for weight in weights))
    pairs_of = {n: (n * (n + 1) // 2 - 1).bit_length() for n in (grid.rows, grid.columns)}
    words: dict[str, Any] = {
        "FIRST": first,
        "LITERALS": n_literals,
        "PLACED": int(is_placed),
        "ROW_BITS": pairs_of[grid.rows],
        "COLUMN_BITS": pairs_of[grid.columns],
        "COUNT_BITS": max(map(len, literals), default=0).bit_length(),
        "WEIGHT_LOW": low if weights else 0,
        "MOST_LITERALS": max(1, max(map(len, literals), default=0)),
    }
    bits = Bits()
    for clause, pairs, window in zip(
        member.clauses,
        literals,
        windows(member) if is_placed else [None] * len(literals),
        strict=True,
    ):
        if window is not None:
            top, bottom, left, right = window
            bits.put(_pair(top, bottom, grid.rows), words["ROW_BITS"])
            bits.put(_pair(left, right, grid.columns), words["COLUMN_BITS"])
        bits.put(len(pairs), words["COUNT_BITS"])
        before, part = -1, _gap_low(len(pairs), n_literals)
        for feature, negated in pairs:
            literal = (feature - first) << 1 | negated
            bits.put_rice(literal - before - 1, part)
            before = literal
        for weight in clause.weights:
            bits.put_rice(_unsigned(weight), words["WEIGHT_LOW"])
    words["WIDE"] = max(weights, default=0) >= 1 << 32
    return bits.data(), words


def _unsigned(weight: int) -> int:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ...

    >>> [_unsigned(weight) for weight in (0, -1, 1, -2)]
    [0, 1, 2, 3]
    """
    return 2 * weight if weight >= 0 else -2 * weight - 1


def _pair(low: int, high: int, places: int) -> int:
    """The number of a range among all ranges of so many places."""
    return sum(places - k for k in range(low)) + high - low


def _gap_low(count: int, n_literals: int) -> int:
    """Bits of a gap between literals that are written as they are, as the reader reckons them."""
    low = 0
    while count and count << (low + 1) <= n_literals * 2 // 3:
        low += 1
    return low
