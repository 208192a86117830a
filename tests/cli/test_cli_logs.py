"""``--log`` and ``--log-level``."""

import json
import logging
import subprocess
import sys

import pytest
from command_line import FAST, run

from cotm.cli import fitting, logs


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def reset():
    yield
    logs.set_up(None, None)


def test_json_is_all_there_is_on_standard_error(folder, tmp_path):
    words = ["train", folder / "table.csv", "--target", "label", "--out", tmp_path / "m.cotm"]
    found = lines(run("--log", "json", *words, *FAST[:-1]).stderr)
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, found))
    assert [entry["epoch"] for entry in found if "epoch" in entry] == [1, 2, 3, 4]
    assert found[-1]["logger"] == "cotm.files.saving"


def test_errors_and_warnings_have_their_levels(folder, tmp_path):
    missing = run("--log", "json", "info", tmp_path / "no.cotm", code=1)
    (entry,) = lines(missing.stderr)
    assert entry["level"] == "error" and "No such file" in entry["message"]
    assert run("--log", "json", "--log-level", "error", "info").stderr == ""


def test_levels_choose_and_text_is_for_people(model):
    assert run("info", model).stderr == ""
    text = run("--log-level", "info", "info", model).stderr
    assert "INFO cotm.files.loading: read " in text and text.count("\n") == 1
    assert run("--log", "text", "--log-level", "warning", "info", model).stderr == ""


def test_a_command_leaves_no_handler_behind(model):
    run("--log", "json", "info", model)
    assert run("info", model).stderr == ""
    assert logging.getLogger("cotm").level == logging.NOTSET


def test_interruption_is_json_too(capfd):
    fitting.tell_interrupted()
    assert capfd.readouterr().err == "\ninterrupted; saving what is finished ...\n"
    logs.set_up(logs.LogForm.json, None)
    fitting.tell_interrupted()
    (entry,) = lines(capfd.readouterr().err)
    assert entry["message"] == "interrupted; saving what is finished ..."
    assert entry["level"] == "warning"


def test_what_a_record_holds_acts_on_no_terminal(capsys):
    for form in logs.LogForm:
        logs.set_up(form, None)
        fact = {"path": "\x1b]0;x\x07\x7f"}
        logging.getLogger("cotm.x").info("red\x1b[2J\u202e\nnew line", extra=fact)
    text, as_json = capsys.readouterr().err.splitlines()
    assert "red\\x1b[2J\\u202e\\x0anew line" in text
    assert json.loads(as_json)["message"] == "red\x1b[2J\u202e\nnew line"
    assert "\x7f" not in as_json and "\x1b" not in as_json


def test_exceptions_are_in_one_line_of_json(capsys):
    logs.set_up(logs.LogForm.json, None)
    try:
        raise RuntimeError("no")
    except RuntimeError:
        logging.getLogger("cotm.x").exception("it failed")
    (entry,) = lines(capsys.readouterr().err)
    assert "RuntimeError: no" in entry["exception"]


def test_a_reader_that_left_ends_nothing(model):
    words = [sys.executable, "-m", "cotm", "--log", "json", "info", str(model)]
    code = (
        f"import subprocess; subprocess.run({words!r}, stderr=open('/dev/full', 'w'), check=True)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
