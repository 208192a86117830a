"""SQL exports: one query, run by SQLite and, where it is installed, by DuckDB."""

import math
import sqlite3

import export_models
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cotm
from cotm.exporting import CannotExportError, export
from cotm.exporting.sql_format import _number

FLAT = [
    name
    for name in export_models.MODELS
    if not name.startswith(("levels", "adaptive", "edges", "gradients", "line", "joined"))
    and name not in ("table", "preset")
]


def in_sqlite(query, frame, name="examples"):
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql(name, connection, index=False)
        return pd.read_sql_query(query, connection)


def in_duckdb(query, frame):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    connection = duckdb.connect()
    connection.register("examples", frame)
    return connection.execute(query).df()


def readable(X):
    """The table with dates in seconds, as databases without NumPy's dates have them."""
    if not isinstance(X, pd.DataFrame):
        return pd.DataFrame(np.asarray(X), columns=[f"x{k}" for k in range(X.shape[1])])
    numbers, _ = export_models.cells(X)
    return X.assign(
        **{n: numbers[:, k] for k, n in enumerate(X) if X[n].dtype.kind in "Mb"},
    )


def plain_table(tolerance):
    X = export_models.table().drop(columns=export_models.HOSTILE[5])
    y = np.array(export_models.HOSTILE)[X[export_models.HOSTILE[4]]]
    model = cotm.CoTMClassifier(40, epochs=3, tolerance=tolerance, random_state=0)
    return model.fit(X, y), X


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("name", ["strict table", *FLAT])
def test_votes_and_labels_are_the_models(name, database, tmp_path):
    if "table" in name:
        model, X = plain_table(1 if name == "strict table" else 4)
    else:
        model, X = export_models.model(name)
    model.export(tmp_path / "m.sql")
    query = (tmp_path / "m.sql").read_text()
    found = database(query, readable(X))
    votes = found[[column for column in found if column.startswith("votes_")]].to_numpy()
    assert np.array_equal(votes, model.votes(X))
    labels = found[[column for column in found if column.startswith("label")]].to_numpy()
    assert np.array_equal(labels.reshape(model.predict(X).shape), model.predict(X))


@pytest.mark.parametrize("seed", range(40))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed, largest=600)
    if description.members[0].grid.is_flat:
        export(description, tmp_path / "m.sql")
        found = in_sqlite((tmp_path / "m.sql").read_text(), readable(bits))
        assert np.array_equal(found.filter(like="votes_").to_numpy(), votes)


def test_columns_are_kept_and_tables_have_any_name(tmp_path):
    model, X = plain_table(1)
    table = 'my "table"; --'
    model.export(tmp_path / "m.sql", table=table, keep=[export_models.HOSTILE[0], "id"])
    frame = readable(X).assign(id=np.arange(len(X))[::-1])
    found = in_sqlite((tmp_path / "m.sql").read_text(), frame, table)
    assert found["id"].tolist() == frame["id"].tolist()
    assert [*found][:2] == [export_models.HOSTILE[0], "id"]
    with pytest.raises(TypeError, match="must be a list of columns"):
        model.export(tmp_path / "m.sql", keep="id")


def test_many_clauses_take_several_steps(tmp_path):
    X, y = export_models.DIGITS, export_models.DIGIT
    model = cotm.CoTMClassifier(4000, epochs=1, booleanize=cotm.Thermometer(4)).fit(X, y)
    model.export(tmp_path / "m.sql")
    query = (tmp_path / "m.sql").read_text()
    assert "step2 AS" in query
    found = in_sqlite(query, readable(X[:40]))
    assert np.array_equal(found.filter(like="votes_").to_numpy(), model.votes(X[:40]))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_to_the_bit(value):
    with sqlite3.connect(":memory:") as connection:
        (found,) = connection.execute(f"SELECT {_number(value)}").fetchone()
    if value == 0 or abs(value) >= 2.3e-308:  # what is below has fewer bits than others
        assert found == value and math.copysign(1, found) == math.copysign(1, value or found)


@pytest.mark.parametrize("name", ["table", "levels", "joined by range", "edges"])
def test_what_sql_cannot_say_is_refused(name, tmp_path):
    model, _ = export_models.model(name)
    with pytest.raises(CannotExportError, match="SQL cannot hold exactly"):
        model.export(tmp_path / "m.sql")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("names", [["a", ""], ["a", "A"], ["a", "a"]])
def test_columns_that_databases_do_not_tell_apart_are_refused(names, tmp_path):
    X = pd.DataFrame(export_models.DIGITS[:40, 2:4], columns=names)
    model = cotm.CoTMClassifier(4, epochs=1).fit(X, [0, 1] * 20)
    with pytest.raises(CannotExportError, match=r"without a name|differ in case at most"):
        model.export(tmp_path / "m.sql")
    assert not [*tmp_path.iterdir()]
