"""``cotm rules``: what a model has learned, in words."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .data.source import Source
from .errors import suggestion
from .options import (
    AsJson,
    DataForm,
    Drop,
    Jobs,
    Missing,
    ModelFile,
    Quiet,
    Separator,
    Target,
    XName,
)
from .output import print_json, print_line, say
from .summary import is_regressor

if TYPE_CHECKING:
    from ..rules import Evidence, RuleList


class Measure(str, Enum):
    """What rules can be sorted by."""

    votes = "votes"
    coverage = "coverage"
    count_ = "count"  # str has a method of the name
    precision = "precision"
    lift = "lift"
    share = "share"


def _least(text: str) -> tuple[str, float]:
    """A measure and the least that a rule needs of it."""
    name, _, value = text.partition("=")
    try:
        return Measure(name.strip()).value, float(value)
    except ValueError:
        names = ", ".join(Measure)
        raise typer.BadParameter(
            f"{text!r} is not like coverage=0.05; measures are {names}"
        ) from None


_Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Examples on which to measure rules; - for standard input, CSV unless --from says "
        "else.",
    ),
]
_AtLeast = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MEASURE=NUMBER",
        help="The least that a rule needs, as coverage=0.05; may be repeated.",
    ),
]


def rules(
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many at the most.")] = 10,
    label: Annotated[
        str | None, typer.Option(help="Those that speak most for this class or label.")
    ] = None,
    data: _Data = None,
    target: Target = None,
    sort: Annotated[
        Measure, typer.Option(help="What comes first; all but votes need --data.")
    ] = Measure.votes,
    at_least: _AtLeast = None,
    as_json: AsJson = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print an HTML table.")] = False,
    drop: Drop = None,
    x: XName = "X",
    y: Annotated[
        str | None,
        typer.Option("--y", metavar="NAME", help="NPZ: array of the labels, where it has one."),
    ] = None,
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Print the strongest rules of a model in words.

    Each rule gives its votes, for or against, to every class; the most votes
    win. With --data it also says how often each rule fires, and with labels
    (--target) how often each class is then right.

    \b
    Examples:
      cotm rules flowers.cotm --top 3 --label virginica
      cotm rules flowers.cotm --data new.csv --target species --sort lift
      zcat new.csv.gz | cotm rules flowers.cotm --data - --at-least coverage=0.05
    """
    from .models import load

    if sum((as_json, as_latex, as_html)) > 1:
        raise typer.BadParameter("is one of several forms; choose one", param_hint="--json")
    least = dict(map(_least, at_least or ()))
    if data is None:
        for name in {sort.value, *least} - {"votes"}:
            raise typer.BadParameter(f"{name} is measured on examples", param_hint="--data")
    classifier = load(model).set_params(n_jobs=jobs)
    chosen = None if label is None else _find_class(classifier, label)
    examples: tuple[Any, ...] = ()
    if data is not None:
        from .data.loading import read_for

        source = Source.given(
            data,
            target=target,
            drop=drop,
            x=x,
            y=y or "y",
            separator=separator,
            missing=missing,
            form=form,
        )
        with_labels = (target if source.is_table else y) is not None
        if with_labels and is_regressor(classifier):
            raise typer.BadParameter(
                f"precision and lift are of labels, but {model} predicts quantities; leave it out",
                param_hint="--target" if source.is_table else "--y",
            )
        read = read_for(classifier, source, with_labels=with_labels, quiet=quiet)
        examples = (read.X, read.y if with_labels else None)
    found = classifier.rules(*examples, label=chosen, top=top, sort=sort.value, at_least=least)
    _print(found, as_json=as_json, as_latex=as_latex, as_html=as_html)
    if not found:
        said = " of these measures" if least else ""
        say("no clause votes" + (f" for {label!r}" if label else "") + said)


def _print(found: RuleList, *, as_json: bool, as_latex: bool, as_html: bool) -> None:
    if as_json:
        print_json(found.to_dicts())
    elif as_latex or as_html:
        text = found.to_latex() if as_latex else found._repr_html_()
        for line in text.splitlines():
            print_line(line)
    else:
        for number, rule in enumerate(found, start=1):
            print_line(f"{number}. {rule}")
            if rule.evidence is not None:
                print_line(f"   {_in_words(rule.evidence)}")


def _in_words(evidence: Evidence) -> str:
    """What a rule does on the examples."""
    said = (
        f"fires on {evidence.count:,} ({evidence.coverage:.1%}), "
        f"{evidence.share_of_votes:.1%} of all votes"
    )
    if evidence.precision is None:
        return said
    ranked = sorted(evidence.precision.items(), key=lambda item: -item[1])
    return f"{said}: " + ", ".join(f"{label} {share:.1%}" for label, share in ranked if share)


def _find_class(model: Any, text: str) -> Any:
    by_text = {str(value): value for value in model.output_names_.tolist()}
    if text not in by_text:
        raise ValueError(f"the model has no class {text!r}; {suggestion(text, [*by_text])}")
    return by_text[text]
