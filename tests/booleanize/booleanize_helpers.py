"""What the tests of several booleanizers share."""

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

quick = settings(deadline=None, max_examples=60)
finite = st.floats(-1e6, 1e6).map(lambda value: value + 0.0)
coarse = st.integers(-3, 3).map(float)


def is_missing(cell):
    return cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell))


def naive_bit(feature, cell, told_apart=()):
    """What a described bit must be for one cell, word for word.

    Columns in `told_apart` have both booleans and numbers as categories.
    """
    if feature.op == "missing" or is_missing(cell):
        return feature.op == "missing" and is_missing(cell)
    if feature.op == "=":
        alike = isinstance(cell, bool) == isinstance(feature.value, bool)
        return cell == feature.value and (alike or feature.column not in told_apart)
    return {
        "bit": lambda: cell == 1,
        ">": lambda: cell > feature.value,
        "<=": lambda: cell <= feature.value,
    }[feature.op]()


def naive_bits(transformer, names, rows):
    """The bits that `describe` promises for a table given as rows of Python values."""
    features = transformer.describe()
    values = {name: {type(f.value) for f in features if f.column == name} for name in names}
    apart = [name for name in names if bool in values[name] and values[name] & {int, float}]
    return np.array(
        [[naive_bit(f, row[names.index(f.column)], apart) for f in features] for row in rows],
        dtype=np.uint8,
    ).reshape(len(rows), len(features))


def columns_of(X):
    return [f"x{index}" for index in range(X.shape[1])]


def pandas_frame():
    return pd.DataFrame(
        {
            "age": [30.0, 41.0, None, 22.0],
            "count": pd.array([1, None, 3, 3], dtype="Int64"),
            "ok": pd.array([True, None, False, True], dtype="boolean"),
            "city": pd.array(["a", None, "b", "a"], dtype="string"),
            "code": pd.Categorical(["v", "u", None, "u"]),
            "flag": [0, 1, 1, 0],
            "on": [True, False, True, True],
            "day": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2022-01-01"]),
            "wait": pd.to_timedelta([1, 2, 3, None], unit="s"),
        }
    )


def noise(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
