"""The version, and whether everything that names it agrees.

Usage: python packaging/version.py [TAG]    prints it; a tag must be "v" and the version
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def found(path: str, pattern: str) -> str:
    """What a file says."""
    match = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
    if match is None:
        raise SystemExit(f"error: {path} names no version")
    return match[1]


def check(tag: str | None = None) -> str:
    """The version; ends the program where something else is named."""
    version = found("src/cotm/__init__.py", r'^__version__ = "(.+)"$')
    cited = found("CITATION.cff", r"^version: (.+)$")
    if cited != version:
        raise SystemExit(f"error: CITATION.cff says {cited}, src/cotm/__init__.py {version}")
    if tag is None:
        return version
    if tag != f"v{version}":
        raise SystemExit(f"error: the tag is {tag}, but the version v{version}")
    changes = (ROOT / "CHANGELOG.md").read_text()
    if f"\n## {version}\n" not in changes and f"\n## {version} " not in changes:
        raise SystemExit(f"error: CHANGELOG.md has no part {version}")
    return version


if __name__ == "__main__":
    print(check(*sys.argv[1:2]))
