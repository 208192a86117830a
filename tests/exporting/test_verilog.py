"""Verilog exports, simulated by Icarus Verilog."""

import shutil
import struct
import subprocess

import export_models
import numpy as np
import pytest

import cotm
from cotm.exporting import CannotExportError, export

ROWS = 6
simulated = pytest.mark.skipif(not shutil.which("iverilog"), reason="iverilog is not installed")
BENCH = """
module bench;
  reg [{width} - 1:0] rows [0:{rows} - 1];
  reg [{width} - 1:0] x;
  reg clock = 0, reset = 1, start = 0;
  wire [{votes} - 1:0] votes, clocked_votes;
  wire [{label} - 1:0] label, clocked_label;
  wire ready, done;
  integer k, sent = 0, seen = 0;
  {name} once(x, votes, label);
  {name}_clocked by_clock(clock, reset, start, x, ready, done, clocked_votes, clocked_label);
  initial begin
    $readmemh("rows.hex", rows);
    for (k = 0; k < {rows}; k = k + 1) begin
      x = rows[k];
      #1 $display("at once %b %b", votes, label);
    end
    #1 clock = 1; #1 clock = 0; reset = 0;
    while (seen < {rows}) begin
      x = rows[sent < {rows} ? sent : 0];
      start = sent < {rows};
      #1 if (start & ready) sent = sent + 1;
      #1 clock = 1; #1 clock = 0;
      if (done) begin
        seen = seen + 1;
        $display("clocked %b %b", clocked_votes, clocked_label);
      end
    end
  end
endmodule
"""


def simulate(folder, name, rows, n_outputs):
    """Votes and labels of rows, as the combinational and as the clocked module give them."""
    text = (folder / f"{name}.v").read_text()
    head = text.split(f"module {name}(")[1]

    def size(port):
        width = head.split(f"] {port}")[0].rsplit("[", 1)[1].split(" - 1:0")[0]
        return eval(width)

    sizes = {port: size(port) for port in ("x", "votes", "label")}
    digits = -(-sizes["x"] // 4)
    (folder / "rows.hex").write_text("\n".join(f"{row:0{digits}x}" for row in rows))
    (folder / "bench.v").write_text(
        BENCH.format(
            name=name, width=sizes["x"], rows=len(rows), votes=sizes["votes"], label=sizes["label"]
        )
    )
    run = subprocess.run(
        ["iverilog", "-g2001", "-Wall", "-Wno-timescale", "-o", "bench", "bench.v", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    out = subprocess.run(["vvp", "bench"], cwd=folder, capture_output=True, text=True).stdout
    width = sizes["votes"] // n_outputs
    found = {"at once": [], "clocked": []}
    for line in out.splitlines():
        kind, votes, label = line.rsplit(" ", 2)
        if kind in found:
            number = int(votes, 2)
            parts = [number >> (width * i) & ((1 << width) - 1) for i in range(n_outputs)]
            signed = [part - (part >> (width - 1) << width) for part in parts]
            found[kind].append((signed, int(label, 2)))
    return found


def as_bits(rows):
    return [sum(int(bit) << k for k, bit in enumerate(row)) for row in rows.tolist()]


def as_doubles(rows):
    return [int.from_bytes(struct.pack(f"<{len(row)}d", *row), "little") for row in rows.tolist()]


def check(found, votes, labels):
    for kind in ("at once", "clocked"):
        assert [v for v, _ in found[kind]] == votes.tolist(), kind
        assert [label for _, label in found[kind]] == labels, kind


@simulated
@pytest.mark.parametrize(
    "name, options",
    [
        ("flat", {}),
        ("graded", {}),
        ("several labels", {}),
        ("line", {}),
        ("numbers", {}),
        ("sparse", {}),
        ("levels", {"value": "uint8"}),
        ("levels, graded", {"value": "uint8"}),
        ("adaptive", {"inputs": "bits"}),
        ("table", {"inputs": "bits"}),
        ("joined as they are", None),
    ],
)
def test_votes_and_labels_are_the_models(name, options, tmp_path):
    if options is None:
        model = cotm.join([export_models.model("flat")[0]] * 2, scale="none")
        X, options = export_models.model("flat")[1], {}
    else:
        model, X = export_models.model(name)
    X = X[:ROWS]
    model.export(tmp_path / "m.v", **options)
    if options.get("value") == "uint8":
        rows = [int.from_bytes(row.astype(np.uint8).tobytes(), "little") for row in X]
    elif options.get("inputs") == "bits":
        rows = as_bits(np.asarray(model.booleanizer_.transform(X)).reshape(len(X), -1))
    elif model.booleanizer_ is None:
        rows = as_bits(X.reshape(len(X), -1))
    else:
        rows = as_doubles(export_models.cells(X)[0])
    votes = model.votes(X)
    labels = votes.argmax(axis=1).tolist()
    if name == "several labels":
        labels = as_bits(votes >= 0)
    check(simulate(tmp_path, "m", rows, votes.shape[1]), votes, labels)


@simulated
@pytest.mark.parametrize("seed", range(14))
def test_odd_shapes(seed, tmp_path):
    description, bits, votes = export_models.odd(seed, largest=2000, most_weights=600)
    export(description, tmp_path / "odd.v", name="odd")
    labels = as_bits(votes >= 0) if description.multilabel else votes.argmax(axis=1).tolist()
    check(simulate(tmp_path, "odd", as_bits(bits), votes.shape[1]), votes, labels)


@simulated
def test_comparisons_of_doubles_are_exact(tmp_path):
    values = [-np.inf, -1e300, -2.5, -1e-310, -0.0, 0.0, 5e-324, 0.1, 2.5, 2**53, np.inf, np.nan]
    X = np.array([values * 8]).T
    X = np.where(np.isinf(X), 1.5, X)
    y = np.arange(len(X)) % 3
    model = cotm.CoTMClassifier(30, epochs=4, booleanize=cotm.Thermometer(20)).fit(X, y)
    rows = X[: len(values)]
    model.export(tmp_path / "m.v")
    votes = model.votes(rows)
    check(simulate(tmp_path, "m", as_doubles(rows), 3), votes, votes.argmax(axis=1).tolist())


@pytest.mark.parametrize("name", ["table", "adaptive", "edges", "joined by margin"])
def test_what_verilog_cannot_say_is_refused(name, tmp_path):
    model, _ = export_models.model(name)
    with pytest.raises(CannotExportError, match="Verilog cannot hold exactly"):
        model.export(tmp_path / "m.v")
    assert not [*tmp_path.iterdir()]


@simulated
@pytest.mark.parametrize("word", ["table", "design", "logic"])
def test_no_module_is_called_like_a_word_of_verilog(word, tmp_path):
    model, X = export_models.model("flat")
    with pytest.raises(ValueError, match="a word of Verilog's own"):
        model.export(tmp_path / f"{word}.v", name=word)
    assert not [*tmp_path.iterdir()]
    model.export(tmp_path / f"{word}.v")
    (tmp_path / f"{word}.v").rename(tmp_path / f"model_{word}.v")
    votes = model.votes(X[:2])
    labels = votes.argmax(axis=1).tolist()
    check(simulate(tmp_path, f"model_{word}", as_bits(X[:2]), votes.shape[1]), votes, labels)
