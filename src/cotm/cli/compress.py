"""``cotm compress``: a smaller model that predicts as well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .data.source import Source, require_target
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
    Target,
    XName,
    YName,
)
from .output import print_json, say
from .output_files import check_output
from .summary import file_data, file_size, plain


def compress(
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The smaller model.", show_default=False)
    ],
    max_loss: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Accuracy on the file that may be lost; 0 changes no prediction on it.",
        ),
    ] = 0.0,
    target: Target = None,
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Drop and shorten the rules of a model, as far as its predictions on a file remain.

    \b
    Examples:
      cotm compress flowers.cotm flowers.csv --target species --out small.cotm
      cotm compress flowers.cotm flowers.csv --target species --out small.cotm --max-loss 0.01
    """
    from .data.loading import read_for
    from .models import load

    check_output(out, [model, data])
    source = require_target(
        Source.given(
            data,
            target=target,
            drop=drop,
            x=x,
            y=y,
            separator=separator,
            missing=missing,
            form=form,
        )
    )
    before = load(model).set_params(n_jobs=jobs)
    if not hasattr(before, "compress"):
        raise ValueError(f"{model} is a {type(before).__name__}; only classifiers are compressed")
    examples = read_for(before, source, with_labels=True, quiet=quiet)
    after = before.compress(examples.X, examples.y, max_loss)
    after.save(out)
    if as_json:
        print_json({**file_data(out), "members": _done(after)})
        return
    for member in getattr(after, "estimators_", [after]):
        _tell(member.compression_)
    say(f"wrote {file_size(out)}")


def _done(model: Any) -> list[Any]:
    """What was done to the model, or to each of its members."""
    return [plain(member.compression_) for member in getattr(model, "estimators_", [model])]


def _tell(done: dict[str, object]) -> None:
    """What was done, in a line."""
    parts = [
        f"{done[name][0]:,} {name.replace('_', ' ')} became {done[name][1]:,}"  # type: ignore[index]
        for name in ("clauses", "literals", "weight_bits")
    ]
    right = f"right {done['right_before']:,} and {done['right_after']:,} of {done['examples']:,}"
    say(f"{', '.join(parts)}; {right}")
