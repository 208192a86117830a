"""``cotm images``: images from images."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import typer

from .data.source import Source
from .options import DataFile, Jobs, ModelFile, Quiet, XName
from .output import say
from .output_files import check_output


def images(
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="NPZ file to write, with the images made as its array X.",
            show_default=False,
        ),
    ],
    x: XName = "X",
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Make images of those in an NPZ file, by a model that was trained in Python.

    \b
    Examples:
      cotm images double.cotm small.npz --out large.npz
    """
    import numpy as np

    from .. import CoTMImageToImage, load
    from ..core.whole_files import replace_file
    from .data.arrays import read_arrays

    check_output(out, [model, data])
    if out.suffix != ".npz":
        raise ValueError(f"--out {out} must end in .npz, which is what is written")
    source = Source(data, x=x)
    if source.kind != "npz":
        raise ValueError(f"{source.name} is no NPZ file, which images are read from")
    loaded = load(model)
    if not isinstance(loaded, CoTMImageToImage):
        raise ValueError(
            f"{model} holds a {type(loaded).__name__}; images come from a CoTMImageToImage"
        )
    given, _ = read_arrays(source, with_labels=False)
    loaded.machine_.n_jobs = jobs
    made = loaded.predict(given)
    content = io.BytesIO()
    np.savez_compressed(content, X=made)
    replace_file(out, content.getvalue(), "the images")
    if not quiet:
        say(f"wrote {out}: {len(made):,} images of {' x '.join(map(str, made.shape[1:]))}")
