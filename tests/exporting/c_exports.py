"""C exports as tests call them: compiled, and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def sanitizes(compiler: str) -> bool:
    """Whether a compiler is there with its sanitizers, which may be a package of their own."""
    if compiler not in COMPILERS:
        return False
    command = [compiler, *SANITIZED, "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=b"int main(void){}", capture_output=True).returncode == 0


#: Each as a parameter of tests, which are skipped where it is not there.
EACH_SANITIZER = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(not sanitizes(name), reason=f"{name} has no sanitizers here"),
    )
    for name in ("gcc", "clang")
]


def compiled(source: Path, *flags: str, compiler: str = COMPILERS[0] if COMPILERS else "") -> Path:
    """A shared library, or with -DNAME_MAIN a program."""
    kind = ["-o"] if any(flag.endswith("_MAIN") for flag in flags) else ["-shared", "-fPIC", "-o"]
    out = source.with_suffix(f".{compiler}.out")
    run = subprocess.run(
        [compiler, *STRICT, "-O1", *flags, str(source), *kind, str(out)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return out


class Export:
    """A compiled export."""

    def __init__(self, library: Path, name: str, n_outputs: int, votes: Any, value: Any) -> None:
        self.library, self.name = ctypes.CDLL(str(library)), name
        self.n_outputs, self.type, self.value = n_outputs, votes, value

    @classmethod
    def of(cls, source: Path, *flags: str, **options: Any) -> Export:
        """With types and sizes as the header has them."""
        header, name = source.with_suffix(".h").read_text(), source.stem.lower()
        votes = np.int64 if f"typedef int64_t {name}_vote" in header else np.int32
        value = np.uint8 if f"#define {name.upper()}_VALUE uint8_t" in header else np.float64
        n_outputs = int(header.split(f"{name.upper()}_OUTPUTS ")[1].split("\n")[0])
        return cls(compiled(source, *flags, **options), name, n_outputs, votes, value)

    def call(self, function: str, dtype: Any, width: int, numbers: Any, texts: Any) -> np.ndarray:
        values = np.ascontiguousarray(numbers).astype(self.value)
        out = np.zeros((len(values), width), dtype=dtype)
        arguments: list[Any] = [values.ctypes.data]
        if texts is not None:
            data = [t if t is None else t.encode("utf-8", "surrogatepass") for t in texts.ravel()]
            arguments.append((ctypes.c_char_p * len(data))(*data))
        pointers = [ctypes.c_void_p if isinstance(a, int) else None for a in arguments]
        arguments = [a if p is None else p(a) for a, p in zip(arguments, pointers, strict=True)]
        getattr(self.library, f"{self.name}_{function}")(
            *arguments, ctypes.c_size_t(len(values)), ctypes.c_void_p(out.ctypes.data)
        )
        return out

    def votes(self, numbers: Any, texts: Any = None) -> np.ndarray:
        return self.call("votes", self.type, self.n_outputs, numbers, texts)

    def classes(self, numbers: Any, texts: Any = None) -> np.ndarray:
        return self.call("predict", np.int32, 1, numbers, texts)[:, 0]

    def labels(self, numbers: Any, texts: Any = None) -> np.ndarray:
        return self.call("predict", np.uint8, self.n_outputs, numbers, texts)
