"""A browser for pages of reports: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

#: It is not to ask the network for anything of its own.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def why_missing() -> str:
    """Why there is no browser; nothing if there is one."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return ""


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A fresh one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        program = driver.chromium.launch(
            executable_path=shutil.which("chromium"), headless=True, args=ARGUMENTS
        )
        yield program
        program.close()


def wait(page: Any, condition: str, complaints: Sequence[str] = ()) -> None:
    """Until something holds; playwright's own way is forbidden by the page's policy."""
    for _ in range(1000):
        assert not complaints, complaints
        if page.evaluate(condition):
            return
        page.wait_for_timeout(10)
    raise AssertionError(f"not within ten seconds: {condition}")


class Opened:
    """A report in a window, and what went wrong there."""

    def __init__(self, program: Any, path: Path, before: str = "", **window: Any) -> None:
        size = {"width": 1280, "height": 900}
        self.context = program.new_context(**{"viewport": size, **window})
        self.page = self.context.new_page()
        self.page.set_default_timeout(8000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if before:
            self.page.add_init_script(before)
        self.page.goto(path.as_uri())
        wait(self.page, "document.documentElement.dataset.ready === 'true'", self.complaints)
        wait(self.page, SETTLED, self.complaints)

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, kind: Any, *_: object) -> None:
        harmed = self.page.evaluate("window.harmed")
        self.context.close()
        if kind is None:
            assert not self.complaints, self.complaints
            assert len(self.requests) == 1, self.requests  # the file itself
            assert harmed is None


#: Whether the explorer has said why.
SETTLED = "!report.explorer || !report.explorer.reasons.possible || report.explorer.isSettled"
