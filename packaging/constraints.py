"""The versions with which the tests of .github run, in .github/constraints.txt.

Usage: python packaging/constraints.py    (`make constraints`)

All that tests, linters, documents and releases take, in the newest versions that go together on
this Python. Nothing is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("docs", "lint", "release", "test")
HEAD = "# Written by `make constraints`, on Python {}.{}; used by .github/workflows.\n"


def main() -> None:
    """Ask pip what it would install, and write that down."""
    words = ("install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-")
    wanted = f"{ROOT}[{','.join(EXTRAS)}]"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, wanted],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    parts = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    lines = sorted(f"{part['name'].lower()}=={part['version']}" for part in parts)
    lines = [line for line in lines if not line.startswith("cotm==")]
    text = HEAD.format(*sys.version_info) + "\n".join(lines) + "\n"
    (ROOT / ".github" / "constraints.txt").write_text(text)
    print(f".github/constraints.txt: {len(lines)} versions")


if __name__ == "__main__":
    main()
