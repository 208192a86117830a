"""Predictions are written without polars as polars writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cotm.cli.texts import csv_text, json_lines

COLUMNS = {
    "text": np.array(["a b", "a,b", 'say "a"', "two\nlines", "", "ä\t\x01", "end\r"]),
    "bool": np.array([True, False] * 3 + [True]),
    "uint8": np.arange(7, dtype=np.uint8),
    "int64": np.array([0, -1, 2**62, 5, 6, 7, 8]),
    "float64": np.array([0.0, 1.0, 0.1, -1.5e-5, 9.99e-5, 1e-4, 2.5e-7]),
    "float32": np.array([0.1, 1e-5, 1 / 3, 2**24, -3e-7, 1.0, 0.5], dtype=np.float32),
    "objects": np.array(["b", "c", "d", "e", "f", "g", "h"], dtype=object),
    'a "name", with commas': np.zeros(7),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_type_as_polars_writes_it(name: str) -> None:
    columns: dict[str, Any] = {name: COLUMNS[name]}
    assert csv_text(columns) == pl.DataFrame(columns).write_csv()
    assert json_lines(columns) == pl.DataFrame(columns).write_ndjson()


def test_rows_of_several_columns() -> None:
    assert csv_text(COLUMNS) == pl.DataFrame(COLUMNS).write_csv()
    nested = {"text": COLUMNS["text"], "proba": {"a": COLUMNS["float64"], "b": COLUMNS["int64"]}}
    frame = pl.DataFrame(
        {"text": nested["text"], "proba": pl.DataFrame(nested["proba"]).to_struct("proba")}
    )
    assert json_lines(nested) == frame.write_ndjson()


@given(st.lists(st.floats(0, 1), min_size=1))
def test_probabilities_as_polars_writes_them(values: list[float]) -> None:
    columns = {"p_a": np.array(values)}
    assert csv_text(columns) == pl.DataFrame(columns).write_csv()
