"""Options that several commands share, and how the text after an option is read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

#: The option that sets each parameter of the classifiers.
PARAMETER_OPTIONS = {
    "n_clauses": "--clauses",
    "T": "--margin",
    "s": "--specificity",
    "epochs": "--epochs",
    "max_literals": "--max-literals",
    "max_weight": "--max-weight",
    "average": "--average",
    "memory_depth": "--memory-depth",
    "e": "--e",
    "e_scales": "--e-scales",
    "boost_true_positive": "--boost",
    "class_weight": "--class-weight",
    "patch_shape": "--patch-shape",
    "image_shape": "--image-shape",
    "stride": "--stride",
    "early_stopping": "--early-stopping",
    "patience": "--patience",
    "validation_fraction": "--validation-fraction",
    "n_jobs": "--jobs",
    "backend": "--backend",
    "random_state": "--seed",
}

# Parsers -----------------------------------------------------------------------------


def number_or_auto(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser for numbers of a kind, and the word auto."""

    def parse(text: str) -> Any:
        try:
            return text if text == "auto" else kind(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is neither a number nor 'auto'") from None

    return parse


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A parser for whole numbers between limits, also written as 1e3."""

    def parse(text: str) -> int:
        try:
            number = Decimal(text)
            if not number.is_finite() or number.adjusted() > 30 or number % 1:
                raise ValueError(text)
        except (ArithmeticError, ValueError):
            raise typer.BadParameter(f"{text!r} is not a whole number") from None
        if number < low or (high is not None and number > high):
            limits = f"at least {low}" if high is None else f"between {low} and {high}"
            raise typer.BadParameter(f"{text} is not {limits}")
        return int(number)

    return parse


def shape(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 10 or 10,10") from None


def character(text: str) -> str:
    """A single one, as polars wants it between columns."""
    value = "\t" if text == "\\t" else text  # shells pass the two letters on as they are
    if len(value.encode()) != 1:
        raise typer.BadParameter(f"{text!r} is not one plain character")
    return value


# Choices -----------------------------------------------------------------------------


class ModelKind(str, Enum):
    """Which machine to train."""

    coalesced = "coalesced"
    weighted = "weighted"
    plain = "plain"


class EScales(str, Enum):
    """What ``--e`` scales."""

    output = "output"
    type2 = "type2"


class ClassWeight(str, Enum):
    """How classes are weighted."""

    balanced = "balanced"


class Form(str, Enum):
    """What a file of examples is."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    jsonl = "jsonl"
    npz = "npz"


# Options -----------------------------------------------------------------------------

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines (.jsonl) or NPZ file; - for standard input, CSV "
        "unless --from says else.",
        show_default=False,
    ),
]
TrainingFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, JSON lines (.jsonl) or NPZ file.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
NewModelFile = Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of the labels; several of 0 and 1, as a,b,c, for several labels at once. "
        "In NPZ files, the array.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column to leave out; may be repeated.")
]
XName = Annotated[str, typer.Option("--x", metavar="NAME", help="NPZ: array of the examples.")]
YName = Annotated[str, typer.Option("--y", metavar="NAME", help="NPZ: array of the labels.")]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        parser=character,
        help="CSV: what stands between columns.",
        show_default="comma",
    ),
]
DataForm = Annotated[
    Form | None,
    typer.Option("--from", help="What DATA is, where its name does not say so."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Text that stands for a missing value, instead of the usual ones; may be repeated. "
        "Must be the same in train, predict and evaluate. Empty cells are missing anyway.",
        show_default="NA, N/A, n/a, NaN, nan, NULL, null, None, ?",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes, only results.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Threads.", show_default="as many as help"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
