"""What tests of streams share: tables, batches of them, and what must be the same."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cotm.files.container import read_container


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Numbers with gaps, heavy values, categories, dates, bits; labels, quantities and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    colour = rng.choice(["red", "green", "blue"], rows)
    missing = rng.random(rows) < 0.2
    return pl.DataFrame(
        {
            "x": x,
            "size": [
                None if gone else int(n)
                for gone, n in zip(missing, rng.poisson(3, rows), strict=True)
            ],
            "colour": [None if gone else c for gone, c in zip(missing[::-1], colour, strict=True)],
            "day": [
                dt.date(2024, 1, 1) + dt.timedelta(days=int(n)) for n in rng.integers(0, 9, rows)
            ],
            "flag": rng.integers(0, 2, rows).astype(bool),
            "label": np.where((x > 0) ^ (colour == "red"), "yes", "no"),
            "price": x * 3 + rng.normal(size=rows),
            "weight": rng.random(rows) + 0.5,
        },
        strict=False,
    )


def cut(thing: Any, seed: int, most: int) -> Iterator[Any]:
    """Rows of a frame, array or matrix in batches of random sizes, now and then empty."""
    rng = np.random.default_rng(seed)
    take = thing.iloc if hasattr(thing, "iloc") else thing
    first = 0
    while first < thing.shape[0]:
        last = first + int(rng.integers(0, most + 1))
        yield take[first:last]
        first = last


def file_of(model: Any, folder: Path) -> tuple[str, dict[str, bytes]]:
    """What the model's file holds, but for the time that epochs took."""
    fitted = model._fitted
    history = tuple({**record, "seconds": 0.0} for record in fitted.progress.history)
    progress = dataclasses.replace(fitted.progress, history=history)
    path = folder / "model.cotm"
    model._with(dataclasses.replace(fitted, progress=progress)).save(path)
    header, tensors = read_container(path)
    return repr(header), {name: tensor.tobytes() for name, tensor in tensors.items()}


def same(streamed: Any, whole: Any, folder: Path) -> bool:
    """Whether two models are the same to the bit: state, booleanizer, data, probabilities."""
    assert (streamed.memory_ == whole.memory_).all()
    assert (streamed.weights_ == whole.weights_).all()
    assert streamed._progress.data == whole._progress.data
    assert file_of(streamed, folder) == file_of(whole, folder)
    return True


def left_in(folder: Path) -> list[str]:
    """Files there, and those without a name that this process has open there."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return os.listdir(folder) + [link for link in links if link.startswith(str(folder))]
