"""``cotm generate``: a text from a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import ModelFile, real, whole
from .output import print_line


def generate(
    model: ModelFile,
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="How the text begins.")] = "",
    length: Annotated[
        int,
        typer.Option(
            "--length", "-n", parser=whole(0), metavar="N", help="Most characters or words to add."
        ),
    ] = 200,
    temperature: Annotated[
        float,
        typer.Option(
            parser=real(0.0, 1e6),
            metavar="T",
            help="Below 1 likely words come more often, at 0 always the likeliest.",
        ),
    ] = 1.0,
    seed: Annotated[
        int, typer.Option(parser=whole(0), metavar="N", help="The same seed, the same text.")
    ] = 0,
) -> None:
    """Go on with a text, by a language model that was trained in Python.

    \b
    Examples:
      cotm generate reviews.cotm
      cotm generate reviews.cotm --prompt "this film" --temperature 0.7 --seed 3
    """
    from .. import CoTMLanguageModel, load

    loaded = load(model)
    if not isinstance(loaded, CoTMLanguageModel):
        raise ValueError(
            f"{model} holds a {type(loaded).__name__}; text comes from a CoTMLanguageModel"
        )
    print_line(loaded.generate(length, prompt, temperature=temperature, seed=seed))
