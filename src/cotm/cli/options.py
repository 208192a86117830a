"""Options that several commands share, and how the text after an option is read."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.parameters import OPTIONS, Choice, Option, Real, Whole

# Parsers -----------------------------------------------------------------------------


def number_or_word(kind: Callable[[str], Any], words: dict[str, Any]) -> Callable[[str], Any]:
    """A parser for numbers of a kind, and words that stand for something else."""

    def parse(text: str) -> Any:
        try:
            return words[text] if text in words else kind(text)
        except ValueError:
            known = " nor ".join(map(repr, words))
            raise typer.BadParameter(f"{text!r} is neither a number nor {known}") from None

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


def real(low: float, high: float) -> Callable[[str], float]:
    """A parser for numbers between limits."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a number") from None
        if not low <= number <= high or number == math.inf:
            limits = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
            raise typer.BadParameter(f"{text} is not {limits}")
        return number

    return parse


def number_or_schedule(option: Option, kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser for numbers of a kind, and two of them with the epochs from one to the other."""

    def parse(text: str) -> Any:
        if ":" not in text:
            return kind(text)
        from .. import Schedule

        start, end, epochs, *shapes = [*text.split(":"), "", ""]
        if len(shapes) > 3 or not epochs:
            raise typer.BadParameter(
                f"{text!r} is not like 90:30:20, from 90 to 30 in 20 epochs; 90:30:20:geometric "
                "goes by equal factors, 90:30:20:step all at once"
            )
        shape = shapes[0] or "linear"
        schedule = Schedule(kind(start), kind(end), epochs=whole(2)(epochs), shape=shape)
        try:
            schedule.check(option)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return schedule

    return parse


def shape(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 10 or 10,10") from None


def augmentation(text: str) -> Any:
    """Changes of images: the parameters of an Augmentation with commas between."""
    from .. import Augmentation

    known: dict[str, Any] = Augmentation().get_params()
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        name = name.replace("-", "_")
        if name not in known:
            raise typer.BadParameter(f"{part!r} is not one of {', '.join(sorted(known))}")
        is_flag = isinstance(known[name], bool)
        if is_flag == bool(value):
            wanted = "takes no value" if is_flag else "needs a value, as shift=2 has"
            raise typer.BadParameter(f"{part!r}: {name} {wanted}")
        given[name] = True if is_flag else value if name == "border" else _number(part, value)
    changes = Augmentation(**given)
    try:
        changes.changes()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return changes


def _number(part: str, text: str) -> float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise typer.BadParameter(f"{part!r}: {text!r} is not a number") from None


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
    quantities = "quantities"


class ClassWeight(str, Enum):
    """How classes are weighted."""

    balanced = "balanced"


class PresetName(str, Enum):
    """What auto stands for in other options."""

    auto = "auto"
    tables = "tables"
    images = "images"
    text = "text"
    paper = "paper"


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
        help="Column of the labels; several, as a,b,c: of 0 and 1 for several labels at once, of "
        "others for a label of each. In NPZ files, the array.",
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

# A classifier's parameters ---------------------------------------------------------------

_BY_PRESET = "auto, by --preset"


class NoLimit:
    """Stands for the value None, which typer takes for an option that was not given."""


_NO_LIMIT = NoLimit()


def _of_table(option: Option) -> tuple[Any, Any]:
    """Type and option for a learning option; the table says all of it."""
    settings: dict[str, Any] = {"help": option.meaning, "rich_help_panel": "Learning"}
    kind: Any = Any
    values = option.values
    words: dict[str, Any] = {"auto": "auto"} if option.automatic else {}
    shown = "no limit" if option.default is None else str(option.default)
    if isinstance(values, Whole):
        settings |= {"parser": whole(values.low, values.high), "metavar": "N"}
        words |= {"none": _NO_LIMIT} if values.optional and option.automatic else {}
    elif isinstance(values, Real):
        settings |= {"parser": real(values.low, values.high), "metavar": "X"}
    elif isinstance(values, Choice):
        names: Any = {value: value for value in (*words, *values.values)}
        kind = Enum("Choices", names, type=str) | None  # type: ignore[misc, operator]
    else:
        kind = bool | None
        shown = _flags(option)[0 if option.default else -1].removeprefix("--")
    if option.scheduled:
        metavar = settings["metavar"]
        settings["parser"] = number_or_schedule(option, settings["parser"])
        settings["metavar"] += f"|{metavar}:{metavar}:EPOCHS"
    if words and "parser" in settings:
        settings["parser"] = number_or_word(settings["parser"], words)
        settings["metavar"] += "".join(f"|{word}" for word in words)
    if option.automatic:
        shown = _BY_PRESET
    return kind, typer.Option(*_declared(option), show_default=shown, **settings)


def _flags(option: Option) -> list[str]:
    return (option.flag or f"--{option.name.replace('_', '-')}").split("/")


def _declared(option: Option) -> list[str]:
    return [option.flag] if option.flag else []


def _learning(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Learning", **settings)


def _images(**settings: Any) -> Any:
    return typer.Option(metavar="N,N", parser=shape, rich_help_panel="Images", **settings)


def _stopping(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Stopping and going on", **settings)


_LEARNING = {name: _of_table(option) for name, option in OPTIONS.items() if not option.is_kind}

_TRAINING: dict[str, tuple[Any, Any]] = {
    "epochs": (
        Any,
        _learning(
            parser=number_or_word(whole(1), {"auto": "auto"}),
            metavar="N|auto",
            help="Passes over the data.",
            show_default=_BY_PRESET,
        ),
    ),
    "preset": (
        PresetName | None,
        _learning(
            help="What auto stands for: values that are good for such data, or the paper's.",
            show_default="auto, by the data",
        ),
    ),
    "class_weight": (
        ClassWeight | None,
        _learning(help="Give rare classes more weight.", show_default="none"),
    ),
    "random_state": (
        Any,
        _learning(
            "--seed",
            parser=whole(0),
            metavar="N",
            help="The same seed gives the same model, to the bit.",
            show_default="random",
        ),
    ),
    "patch_shape": (Any, _images(help="Look at patches of this shape, for example 10,10.")),
    "image_shape": (
        Any,
        _images(help="Shape of the images that rows hold flattened, for example 28,28."),
    ),
    "stride": (Any, _images(help="Distance between patches.", show_default="1")),
    "augment": (
        Any,
        typer.Option(
            metavar="CHANGES",
            parser=augmentation,
            rich_help_panel="Images",
            help="Change images anew in every epoch, for example shift=2,flip,rotate=10,zoom=0.1.",
            show_default="no changes",
        ),
    ),
    "early_stopping": (
        bool | None,
        _stopping(
            "--early-stopping",
            show_default="no",
            help="Hold out some rows, and stop when they get no better.",
        ),
    ),
    "scoring": (
        str | None,
        _stopping(
            metavar="NAME",
            help="What to stop by: a scikit-learn scorer, for example neg_log_loss.",
            show_default="accuracy",
        ),
    ),
    "patience": (
        Any,
        _stopping(
            parser=whole(1), metavar="N", help="Epochs to wait for better.", show_default="10"
        ),
    ),
    "validation_fraction": (
        float | None,
        _stopping(
            min=0.0, max=1.0, metavar="X", help="Share of the rows held out.", show_default="0.1"
        ),
    ),
    "n_jobs": (
        int | None,
        typer.Option("--jobs", "-j", metavar="N", help="Threads.", show_default="as many as help"),
    ),
    "backend": (
        str | None,
        typer.Option(metavar="NAME", help="Where it runs; see `cotm info`.", show_default="auto"),
    ),
}

_PARAMETERS = {**_LEARNING, **_TRAINING}


def _long_name(name: str, info: Any) -> str:
    """What users write: typer keeps the first name given in the place of a default."""
    declared = [text for text in (info.default, *info.param_decls) if isinstance(text, str)]
    return next(
        (text.split("/")[0] for text in declared if text.startswith("--")),
        f"--{name.replace('_', '-')}",
    )


#: The option that sets each parameter of the classifiers.
PARAMETER_OPTIONS = {name: _long_name(name, info) for name, (_, info) in _PARAMETERS.items()}


def classifier_options() -> list[inspect.Parameter]:
    """The parameters of a command that sets the classifiers' parameters."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, keyword, default=None, annotation=Annotated[kind, option])
        for name, (kind, option) in _PARAMETERS.items()
    ]


Model = Annotated[
    ModelKind | None,
    _learning(
        metavar="KIND",
        help="coalesced: all classes share the rules; weighted or plain: each has its own.",
        show_default="coalesced",
    ),
]
EvalFile = Annotated[
    Path | None,
    _stopping(
        "--eval",
        metavar="FILE",
        help="Stop when the rows of this file, read like DATA, get no better.",
        show_default="none",
    ),
]
CheckpointEvery = Annotated[
    Any, _stopping(parser=whole(1), metavar="N", help="Write the model file after every N epochs.")
]
Resume = Annotated[
    bool,
    _stopping(
        "--resume",
        help="Finish the training that the model file has begun, on the same data; its settings "
        "are in the file.",
    ),
]
