"""The core, compiled without CMake for any processor and system."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
BUILD = ROOT / "build" / "platforms"
#: What knows Python.
BINDINGS = sorted(NATIVE.glob("*bindings.cpp"))
#: Of each processor, what says that there are kernels for it, and their files.
WIDE = {"x86_64": ("COTM_X86", ("avx2", "avx512")), "aarch64": ("COTM_NEON", ("neon",))}


def kernel_flags(name: str) -> list[str]:
    """The flags of CMakeLists.txt for a file with wide instructions."""
    build = (ROOT / "CMakeLists.txt").read_text()
    options = re.search(rf'kernels/{name}\.cpp PROPERTIES[^"/]*"([^"]+)"', build)
    return options[1].split(";") if options else []


def compile_core(
    compiler: list[str],
    processor: str,
    folder: Path,
    more: dict[Path, list[str]],
    *,
    optimised: str = "-O3",
) -> list[Path]:
    """Objects of all of native/ but the bindings, and of more files with flags of their own."""
    define, wide = WIDE[processor]
    kernels = [NATIVE / "kernels" / f"{name}.cpp" for name in ("baseline", "dispatch")]
    core = [path for path in sorted(NATIVE.glob("*.cpp")) if path not in BINDINGS]
    sources = {path: [] for path in [*core, *kernels]}
    sources |= {NATIVE / "kernels" / f"{name}.cpp": kernel_flags(name) for name in wide}
    folder.mkdir(parents=True, exist_ok=True)
    common = [*compiler, "-std=c++20", optimised, f"-I{NATIVE}", f"-D{define}"]

    def compile_one(source: Path, flags: list[str]) -> Path:
        target = folder / f"{source.stem}.o"
        run([*common, *flags, "-c", str(source), "-o", str(target)])
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        both = sources | more
        return list(pool.map(compile_one, both, both.values()))


def add_checksums(found: dict[str, dict[str, str]], where: str, printed: str) -> None:
    """Add what checksums.cpp printed: by the part of the core, then by place and instructions."""
    for line in printed.splitlines()[1:]:
        name, isa, value = line.split()
        found.setdefault(name, {})[f"{where} {isa}"] = value


def all_equal(found: dict[str, dict[str, str]]) -> bool:
    """Print which checksums are equal; whether all are that should be."""
    for name, sums in found.items():
        agree = len(set(sums.values())) == 1
        print(f"{name}: {'equal' if agree else 'DIFFERENT'} on {', '.join(sums)}")
        if not agree:
            print(*(f"  {value} {where}" for where, value in sums.items()), sep="\n")
    return all(len(set(sums.values())) == 1 for sums in found.values())


def run(command: list[str], **options: object) -> str:
    """What a command prints; if it fails, the end of that is the error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"$ {shlex.join(command)}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout
