"""``cotm evaluate``: predictions beside the labels of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .data.source import Source, require_target
from .options import (
    AsJson,
    DataFile,
    DataForm,
    Drop,
    Jobs,
    Missing,
    ModelFile,
    Quiet,
    Separator,
    Target,
    XName,
    YName,
)
from .output import print_json, print_pairs, print_table, say

if TYPE_CHECKING:
    from numpy.typing import NDArray


def evaluate(
    model: ModelFile,
    data: DataFile,
    target: Target = None,
    as_json: AsJson = False,
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Compare a model's predictions with the labels of a file.

    \b
    Examples:
      cotm evaluate flowers.cotm test.csv --target species
      zcat test.jsonl.gz | cotm evaluate flowers.cotm - --from jsonl --target species --json
    """
    import numpy as np

    from .. import load
    from .data.loading import read_for

    source = require_target(
        Source.given(
            data,
            target=target,
            drop=drop,
            x=x,
            y=y,
            separator=separator,
            missing=missing,
            form=form,
        )
    )
    classifier = load(model).set_params(n_jobs=jobs)
    examples = read_for(classifier, source, with_labels=True, quiet=quiet)
    truth, predicted = np.asarray(examples.y), classifier.predict(examples.X)
    make_report = _labels_report if predicted.ndim == 2 else _classes_report
    report = make_report(classifier, truth, predicted)
    (print_json if as_json else _print_report)(report)


def _classes_report(model: Any, y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    import numpy as np
    from sklearn.metrics import confusion_matrix

    if y.ndim > 1 or (y.dtype.kind == "U") != (model.classes_.dtype.kind == "U"):
        raise ValueError(
            f"the labels are like {y[0].tolist()!r}, but the model's classes are like "
            f"{model.classes_.tolist()[0]!r}"
        )
    labels = np.unique(np.concatenate([model.classes_, y]))
    unseen = int((~np.isin(y, model.classes_)).sum())
    if unseen:
        say(f"warning: {unseen} rows have labels the model was not trained on; they count as wrong")
    return {
        "rows": len(y),
        "accuracy": float((y == predicted).mean()),
        "classes": _scores("class", labels.tolist(), y, predicted, labels),
        "confusion_matrix": {
            "labels": labels.tolist(),
            "true_by_predicted": confusion_matrix(y, predicted, labels=labels).tolist(),
        },
    }


def _labels_report(model: Any, y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    from sklearn.metrics import multilabel_confusion_matrix

    if y.shape != predicted.shape:
        raise ValueError(
            f"the labels have shape {y.shape}, but the model predicts {predicted.shape[1]} per row"
        )
    labels = _scores("label", model.classes_.tolist(), y, predicted, None)
    for label, counts in zip(labels, multilabel_confusion_matrix(y, predicted), strict=True):
        names = ("true_negatives", "false_positives", "false_negatives", "true_positives")
        label.update(zip(names, counts.ravel().tolist(), strict=True))
    return {
        "rows": len(y),
        "accuracy": float((y == predicted).mean()),
        "all_labels_right": float((y == predicted).all(axis=1).mean()),
        "labels": labels,
    }


def _scores(
    kind: str, names: list[Any], y: NDArray[Any], predicted: NDArray[Any], labels: Any
) -> list[dict[str, Any]]:
    from sklearn.metrics import precision_recall_fscore_support

    columns = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=0)
    keys = (kind, "precision", "recall", "f1", "support")
    rows = zip(names, *(column.tolist() for column in columns), strict=True)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _print_report(report: dict[str, Any]) -> None:
    pairs = {"rows": f"{report['rows']:,}", "accuracy": f"{report['accuracy']:.2%}"}
    if "labels" in report:
        pairs["accuracy"] += " of all labels"
        pairs["rows with all labels right"] = f"{report['all_labels_right']:.2%}"
    print_pairs(pairs)
    scores = report["labels"] if "labels" in report else report["classes"]
    print_table([name.replace("_", " ") for name in scores[0]], [[*row.values()] for row in scores])
    if "labels" not in report:
        _print_confusions(**report["confusion_matrix"])


def _print_confusions(labels: list[Any], true_by_predicted: list[list[int]]) -> None:
    """The matrix where it fits on a screen, else its largest entries off the diagonal."""
    if len(labels) <= 12:
        rows = [[label, *counts] for label, counts in zip(labels, true_by_predicted, strict=True)]
        print_table(["true \\ predicted", *map(str, labels)], rows)
        return
    mistakes = [
        (true, predicted, count)
        for true, counts in zip(labels, true_by_predicted, strict=True)
        for predicted, count in zip(labels, counts, strict=True)
        if true != predicted and count
    ]
    mistakes.sort(key=lambda mistake: -mistake[2])
    print_table(["true", "taken for", "rows"], [[*mistake] for mistake in mistakes[:20]])
