"""Throughput of candidate hashes for the draws per literal, and how random they are.

Prints nanoseconds per row of 272 literals for each instruction set this processor has, 10**12
draws per second on a CUDA device where CuPy finds one, and the statistics that decided.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from cotm.experiments.report import processor_name

HERE = Path(__file__).parent
U16, U32, U64 = np.uint16, np.uint32, np.uint64
GOLDEN = U32(0x9E3779B9)


def chosen(a, b, k):
    w = k * GOLDEN
    x = (w ^ (w >> U32(16))) ^ a
    x = x * (x + x + b)
    return x ^ (x >> U32(16))


def keyed(a, b, k):
    x = k * GOLDEN + a
    x = (x ^ (x >> U32(16))) * b
    return x ^ (x >> U32(16))


def quadratic(a, b, k):
    x = k * GOLDEN + a
    x = x ^ (x >> U32(16))
    x = x * (x + x + b)
    return x ^ (x >> U32(16))


def murmur(a, b, k):
    x = k * GOLDEN + a
    x = (x ^ (x >> U32(16))) * U32(0x85EBCA6B)
    x = (x ^ (x >> U32(13))) * U32(0xC2B2AE35)
    return x ^ (x >> U32(16))


CUDA = r"""
template <int kind> __device__ unsigned hash(unsigned k, unsigned a, unsigned b) {
  const unsigned w = k * 0x9E3779B9u;
  if (kind == 0) { unsigned x = (w ^ (w >> 16)) ^ a; x *= 2 * x + b; return x ^ (x >> 16); }
  unsigned x = w + a;
  if (kind == 6) return x;
  if (kind == 5) { for (int r = 0; r < 4; ++r) { x += b; x ^= (x >> 7) ^ (x << 9); } return x; }
  x ^= x >> 16;
  if (kind == 1) x *= b;
  if (kind == 2) x *= 2 * x + b;
  if (kind == 3) { x *= 0x85EBCA6Bu; x ^= x >> 13; x *= 0xC2B2AE35u; }
  if (kind == 4) { x *= 0x7FEB352Du; x ^= x >> 15; x *= b; }
  return x ^ (x >> 16);
}
template <int kind> __global__ void draw(unsigned* out, unsigned q) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0, a = t * 0x9E3779B9u, b = (t * 0x85EBCA6Bu) | 1;
  for (int row = 0; row < 64; ++row, a += 0x51ED27u, b += 2) {
#pragma unroll 8
    for (unsigned k = 0; k < 136; ++k) {
      const unsigned h = hash<kind>(k, a, b);
      sum += ((h & 0xFFFFu) < q) + ((h >> 16) < q);
    }
  }
  out[t] = sum;
}
"""
NAMES = [
    "w ^ a, x (2x + b)   (chosen)",
    "one keyed product",
    "w + a, x (2x + b)",
    "murmur3 fmix32",
    "constant and keyed product",
    "four add-xor-shift rounds",
    "no hash (the loop alone)",
]


def measure_cpu() -> None:
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    for name, options in {
        "avx2": ["-mavx2"],
        "avx512bw": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
    }.items():
        if name not in flags or not shutil.which("g++"):
            print(f"{name}: not measured (no such processor, or no g++)")
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "draws"
            source = str(HERE / "draws.cpp")
            subprocess.run(
                ["g++", "-std=c++20", "-O3", *options, source, "-o", program], check=True
            )
            lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            candidate, nanoseconds, _ = line.split("\t")
            print(f"{name:9} {candidate:30} {float(nanoseconds):6.1f} ns per row of 272")


def measure_cuda() -> None:
    try:
        import cupy as cp

        blocks = 16 * cp.cuda.Device().attributes["MultiProcessorCount"]
    except Exception as error:
        print(f"CUDA: not measured ({error})")
        return
    expressions = [f"draw<{kind}>" for kind in range(len(NAMES))]
    module = cp.RawModule(code=CUDA, name_expressions=expressions, options=("-std=c++17",))
    out = cp.zeros(blocks * 256, dtype=cp.uint32)
    for name, expression in zip(NAMES, expressions, strict=True):
        kernel = module.get_function(expression)
        arguments = ((blocks,), (256,), (out, cp.uint32(6554)))
        kernel(*arguments)
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(20):
            kernel(*arguments)
        stop.record()
        stop.synchronize()
        seconds = cp.cuda.get_elapsed_time(start, stop) / 20 / 1e3
        print(f"CUDA      {name:30} {out.size * 64 * 272 / seconds / 1e12:6.2f} e12 draws/s")


def correlations(hash_function, keys=20_000, words=512, repeats=3) -> tuple[float, float]:
    """Largest mean (in standard errors) and largest single row (in sigmas) over lags."""
    rng = np.random.default_rng(0)
    means, rows = [0.0], [0.0]
    for _ in range(repeats):
        a, b = rng.integers(0, 2**32, (2, keys, 1), dtype=U32)
        with np.errstate(over="ignore"):
            words_ = hash_function(a, b | U32(1), np.arange(words, dtype=U32)[None])
        draws = np.ascontiguousarray(words_).view(U16)
        for q in (6554, 32768):
            p = q / 65536
            centred = (draws < q).astype(np.float32) - np.float32(p)
            for lag in (1, 2, 3, 8, 64, 272, 512):
                score = (centred[:, :-lag] * centred[:, lag:]).sum(axis=1) / (p * (1 - p))
                score /= np.sqrt(centred.shape[1] - lag)
                means.append(abs(float(score.mean()) * np.sqrt(keys)))
                rows.append(float(np.abs(score).max()))
    return max(means), max(rows)


def main() -> None:
    print(f"{processor_name()}, Python {platform.python_version()}")
    measure_cpu()
    measure_cuda()
    for function in (chosen, keyed, quadratic, murmur):
        mean, row = correlations(function)
        print(
            f"{function.__name__:10} largest mean {mean:.1f} standard errors, row {row:.1f} sigma"
        )


if __name__ == "__main__":
    main()
