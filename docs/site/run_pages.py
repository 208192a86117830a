"""Run the code of the site's pages and scripts, one after the other, without a notebook.

Usage: python docs/site/run_pages.py FILE ...
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def cells(page: Path) -> list[str]:
    """The code of a page, in its order; a script is one cell."""
    if page.suffix == ".py":
        return [page.read_text()]
    return re.findall(r"```\{code-cell\} ipython3\n(.*?)```", page.read_text(), re.DOTALL)


def main(pages: list[str]) -> None:
    """Run them; an error ends it."""
    for page in map(Path, pages):
        space = {"__name__": "__main__"}
        for number, cell in enumerate(cells(page), start=1):
            exec(compile(cell, f"{page.name}, cell {number}", "exec"), space)


if __name__ == "__main__":
    main(sys.argv[1:])
