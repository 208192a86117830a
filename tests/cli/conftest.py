"""Files that tests of the command line share."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import FAST, make_table, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that tests read and leave as they are."""
    folder = tmp_path_factory.mktemp("with space")
    table = make_table()
    table.write_csv(folder / "table.csv")
    table.write_parquet(folder / "table.parquet")
    table.write_csv(folder / "table.tsv", separator="\t")
    table.write_csv(folder / "semicolons.csv", separator=";")
    (folder / "table.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))
    table.with_columns(
        ((pl.col("label") == "old").cast(int)).alias("z_old"),
        (pl.col("größe in m") > 1.7).alias("a_tall"),
    ).drop("label").write_csv(folder / "several.csv")
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 120)
    X = random.integers(0, 100, (120, 8, 8), dtype=np.uint8)
    X[y == 1, 2:5, 2:5] = 255
    np.savez(folder / "images.npz", X=X, y=y)
    np.savez(folder / "other names.npz", pictures=X, kinds=y)
    pixels = pl.DataFrame(X.reshape(120, 64), schema=[f"p{k}" for k in range(64)])
    pixels.with_columns(pl.Series("kind", y)).write_parquet(folder / "pixels.parquet")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    out = folder / "model.cotm"
    run("train", folder / "table.csv", "--target", "label", "--out", out, *FAST)
    return out
