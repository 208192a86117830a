"""JavaScript: a module with the JSON export and its evaluator, and its types."""

from __future__ import annotations

from importlib.resources import files as resources
from pathlib import Path

from .description import CannotExportError, Description, TableInput
from .json_format import json_text
from .writing import text_bytes

OPTIONS: tuple[str, ...] = ()

#: Beyond this, numbers of JavaScript do not tell integers apart.
_MOST = 1 << 53


def files(description: Description, path: Path) -> dict[Path, bytes]:
    """The module and its types."""
    check(description)
    # So that it may stand in a page: no tag can begin in it.
    data = json_text(description).replace("<", "\\u003c")
    module = (
        f"{_resource('evaluator.js')}\n// The model --------------------------------------------"
        f"---------------------------\n\n/** The model that was exported. */\n"
        f"export const model = new Model({data});\n\nexport default model;\n"
    )
    types = (
        f"{_resource('evaluator.d.ts')}\n/** The model that was exported. */\n"
        "export const model: Model;\n\nexport default model;\n"
    )
    return {path.with_suffix(".d.ts"): text_bytes(types), path: text_bytes(module)}


def _resource(name: str) -> str:
    return resources(__package__).joinpath("js", name).read_text(encoding="utf-8")


def check(description: Description) -> None:
    """Raise CannotExportError for numbers that doubles do not hold."""
    for member in description.members:
        if member.largest_vote >= _MOST:
            raise CannotExportError("JavaScript", "votes are above 2**53", "export JSON")
        if isinstance(member.input, TableInput):
            for test in member.input.tests:
                if isinstance(test.value, int) and abs(test.value) > _MOST:
                    raise CannotExportError(
                        "JavaScript",
                        f"the category {test.value!r} needs more than 53 bits",
                        "turn the column into text before training, or export JSON",
                    )
