"""A report's data as one HTML file that needs nothing else, and is allowed nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from importlib.resources import files as resources
from typing import Any

from .data import ReportData

#: The scripts of a page, each after those it imports. They become one: a file has no modules that
#: could import each other.
SCRIPTS = (
    "unpack.js",
    "dom.js",
    "charts.js",
    "quantities.js",
    "summary.js",
    "heat.js",
    "shapley.js",
    "reasons.js",
    "rule.js",
    "rule_table.js",
    "speaking.js",
    "waterfall.js",
    "inputs.js",
    "image_input.js",
    "explorer.js",
    "main.js",
)
_IMPORT = re.compile(r'^import \{[^}]*\} from "[^"]+";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(class|const|function)\b)", re.MULTILINE)


def page(data: ReportData) -> bytes:
    """The file."""
    style, script = page_text("report.css"), script_text()
    # Scripts and styles are known by their hashes, and nothing else is let in or out.
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"script-src {policy_hash(script)}; style-src {policy_hash(style)}"
    )
    parts = {
        "policy": policy,
        "title": html.escape(data.summary["title"]),
        "about": html.escape(data.summary["about"]),
        "style": style,
        "script": script,
        "summary": _json(data.summary).replace("<", "\\u003c"),
        "details": packed(data.details),
    }
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page_text("report.html"))
    return text.encode("utf-8")


def script_text() -> str:
    """All scripts as one module."""
    evaluator = resources("cotm.exporting").joinpath("js", "evaluator.js")
    texts = [evaluator.read_text(encoding="utf-8"), *map(page_text, SCRIPTS)]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def packed(value: Any) -> str:
    """A value as JSON, gzip and base64, the same whenever it is written."""
    return base64.b64encode(gzip.compress(_json(value).encode(), mtime=0)).decode("ascii")


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def policy_hash(text: str) -> str:
    """By what a policy knows a script or a style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def page_text(name: str) -> str:
    """A file of page/."""
    return resources(__package__).joinpath("page", name).read_text(encoding="utf-8")
