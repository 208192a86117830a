"""What a release needs beside wheels that work: version, workflows, what other systems build.

Usage: python packaging/release_check.py    (`make release-check`, after `make wheels`)
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from check import wheel_for
from version import check
from wheels import BUILD, DIST, ROOT, pythons, run

WORKFLOWS = ROOT / ".github"
#: System and processor, and what cibuildwheel must have for it: CPython 3.10 to 3.14.
SYSTEMS = {
    "linux": ("x86_64", "aarch64"),
    "macos": ("arm64", "x86_64"),
    "windows": ("AMD64",),
}
#: Tests that need little else: the compiled core and its definition, and files of all versions.
TESTS = ("backends/test_equality.py", "backends/test_native_spec.py", "files/test_file_versions.py")


def check_workflows() -> None:
    """Their schema, and weaknesses that are known."""
    schema = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")
    run(*schema, "vendor.github-workflows", *sorted((WORKFLOWS / "workflows").glob("*.yml")))
    run(*schema, "vendor.dependabot", WORKFLOWS / "dependabot.yml")
    run(Path(sys.executable).parent / "zizmor", "--offline", "--no-progress", WORKFLOWS)
    print("workflows: as their schema wants them, no known weakness")


def check_systems() -> None:
    """What would be built elsewhere."""
    for system, processors in SYSTEMS.items():
        for processor in processors:
            words = ("--print-build-identifiers", "--platform", system, "--archs", processor)
            done = subprocess.run(
                [sys.executable, "-m", "cibuildwheel", *words],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = done.stdout.split()
            tags = [name.partition("-")[0] for name in found]
            assert tags == [f"cp3{minor}" for minor in range(10, 15)], (system, found)
            print(f"{system} {processor}: {len(found)} Pythons", flush=True)


def check_tests() -> None:
    """The project's own tests on an installed wheel, the newest Python's."""
    version = max(pythons())
    wheel = wheel_for(version)
    folder = BUILD / f"check-{version[0]}.{version[1]}"
    own = folder / "bin" / "python"
    extra = ("hypothesis", "pytest", "polars")
    run(own, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *extra)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = ("-q", "-x", "-p", "no:cacheprovider")
    paths = [ROOT / "tests" / name for name in TESTS]
    run(own, "-m", "pytest", *options, *paths, cwd=folder, env=environment)
    print(f"tests pass on {wheel.name if wheel else wheel}, Python {version[0]}.{version[1]}")


def main() -> int:
    """Check all there is."""
    version = check()
    files = [path.name for path in DIST.iterdir() if path.suffix in (".whl", ".gz")]
    assert files and all(f"-{version}" in name for name in files), (version, files)
    print(f"version {version}")
    check_workflows()
    check_systems()
    check_tests()
    return 0


if __name__ == "__main__":
    sys.exit(main())
