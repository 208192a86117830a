"""Names, labels and values come from files that anybody may have written: what would act on a
terminal, or hide there, is shown as an escape."""

from __future__ import annotations

import re

#: Control characters, what reorders or hides text, line separators, and halves of surrogate
#: pairs, which cannot be printed. Joiners stay: some scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""The text with characters that act on terminals as escapes.

    >>> visible("red\x1b[2J\u202e")
    'red\\x1b[2J\\u202e'
    """
    return _HIDDEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def json_safe(line: str) -> str:
    """A line of JSON that says the same and acts on no terminal."""
    return _HIDDEN.sub(_json_escape, line)
