"""Model files that change while a server runs."""

import asyncio
import logging
import os

import numpy as np
import pytest
from asking import with_server
from serving_models import cases

import cotm

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=np.uint8)
FIRST = cotm.CoTMClassifier(10, epochs=2, random_state=0).fit(X, X[:, 0])
SECOND = cotm.CoTMClassifier(12, epochs=2, random_state=1).fit(X, 1 - X[:, 0])
BODY = {"rows": [[1, 0]]}


@pytest.fixture
def file(tmp_path):
    FIRST.save(tmp_path / "m.cotm")
    return tmp_path / "m.cotm"


async def answered(asked):
    return (await asked.predict("m", BODY, "votes=1")).json


async def until(asked, done):
    for _ in range(400):
        if done():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_changed_file_is_read(file):
    async def ask(asked):
        entry = asked.registry.entries["m"]
        before = await answered(asked)
        assert before["votes"] == FIRST.votes(BODY["rows"]).tolist()
        SECOND.save(file)
        await until(asked, lambda: entry.model.version != before["version"])
        after = await answered(asked)
        assert after["votes"] == SECOND.votes(BODY["rows"]).tolist()
        text = (await asked.ask("GET", "/metrics")).body.decode()
        assert 'cotm_model_reloads_total{model="m",result="done"} 1.0' in text
        assert f'version="{after["version"]}"' in text
        assert before["version"] not in text

    with_server({"m": file}, ask, watch=0.02)


@pytest.mark.parametrize("broken", ["cut", "empty", "foreign", "gone"])
def test_a_broken_file_keeps_the_old_model_and_says_so(file, broken, caplog):
    caplog.set_level(logging.INFO, "cotm")

    async def ask(asked):
        entry = asked.registry.entries["m"]
        before = await answered(asked)
        whole = file.read_bytes()
        if broken == "gone":
            file.unlink()
        else:
            bad = {"cut": whole[:-9], "empty": b"", "foreign": b"\x80\x04N."}[broken]
            file.write_bytes(bad)
        await until(asked, lambda: entry.problem is not None)
        await asyncio.sleep(0.1)
        assert await answered(asked) == before
        described = (await asked.ask("GET", "/v1/models/m")).json
        assert str(file) in described["problem_with_new_file"]
        errors = [r for r in caplog.records if r.levelname == "ERROR"]
        assert len(errors) == 1 and "goes on answering" in errors[0].getMessage()
        SECOND.save(file)
        await until(asked, lambda: entry.problem is None)
        assert (await answered(asked))["votes"] == SECOND.votes(BODY["rows"]).tolist()

    with_server({"m": file}, ask, watch=0.02)


def test_a_request_keeps_the_model_it_began_with(file):
    async def ask(asked):
        entry = asked.registry.entries["m"]
        old = entry.model.version
        many = [asyncio.create_task(asked.predict("m", BODY, "votes=1")) for _ in range(50)]
        await asyncio.sleep(0)  # they have begun
        SECOND.save(file)
        await asked.registry.reload(entry, asked.serving._loader)
        assert entry.model.version != old
        for response in await asyncio.gather(*many):
            model = FIRST if response.json["version"] == old else SECOND
            assert response.json["votes"] == model.votes(BODY["rows"]).tolist()

    with_server({"m": file}, ask, watch=0)


def test_reload_by_request_says_what_is_wrong(file):
    token = "a-token-of-some-letters"
    headers = {"authorization": f"Bearer {token}"}

    async def ask(asked):
        SECOND.save(file)
        done = await asked.ask("POST", "/v1/models/m/reload", headers=headers)
        assert done.status == 200
        assert done.json["version"] == asked.registry.entries["m"].model.version
        file.write_bytes(b"nothing")
        refused = await asked.ask("POST", "/v1/models/m/reload", headers=headers)
        assert refused.status == 409 and "not a model file" in refused.json["error"]["problem"]
        assert "Traceback" not in refused.body.decode()

    with_server({"m": file}, ask, watch=0, tokens=(token,))


def test_files_that_cannot_be_served_are_told_before(tmp_path):
    (tmp_path / "bad.cotm").write_bytes(b"nothing")
    with pytest.raises(cotm.ModelFileError, match=r"bad\.cotm"):
        with_server({"bad": tmp_path / "bad.cotm"}, None)
    with pytest.raises(OSError):
        with_server({"none": tmp_path / "none.cotm"}, None)


def test_pickles_are_no_models(tmp_path):
    import pickle

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    (tmp_path / "trap.cotm").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(cotm.ModelFileError):
        with_server({"trap": tmp_path / "trap.cotm"}, None)
    assert not (tmp_path / "sprung").exists()


def test_another_kind_of_model_may_come(file):
    async def ask(asked):
        cases()["images"].model.save(file)
        entry = asked.registry.entries["m"]
        await until(asked, lambda: entry.model.image_shape is not None)
        (body, _) = cases()["images"].bodies(slice(0, 1))
        found = (await asked.predict("m", body, "votes=1")).json
        assert found["votes"] == cases()["images"].model.votes(cases()["images"].X[:1]).tolist()
        refused = await asked.predict("m", BODY)
        assert refused.status == 422

    with_server({"m": file}, ask, watch=0.02)
