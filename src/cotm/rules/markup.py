"""Rules as tables of LaTeX and HTML; names and labels in them may be anything."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from .grammar import label_text
from .rule import MemberRule, Rule

#: A page is no place for thousands of rules.
MOST_SHOWN = 20

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\ttfamily\char34}",  # \textquotedbl is not in TeX's own encoding
    "'": r"\textquotesingle{}",
    "-": "{-}",  # two of them would become a dash
}

# Colours are the page's own, so that it suits light and dark ones.
_STYLE = "color:inherit;background:transparent;font-size:90%"
_CELL = "text-align:left;vertical-align:top"
#: A label and its votes stay on one line.
_VOTES = re.compile(r" (?=[+-]\d)")


def _cells(rules: Sequence[Rule]) -> tuple[list[str], list[list[str]]]:
    """A header and rows of text."""
    measured = bool(rules) and all(rule.evidence is not None for rule in rules)
    labelled = measured and all(rule.evidence.counts is not None for rule in rules)  # type: ignore[union-attr]
    of_members = any(isinstance(rule, MemberRule) for rule in rules)
    header = ["member"] * of_members + ["if", "votes"]
    header += ["coverage", "share of votes"] * measured + ["precision"] * labelled
    rows = []
    for rule in rules:
        row = [getattr(rule, "member", "")] * of_members + [rule.condition, rule.said]
        evidence = rule.evidence
        if measured and evidence is not None:
            row += [f"{evidence.coverage:.1%}", f"{evidence.share_of_votes:.1%}"]
        if labelled and evidence is not None:
            best = max(rule.weights, key=rule.weights.__getitem__)
            precise = evidence.precision
            row.append("" if precise is None else f"{precise[best]:.1%} {label_text(best)}")
        rows.append(row)
    return header, rows


def html_of(rules: Sequence[Rule]) -> str:
    """The first rules as a small table of HTML."""
    header, rows = _cells(rules[:MOST_SHOWN])
    votes = header.index("votes")
    for row in rows:
        row[votes] = _VOTES.sub("\u00a0", row[votes])
    head = "".join(f'<th style="{_CELL}">{html.escape(cell)}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{html.escape(c)}</td>' for c in row) + "</tr>"
        for row in rows
    )
    more = len(rules) - MOST_SHOWN
    note = f"<p>and {more:,} more rules</p>" if more > 0 else ""
    return (
        f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}'
    )


def latex_of(rules: Sequence[Rule]) -> str:
    """All rules as a table of LaTeX; those that are long break into lines."""
    header, rows = _cells(rules)
    place = header.index("if")
    columns = ["l"] * place + ["p{0.5\\linewidth}", "p{0.2\\linewidth}"]
    columns += ["r"] * (len(header) - len(columns))
    lines = [" & ".join(map(_latex, cells)) + r" \\" for cells in (header, *rows)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join(columns)}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
