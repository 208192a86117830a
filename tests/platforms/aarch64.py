"""The core on aarch64, emulated by QEMU: the same numbers as on this processor.

Usage: python tests/platforms/aarch64.py [--python [PYTEST ARGUMENT ...]]

First the checksums of checksums.cpp, of every kernel and of many trainings. With --python then the
tests of the native backend in a Python for aarch64: Debian's packages for arm64 and PyPI's wheels
are unpacked under build/platforms, nothing is installed. Runs on Debian, x86-64, with the packages
qemu-user-static and g++-aarch64-linux-gnu. Times say nothing about a real processor.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from core import BUILD, ROOT, add_checksums, all_equal, compile_core, run

COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64-static"
DEBIAN = ("python3", "libpython3-dev", "libstdc++6")
WHEELS = ("numpy", "scipy", "scikit-learn", "pandas", "safetensors", "pytest", "hypothesis")
#: Not those that look at the clock, or at what is left of the memory.
TESTS = [
    *(
        f"tests/backends/test_{name}.py"
        for name in ("kernels", "native", "native_spec", "equality")
    ),
    *(f"tests/booleanize/test_{name}.py" for name in ("edges", "histograms")),
    "tests/core/test_randomness.py",
    "tests/augmentation/test_resampling.py",
]


def checksums(compiler: str, processor: str, emulator: list[str]) -> str:
    """What checksums.cpp prints on a processor."""
    folder = BUILD / f"checksums-{processor}"
    source = Path(__file__).with_name("checksums.cpp")
    objects = compile_core([compiler, "-pthread"], processor, folder, {source: []})
    program = str(folder / "checksums")
    run([compiler, "-static", "-pthread", "-o", program, *map(str, objects)])
    return run([*emulator, program])


def compare_checksums() -> bool:
    """Print the checksums of both processors; whether all are equal."""
    found: dict[str, dict[str, str]] = {}
    here = platform.machine()
    add_checksums(found, here, checksums(os.environ.get("CXX", "g++"), here, []))
    add_checksums(found, "aarch64", checksums(COMPILER, "aarch64", [EMULATOR]))
    return all_equal(found)


def make_python(folder: Path) -> list[str]:
    """Unpack a Python for aarch64 with what the tests import; the command that runs it."""
    root, site = folder / "root", folder / "site"
    python = [EMULATOR, "-L", str(root), str(root / "usr" / "bin" / "python3")]
    ready, wanted = folder / "ready", " ".join((*DEBIAN, *WHEELS))
    if not ready.exists() or ready.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / "apt" / name).mkdir(parents=True)
        (folder / "apt" / "status").touch()  # nothing is installed, so all of it is fetched
        apt = ["apt-get", "-qq", "-y"]
        for option in (
            "APT::Architecture=arm64",
            "APT::Architectures=arm64",
            "APT::Install-Recommends=0",
            f"Dir::State::lists={folder}/apt/lists",
            f"Dir::State::status={folder}/apt/status",
            f"Dir::Cache={folder}/apt/cache",
        ):
            apt += ["-o", option]
        run([*apt, "update"])
        run([*apt, "--download-only", "install", *DEBIAN])
        for package in sorted((folder / "apt" / "cache" / "archives").glob("*.deb")):
            run(["dpkg", "-x", str(package), str(root)])
        version = run([*python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
        tags = [f"--platform=manylinux_2_{glibc}_aarch64" for glibc in (17, 26, 27, 28, 34)]
        run([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
             "--target", str(site), "--only-binary=:all:", *tags, "--python-version", version,
             *WHEELS])  # fmt: skip
        ready.write_text(wanted)
    return python


def build_package(folder: Path, python: list[str]) -> Path:
    """The package with its extension, built by CMake as for any other; the folder it is in."""
    include, suffix = run(
        [*python, "-c", "import sysconfig as s; print(s.get_path('include'));"
         "print(s.get_config_var('EXT_SUFFIX'))"]
    ).split()  # fmt: skip
    build, package = folder / "build", folder / "package"
    build.mkdir(exist_ok=True)
    tools = Path(sys.executable).parent
    cmake = shutil.which("cmake", path=f"{tools}{os.pathsep}{os.environ['PATH']}")
    headers = folder / "root" / "usr" / "include"
    run([cmake, "-S", str(ROOT), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
         f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DPython_EXECUTABLE={sys.executable}",
         f"-DPython_INCLUDE_DIR={include}", f"-DNB_SUFFIX={suffix}",
         f"-DCMAKE_CXX_FLAGS=-I{headers}"])  # fmt: skip
    run([cmake, "--build", str(build), "--parallel", str(os.cpu_count())])
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "cotm",
        package / "cotm",
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    shutil.copy(build / f"_native{suffix}", package / "cotm")
    return package


def run_tests(arguments: list[str]) -> bool:
    """Run the tests in the emulated Python; whether they passed."""
    folder = BUILD / "python-aarch64"
    python = make_python(folder)
    package = build_package(folder, python)
    environment = os.environ | {
        "PYTHONPATH": f"{package}{os.pathsep}{folder / 'site'}",
        "CXX": COMPILER,  # test_kernels.py compiles for itself
        "COTM_EXPECT_PATH": str(package),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [*python, "-m", "pytest", "-p", "no:cacheprovider", "-q", *(arguments or TESTS)]
    return not subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: list[str]) -> int:
    """Everything that was asked for; 1 if something differs or fails."""
    for name, package in ((EMULATOR, "qemu-user-static"), (COMPILER, "g++-aarch64-linux-gnu")):
        if not shutil.which(name):
            raise SystemExit(f"error: {name} is missing: install Debian's package {package}")
    passed = compare_checksums()
    if arguments[:1] == ["--python"]:
        passed &= run_tests(arguments[1:])
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
