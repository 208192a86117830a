"""``cotm explain``: why a model predicts what it predicts for rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .data.source import Source
from .options import (
    AsJson,
    DataFile,
    DataForm,
    Drop,
    Jobs,
    Missing,
    ModelFile,
    Quiet,
    Separator,
    XName,
)
from .output import print_json, print_line, say
from .rules import _find_class

if TYPE_CHECKING:
    from ..explaining.counterfactuals import Counterfactual
    from ..explaining.explanation import Explanation

#: So many rows are explained where none are named.
_USUAL_ROWS = 10


def _row_numbers(text: str) -> list[int]:
    """Numbers and ranges of them, with commas between."""
    rows: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            rows += range(int(first), int(last or first) + 1)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 7 or 0,3,10-19") from None
    return rows


Rows = Annotated[
    str | None,
    typer.Option(
        metavar="ROWS",
        help="Rows of DATA by their numbers from 0, as 7 or 0,3,10-19.",
        show_default=f"the first {_USUAL_ROWS}",
    ),
]
Top = Annotated[int, typer.Option(min=1, metavar="N", help="Reasons for each row.")]
Label = Annotated[
    str | None,
    typer.Option(help="Why this class or label, or why not.", show_default="what is predicted"),
]
Background = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Rows that columns take other values from, at most 100 of them.",
        show_default="DATA",
    ),
]
WithChange = Annotated[
    bool, typer.Option("--change", help="Add the smallest change that changes the prediction.")
]
To = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL", help="With --change: the class to change to, or the label to change."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="With --change: a column that stays; may be repeated."),
]


def explain(
    model: ModelFile,
    data: DataFile,
    rows: Rows = None,
    top: Top = 5,
    label: Label = None,
    background: Background = None,
    change: WithChange = False,
    to: To = None,
    keep: Keep = None,
    as_json: AsJson = False,
    drop: Drop = None,
    x: XName = "X",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Say why a model predicts what it predicts, row by row.

    The votes for a label are shared out to the columns: what each one adds, in
    comparison with the background, stands in parentheses.

    \b
    Examples:
      cotm explain flowers.cotm new.csv --rows 0-4 --top 3
      cotm explain flowers.cotm new.csv --background train.csv --change
      cotm explain flowers.cotm new.csv --rows 7 --json
    """
    from .data.loading import read_for
    from .models import load

    if not change and (to is not None or keep):
        raise typer.BadParameter("only with --change", param_hint="--to" if to else "--keep")
    asked = None if rows is None else _row_numbers(rows)
    classifier = load(model).set_params(n_jobs=jobs)
    chosen, aim = (None if text is None else _find_class(classifier, text) for text in (label, to))

    def read(file: Path) -> Any:
        source = Source.given(file, drop=drop, x=x, separator=separator, missing=missing, form=form)
        return read_for(classifier, source, with_labels=False, quiet=quiet).X

    X = read(data)
    asked = _existing(asked, len(X), quiet=quiet)
    compared = sample_rows(X, enough=2) if background is None else sample_rows(read(background))
    why = classifier.explain(_taken(X, asked), compared, rules=as_json)
    changes: list[Counterfactual | None] = []
    if change:
        changes = [
            classifier.counterfactual(_taken(X, [row]), aim, keep=keep or ()) for row in asked
        ]
    if as_json:
        print_json(_objects(why, asked, chosen, top, changes))
        return
    for k, row in enumerate(asked):
        print_line(f"{row}. {why.sentence(k, chosen, top)}")
        if change:
            print_line(f"   {changes[k] or 'No change was found that changes the prediction.'}")


def _existing(asked: list[int] | None, count: int, *, quiet: bool) -> list[int]:
    """The rows that were asked for, or the first ones."""
    if asked is None:
        asked = [*range(min(count, _USUAL_ROWS))]
        if count > len(asked) and not quiet:
            say(f"the first {len(asked)} of {count:,} rows; --rows chooses others")
    beyond = [row for row in asked if row >= count]
    if beyond:
        raise ValueError(f"--rows: row {beyond[0]} does not exist; there are 0 to {count - 1}")
    return asked


def sample_rows(X: Any, enough: int = 1) -> Any:
    """Some rows that stand for all; None of too few, which the library complains of."""
    from ..core.randomness import split_order
    from ..explaining.explaining import MOST_BACKGROUND

    if len(X) < enough:
        return None
    return _taken(X, sorted(split_order(0, len(X))[:MOST_BACKGROUND].tolist()))


def _objects(
    why: Explanation, rows: list[int], label: Any, top: int, changes: list[Counterfactual | None]
) -> list[dict[str, Any]]:
    """An object for each row."""
    found = [
        {"row": row, "sentence": why.sentence(k, label, top), **data}
        for k, (row, data) in enumerate(zip(rows, why.to_data(top), strict=True))
    ]
    for entry, change in zip(found, changes, strict=False):
        entry["change"] = None if change is None else change.to_data()
    return found


def _taken(X: Any, numbers: list[int]) -> Any:
    """Some rows of what was read."""
    from ..booleanize.frames import NamedArray

    if isinstance(X, NamedArray):
        return NamedArray(X.values[numbers], X.columns)
    return X[numbers]
