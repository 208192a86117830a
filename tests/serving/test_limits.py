"""What is refused: with the right status, and as problem, value and remedy."""

import asyncio
import gzip
import threading

import numpy as np
import orjson
import pyarrow as pa
import pytest
from asking import with_server
from serving_models import arrow_of, cases

from cotm.serving import handling
from cotm.serving.arrow import MEDIA_TYPE
from cotm.serving.settings import Limits, Settings, named_models, read_tokens

TOKEN = "a-token-of-some-letters"
GOOD = {"rows": [[0.5, 1.0, None, 2.0]]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    names = ("numbers", "table", "images", "amount", "amounts", "members")
    for name in names:
        cases()[name].model.save(folder / f"{name}.cotm")
    return {name: folder / f"{name}.cotm" for name in names}


def refusal(files, name, body, query="", status=422, **settings):
    """The error of a request that must be refused."""
    response = with_server(files, lambda asked: asked.predict(name, body, query), **settings)
    assert response.status == status, response.body
    error = response.json["error"]
    assert set(error) == {"problem", "value", "remedy"} and error["problem"] and error["remedy"]
    return error


WRONG = [
    ("numbers", {}, "exactly one of"),
    ("numbers", {"rows": [[1, 2, 3, 4]], "tensor": {}}, "exactly one of"),
    ("numbers", {"rows": [[1, 2, 3, 4]], "path": "/etc/passwd"}, "key that is not known"),
    ("numbers", {"rows": []}, "there are no rows"),
    ("numbers", {"rows": {}}, "rows is not a list"),
    ("numbers", {"rows": [[1, 2, 3]]}, "has 3 cells"),
    ("numbers", {"rows": [[1, 2, 3, 4], [1]]}, "row 1 has 1 cells"),
    ("numbers", {"rows": [7]}, "is not a list"),
    ("numbers", {"rows": [{"a": 1}]}, "is not a list"),
    ("numbers", {"rows": [[1, 2, 3, [4]]]}, "a cell is a list"),
    ("numbers", {"rows": [[1, 2, 3, {}]]}, "a cell is a list or an object"),
    ("numbers", {"rows": [[[1], [2], [3], [4]]]}, "a cell is a list"),
    ("numbers", {"rows": [[1, 2, 3, "4"]]}, "text"),
    ("numbers", {"columns": {"a": [1]}}, "knows no names"),
    ("numbers", {"members": {"a": {"rows": [[1]]}}}, "members must be"),
    ("numbers", {"tensor": {"dtype": "object", "shape": [1, 4], "data": ""}}, "dtype is not"),
    ("numbers", {"tensor": {"dtype": "uint8", "shape": [1, 4], "data": "!"}}, "not base64"),
    ("numbers", {"tensor": {"dtype": "uint8", "shape": [1, 4], "data": "AA=="}}, "1 bytes, but"),
    ("numbers", {"tensor": {"dtype": "uint8", "shape": [1, -4], "data": ""}}, "shape is wrong"),
    ("numbers", {"tensor": {"dtype": "uint8", "shape": [True, 4], "data": ""}}, "shape is wrong"),
    ("numbers", {"tensor": {"dtype": "uint8", "shape": [1, 3], "data": "AAAA"}}, "the shape"),
    ("numbers", {"tensor": 4}, "a tensor needs"),
    ("table", {"rows": [{"age": 1}]}, "lacks the column 'city'"),
    ("table", {"rows": [{"age": 1}, 5]}, "row 0 lacks the column"),
    ("table", {"columns": {"age": [1]}}, "'city' is missing"),
    ("table", {"columns": []}, "columns is not an object"),
    ("images", {"rows": [[[1, 2], [3]]]}, "nested lists of numbers"),
    ("images", {"rows": [[["a"]]]}, "nested lists of numbers"),
    ("images", {"rows": [[[0] * 8] * 7]}, "images of shape"),
    ("images", {"rows": [1, 2]}, "no list of rows"),
    ("members", {"members": {"grays": {"rows": [[1]]}}}, "every member's rows"),
    ("numbers", {"rows": [[1, 2, 3, 4]], "background": []}, "background is not"),
]


@pytest.mark.parametrize("name, body, words", WRONG)
def test_wrong_rows_are_refused(files, name, body, words):
    assert words in refusal(files, name, body)["problem"]


def test_cells_that_are_no_moments_are_refused(files):
    good = cases()["table"].bodies(slice(1, 2))[0]["rows"][0]
    for name, cell in (("when", "soon"), ("when", 4), ("when", "9999999999"), ("length", "1 h")):
        error = refusal(files, "table", {"rows": [{**good, name: cell}]})
        assert f"column {name!r} holds" in error["problem"] and error["value"] == cell
    for name, cell in (("length", 1e300), ("length", True)):
        assert "row 0" in refusal(files, "table", {"rows": [{**good, name: cell}]})["problem"]


def test_zones_are_told_in_utc(files):
    body = cases()["table"].bodies(slice(1, 2))[0]
    moment = body["rows"][0]["when"]

    async def ask(asked):
        plain = (await asked.predict("table", body, "votes=1")).json
        for text in (moment + "Z", moment + "+00:00"):
            zoned = {"rows": [{**body["rows"][0], "when": text}]}
            assert (await asked.predict("table", zoned, "votes=1")).json == plain

    with_server(files, ask)


@pytest.mark.parametrize(
    "name, query, words",
    [
        ("numbers", "vote=1", "asks for what there is not"),
        ("numbers", "votes=perhaps", "neither true nor false"),
        ("numbers", "votes=1&votes=1", "twice"),
        ("numbers", "interval=0.9", "no intervals"),
        ("amount", "proba=1", "no probabilities"),
        ("amount", "interval=1", "is no share"),
        ("amount", "interval=nan", "is no share"),
        ("amounts", "interval=0.9", "no errors on held-out examples"),
        ("numbers", "reasons=-1", "reasons is no number"),
        ("numbers", "reasons=٣", "query"),
    ],
)
def test_wrong_queries_are_refused(files, name, query, words):
    body = cases()[name].bodies(slice(1, 2))[0]
    status = 400 if words == "query" else 422
    assert words in refusal(files, name, body, query, status)["problem"]


def test_bodies_that_are_nothing(files):
    async def ask(asked):
        path, kind = "/v1/models/numbers/predict", {"content-type": "application/json"}
        for body in (
            b"",
            b"{",
            b"[" * 5000,
            b"\xff",
            b"NaN",
            b'{"rows": [[NaN]]}',
            b"[1]",
            b"null",
        ):
            response = await asked.ask("POST", path, body, kind)
            assert response.status == 400, body
            assert response.json["error"]["remedy"]
        for body in (b"", b"ARROW1", b"\xff" * 40, arrow_of(np.zeros((3, 4)))[:-60]):
            assert (await asked.predict("numbers", body)).status == 400

    with_server(files, ask)


def test_streams_that_would_grow_or_lie(files):
    def stream(table, **options):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, **options) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    options = {"options": pa.ipc.IpcWriteOptions(compression="zstd")}
    many = pa.table({f"c{k}": pa.array(np.zeros(5000)) for k in range(4)})
    nulls = pa.table({f"c{k}": pa.nulls(2_000_000) for k in range(4)})
    nested = pa.table({"a": pa.array([[1, 2]])})
    twice = pa.table([pa.array([1.0])] * 6, names=["age", "age", "city", "when", "length", "vip"])

    async def ask(asked):
        error = (await asked.predict("numbers", stream(many, **options))).json["error"]
        assert "compressed" in error["problem"]
        assert (await asked.predict("numbers", stream(nulls))).status == 413
        assert "list" in (await asked.predict("images", stream(nested))).json["error"]["problem"]
        assert (
            "several times"
            in (await asked.predict("table", stream(twice))).json["error"]["problem"]
        )
        assert (await asked.predict("numbers", stream(many.slice(0, 0)))).status == 422
        assert (await asked.predict("numbers", stream(many))).status == 200
        dictionary = pa.table({f"c{k}": pa.array(["a"]).dictionary_encode() for k in range(4)})
        for table in (dictionary, many):
            broken = stream(table, **options)
            assert (await asked.predict("numbers", broken)).status in (400, 422)

    with_server(files, ask)


def test_paths_methods_and_types(files):
    async def ask(asked):
        async def status(method, path, **headers):
            response = await asked.ask(method, path, orjson.dumps(GOOD), headers)
            assert response.status == 200 or "error" in response.json
            return response.status

        predict = "/v1/models/numbers/predict"
        assert await status("POST", predict) == 200
        assert await status("POST", "/v1/models/none/predict") == 404
        assert await status("POST", "/v1/models/../../etc/passwd/predict") == 404
        assert await status("POST", "/v1/models/%2e%2e/predict") == 404
        assert await status("GET", "/v1/models/numbers.cotm") == 404
        assert await status("GET", predict) == 405
        assert await status("DELETE", "/v1/models/numbers") == 405
        assert await status("GET", "/") == 404
        assert await status("GET", "/docs/") == 404
        assert await status("POST", predict, **{"content-type": "text/plain"}) == 415
        assert await status("POST", predict, **{"content-type": "application/x-pickle"}) == 415
        assert await status("POST", predict, **{"content-encoding": "gzip"}) == 415
        assert await status("POST", "/v1/models/numbers/reload") == 403
        for path in ("/health", "/ready", "/openapi.json"):
            assert (await asked.ask("GET", path)).status == 200

    with_server(files, ask)


def test_sizes(files):
    limits = Limits(body_bytes=2000, rows=20, explained_rows=2, background_rows=3)

    async def ask(asked):
        row = GOOD["rows"][0]
        assert (await asked.predict("numbers", {"rows": [row] * 20})).status == 200
        error = (await asked.predict("numbers", {"rows": [row] * 21})).json["error"]
        assert error["value"] == 21 and "at most 20" in error["remedy"]
        huge = await asked.predict("numbers", {"rows": [row] * 400})
        assert huge.status == 413 and "bytes" in huge.json["error"]["remedy"]
        parts = [b"x" * 900] * 3
        said = {"content-type": "application/json", "content-length": "abc"}
        path = "/v1/models/numbers/predict"
        assert (await asked.ask("POST", path, parts=parts, headers=said)).status == 413
        assert (await asked.ask("POST", path, parts=[], headers=said)).status == 499
        many = await asked.predict("numbers", {"rows": [row] * 3}, "reasons=1")
        assert many.status == 413
        behind = {"rows": [row], "background": {"rows": [row] * 4}}
        assert (await asked.predict("numbers", behind, "reasons=1")).status == 413

    with_server(files, ask, limits=limits)


def test_tokens(files, tmp_path, monkeypatch):
    async def ask(asked):
        async def status(path, token=None, kind="Bearer"):
            headers = {} if token is None else {"authorization": f"{kind} {token}"}
            return await asked.ask("GET", path, headers=headers)

        for path in ("/v1/models", "/metrics", "/v1/models/numbers", "/v1/models/numbers/predict"):
            for token, kind in (
                (None, ""),
                ("x", "Bearer"),
                (TOKEN[:-1], "Bearer"),
                (TOKEN, "Basic"),
            ):
                refused = await status(path, token, kind)
                assert refused.status == 401
                assert refused.headers["www-authenticate"] == "Bearer"
        for token in (TOKEN, "another-token-of-letters"):
            assert (await status("/v1/models", token)).status == 200
        for path in ("/health", "/ready", "/docs", "/openapi.json"):
            assert (await status(path)).status == 200
        # A token speaks for the client whatever the server is called.
        called = {"authorization": f"Bearer {TOKEN}", "host": "models.example"}
        assert (await asked.ask("GET", "/v1/models", headers=called)).status == 200
        done = await asked.ask("POST", "/v1/models/numbers/reload", headers=called)
        assert done.status == 200 and done.json["name"] == "numbers"

    path = tmp_path / "tokens"
    path.write_text(f"{TOKEN}\n\nanother-token-of-letters\n")
    with_server(files, ask, tokens=read_tokens(path))
    monkeypatch.setenv("COTM_SERVE_TOKEN", TOKEN)
    assert read_tokens(None) == (TOKEN,)
    assert TOKEN not in repr(Settings(files, tokens=(TOKEN,)))


def test_weak_settings_are_refused(files, tmp_path, monkeypatch):
    monkeypatch.delenv("COTM_SERVE_TOKEN", raising=False)
    assert read_tokens(None) == ()
    path = tmp_path / "tokens"
    for text, words in (("short", "16 or more"), ("", "no token"), ("with a space in it", "space")):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            read_tokens(path)
    for host in ("0.0.0.0", "::", "192.168.1.1", "example.org"):
        with pytest.raises(ValueError, match="there is no token"):
            Settings(files, host=host)
        Settings(files, host=host, tokens=(TOKEN,))
        Settings(files, host=host, allow_no_token=True)
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        Settings(files, host=host)
    with pytest.raises(ValueError, match="must be letters"):
        Settings({"../x": files["table"]})
    with pytest.raises(ValueError, match="no model 'x'"):
        Settings(files, backgrounds={"x": path})
    assert {k: str(v) for k, v in named_models(["a.cotm", "b=dir/c.cotm"]).items()} == {
        **{"a": "a.cotm"},
        **{"b": "dir/c.cotm"},
    }
    with pytest.raises(ValueError, match="two models are called 'a'"):
        named_models(["a.cotm", "other/a.cotm"])


def test_a_page_cannot_ask_under_another_name(files):
    async def ask(asked):
        for host in ("127.0.0.1:8000", "localhost", "[::1]:80", "LOCALHOST:1"):
            assert (await asked.ask("GET", "/v1/models", headers={"host": host})).status == 200
        for host in ("evil.example", "evil.example:8000", "", "127.0.0.1.evil.example"):
            assert (await asked.ask("GET", "/v1/models", headers={"host": host})).status == 421

    with_server(files, ask)


def test_rates(files):
    async def ask(asked):
        found = [await asked.ask("GET", "/v1/models", client="10.0.0.1") for _ in range(6)]
        assert [response.status for response in found] == [200, 200, 200, 429, 429, 429]
        assert int(found[-1].headers["retry-after"]) >= 1
        assert (await asked.ask("GET", "/v1/models", client="10.0.0.2")).status == 200
        assert (await asked.ask("GET", "/health", client="10.0.0.1")).status == 200

    with_server(files, ask, limits=Limits(rate=3))


def test_too_much_at_a_time_and_too_long(files, monkeypatch):
    waiting = threading.Event()
    whole = handling._at_length

    def slow(*args):
        waiting.wait(20)
        return whole(*args)

    monkeypatch.setattr(handling, "_at_length", slow)
    limits = Limits(in_flight=3, seconds=0.3)

    async def ask(asked):
        body = {"rows": [GOOD["rows"][0]] * 100}
        tasks = [asyncio.create_task(asked.predict("numbers", body)) for _ in range(5)]
        await asyncio.sleep(0.05)
        quick = await asked.ask("GET", "/health")
        found = [response.status for response in await asyncio.gather(*tasks)]
        waiting.set()
        assert quick.status == 200
        assert found == [503] * 5  # three took too long, two were too many
        await asyncio.sleep(0.1)
        assert (await asked.predict("numbers", GOOD)).status == 200

    with_server(files, ask, limits=limits)


def test_what_is_compressed_is_not_unpacked(files):
    async def ask(asked):
        body = gzip.compress(orjson.dumps(GOOD))
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        assert (await asked.ask("POST", "/v1/models/numbers/predict", body, headers)).status == 415
        sent = {"content-type": MEDIA_TYPE + "; x=y"}
        stream = arrow_of(np.zeros((2, 4)))
        found = await asked.ask("POST", "/v1/models/numbers/predict", stream, sent)
        assert found.status == 200

    with_server(files, ask)


def test_metrics_and_documents(files):
    async def ask(asked):
        await asked.predict("numbers", GOOD)
        await asked.predict("numbers", {"rows": [GOOD["rows"][0]] * 7})
        await asked.ask("POST", "/v1/models/<script>/predict", b"{}")
        text = (await asked.ask("GET", "/metrics")).body.decode()
        assert 'cotm_rows_total{model="numbers"} 8.0' in text
        assert 'cotm_requests_total{model="numbers",route="predict",status="200"} 2.0' in text
        assert "script" not in text and "cotm_requests_in_flight 1.0" in text
        described = (await asked.ask("GET", "/openapi.json")).json
        assert described["openapi"].startswith("3.1")
        page = await asked.ask("GET", "/docs")
        for path in described["paths"]:
            assert f"<code>{path}</code>" in page.body.decode()
        assert b"<script" not in page.body and b"http://" not in page.body.replace(
            b"http://127.0.0.1:8000", b""
        )
        assert "default-src 'none'" in page.headers["content-security-policy"]

    with_server(files, ask)
