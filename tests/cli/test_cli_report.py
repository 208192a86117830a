"""``cotm report``."""

import base64
import gzip
import json
import re

from command_line import fails, run


def details_of(path):
    (packed,) = re.findall(r'id="details">(.*?)</script>', path.read_text())
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_a_page_is_written(model, folder, tmp_path):
    page, table = tmp_path / "r.html", folder / "table.csv"
    said = run("report", model, table, "--target", "label", "--out", page, "--examples", "20")
    assert said.stderr.startswith(f"wrote {page} (") and said.stdout == ""
    examples = details_of(page)["examples"]
    assert len(examples["rows"]) == 20 and len({*examples["labels"]}) > 1
    assert '"scores":{"rows":' in page.read_text()


def test_a_page_without_labels_or_examples(model, folder, tmp_path):
    page, table = tmp_path / "r.html", folder / "table.csv"
    run("report", model, table, "--out", page, "--title", "Flowers & co")
    assert details_of(page)["examples"]["labels"] is None
    assert "<title>Flowers &amp; co</title>" in page.read_text()
    told = json.loads(run("report", model, "--out", page, "--json").stdout)
    assert told == {"file": str(page), "bytes": page.stat().st_size}
    assert details_of(page)["examples"] is None


def test_mistakes_are_told_and_leave_nothing(model, folder, tmp_path):
    page, table = tmp_path / "r.html", folder / "table.csv"
    assert "no column 'kind'" in fails("report", model, table, "--target", "kind", "--out", page)
    assert "is the file that is read" in fails("report", model, table, "--out", table)
    assert not page.exists()
