"""``cotm demo``: see it work without data of your own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from .logs import are_json
from .options import NewModelFile
from .output import print_line, print_pairs, say, visible
from .output_files import check_model_output
from .streams import put


def demo(
    out: NewModelFile = Path("cotm-demo.cotm"),
    quick: Annotated[bool, typer.Option("--quick", help="Train for a moment only.")] = False,
) -> None:
    """Learn to read handwritten digits, in seconds.

    The images come with scikit-learn; nothing is downloaded.

    \b
    Example:
      cotm demo --out digits.cotm
    """
    check_model_output(out)
    pixels, pixels_test, y, y_test = _digits()
    X, X_test = _with_names(pixels), _with_names(pixels_test)
    say(f"scikit-learn's digits: {len(X):,} images to learn from, {len(X_test)} kept to test")
    model = _demo_model(quick).fit(X, y)
    model.save(out)
    put("\nRight on the images that were kept:")
    print_pairs(
        {
            f"{model.n_clauses} rules": f"{model.score(X_test, y_test):.1%}",
            "logistic regression": f"{_logistic_score(pixels, y, pixels_test, y_test):.1%}",
        }
    )
    put("\nWhat speaks most for a 7 (row 0 is the top; pixels go from 0, white, to 16, black):")
    for rule in model.rules(label=7, top=3):
        print_line(f"- {rule}")
    file = visible(shlex.quote(str(out)))
    put(
        f"\nThe model is saved. Go on with\n"
        f"  cotm rules {file} --label 3\n"
        f"  cotm info {file}\n"
        f"  cotm train your.csv --target column"
    )


def _digits() -> Any:
    """Images to learn from and to test with, then their labels."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


def _with_names(images: Any) -> Any:
    """Images whose pixels have names, which the rules then use."""
    from ..booleanize.frames import NamedArray

    return NamedArray(images, [f"row{row}col{column}" for row in range(8) for column in range(8)])


def _demo_model(quick: bool) -> Any:
    from .. import CoTMClassifier, Thermometer

    return CoTMClassifier(
        n_clauses=100 if quick else 1000,
        T=30 if quick else 300,
        s=4.0,
        epochs=5 if quick else 40,
        max_literals=8,  # rules that can be read
        booleanize=Thermometer(n_bits=3),
        verbose=0 if are_json() else 1,
        random_state=0,
    )


def _logistic_score(X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    other = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return float(other.fit(X, y).score(X_test, y_test))
