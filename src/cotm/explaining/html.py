"""Explanations as a few lines of HTML that show in light and in dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .wording import test_text, votes_text

if TYPE_CHECKING:
    from .explanation import Explanation

#: More examples than these are only counted.
_MOST_SHOWN = 5
_FOR, _AGAINST = "#3b82c4", "#d9822b"  # to be told apart without seeing red or green


def explanation_html(explanation: Explanation) -> str:
    """The first examples, each with its sentence and bars for what moved its votes."""
    shown = range(min(len(explanation), _MOST_SHOWN))
    parts = [_example(explanation, i) for i in shown]
    rest = len(explanation) - len(parts)
    if rest:
        parts.append(f"<p>and {rest:,} more: explanation[{len(parts)}], …</p>")
    return f'<div style="color:inherit;font-size:90%">{"".join(parts)}</div>'


def _example(explanation: Explanation, i: int) -> str:
    reasons = explanation.reasons(i, top=8)
    widest = max((abs(reason.contribution) for reason in reasons), default=1.0)
    rows = "".join(
        "<tr>"
        f"<td>{escape(test_text(reason, bits=explanation.are_bits, known=explanation.has_values))}"
        f'</td><td style="text-align:right">{votes_text(reason.contribution)}</td>'
        f"<td>{_bar(reason.contribution / widest)}</td></tr>"
        for reason in reasons
    )
    text = escape(explanation.sentence(i))
    return f"<p>{text}</p><table>{rows}</table>"


def _bar(share: Any) -> str:
    width, colour = round(120 * abs(share)), _FOR if share > 0 else _AGAINST
    return f'<div style="background:{colour};height:0.8em;width:{width}px"></div>'
