"""``cotm compress``."""

import json

import pytest
from command_line import fails, run

import cotm


def test_a_smaller_model_is_written(model, folder, tmp_path):
    out = tmp_path / "small.cotm"
    words = ["--target", "label", "--max-loss", "0.02", "--out", out]
    said = run("compress", model, folder / "table.csv", *words).stderr
    assert "clauses" in said and f"wrote {out} (" in said
    done = json.loads(run("compress", model, folder / "table.csv", *words, "--json").stdout)
    assert done["bytes"] == out.stat().st_size
    assert [done["members"][0]["clauses"][1]] == [cotm.load(out).n_clauses]
    assert cotm.load(out).n_clauses < cotm.load(model).n_clauses
    assert int((cotm.load(out).memory_ >= 0).sum()) < int((cotm.load(model).memory_ >= 0).sum())


@pytest.mark.parametrize("loss", ["-1", "2"])
def test_mistakes_leave_nothing(loss, model, folder, tmp_path):
    out = tmp_path / "small.cotm"
    words = ["--target", "label", "--out", out, "--max-loss", loss]
    assert "max" in fails("compress", model, folder / "table.csv", *words)
    assert not out.exists()
    assert "is the file that is read" in fails(
        "compress", model, folder / "table.csv", "--target", "label", "--out", model
    )
