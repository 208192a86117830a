"""Models of every kind that is served, with rows as clients send them and as models read them."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

import cotm

ROWS = 120
_RANDOM = np.random.default_rng(7)


class Case(NamedTuple):
    """A fitted model, rows of its X, and bodies that hold the same rows."""

    model: Any
    X: Any  # of ROWS rows
    bodies: Any  # of a slice of rows: bodies as JSON has them


def table(count: int = ROWS) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, count).astype(float),
            "city": random.choice(["Paris", "Rome", "Oslo", "größe"], count),
            "when": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 9000, count), unit="h"),
            "length": pd.to_timedelta(random.integers(0, 9000, count), unit="s"),
            "vip": random.integers(0, 2, count).astype(bool),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::5, "city"] = None
    frame.loc[::11, "when"] = pd.NaT
    return frame


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them."""

    def cell(value: Any) -> Any:
        if value is None or value is pd.NaT or value != value:
            return None
        if isinstance(value, pd.Timestamp):
            return value.isoformat()
        if isinstance(value, pd.Timedelta):
            return value.total_seconds()
        return value.item() if isinstance(value, np.generic) else value

    return [
        {name: cell(value) for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def tensor(array: Any) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"tensor": {"dtype": str(array.dtype), "shape": [*array.shape], "data": data}}


def _lists(X: Any) -> Any:
    def bodies(rows: slice) -> list[dict[str, Any]]:
        return [{"rows": X[rows].tolist()}, tensor(X[rows])]

    return bodies


def _frames(frame: pd.DataFrame) -> Any:
    def bodies(rows: slice) -> list[dict[str, Any]]:
        found = records(frame.iloc[rows])
        columns = {name: [row[name] for row in found] for name in frame}
        shuffled = [dict(reversed([*row.items(), ("beside", 1)])) for row in found]
        return [
            {"rows": found},
            {"rows": shuffled},
            {"columns": columns},
            {"rows": [[*row.values()] for row in found]},
        ]

    return bodies


def arrow_of(X: Any) -> bytes:
    """X as a stream: of a frame its columns, of images one column of lists."""
    if isinstance(X, pd.DataFrame):
        made = pa.Table.from_pandas(X, preserve_index=False)
    elif X.ndim > 2:
        values = pa.array(X.ravel())
        for size in reversed(X.shape[1:]):
            values = pa.FixedSizeListArray.from_arrays(values, size)
        made = pa.table({"image": values})
    else:
        made = pa.table({f"c{k}": X[:, k] for k in range(X.shape[1])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema) as stream:
        stream.write_table(made, max_chunksize=7)
    return bytes(sink.getvalue())


def _small(kind: Any = cotm.CoTMClassifier, **options: Any) -> Any:
    return kind(**{"n_clauses": 30, "epochs": 2, "random_state": 1, **options})


@cache
def cases() -> dict[str, Case]:
    """All of them by their names."""
    frame = table()
    old = np.where(frame.age > 50, "old", np.where(frame.city == "Oslo", "north", "south"))
    several = np.column_stack([frame.age > 50, frame.vip, frame.city == "Rome"]).astype(int)
    numbers = _RANDOM.normal(size=(ROWS, 4)).round(3)
    numbers[::9, 2] = np.nan
    sums = np.nan_to_num(numbers).sum(axis=1)
    bits = _RANDOM.integers(0, 2, (ROWS, 9), dtype=np.uint8)
    images = _RANDOM.integers(0, 256, (ROWS, 8, 8), dtype=np.uint8)
    colors = _RANDOM.integers(0, 256, (ROWS, 6, 6, 3), dtype=np.uint8)
    labels = _RANDOM.integers(0, 3, ROWS)
    dates = np.array(["2021-01-01", "2022-02-02", "2023-03-03"], dtype="M8[D]")[labels]
    full = np.nan_to_num(numbers)
    models = {
        "numbers": (_small(), numbers, np.array(["a", "b", "ß"])[(sums > 0) + (sums > 1) * 1]),
        "bits": (_small(cotm.TMClassifier), bits, bits[:, 0] ^ bits[:, 1]),
        "averaged": (_small(average=2, epochs=3), numbers, labels),
        "dates": (_small(), full, dates),
        "images": (_small(patch_shape=(3, 3)), images, labels),
        "colors": (_small(patch_shape=(3, 3)), colors, labels),
        "table": (_small(), frame, old),
        "several": (_small(), frame, several),
        "columns": (_small(), frame, pd.DataFrame({"old": old, "vip": frame.vip, "n": labels})),
        "amount": (
            _small(cotm.CoTMRegressor, early_stopping=True),
            frame,
            np.nan_to_num(frame.age) * 2.5,
        ),
        "amounts": (
            _small(cotm.CoTMRegressor),
            full,
            pd.DataFrame({"sum": full.sum(axis=1), "first": full[:, 0]}),
        ),
    }
    found = {}
    for name, (model, X, y) in models.items():
        bodies = _frames(X) if isinstance(X, pd.DataFrame) else _lists(X)
        if name in ("numbers", "averaged"):  # JSON has no NaN
            bodies = _missing_as_null(X)
        found[name] = Case(model.fit(X, y), X, bodies)
    one, two = _small().fit(frame, old), _small(random_state=2, n_clauses=20).fit(frame, old)
    joined = cotm.join([("one", one), ("two", two)], frame)
    found["joined"] = Case(joined, frame, _frames(frame))
    parts = {"grays": images, "flat": full}
    y = labels
    both = cotm.join(
        [("grays", _small(patch_shape=(3, 3)).fit(images, y)), ("flat", _small().fit(full, y))],
        parts,
    )

    def bodies(rows: slice) -> list[dict[str, Any]]:
        return [{"members": {"grays": tensor(images[rows]), "flat": {"rows": full[rows].tolist()}}}]

    found["members"] = Case(both, parts, bodies)
    return found


def _missing_as_null(X: Any) -> Any:
    def bodies(rows: slice) -> list[dict[str, Any]]:
        lists = [[None if v != v else v for v in row] for row in X[rows].tolist()]
        return [{"rows": lists}, tensor(X[rows])]

    return bodies


def rows_of(X: Any, rows: slice) -> Any:
    if isinstance(X, dict):
        return {name: part[rows] for name, part in X.items()}
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
