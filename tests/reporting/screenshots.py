"""Pictures of reports for the documents, and how large the files are and how soon they show.

    python tests/reporting/screenshots.py docs/images

writes the pictures. MNIST comes from the folder COTM_DATA, the cache or the net; without it there
is no picture of it. Beside the two pages there is a third, of 10,000 clauses, only to be measured.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser import Opened, browser
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
SIZE = {"viewport": {"width": 1120, "height": 900}}


def tumours(path: Path, **parameters: Any) -> tuple[CoTMClassifier, Any, Any]:
    """A report on scikit-learn's breast cancer: the model, and the examples and their labels."""
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, y, random_state=0)
    few = {"n_clauses": 200, "max_literals": 6, "random_state": 0}
    model = CoTMClassifier(**{**few, **parameters}).fit(X, y)
    model.report(path, X_test, y_test, title="Breast cancer")
    return model, X_test, y_test


def digits(path: Path) -> None:
    """A report on 10,000 images of MNIST, a few epochs of convolution, and all test images."""
    from cotm.datasets import load_mnist

    X, y, X_test, y_test = load_mnist()
    few = {"T": 625, "s": 10, "epochs": 4, "preset": "paper", "random_state": 0}
    model = CoTMClassifier(500, patch_shape=(10, 10), **few).fit(X[:10_000], y[:10_000])
    model.report(path, X_test, y_test, title="MNIST")


def picture(program: Any, report: Path, path: Path, part: str = "#explorer .explorer") -> None:
    """A part of a report in light colours."""
    with Opened(program, report, color_scheme="light", device_scale_factor=1, **SIZE) as page:
        page.evaluate("document.querySelector('nav').style.position = 'static'")
        page.locator(part).screenshot(path=path)


def pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """The reports, and what they are of."""
    for name, make in (
        ("tumours", tumours),
        ("digits", digits),
        ("tumours, 10,000 clauses", lambda path: tumours(path, n_clauses=10_000, epochs=4)),
    ):
        path = folder / "report.html"
        try:
            make(path)
        except OSError as error:
            print(f"{name}: {error}")
            continue
        yield name, path


def main(target: Path) -> None:
    """Write pictures, and print sizes and times."""
    with tempfile.TemporaryDirectory() as folder, browser() as program:
        for name, path in pages(Path(folder)):
            with Opened(program, path) as page:
                size, painted = path.stat().st_size, page.evaluate(PAINTED)
                ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime")
            told = f"{size:,} bytes, first paint {painted:.0f} ms, all there {ready:.0f} ms"
            print(f"{name}: {told}")
            if "," not in name:
                picture(program, path, target / f"report-{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
