"""What the benchmarks share, beside what they import from cotm: the place and the commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Where results go unless the command says otherwise.
RESULTS = ROOT / "build" / "bench"


def commit() -> str:
    """The commit that is checked out, with "-dirty" where files were changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return run.stdout.strip() or "unknown"
