"""Options of ``cotm tune``, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.parameters import OPTIONS, Flag, Real, Whole
from .errors import suggestion
from .options import PARAMETER_OPTIONS, whole

if TYPE_CHECKING:
    from .data.examples import Data

#: From so many rows on candidates are judged by rows that are held out once.
_MANY_ROWS, _HELD_OUT, _FOLDS = 20_000, 0.2, 5


def _search(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Search", **settings)


Trials = Annotated[
    Any, _search(parser=whole(1), metavar="N", help="Candidates.", show_default="27")
]
Minutes = Annotated[
    float | None,
    _search(min=0.0, metavar="X", help="Give the best after so long.", show_default="no limit"),
]
StudyFile = Annotated[
    Path | None,
    _search(
        metavar="FILE",
        help="Keep all that is known; the same command goes on from there.",
        show_default="none",
    ),
]
Metric = Annotated[
    str | None,
    _search(
        metavar="NAME",
        help="What is better: a scikit-learn scorer, for example neg_log_loss.",
        show_default="accuracy, or R²",
    ),
]
FoldCount = Annotated[
    Any,
    _search(
        parser=whole(2),
        metavar="N",
        help="Judge by so many folds.",
        show_default=f"{_FOLDS}; from {_MANY_ROWS:,} rows on --hold-out {_HELD_OUT}",
    ),
]
HoldOut = Annotated[
    float | None,
    _search(
        min=0.0,
        max=1.0,
        metavar="X",
        help="Judge by this share of the rows, held out once.",
        show_default="none",
    ),
]
Searched = Annotated[
    list[str] | None,
    _search(
        metavar="NAME=VALUES",
        help="Search these alone: specificity=2:20:log, clauses=100:900, "
        "max-literals=3,6,none. May be repeated.",
        show_default="what matters for such data",
    ),
]
SamplerName = Annotated[
    str, _search(metavar="NAME", help="tpe, which learns from candidates, or random.")
]
MaxEpochs = Annotated[
    Any,
    _search(
        parser=whole(1),
        metavar="N",
        help="Epochs of those that come to the end.",
        show_default="three times those of the preset",
    ),
]
PageFile = Annotated[
    Path | None,
    _search(metavar="FILE", help="Write a page of plots, as HTML.", show_default="none"),
]
TrainingsAtOnce = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Trainings at the same time.",
        show_default="all processors, and a GPU",
    ),
]


def folds_for(folds: int | None, hold_out: float | None, examples: Data) -> Any:
    """What ``cv`` is."""
    if hold_out is not None:
        return float(hold_out)
    rows = len(examples.X)
    return _HELD_OUT if folds is None and rows >= _MANY_ROWS else (folds or _FOLDS)


def dimension_of(text: str, learner: Any) -> tuple[str, Any]:
    """A name and what is searched of it."""
    from ..tuning.dimensions import Choices, Numbers

    flag, _, spec = text.partition("=")
    by_flag = {long.removeprefix("--"): name for name, long in PARAMETER_OPTIONS.items()}
    name = by_flag.get(flag.strip("- "), flag.strip())
    known = [long for long, name in by_flag.items() if name in OPTIONS]
    if name not in OPTIONS or name not in learner.get_params(deep=False) or not spec:
        raise typer.BadParameter(
            f"{text!r} is not like specificity=2:20:log or max-literals=3,6,none; "
            f"{suggestion(flag, known)}",
            param_hint="--search",
        )
    values = OPTIONS[name].values
    try:
        if ":" in spec:
            low, high, *log = spec.split(":")
            if log not in ([], ["log"]) or not isinstance(values, Whole | Real):
                raise ValueError("no range")
            return name, Numbers(float(low), float(high), bool(log), isinstance(values, Whole))
        return name, Choices(tuple(_value(part.strip(), values) for part in spec.split(",")))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: {error}", param_hint="--search") from None


def _value(text: str, values: Any) -> Any:
    if text in ("auto", "none"):
        return {"none": None}.get(text, text)
    if isinstance(values, Flag):
        return {"yes": True, "no": False}[text] if text in ("yes", "no") else text
    if isinstance(values, Whole):
        return int(text)
    return float(text) if isinstance(values, Real) else text
