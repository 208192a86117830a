"""A column of texts, and the booleanizer that reads it."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from .summary import is_regressor


class TextKind(str, Enum):
    """How texts become bits."""

    words = "words"
    characters = "characters"
    hypervectors = "hypervectors"
    windows = "windows"


TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Learn from the texts of this column, and from no other column.",
        rich_help_panel="Learning",
        show_default="none",
    ),
]
TextReader = Annotated[
    TextKind | None,
    typer.Option(
        "--text-as",
        metavar="KIND",
        help="words: words and pairs of them; characters: 3 to 5 side by side; hypervectors: a "
        "fixed number of bits for any vocabulary; windows: three words after the other, in order.",
        rich_help_panel="Learning",
        show_default="words",
    ),
]

#: Windows that are looked at of each text.
_WINDOWS = 100


def text_column(
    model: Any, column: str | None, kind: TextKind | None, *, resume: bool, several: bool
) -> str | None:
    """The column that a model learns from, if it is of texts; one that begins anew is told how.

    ``several``: there is more than one target, so that none can choose among words.
    """
    from ..booleanize import SequenceBooleanizer

    if resume:
        names = [*getattr(model, "feature_names_in_", ())]
        own = names[0] if isinstance(model.booleanizer_, SequenceBooleanizer) and names else None
        if (column is not None and column != own) or kind is not None:
            raise typer.BadParameter(
                "the training was begun with other settings; leave it out with --resume",
                param_hint="--text" if kind is None else "--text-as",
            )
        return own
    if column is None:
        if kind is not None:
            raise typer.BadParameter("name the column of texts with --text", param_hint="--text-as")
        return None
    if model.patch_shape is not None:
        raise typer.BadParameter("texts have no patches; leave it out", param_hint="--patch-shape")
    chosen = "count" if several or is_regressor(model) else "chi2"
    model.set_params(**_reader(kind or TextKind.words, chosen))
    return column


def _reader(kind: TextKind, select: str) -> dict[str, Any]:
    """What reads texts as users say."""
    from ..booleanize import Hypervectors, NGrams, TokenWindows

    if kind is TextKind.windows:
        windows = TokenWindows(width=3, length=_WINDOWS)
        return {"booleanize": windows, "patch_shape": (1,)}
    if kind is TextKind.hypervectors:
        return {"booleanize": Hypervectors(n_bits=8192, ones=1, longest=2)}
    if kind is TextKind.characters:
        return {"booleanize": NGrams("characters", 3, 5, select=select)}
    return {"booleanize": NGrams(longest=2, select=select)}
