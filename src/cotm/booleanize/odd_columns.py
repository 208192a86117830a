"""Warnings about columns that will hardly be what was meant."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from .encodings import ColumnCode
from .frames import MOST_NAMES, is_number_text

# A column with more different texts than this probably holds names of rows, or prose.
_MANY_TEXTS = 1000
# A column with at least so many different numbers probably holds quantities, and texts among them,
# if there is at most one for so many numbers, are probably mistakes.
_MANY_NUMBERS = 20
_NUMBERS_PER_ODD_TEXT = 20


def warn_of_many_texts(names: list[str], codes: list[ColumnCode]) -> None:
    """Name columns of which every text becomes a bit, and which have very many."""
    counts = [
        (name, sum(isinstance(value, str) for value in code.categories))
        for name, code in zip(names, codes, strict=False)
    ]
    many = [f"{name!r} ({count:,})" for name, count in counts if count > _MANY_TEXTS]
    if many:
        warnings.warn(
            f"text with more than {_MANY_TEXTS:,} different values becomes a bit for each: column "
            f"{', '.join(many[:MOST_NAMES])}{', ...' if len(many) > MOST_NAMES else ''}; drop "
            "what names rows, put rare values together, or use a vectorizer such as "
            "CountVectorizer(binary=True) for prose",
            UserWarning,
            stacklevel=4,
        )


def warn_of_odd_texts(
    names: list[str], codes: list[ColumnCode], place: Callable[[int, str], str]
) -> None:
    """Name a text that makes categories of a column which otherwise holds numbers."""
    for index, (name, code) in enumerate(zip(names, codes, strict=False)):
        texts = [value for value in code.categories if isinstance(value, str)]
        odd = [text for text in texts if not is_number_text(text)]
        numbers = len(code.categories) - len(odd)
        if odd and numbers >= _MANY_NUMBERS and len(odd) <= numbers // _NUMBERS_PER_ODD_TEXT:
            warnings.warn(
                f"column {name!r} holds {numbers:,} different numbers and the text {odd[0]!r}"
                f"{place(index, odd[0])}, so all of them become categories; correct the "
                "text, or make it missing (NaN)",
                UserWarning,
                stacklevel=4,
            )


def warn_of_rounded_integer(name: str, rounded: int | None) -> None:
    """Name a column whose integers no float64 can represent, if there is such an integer."""
    if rounded is not None:
        warnings.warn(
            f"column {name!r} holds integers beyond 2**53 such as {rounded}, which are rounded to "
            "float64, so that neighbours become equal; subtract an offset first, or, if they are "
            "names rather than quantities, drop the column or turn it into text",
            UserWarning,
            stacklevel=4,
        )
