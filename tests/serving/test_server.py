"""The program: its processes, its connections, and nothing wrong under load."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from load import load
from running import Program
from serving_models import cases
from workload import Workload

TOKEN = "a-token-of-some-letters"

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the processes are looked up in /proc"
)


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    return Workload(tmp_path_factory.mktemp("models"))


def raw(port, *parts, wait=5.0, pause=0.0):
    """What comes back for bytes, until the connection ends or nothing more comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        found = b""
        with contextlib.suppress(OSError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while data := connection.recv(1 << 16):
                found += data
        return found


def test_nothing_wrong_under_load_with_reloads_and_a_killed_worker(workload):
    """Every answer is that of a version that was there; lost are those of the dead worker alone."""
    with Program(*workload.files.values(), "--workers", 2, "--watch", 0.1) as server:
        requests = workload.requests()
        quiet = load(server.port, requests, seconds=0.3)
        assert not quiet.wrong and not quiet.lost and set(quiet.statuses) == {200}, quiet.wrong[:3]
        done = threading.Event()

        def disturb():
            version = 1
            while not done.is_set():
                for name in workload.names:
                    workload.put(name, version)
                version = 1 - version
                done.wait(0.25)

        changing = threading.Thread(target=disturb)
        changing.start()
        try:
            reloaded = load(server.port, requests, seconds=0.8)
            assert not reloaded.wrong, reloaded.wrong[:3]
            assert not reloaded.lost and set(reloaded.statuses) == {200}
            (first, second) = server.workers()
            threading.Timer(0.2, os.kill, (first, signal.SIGKILL)).start()
            killed = load(server.port, requests, seconds=1.0, connections=12)
            assert not killed.wrong, killed.wrong[:3]
            assert killed.lost <= 12 and set(killed.statuses) == {200}
        finally:
            done.set()
            changing.join()
        server.until("another one takes its place")
        for _ in range(400):
            if len(server.workers()) == 2:
                break
            time.sleep(0.05)
        assert second in server.workers() and first not in server.workers()
        assert any("read anew" in entry["message"] for entry in server.log)
        status, text = server.ask("GET", "/metrics")
        assert status == 200 and "cotm_rows_total" in text


def test_one_process_its_connections_and_its_end(workload):
    files = [workload.files["numbers"], f"t={workload.files['table']}"]
    with Program(*files, "--timeout", 0.6, "--max-body", 5000) as server:
        port = server.port
        host = b"host: 127.0.0.1\r\n"
        assert b"400 Bad Request" in raw(port, b"nonsense\r\n\r\n")
        assert json.loads(raw(port, b"\x16\x03\x01\r\n\r\n").partition(b"\r\n\r\n")[2])["error"]
        long = b"GET /health HTTP/1.1\r\nx: " + b"y" * 50_000
        assert b"HTTP/1.1 431" in raw(port, long + b"\r\n\r\n")
        assert b"HTTP/1.1 431" in raw(port, *[long[k : k + 9000] for k in range(0, 45_000, 9000)])
        begin = b"POST /v1/models/t/predict HTTP/1.1\r\n" + host + b"content-length: 90\r\n"
        assert b"HTTP/1.1 408" in raw(port, begin)
        assert b"HTTP/1.1 408" in raw(port, begin + b"\r\n{")
        trailers = b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 9000
        assert b"HTTP/1.1 431" in raw(port, begin.replace(b"content-length: 90\r\n", trailers))
        assert raw(port) == b""  # who says nothing is not waited for
        both = b"GET /health HTTP/1.1\r\n" + host + b"\r\nGET /ready HTTP/1.1\r\n" + host + b"\r\n"
        assert raw(port, both, wait=0.5).count(b"200 OK") == 2
        chunks = (
            b"POST /v1/models/t/predict HTTP/1.1\r\n" + host + b"transfer-encoding: chunked\r\n"
        )
        chunks += b"content-type: application/json\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
        assert b"HTTP/1.1 413" in raw(port, chunks + b"1000\r\n" + b"x" * 4096 + b"\r\n0\r\n\r\n")
        expect = begin.replace(b"90", b"9000") + b"expect: 100-continue\r\n\r\n"
        assert b"HTTP/1.1 413" in raw(port, expect)
        assert b"server:" not in raw(port, both, wait=0.5).lower()
        assert server.ask("GET", "/v1/models", headers={"host": "evil.example"})[0] == 421
        secret = {"x-secret": "of-a-client"}
        assert server.ask("GET", "/nothing?token=x", headers=secret)[0] == 404
        entry = server.until("/nothing 404")
        assert entry["status"] == 404 and entry["client"] == "127.0.0.1"
        assert entry["logger"] == "cotm.serving.access" and entry["milliseconds"] > 0
        assert "of-a-client" not in str(server.log) and "token=x" not in str(server.log)
        # Requests that have begun are answered before the end, if they come in time.
        body = cases()["table"].bodies(slice(0, 100))[0]
        content = json.dumps({"rows": body["rows"][:20]}).encode()
        head = b"POST /v1/models/t/predict HTTP/1.1\r\n" + host
        head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(content)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(head + content[:40])
            time.sleep(0.2)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            connection.sendall(content[40:])
            found = b""
            while data := connection.recv(1 << 16):
                found += data
        assert b"200 OK" in found and b'"predictions"' in found
        assert server.process.wait(120) == 0
    assert not [entry for entry in server.log if entry["level"] == "error"]


def test_a_token_and_sighup(workload, tmp_path):
    file = tmp_path / "m.cotm"
    file.write_bytes(workload.versions["numbers"][0])
    headers = {"authorization": f"Bearer {TOKEN}"}
    with Program(f"m={file}", "--watch", 0, environment={"COTM_SERVE_TOKEN": TOKEN}) as server:
        assert server.ask("GET", "/v1/models")[0] == 401
        (before,) = server.ask("GET", "/v1/models", headers=headers)[1]["models"]
        file.write_bytes(workload.versions["numbers"][1])
        server.process.send_signal(signal.SIGHUP)
        server.until("read anew")
        (after,) = server.ask("GET", "/v1/models", headers=headers)[1]["models"]
        assert before["version"] != after["version"]
        file.write_bytes(b"nothing")
        server.process.send_signal(signal.SIGHUP)
        assert server.until("cannot be read anew")["level"] == "error"
        assert TOKEN not in str(server.log)


@pytest.mark.parametrize(
    "words, message",
    [
        (["no.cotm"], "no.cotm: No such file"),
        (["{bad}"], "not a model file"),
        (["{model}", "--host", "0.0.0.0"], "there is no token"),
        (["{model}", "{model}"], "two models are called"),
        (["{model}", "--host", "1.2.3.4", "--no-token"], "cannot listen at 1.2.3.4"),
        (["{model}", "--background", "x.csv"], "x.csv"),
        (["{model}", "--tls-certificate", "{bad}"], "a certificate needs its key"),
        (["{model}", "--tls-certificate", "{bad}", "--tls-key", "{bad}"], "cannot be used"),
        (["{model}", "--token-file", "{bad}"], "16 or more"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_line(workload, tmp_path, words, message, capsys):
    from typer.testing import CliRunner

    from cotm import cli

    bad = tmp_path / "bad.cotm"
    bad.write_text("nothing")
    names = {"bad": bad, "model": workload.files["numbers"]}
    given = [word.format(**names) for word in words]
    result = CliRunner().invoke(cli.app, ["serve", *given, "--port", "0", "--log-level", "error"])
    assert result.exit_code == 1
    assert message in result.stderr and result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_what_is_missing_is_named():
    code = """
import sys
from command_line import hiding
exec(hiding("starlette", "uvicorn"))
from typer.testing import CliRunner
from cotm import cli
print(CliRunner().invoke(cli.app, ["serve", "m.cotm"]).stderr)
"""
    path = os.path.join(os.path.dirname(__file__), "..")
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert 'pip install "cotm[serve]"' in ran.stdout
