"""Categories against their naive twin."""

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from booleanize_helpers import is_missing, naive_bits, quick
from hypothesis import given
from hypothesis import strategies as st

from cotm.booleanize import (
    Categories,
)


def drifted(categories, cells):
    """Whether a column is all text after training on none, or the other way round."""
    before = {isinstance(value, str) for value in categories}
    now = {isinstance(cell, str) for cell in cells if not is_missing(cell)}
    return bool(before and now) and before.isdisjoint(now)


mixed_cell = st.sampled_from([None, np.nan, "a", "b", "", 1, 2, 1.5, 2.0, True, False, "1", "True"])


@quick
@given(
    st.lists(st.tuples(mixed_cell, mixed_cell), min_size=1, max_size=20),
    st.lists(st.tuples(mixed_cell, mixed_cell), max_size=20),
)
def test_categories_match_their_description(rows, later):
    categories = Categories().fit(rows)
    for index, seen in enumerate(categories.categories_):
        keys = [(type(value).__name__, value) for value in seen]
        assert keys == sorted(keys)
        cells = [row[index] for row in rows]
        assert categories.missing_[index] == any(is_missing(cell) for cell in cells)
        present = {(isinstance(c, bool), c) for c in cells if not is_missing(c)}
        assert {(isinstance(c, bool), c) for c in seen} == present and len(seen) == len(present)
    names = categories.get_feature_names_out()
    assert len(set(names)) == len(names)
    for table in (rows, later):
        cells = np.empty((len(table), 2), dtype=object)
        cells[:] = [list(row) for row in table] if table else cells
        if table is later and any(map(drifted, categories.categories_, cells.T)):
            with pytest.raises(ValueError, match=r"held .* in training, but holds .* now"):
                categories.transform(cells)
            continue
        expected = naive_bits(categories, ["x0", "x1"], table)
        np.testing.assert_array_equal(categories.transform(cells), expected)


def test_category_names_and_unknowns():
    categories = Categories().fit(pd.DataFrame({"colour": ["red", "blue", None]}))
    names = ["colour = blue", "colour = red", "colour is missing"]
    assert categories.get_feature_names_out().tolist() == names
    later = pd.DataFrame({"colour": ["green", pd.NA, np.nan, "red"]})
    assert categories.transform(later).tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]]


def test_integer_categories_survive_becoming_floats():
    categories = Categories().fit(np.array([[1], [2]]))
    bits = categories.transform(np.array([[2.0], [np.nan]]))
    assert bits.tolist() == [[0, 1], [0, 0]]


def test_close_numbers_get_distinct_names():
    categories = Categories().fit([[0.12345678], [0.12345679], [3.0]])
    names = ["x0 = 0.12345678", "x0 = 0.12345679", "x0 = 3"]
    assert categories.get_feature_names_out().tolist() == names


def test_mixed_types_get_distinct_names():
    categories = Categories().fit([[1], ["1"], [True], ["True"]])
    names = ["x0 = True", "x0 = 1", "x0 = '1'", "x0 = 'True'"]
    assert categories.get_feature_names_out().tolist() == names


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (sp.csr_matrix([[1.0]]), "no sparse data"),
        ([[2.0], [float("inf")]], "'x0' holds inf in row 1, counted from 0, which is no category"),
        ([[datetime.date(2020, 1, 1)]], "'x0' holds datetime.date.*of type date in row 0"),
        ([[{"a": 1}]], "'x0' holds {'a': 1} of type dict"),
        (np.array([["2020-01-01"]], dtype="M8[ns]"), "dates and durations are no categories"),
    ],
)
def test_categories_refuse(X, message):
    with pytest.raises(ValueError, match=message):
        Categories().fit(X)
