"""The requirements of an extra of pyproject.toml, to install them without cotm.

Usage: python packaging/extra.py NAME
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    print(*project["project"]["optional-dependencies"][sys.argv[1]])
