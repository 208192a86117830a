"""Explanations and models as a few lines of HTML that show in light and in dark."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .wording import test_text, votes_text

if TYPE_CHECKING:
    from .explanation import Explanation

#: More examples than these are only counted.
_MOST_SHOWN = 5
#: Bars beside a feature.
_MOST_BARS = 8
FOR, AGAINST = "#3b82c4", "#d9822b"  # to be told apart without seeing red or green
#: Pixels of the page from the middle to the end of a bar, and of a side of a heat map.
_REACH, _SIDE = 100, 160


def explanation_html(explanation: Explanation) -> str:
    """The first examples, each with its sentence and bars, or a map, of what moved its votes."""
    shown = range(min(len(explanation), _MOST_SHOWN))
    parts = [_example(explanation, i) for i in shown]
    rest = len(explanation) - len(parts)
    if rest:
        parts.append(f"<p>and {rest:,} more: explanation[{len(parts)}], …</p>")
    return block("".join(parts))


def block(content: str) -> str:
    """Content in the page's own colours."""
    return f'<div style="color:inherit;font-size:90%">{content}</div>'


def bars_html(rows: Sequence[tuple[str, str, float]]) -> str:
    """A name, a number and a bar to the right or left for each row."""
    widest = max((abs(value) for _, _, value in rows), default=0.0) or 1.0
    both = any(value < 0 for _, _, value in rows)
    shown = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td>'
        f'<td style="text-align:right">{escape(text)}</td>'
        f'<td style="text-align:left">{_bar(value / widest, both)}</td></tr>'
        for name, text, value in rows
    )
    return f"<table>{shown}</table>"


def heat_map_html(values: NDArray[np.float64], text: str) -> str:
    """Values of the pixels of an image as colours: for, against, and the page's own for 0."""
    colours = np.array([_rgb(AGAINST), _rgb(FOR)], dtype=np.uint8)
    most = float(np.abs(values).max()) or 1.0
    alpha = np.round(255 * np.abs(values) / most).astype(np.uint8)
    picture = np.concatenate([colours[(values > 0).astype(np.intp)], alpha[..., None]], axis=-1)
    data = base64.b64encode(_png(picture)).decode()
    height, width = values.shape
    side = max(1, _SIDE // max(height, width))
    return (
        f'<img alt="{escape(text, quote=True)}" src="data:image/png;base64,{data}" '
        f'style="width:{side * width}px;height:{side * height}px;image-rendering:pixelated;'
        'border:1px solid #8a8f98">'
    )


def _example(explanation: Explanation, i: int) -> str:
    return f"<p>{escape(explanation.sentence(i))}</p>{_why(explanation, i)}"


def _why(explanation: Explanation, i: int) -> str:
    shape = explanation.image_shape
    if shape is not None and min(shape) > 1:
        output = explanation.output_of(i)
        values = explanation.contributions[i, :, output].reshape(shape)
        return heat_map_html(values, "where the votes come from")
    reasons = explanation.reasons(i, top=_MOST_BARS)
    known = {"bits": explanation.are_bits, "known": explanation.has_values}
    return bars_html(
        [(test_text(r, **known), votes_text(r.contribution), r.contribution) for r in reasons]
    )


def _bar(share: Any, both: bool) -> str:
    width, colour = round(_REACH * abs(share)), FOR if share > 0 else AGAINST
    left = (_REACH if share > 0 else _REACH - width) * both
    return (
        f'<div style="background:{colour};height:0.8em;width:{width}px;margin-left:{left}px"></div>'
    )


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """An image (rows, columns, RGBA) as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 4 * width), dtype=np.uint8)  # each begins with its filter: none
    lines[:, 1:] = pixels.reshape(height, -1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
