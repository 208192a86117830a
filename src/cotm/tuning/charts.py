"""Charts as SVG text, for pages without scripts."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 10, 44


@dataclass
class Axis:
    """What lies along one side."""

    title: str
    low: float
    high: float
    log: bool = False
    whole: bool = False
    ticks: Sequence[float] = ()
    labels: Sequence[str] = ()  # at 0, 1, ... instead of numbers

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return 0.5 if high == low else (value - low) / (high - low)

    def marks(self) -> list[tuple[float, str]]:
        """Values with their texts."""
        if self.labels:
            return [(float(number), text) for number, text in enumerate(self.labels)]
        if self.ticks:
            return [(value, f"{value:g}") for value in self.ticks]
        if self.log:
            steps = [m * 10.0**k for k in range(-6, 10) for m in (1, 2, 5)]
            inside = [v for v in steps if self.low <= v <= self.high]
            every = max(1, -(-len(inside) // 6))
            return [(v, f"{v:g}") for v in inside[::every]]
        step = _nice((self.high - self.low) / 5)
        step = max(1.0, step) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        values = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(value, f"{value:.10g}") for value in values]


def _nice(step: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))


@dataclass
class Chart:
    """Dots and lines on two axes."""

    x: Axis
    y: Axis
    width: int = 760
    height: int = 320
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the picture."""
        return (
            _LEFT + self.x.share(x) * (self.width - _LEFT - _RIGHT),
            self.height - _BOTTOM - self.y.share(y) * (self.height - _TOP - _BOTTOM),
        )

    def dot(self, x: float, y: float, kind: str, said: str) -> None:
        """A dot; ``said`` is what shows over it."""
        left, top = self.at(x, y)
        radius = 5 if kind == "best" else 3.5
        self.parts.append(
            f'<circle class="dot {kind}" cx="{left:.1f}" cy="{top:.1f}" r="{radius}">'
            f"<title>{html.escape(said)}</title></circle>"
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str, said: str) -> None:
        """A line through points."""
        if len(points) > 1:
            path = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
            self.parts.append(
                f'<polyline class="line {kind}" points="{path}">'
                f"<title>{html.escape(said)}</title></polyline>"
            )


def chart(picture: Chart, caption: str) -> str:
    """A figure."""
    width, height = picture.width, picture.height
    right, bottom = width - _RIGHT, height - _BOTTOM
    grid = []
    for value, text in picture.y.marks():
        _, top = picture.at(picture.x.low, value)
        grid.append(
            f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{top:.1f}" y2="{top:.1f}"/>'
            f'<text class="tick end" x="{_LEFT - 6}" y="{top + 4:.1f}">{html.escape(text)}</text>'
        )
    for value, text in picture.x.marks():
        left, _ = picture.at(value, picture.y.low)
        short = text if len(text) <= 14 else f"{text[:13]}…"
        grid.append(
            f'<text class="tick middle" x="{left:.1f}" y="{bottom + 16}">'
            f"{html.escape(short)}</text>"
        )
    titles = (
        f'<text class="axis-title middle" x="{(_LEFT + right) / 2:.0f}" y="{height - 8}">'
        f"{html.escape(picture.x.title)}</text>"
    )
    label = html.escape(f"{picture.y.title} by {picture.x.title}", quote=True)
    return (
        f"<figure><figcaption>{html.escape(caption)}</figcaption>"
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f'{"".join(grid)}<line class="axis" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>'
        f"{''.join(picture.parts)}{titles}</svg></figure>"
    )
