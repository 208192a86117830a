"""What an experiment leaves behind: tables, figures, and the hardware they come from."""

from __future__ import annotations

import csv
import io
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import __version__
from ..backends import device_title
from ..core.system import available_processors
from ..core.whole_files import replace_file

Kept = TypeVar("Kept")

#: Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, GREY = "#E69F00", "#CC79A7", "#666666"
#: The colour of each kind of machine, the same in all figures.
COLOURS = {"coalesced": BLUE, "weighted": VERMILION, "plain": VERMILION}

#: matplotlib's settings for every figure of the project.
STYLE: Any = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "legend.frameon": False,
    "svg.hashsalt": "cotm",  # the same results give the same file
}
_DOTS_PER_INCH = 150


class Report:
    """The folder with the results of one experiment."""

    def __init__(
        self, name: str, folder: Path, command: str, say: Callable[[str], None] = print
    ) -> None:
        self.name = name
        self.folder = folder
        self.command = command  # that gives these results
        self.say = say

    def write(
        self,
        title: str,
        rows: list[dict[str, Any]],
        notes: list[str],
        computers: list[dict[str, Any]],
    ) -> None:
        """Write rows as JSON, CSV and a Markdown table, and print the table."""
        facts = {"title": title, "command": self.command, "computers": computers, "notes": notes}
        document = json.dumps({**facts, "rows": rows}, indent=1) + "\n"
        write_whole(self.folder / "results.json", document)
        write_whole(self.folder / "results.csv", _csv_table(rows))
        text = f"# {title}\n\n{markdown_table(rows)}\n\n" + "\n".join(f"- {note}" for note in notes)
        hardware = "; ".join(dict.fromkeys(map(_computer_text, computers)))
        text += f"\n- `{self.command}`; {hardware}\n"
        write_whole(self.folder / "table.md", text)
        self.say(text)
        self.say(f"Results are in {self.folder}")

    def figure(self, draw: Callable[[Any], None], name: str = "figure") -> None:
        """Draw on matplotlib's axes, as PNG and SVG; without matplotlib, say so."""
        try:
            import matplotlib
        except ImportError:
            self.say('No figure: matplotlib is missing; pip install "cotm[plot]"')
            return
        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        self.folder.mkdir(parents=True, exist_ok=True)
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
            draw(axes)
            save_figure(figure, self.folder, name)


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Save a figure of matplotlib as PNG and as SVG, and close it."""
    import matplotlib.pyplot as plt

    # Without the date, the same figure gives the same file.
    for ending, metadata in (("png", None), ("svg", {"Date": None})):
        picture = io.BytesIO()
        figure.savefig(picture, format=ending, dpi=_DOTS_PER_INCH, metadata=metadata)
        replace_file(folder / f"{name}.{ending}", picture.getvalue(), "the figure")
    plt.close(figure)


def markdown_table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table, a column per key.

    >>> print(markdown_table([{"clauses": 500, "ours": 98.4312}, {"clauses": 1000}]))
    | clauses | ours |
    | --- | --- |
    | 500 | 98.43 |
    | 1,000 | |
    """
    keys = _keys(rows)
    lines = ["| " + " | ".join(keys) + " |", "| " + " | ".join("---" for _ in keys) + " |"]
    for row in rows:
        cells = [_cell(row.get(key)) for key in keys]
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines)


def _csv_table(rows: list[dict[str, Any]]) -> str:
    table = io.StringIO()
    writer = csv.DictWriter(table, _keys(rows))
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    """The keys of all rows, in the order in which they first occur."""
    return list(dict.fromkeys(key for row in rows for key in row))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe_computer(backend: str | None) -> dict[str, Any]:
    """The hardware and software that times depend on; accuracies do not."""
    return {
        "processor": processor_name(),
        "cores": available_processors(),
        "backend": backend,
        "gpu": backend and device_title(backend),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cotm": __version__,
    }


def processor_name() -> str:
    """The processor's model where the system tells it, otherwise its architecture."""
    try:
        with open("/proc/cpuinfo") as lines:
            found = re.search(r"model name\s*: (.*)", lines.read())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _computer_text(computer: dict[str, Any]) -> str:
    place = computer.get("gpu") or f"{computer['processor']}, {computer['cores']} cores"
    return f"{place}, cotm {computer['cotm']}"


def read_kept(path: Path, read: Callable[[str], Kept]) -> Kept:
    """What a file of this package holds, or an error that says that it is damaged."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}: {error}); delete it, and it is made again"
        ) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file completely or not at all, in folders that are made where needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode(), "the result")
