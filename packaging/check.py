"""The wheels of dist/, installed where there is no compiler, and tried on every Python there is.

Usage: python packaging/check.py    (`make wheels`, after packaging/wheels.py)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from wheels import BUILD, DIST, ROOT, STABLE, pythons, run

#: What a wheel may take, in MB: itself, and unpacked.
LARGEST, LARGEST_UNPACKED = 2.0, 6.0
#: What has no place in a wheel.
SOURCES = (".cpp", ".hpp", ".inl", ".pyc", "CMakeLists.txt")


def check_contents(wheel: Path) -> None:
    """The package, its licence and nothing that only its making needs."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    kept = {path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py")}
    missing = {str(path) for path in kept} - {*names}
    assert not missing, f"{wheel.name} lacks {missing}"
    assert any(name.startswith("cotm/_native.") and name.endswith(".so") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names), f"{wheel.name}: no licence"
    alien = [
        name
        for name in names
        if name.endswith(SOURCES) or name.split("/")[0].split("-")[0].split(".")[0] != "cotm"
    ]
    assert not alien, f"{wheel.name} has {alien}"
    packed, unpacked = wheel.stat().st_size / 1e6, sum(entry.file_size for entry in entries) / 1e6
    assert packed <= LARGEST and unpacked <= LARGEST_UNPACKED, f"{wheel.name}: {unpacked} MB"


def wheel_for(version: tuple[int, int]) -> Path | None:
    """The one of dist/ that a Python installs."""
    tag = "cp312-abi3" if version >= STABLE else f"cp{version[0]}{version[1]}-"
    return next(DIST.glob(f"cotm-*-{tag}*.whl"), None)


def check_installed(version: tuple[int, int], python: str, wheel: Path) -> None:
    """Library first, then the command line, in an environment without compilers."""
    folder = BUILD / f"check-{version[0]}.{version[1]}"
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    own = folder / "bin" / "python"
    bare = {"PATH": str(folder / "bin"), "HOME": str(folder), "CC": "false", "CXX": "false"}
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    pip = (own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
    for extra in ("", "[cli]"):
        run(*pip, "--only-binary", ":all:", f"{wheel}{extra}", env={**bare, **kept}, cwd=folder)
        said = subprocess.run(
            [own, ROOT / "packaging" / "smoke.py"],
            env=bare,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode:
            raise SystemExit(f"{wheel.name}{extra} on Python {version}:\n{said.stderr}")
    print(said.stdout.strip(), flush=True)


def main() -> int:
    """Check all there is."""
    wheels = sorted(DIST.glob("*.whl"))
    if not wheels:
        raise SystemExit("error: dist/ holds no wheels; make wheels")
    for wheel in wheels:
        check_contents(wheel)
    stable = [wheel for wheel in wheels if "abi3" in wheel.name]
    run(sys.executable, "-m", "abi3audit", "--strict", *stable)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    for version, python in sorted(pythons().items()):
        wheel = wheel_for(version)
        if wheel is None:
            raise SystemExit(f"no wheel for Python {version[0]}.{version[1]}")
        check_installed(version, python, wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
