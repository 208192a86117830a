"""The description as a page that needs no script and no network."""

from __future__ import annotations

import functools
import html
import json
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { border-top: 1px solid #ccc; padding-top: 1rem; margin-top: 2rem; font-size: 1.1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { background: #f4f4f4; padding: .75rem; overflow: auto; border-radius: 4px }
table { border-collapse: collapse } td, th { text-align: left; padding: .15rem .75rem .15rem 0;
  vertical-align: top }
.method { background: #246; color: #fff; padding: .1rem .4rem; border-radius: 3px }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd }
  pre { background: #252525 } h2 { border-color: #444 } a { color: #8bf } }
"""
_BEGIN = """curl -s http://127.0.0.1:8000/v1/models/MODEL/predict?proba=true \\
  -H "Authorization: Bearer $COTM_SERVE_TOKEN" \\
  -H "Content-Type: application/json" -d '{"rows": [[5.1, 3.5, 1.4, 0.2]]}'"""


def page(description: dict[str, Any]) -> str:
    """HTML of an OpenAPI description."""
    return _page(json.dumps(description))


@functools.cache
def _page(text: str) -> str:
    description = json.loads(text)
    info = description["info"]
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{html.escape(info['title'])}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(info['title'])} {html.escape(info['version'])}</h1>",
        f"<p>{html.escape(info['description'])} The same for programs: ",
        "<a href='openapi.json'>openapi.json</a>.</p>",
        f"<pre>{html.escape(_BEGIN)}</pre>",
    ]
    for path, methods in description["paths"].items():
        for method, what in methods.items():
            parts.append(_operation(path, method, what))
    for name, schema in description["components"]["schemas"].items():
        shown = html.escape(json.dumps(schema, indent=2))
        parts.append(f"<h2 id='{html.escape(name)}'>{html.escape(name)}</h2><pre>{shown}</pre>")
    return "".join([*parts, "</body></html>"])


def _operation(path: str, method: str, what: dict[str, Any]) -> str:
    rows = [
        (parameter["name"], parameter["in"], parameter["description"])
        for parameter in what.get("parameters", ())
    ]
    answers = [(status, "", found["description"]) for status, found in what["responses"].items()]
    return (
        f"<h2><span class=method>{method.upper()}</span> <code>{html.escape(path)}</code></h2>"
        f"<p>{html.escape(what['summary'])}</p>" + _table(rows) + _table(answers)
    )


def _table(rows: list[tuple[str, str, str]]) -> str:
    def line(row: tuple[str, str, str]) -> str:
        first, second, third = map(html.escape, row)
        return f"<tr><td><code>{first}</code></td><td>{second}</td><td>{third}</td></tr>"

    return f"<table>{''.join(map(line, rows))}</table>" if rows else ""
