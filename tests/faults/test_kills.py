"""Each kind of training is killed once; ``kills.py`` kills as many as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kills import EPOCHS, TABLE, TRAIN, contents
from typer.testing import CliRunner

import cotm
from cotm import CoTMClassifier, cli


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
@pytest.mark.parametrize("name", ["early stopping", "language model", "cotm tune"])
def test_killed_trainings_come_to_the_same_model(name):
    """In a program of its own: copies of this process would wait for threads that it has."""
    program = [sys.executable, str(Path(__file__).with_name("kills.py")), "2", name]
    run = subprocess.run(program, capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    assert "2 kills: every training came to the same model" in run.stdout


def test_what_was_killed_after_its_last_epoch_is_ended(tmp_path, monkeypatch):
    """Between the last checkpoint and the end, in which probabilities are learned."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    words = [*TRAIN.split(), "--quiet", "--jobs", "1"]
    assert CliRunner().invoke(cli.app, words).exit_code == 0
    whole = contents(tmp_path / "done.cotm")
    save, saved = CoTMClassifier.save, []

    def dying(self, path):
        save(self, path)
        saved.append(path)
        if len(saved) == EPOCHS:
            raise SystemExit(1)

    with monkeypatch.context() as patch:
        patch.setattr(CoTMClassifier, "save", dying)
        assert CliRunner().invoke(cli.app, words).exit_code == 1
    assert cotm.load("done.cotm")._now().sharpness.value() is None
    assert CliRunner().invoke(cli.app, [*words, "--resume"]).exit_code == 0
    assert contents(tmp_path / "done.cotm") == whole
    again = CliRunner().invoke(cli.app, [*words, "--resume"])
    assert again.exit_code == 1 and "has its 20 epochs" in again.stderr
