"""What a client is told when something is wrong: problem, value and remedy, as JSON."""

from __future__ import annotations

from typing import Any

#: No value in an answer is longer.
_MOST_LETTERS = 200


class Problem(Exception):
    """An answer that is an error, with its status code."""

    def __init__(
        self,
        status: int,
        problem: str,
        remedy: str,
        value: Any = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem
        self.remedy = remedy
        self.value = value
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        """What the client gets."""
        return {
            "error": {"problem": self.problem, "value": _short(self.value), "remedy": self.remedy}
        }


def refused(error: ValueError, remedy: str = "") -> Problem:
    """The library's own words; they name problem, value and remedy, mostly in this order."""
    problem, _, way = str(error).partition("; ")
    return Problem(422, problem[:2000], (way or remedy)[:2000])


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    # Halves of surrogate pairs are no UTF-8.
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _MOST_LETTERS else text[:_MOST_LETTERS] + "..."
