"""How rules are written so that a program can read them back; ``docs/rules.md`` has the grammar.

What could be taken for something else is quoted as Python quotes text: a name with a word of the
grammar in it, a text that looks like a number.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
#: What no bare name holds: signs and words of the grammar, and spaces that would be overlooked.
_SPECIAL = re.compile(r"['\"<>={}\[\];:]|!=|^ | $|  |^more than |^if |\b(?:and|or|not|in|is)\b")
_COMPARISON = re.compile(r" (<=|>=|<|>|!=|=) ")
_GRADED = re.compile(r"more than (\d+) of (\d+) hold \((.*)\)")
_ABOVE = re.compile(r" for each above \d+$")


def name_text(name: str, index: int | None = None) -> str:
    """A name, quoted where it needs to be; with the number of its column if others share it."""
    bare = name and name.isprintable() and not _SPECIAL.search(name) and not _is_value(name)
    text = name if bare else repr(name)
    return text if index is None else f"{text}[{index}]"


def value_text(value: Any) -> str:
    """A category or label: numbers and booleans as they are, text quoted where it needs to be."""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, bool | int):
        return str(value)
    text = str(value)
    return name_text(text) if "," not in text else repr(text)


def label_text(label: Any) -> str:
    """A label that votes go to. That of a column is written as it is called, ``column=label``:
    where there are votes nothing is compared."""
    if isinstance(label, str) and "," not in label:
        column, equals, own = label.partition("=")
        bare = name_text(column) == column and own.isprintable() and not _SPECIAL.search(own)
        if equals and bare:
            return label
    return value_text(label)


def threshold_text(value: float, text: str) -> tuple[str, bool]:
    """A threshold in words, and whether it stands for the next float above the threshold.

    ``text`` is what names of bits write, rounded as far as nobody notices. A rule means what it
    says, so it has all digits; but ``x >= 13.775`` is ``x > 13.774999999999999``, as no float
    lies between the two.
    """
    if isinstance(value, int):
        return str(value), False
    try:
        short = float(text)
    except ValueError:  # a date, or a word for a quantile
        return text, False
    if short == value:
        return text, False
    above = bool(short == np.nextafter(value, math.inf))
    return text if above else repr(float(value)), above


def _is_value(text: str) -> bool:
    """Whether a text would be taken for a number or a boolean."""
    try:
        float(text)
    except ValueError:
        return text in ("True", "False")
    return True


def read_value(text: str) -> Any:
    """What ``value_text`` wrote."""
    if _QUOTED.fullmatch(text):
        return _unquoted(text)
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _unquoted(text: str) -> str:
    """The text in quotes; a ValueError for line breaks and escapes that Python does not know."""
    try:
        return str(ast.literal_eval(text))
    except SyntaxError as error:
        raise ValueError(f"{text!r:.200} is not quoted as Python quotes text") from error


@dataclass(frozen=True)
class ParsedTest:
    """A test of one column, as the text of a rule has it.

    ``op`` is ``"bit"``, ``"missing"``, ``"in"`` or ``"interval"``. Of an interval ``low`` and
    ``high`` are texts; ``closed`` says which of them belong to it. ``missing`` is whether a
    missing value passes.
    """

    column: str
    index: int | None
    op: str
    negated: bool = False
    values: tuple[Any, ...] = ()
    low: str | None = None
    high: str | None = None
    closed: tuple[bool, bool] = (False, False)
    missing: bool = False


@dataclass(frozen=True)
class ParsedRule:
    """The text of a rule as data: if more than ``needed`` of ``parts`` hold, these votes.

    Each part holds where all of its tests do. Votes count once for each part above ``needed``.
    """

    parts: tuple[tuple[ParsedTest, ...], ...]
    needed: int
    votes: dict[Any, int]
    member: str | None = None


def parse_rule(text: str) -> ParsedRule:
    """What the text of a rule says; a ValueError if it is none."""
    member, body = None, text
    if not text.startswith("if "):
        before, _, after = _cut(text, ": ")
        member, body = _name(before)[0], after
    if not body.startswith("if "):
        raise ValueError(f"{text!r:.200} is no rule: it has no 'if'")
    head, colon, said = _cut(body.removeprefix("if "), ": ")
    if not colon:
        raise ValueError(f"{text!r:.200} is no rule: it has no votes")
    votes = {}
    for part in _split(_ABOVE.sub("", said), ", "):
        label, _, weight = part.rpartition(" ")
        votes[read_value(label)] = int(weight)
    graded = _GRADED.fullmatch(head)
    if graded:
        parts = tuple(parse_tests(part) for part in _split(graded[3], "; "))
        return ParsedRule(parts, int(graded[1]), votes, member)
    tests = parse_tests(head)
    return ParsedRule((tests,), 0, votes, member)


def parse_tests(text: str) -> tuple[ParsedTest, ...]:
    """The tests of a text with ``and`` between them; a ValueError if it is none."""
    return tuple(_parse_test(part) for part in _split(text, " and "))


def _parse_test(text: str) -> ParsedTest:
    body = text.removesuffix(" or missing")
    missing = body != text
    masked = _masked(body)
    for end, negated in ((" is not missing", True), (" is missing", False)):
        if masked.endswith(end):
            return ParsedTest(
                *_name(body.removesuffix(end)), "missing", negated, missing=not negated
            )
    for word, negated in ((" not in {", True), (" in {", False)):
        place = masked.find(word)
        if place >= 0 and masked.endswith("}"):
            values = _split(body[place + len(word) : -1], ", ")
            return ParsedTest(
                *_name(body[:place]),
                "in",
                negated,
                tuple(map(read_value, values)),
                missing=missing or negated,
            )
    signs = [*_COMPARISON.finditer(masked)]
    if len(signs) > 2 or (len(signs) == 2 and any(sign[1][0] != "<" for sign in signs)):
        raise ValueError(f"{text!r:.200} compares in a way that rules do not; see docs/rules.md")
    if not signs:
        negated = body.startswith("not ")
        name = _name(body.removeprefix("not "))
        return ParsedTest(*name, "bit", negated, missing=missing or negated)
    texts = [body[: signs[0].start()], body[signs[-1].end() :]]
    if len(signs) == 2:
        name = _name(body[signs[0].end() : signs[1].start()])
        closed = (signs[0][1] == "<=", signs[1][1] == "<=")
        return ParsedTest(
            *name, "interval", low=texts[0], high=texts[1], closed=closed, missing=missing
        )
    name, sign = _name(texts[0]), signs[0][1]
    if sign in ("=", "!="):
        negated = sign == "!="
        return ParsedTest(*name, "in", negated, (read_value(texts[1]),), missing=missing or negated)
    closed = (sign == ">=", sign == "<=")
    if sign[0] == ">":
        return ParsedTest(*name, "interval", low=texts[1], closed=closed, missing=missing)
    return ParsedTest(*name, "interval", high=texts[1], closed=closed, missing=True)


def _name(text: str) -> tuple[str, int | None]:
    """A column's name, and its number where it is given."""
    text = text.strip()
    number = re.search(r"\[(\d+)\]$", text)
    index = None if number is None else int(number[1])
    bare = text if number is None else text[: number.start()]
    if _QUOTED.fullmatch(bare):
        return _unquoted(bare), index
    if not bare or _SPECIAL.search(bare):
        raise ValueError(
            f"{text!r:.200} is not the name of a column; quote names with signs in them"
        )
    return bare, index


def _masked(text: str) -> str:
    """The text with nothing but x in its quotes."""
    return _QUOTED.sub(lambda match: "x" * len(match[0]), text)


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators that are not quoted."""
    masked, parts, start = _masked(text), [], 0
    while (end := masked.find(separator, start)) >= 0:
        parts.append(text[start:end])
        start = end + len(separator)
    return [*parts, text[start:]]


def _cut(text: str, separator: str) -> tuple[str, str, str]:
    """The text before and after the first separator that is not quoted."""
    place = _masked(text).find(separator)
    if place < 0:
        return text, "", ""
    return text[:place], separator, text[place + len(separator) :]
