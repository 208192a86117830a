"""The core compiled and linked for other systems, by zig's compiler: nothing of it is run.

Usage: python tests/platforms/cross.py [TARGET ...]

Needs ziglang of PyPI. The program is that of checksums.cpp, so that what is missing is found by
the linker. Windows is compiled with MinGW's headers, and so not as by MSVC.
"""

from __future__ import annotations

import sys
from pathlib import Path

from core import BUILD, compile_core, run

#: zig's names of them, and our processors.
TARGETS = {
    "x86_64-windows-gnu": "x86_64",
    "aarch64-windows-gnu": "aarch64",
    "x86_64-macos": "x86_64",
    "aarch64-macos": "aarch64",
}


def build(target: str) -> Path:
    """The program for a target."""
    zig = [sys.executable, "-m", "ziglang", "c++", "-target", target, "-fno-sanitize=undefined"]
    folder = BUILD / f"cross-{target}"
    source = Path(__file__).with_name("checksums.cpp")
    objects = compile_core(zig, TARGETS[target], folder, {source: []}, optimised="-O1")
    program = folder / f"checksums{'.exe' if 'windows' in target else ''}"
    run([*zig, "-o", str(program), *map(str, objects)])
    return program


def main(targets: list[str]) -> int:
    """Build for each target, or for those that are named."""
    for target in targets:
        if target not in TARGETS:
            raise SystemExit(f"error: unknown target {target!r}; known are {', '.join(TARGETS)}")
    try:
        import ziglang  # noqa: F401
    except ImportError:
        raise SystemExit("error: ziglang is missing: pip install ziglang") from None
    for target in targets or TARGETS:
        size = build(target).stat().st_size
        print(f"{target}: compiled and linked, {size / 1e6:.1f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
