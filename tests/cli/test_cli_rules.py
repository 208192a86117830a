"""``cotm rules`` on examples, and JSON from the commands that describe models."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import FAST, ROWS, fails, make_table, program, run

import cotm


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    make_table().write_csv(folder / "data.csv")
    run("train", folder / "data.csv", "--target", "label", "--out", folder / "m.cotm", *FAST)
    return folder


def test_rules_on_examples(files: Path) -> None:
    model, table = cotm.load(files / "m.cotm"), make_table()
    words = ["rules", files / "m.cotm", "--data", files / "data.csv", "--quiet", "--top", 4]
    labelled = [*words, "--target", "label", "--sort", "lift", "--at-least", "coverage=0.1"]
    expected = model.rules(
        table.drop("label"),
        table["label"].to_numpy(),
        sort="lift",
        at_least={"coverage": 0.1},
        top=4,
    )
    assert json.loads(run(*labelled, "--json").stdout) == expected.to_dicts()
    assert run(*labelled, "--latex").stdout == expected.to_latex()
    assert run(*labelled, "--html").stdout == expected._repr_html_() + "\n"
    lines = run(*labelled).stdout.splitlines()
    assert lines[::2] == expected.to_text().splitlines()
    best = expected[0].evidence
    assert lines[1].startswith(f"   fires on {best.count:,} ({best.coverage:.1%}), ")
    label, share = max(best.precision.items(), key=lambda item: item[1])
    assert f": {label} {share:.1%}" in lines[1]
    without = json.loads(run(*words, "--sort", "share", "--json").stdout)
    assert without[0]["evidence"]["counts"] is None


def test_rules_on_a_stream(files: Path) -> None:
    reader = program(
        *("rules", files / "m.cotm", "--data", "-", "--target", "label", "--json"),
        stdin=subprocess.PIPE,
    )
    printed, said = reader.communicate((files / "data.csv").read_text(), timeout=60)
    assert reader.returncode == 0, said
    table = make_table()
    expected = cotm.load(files / "m.cotm").rules(
        table.drop("label"), table["label"].to_numpy(), top=10
    )
    assert json.loads(printed) == expected.to_dicts()


def test_rules_on_arrays(files: Path, tmp_path: Path) -> None:
    X = np.random.default_rng(0).integers(0, 2, (60, 6))
    np.savez(tmp_path / "a.npz", X=X, y=X[:, 0])
    run("train", tmp_path / "a.npz", "--out", tmp_path / "m.cotm", *FAST)
    words = ["rules", tmp_path / "m.cotm", "--data", tmp_path / "a.npz", "--json"]
    model = cotm.load(tmp_path / "m.cotm")
    assert json.loads(run(*words).stdout) == model.rules(X, top=10).to_dicts()
    labelled = json.loads(run(*words, "--y", "y", "--label", "1", "--sort", "precision").stdout)
    assert labelled == model.rules(X, X[:, 0], label=1, sort="precision", top=10).to_dicts()


def test_what_rules_refuse(files: Path) -> None:
    model = files / "m.cotm"
    for words, message in (
        (["--sort", "lift"], "lift is measured on examples"),
        (["--at-least", "coverage=0.5"], "coverage is measured on examples"),
        (["--at-least", "size=3"], "not like coverage=0.05"),
        (["--at-least", "coverage"], "not like coverage=0.05"),
        (["--json", "--latex"], "choose one"),
    ):
        said = " ".join(run("rules", model, *words, code=2).stderr.replace("│", " ").split())
        assert message in said
    data = ["--data", files / "data.csv", "--quiet"]
    assert "'lift' needs labels" in fails("rules", model, *data, "--sort", "lift")
    nothing = run("rules", model, *data, "--at-least", "count=1e9")
    assert nothing.stdout == "" and "no clause votes" in nothing.stderr


def test_info_as_json(files: Path, tmp_path: Path) -> None:
    model = cotm.load(files / "m.cotm")
    found = json.loads(run("info", files / "m.cotm", "--json").stdout)
    assert found["classes"] == model.classes_.tolist() and found["clauses"] == 160
    assert found["feature_names"] == ["age", "city", "größe in m"]
    assert found["last_epoch"] == model.history_[-1] and found["epochs"] == 4
    assert found["parameters"]["n_clauses"] == 40 and found["parameters"]["T"] == "auto"
    assert found["format"] == 1 and found["version"] == cotm.__version__
    assert found["bytes"] == (files / "m.cotm").stat().st_size
    cotm.join({"a": model, "b": model}, scale="margin").save(tmp_path / "both.cotm")
    both = json.loads(run("info", tmp_path / "both.cotm", "--json").stdout)
    assert both["divisors"] == [model.T_ * model.machine_.n_states_] * 2
    assert both["members"]["a"]["clauses"] == 160
    installation = json.loads(run("info", "--json").stdout)
    assert installation["cotm"] == cotm.__version__ and installation["threads"] >= 1
    assert installation["backends"]["reference"].startswith("available")


def test_training_as_json(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cotm"
    words = ["train", files / "data.csv", "--target", "label", "--out", out, *FAST, "--json"]
    found = json.loads(run(*words).stdout)
    model = cotm.load(out)
    assert found["rows"] == ROWS and found["file"] == str(out) and found["seconds"] > 0
    assert found["history"] == model.history_ and len(found["history"]) == 4
    assert found["seed"] == model.seed_ == 1
    # Progress goes to standard error.
    loud = run(*[word for word in words if word != "--quiet"])
    assert json.loads(loud.stdout)["epochs"] == 4 and "40 clauses" in loud.stderr
