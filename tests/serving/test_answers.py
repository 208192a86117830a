"""Every answer is the model's own: of all kinds, in all forms, alone and in company."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest
from asking import with_server
from serving_models import ROWS, arrow_of, cases, rows_of

from cotm.explaining.wording import plain, simple
from cotm.serving.arrow import MEDIA_TYPE

SLICES = [slice(0, 1), slice(5, 6), slice(14, 42), slice(0, ROWS)]
QUANTITIES = ("amount", "amounts")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, case in cases().items():
        case.model.save(folder / f"{name}.cotm")
    return {name: folder / f"{name}.cotm" for name in cases()}


def as_json(values):
    return [
        value.tolist() if isinstance(value, np.ndarray) else simple(plain(value))
        for value in np.asarray(values)
    ]


def query_for(name):
    return {"amount": "votes=true&interval=0.8", "amounts": "votes=1"}.get(
        name, "votes=true&proba=true"
    )


def check(name, rows, found):
    """An answer against the model itself."""
    case = cases()[name]
    X = rows_of(case.X, rows)
    assert found["predictions"] == as_json(case.model.predict(X))
    assert found["votes"] == case.model.votes(X).tolist()
    if name not in QUANTITIES:
        proba = case.model.predict_proba(X)
        proba = np.concatenate(proba, axis=1) if isinstance(proba, list) else proba
        assert found["proba"] == proba.tolist()
    if name == "amount":
        low, high = case.model.predict_interval(X, 0.8)
        assert (found["low"], found["high"]) == (low.tolist(), high.tolist())


@pytest.mark.parametrize("name", cases())
def test_answers_are_the_models_own(files, name):
    async def ask(asked):
        for rows in SLICES:
            for body in cases()[name].bodies(rows):
                response = await asked.predict(name, body, query_for(name))
                assert response.status == 200, response.body
                check(name, rows, response.json)
                assert response.json["version"] == asked.registry.entries[name].model.version

    with_server({name: files[name]}, ask)


@pytest.mark.parametrize("name", sorted(set(cases()) - {"members", "bits", "dates"}))
def test_arrow_in_and_out(files, name):
    case = cases()[name]

    async def ask(asked):
        for rows in SLICES:
            X = rows_of(case.X, rows)
            response = await asked.predict(name, arrow_of(X), query_for(name), accept=MEDIA_TYPE)
            assert response.status == 200, response.body
            assert response.headers["content-type"] == MEDIA_TYPE
            table = pa.ipc.open_stream(response.body).read_all()
            assert table.schema.metadata[b"model"] == name.encode()
            labels = [str(simple(plain(label))) for label in case.model.output_names_]
            several = case.model.predict(X).ndim == 2
            answers = ["old", "vip", "n"] if name == "columns" else labels
            ends = [f"_{label}" for label in answers] if several else [""]
            got = zip(*(table[f"prediction{end}"].to_pylist() for end in ends), strict=True)
            predicted = case.model.predict(X).reshape(table.num_rows, -1)
            assert [*map(list, got)] == predicted.tolist()
            votes = np.column_stack([table[f"votes_{label}"] for label in labels])
            assert (votes == case.model.votes(X)).all()
            assert table.num_rows == len(votes)

    with_server({name: files[name]}, ask)


def test_bits_come_as_any_type(files):
    case = cases()["bits"]

    async def ask(asked):
        X = case.X[:9]
        for array in (X, X.astype(bool), X.astype(float), X.astype(np.int64)):
            for body in ({"rows": array.tolist()}, arrow_of(array)):
                found = (await asked.predict("bits", body)).json
                assert found["predictions"] == case.model.predict(X).tolist()
        assert (await asked.predict("bits", {"rows": [[2] * 9]})).status == 422

    with_server({"bits": files["bits"]}, ask)


def test_company_changes_no_answer(files):
    """Rows of many requests are answered in one call, and each as if it were alone."""
    some = ["numbers", "table", "amount", "several", "joined", "images", "bits"]
    sizes = []

    async def ask(asked):
        for entry in asked.registry.entries.values():
            entry.told = sizes.append
        wanted, asks = [], []
        for k in range(40):
            for name in some:
                rows = slice(k, k + 1 + k % 3)
                bodies = cases()[name].bodies(rows)
                wanted.append((name, rows))
                asks.append(asked.predict(name, bodies[k % len(bodies)], query_for(name)))
        for (name, rows), response in zip(wanted, await asyncio.gather(*asks), strict=True):
            assert response.status == 200
            check(name, rows, response.json)

    with_server({name: files[name] for name in some}, ask)
    assert max(sizes) > 70


def test_a_row_that_is_refused_leaves_its_company_alone(files):
    async def ask(asked):
        good = cases()["table"].bodies(slice(3, 4))[0]
        bad = {"rows": [{**good["rows"][0], "age": "old"}]}
        mixed = [asked.predict("table", body, query_for("table")) for body in (good, bad) * 20]
        for k, response in enumerate(await asyncio.gather(*mixed)):
            if k % 2:
                assert response.status == 422
                assert "held only numbers" in response.json["error"]["problem"]
            else:
                check("table", slice(3, 4), response.json)

    with_server({"table": files["table"]}, ask)


def test_a_mistake_in_a_batch_is_that_of_one_request(files, monkeypatch):
    async def ask(asked):
        model = asked.registry.entries["numbers"].model
        votes = model.votes

        def fails(examples):
            if len(examples[0]) != 1:
                raise MemoryError
            return votes(examples)

        monkeypatch.setattr(model, "votes", fails)
        bodies = [cases()["numbers"].bodies(slice(k, k + 1 + (k == 3)))[0] for k in range(6)]
        found = await asyncio.gather(
            *(asked.predict("numbers", body, query_for("numbers")) for body in bodies)
        )
        assert [response.status for response in found] == [200, 200, 200, 500, 200, 200]
        check("numbers", slice(5, 6), found[5].json)
        error = found[3].json["error"]
        assert error["problem"] == "the server made a mistake" and "Trace" not in str(error)

    with_server({"numbers": files["numbers"]}, ask)


def test_reasons(files):
    case = cases()["table"]

    async def ask(asked):
        body = case.bodies(slice(1, 3))[0]
        rules = (await asked.predict("table", body, "reasons=2")).json["reasons"]
        spoken = case.model.explain(case.X.iloc[1:3], case.X.iloc[20:60])
        assert [[r["text"] for r in row["rules"]] for row in rules] == [
            [str(said.rule) for said in row[:2]] for row in spoken.rules
        ]
        assert all(set(row) == {"rules"} for row in rules)
        background = {"background": case.bodies(slice(20, 60))[2]}
        found = (await asked.predict("table", {**body, **background}, "reasons=3")).json
        whole = spoken.to_data(3)
        for got, row in zip(found["reasons"], whole, strict=True):
            assert got["base"] == row["base"] and got["rules"] == row["rules"]
            assert got["reasons"] == row["reasons"]

    with_server({"table": files["table"]}, ask)


@pytest.mark.parametrize("name", ["images", "amount", "joined", "several", "members"])
def test_reasons_of_every_kind(files, name):
    async def ask(asked):
        body = cases()[name].bodies(slice(0, 2))[0]
        answered = await asked.predict(name, body, "reasons=1")
        assert answered.status == 200, answered.body
        assert len(answered.json["reasons"]) == 2
        if name == "images":  # where votes come from needs nothing to compare with
            assert set(answered.json["reasons"][0]) == {"base", "reasons", "rules"}
        stream = await asked.predict(name, body, "reasons=1", accept=MEDIA_TYPE)
        assert pa.ipc.open_stream(stream.body).read_all()["reasons"][0].as_py()[0] == "{"

    with_server({name: files[name]}, ask)


def test_a_background_of_the_server(files):
    case = cases()["amount"]

    async def ask(asked):
        body = case.bodies(slice(0, 1))[0]
        (found,) = (await asked.predict("amount", body, "reasons=2")).json["reasons"]
        said = case.model.explain(case.X.iloc[:1], case.X.iloc[30:70]).to_data(2)[0]
        assert (found["base"], found["reasons"]) == (said["base"], said["reasons"])
        described = (await asked.ask("GET", "/v1/models/amount")).json
        assert described["contributions"] is True

    read = {"amount": files["amount"]}
    with_server(
        {"amount": files["amount"]},
        ask,
        backgrounds=read,
        read_background=lambda model, path: case.X.iloc[30:70],
    )


def test_models_describe_themselves(files):
    async def ask(asked):
        found = (await asked.ask("GET", "/v1/models")).json["models"]
        by_name = {model["name"]: model for model in found}
        assert [*by_name] == [*files]
        kinds = {column["name"]: column["kind"] for column in by_name["table"]["columns"]}
        assert kinds == {
            **{"age": "number", "city": "category", "when": "date"},
            **{"length": "duration", "vip": "bit"},
        }
        assert by_name["images"]["image_shape"] == [8, 8]
        assert by_name["members"]["members"] == ["grays", "flat"]
        assert by_name["amount"]["predicts"] == "quantities"
        assert by_name["dates"]["classes"][0] == "2021-01-01 00:00:00"

    with_server(files, ask)
