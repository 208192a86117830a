"""Documentation that classes share, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def with_documentation_of(other: type, *, without: tuple[str, ...] = ()) -> Callable[..., _Class]:
    """Complete a docstring with the parameters and attributes that another class documents.

    The class documents what is its own, or other than there. Parameters stand in the order of the
    signature; ``without`` names attributes that the class does not have.
    """

    def decorate(kind: _Class) -> _Class:
        if kind.__doc__ and other.__doc__:  # python -OO leaves out both
            head, sections = _parts(kind.__doc__)
            _, shared = _parts(other.__doc__)
            for title in ("Parameters", "Attributes"):
                entries = _entries(shared[title]) | _entries(sections.get(title, ""))
                if title == "Parameters":
                    entries = {name: entries[name] for name in inspect.signature(kind).parameters}
                sections[title] = "".join(
                    text for name, text in entries.items() if name not in without
                )
            leading = {title: sections.pop(title) for title in ("Parameters", "Attributes")}
            body = [
                f"{title}\n{'-' * len(title)}\n{text.strip()}\n"
                for title, text in (leading | sections).items()
            ]
            kind.__doc__ = f"{head.strip()}\n\n" + "\n".join(body)
        return kind

    return decorate


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """What comes before the first section, and the sections by their titles."""
    head, *rest = _SECTION.split(inspect.cleandoc(text))
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(text: str) -> dict[str, str]:
    """The entries of a section, by the first name of each; with the lines that explain them."""
    entries = [entry for entry in _ENTRY.split(text.strip() + "\n") if entry.strip()]
    return {re.split(r"[ ,:]", entry, maxsplit=1)[0]: entry for entry in entries}
