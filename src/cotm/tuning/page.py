"""A search as a page: its history, what mattered, slices, and the halving, in one HTML file that
needs nothing else and has no scripts."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core.whole_files import check_replaceable, replace_file
from ..reporting.page import page_text, policy_hash
from .charts import Axis, Chart, chart
from .dimensions import Choices, Dimension, Numbers, Share, shown
from .results import Trials

#: Rows of the table of the best.
_ROWS = 25


def write_page(trials: Trials, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    path = Path(path)
    check_replaceable(path, "the page")
    replace_file(path, page(trials), "the page")


def page(trials: Trials) -> bytes:
    """The file."""
    style = page_text("report.css") + _STYLE
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {policy_hash(style)}"
    )
    sections = [
        _section("Result", _facts(trials)),
        _section("History", _history(trials)),
        _section("Halving", _halving(trials)),
        _section("What mattered", _importances(trials)),
        _section("Slices", _slices(trials)),
        _section("The best", _table(trials)),
    ]
    title = html.escape(trials.title)
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header class="top"><div class="inner"><h1>{title}</h1>
<p class="about">Every score is of rows that the candidate was not trained on. The best of many is
rather too good: judge a model by rows that were not searched by.</p></div></header>
<main class="inner">{"".join(sections)}</main>
</body>
</html>
"""
    return text.encode("utf-8")


_STYLE = """
.charts { display: grid; gap: 1.5rem; }
.charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); }
svg { display: block; width: 100%; height: auto; }
.dot { fill: var(--for); fill-opacity: 0.75; }
.dot.low { fill: var(--soft); fill-opacity: 0.45; }
.dot.best { fill: var(--against); fill-opacity: 1; }
.line { fill: none; stroke: var(--for); stroke-opacity: 0.55; stroke-width: 1.5; }
.line.low { stroke: var(--soft); stroke-opacity: 0.4; }
.line.best { stroke: var(--against); stroke-opacity: 1; stroke-width: 2.5; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: 0.75rem 1rem; border-radius: 5px; }
.wide { min-width: 16rem; }
"""


def _section(title: str, content: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2>{content}</section>" if content else ""


def _facts(trials: Trials) -> str:
    figures = "".join(
        f"<li><b>{html.escape(value)}</b>{html.escape(name)}</li>"
        for name, value in trials.facts.items()
    )
    rows = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(shown(value))}</dd></div>"
        for name, value in trials.params.items()
    )
    code = f"<pre>{html.escape(trials.code)}</pre>" if trials.code else ""
    return f'<ul class="figures">{figures}</ul><dl class="card">{rows}</dl>{code}'


def _last(trials: Trials) -> dict[int, tuple[int, float]]:
    """The highest rung of each candidate, and its score there."""
    found: dict[int, tuple[int, float]] = {}
    for (one, rung), score in sorted(trials.scores.items()):
        if score == score:
            found[one] = rung, score
    return found


def _kind(trials: Trials, candidate: int, rung: int) -> str:
    if candidate == trials.best[0]:
        return "best"
    return "" if rung + 1 == len(trials.rungs) else "low"


def _history(trials: Trials) -> str:
    last = _last(trials)
    best: list[tuple[float, float]] = []
    for one in sorted(last):
        score = max(s for (n, _), s in trials.scores.items() if n == one and s == s)
        best.append((one + 1, max(score, best[-1][1]) if best else score))
    picture = Chart(
        Axis("candidate", 1, max(2, max(last, default=0) + 1), whole=True),
        Axis(trials.metric, *_limits([score for _, score in last.values()])),
    )
    picture.line(best, "best", "best so far")
    for one, (rung, score) in last.items():
        picture.dot(one + 1, score, _kind(trials, one, rung), _said(trials, one, rung, score))
    return chart(picture, "Score of each candidate at the last rung that it came to, and the best "
                 "so far; candidates that did not come to the end are grey.")  # fmt: skip


def _halving(trials: Trials) -> str:
    if len(trials.rungs) < 2:
        return ""
    scores = [score for score in trials.scores.values() if score == score]
    picture = Chart(
        Axis("epochs", trials.rungs[0], trials.rungs[-1], log=True, ticks=trials.rungs),
        Axis(trials.metric, *_limits(scores)),
    )
    for one, (rung, _) in sorted(_last(trials).items(), key=lambda item: item[0] == trials.best[0]):
        points = [
            (float(trials.rungs[r]), score)
            for (n, r), score in sorted(trials.scores.items())
            if n == one and score == score
        ]
        kind = _kind(trials, one, rung)
        picture.line(points, kind, f"candidate {one + 1}")
        for epochs, score in points:
            picture.dot(epochs, score, kind, f"candidate {one + 1}: {score:.4f}")
    return chart(picture, "How the candidates did after fewer and more epochs. One of so many goes "
                 "on from each rung, from where it stands.")  # fmt: skip


def _importances(trials: Trials) -> str:
    try:
        found = trials.importances()
    except ImportError:
        return '<p class="note">Needs Optuna: pip install "cotm[tune]"</p>'
    if not found:
        return '<p class="note">Too few candidates differ.</p>'
    most = max(found.values()) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td class="number">{value:.2f}</td>'
        f'<td class="wide"><svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" '
        f'aria-label="{value:.2f}"><rect class="dot" width="{100 * value / most:.1f}" height="6"/>'
        "</svg></td></tr>"
        for name, value in found.items()
    )
    return (
        '<p class="note">How much of the differences between scores after the fewest epochs each '
        'setting explains (fANOVA).</p><div class="scroll"><table class="importance"><tbody>'
        f"{rows}</tbody></table></div>"
    )


def _slices(trials: Trials) -> str:
    last = _last(trials)
    limits = _limits([score for _, score in last.values()])
    pictures = []
    for name, dimension in trials.space.items():
        axis, place = _axis(name, dimension)
        picture = Chart(axis, Axis(trials.metric, *limits), width=360, height=240)
        for one, (rung, score) in last.items():
            codes = trials.candidates[one]
            if codes is not None and name in codes:
                said = f"{name} {dimension.text(codes[name])}: {score:.4f}"
                picture.dot(place(codes[name]), score, _kind(trials, one, rung), said)
        pictures.append(chart(picture, name))
    return f'<div class="charts">{"".join(pictures)}</div>' if pictures else ""


def _axis(name: str, dimension: Dimension) -> tuple[Axis, Callable[[float], float]]:
    """The axis of a setting, and where on it a code lies."""
    if isinstance(dimension, Choices):
        labels = [dimension.text(number) for number in range(len(dimension.values))]
        return Axis(name, -0.5, len(labels) - 0.5, labels=labels), float
    if isinstance(dimension, Share):
        title = f"{name}, in clauses × tolerance"
        return Axis(title, dimension.low, dimension.high, log=True), float
    if isinstance(dimension, Numbers):
        return Axis(name, dimension.low, dimension.high, log=dimension.log), float
    return Axis(f"{name}, quantile", 0.0, 1.0), float


def _limits(scores: Sequence[float]) -> tuple[float, float]:
    """Limits that leave room."""
    low, high = min(scores, default=0.0), max(scores, default=1.0)
    room = 0.06 * (high - low) or 0.01
    return low - room, high + room


def _said(trials: Trials, candidate: int, rung: int, score: float) -> str:
    codes = trials.candidates[candidate]
    settings = (
        "as given"
        if codes is None
        else ", ".join(f"{name} {trials.space[name].text(code)}" for name, code in codes.items())
    )
    return f"candidate {candidate + 1}, {trials.rungs[rung]} epochs: {score:.4f} ({settings})"


def _table(trials: Trials) -> str:
    ranked = sorted(
        (item for item in trials.scores.items() if item[1] == item[1]),
        key=lambda item: (-item[1], item[0][1], item[0][0]),
    )[:_ROWS]
    names = list(trials.space)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = []
    for (one, rung), score in ranked:
        codes = trials.candidates[one]
        texts = ["as given" if codes is None else trials.space[n].text(codes[n]) for n in names]
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in texts)
        rows.append(
            f'<tr><td class="number">{score:.4f}</td><td class="number">{one + 1}</td>'
            f'<td class="number">{trials.rungs[rung]}</td>{cells}</tr>'
        )
    return (
        f'<div class="scroll"><table><thead><tr><th class="number">{html.escape(trials.metric)}'
        f'</th><th class="number">candidate</th><th class="number">epochs</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
