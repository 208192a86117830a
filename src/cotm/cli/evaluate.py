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
from .summary import is_regressor, label_columns

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

    from ..reporting.quantities import quantity_scores
    from ..reporting.scores import label_scores
    from .data.loading import read_for
    from .models import load

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
    if is_regressor(classifier):
        report = quantity_scores(classifier.classes_.tolist(), truth, predicted)
    elif label_columns(classifier) is not None:
        report = _columns_report(classifier, examples.y, truth, predicted)
    elif predicted.ndim == 2:
        report = label_scores(classifier.classes_, truth, predicted)
    else:
        report = _class_report(classifier, truth, predicted)
    (print_json if as_json else _print_report)(report)


def _class_report(model: Any, y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    import numpy as np

    from ..reporting.scores import class_scores

    report = class_scores(model.classes_, y, predicted)
    unseen = int((~np.isin(y, model.classes_)).sum())
    if unseen:
        say(f"warning: {unseen} rows have labels the model was not trained on; they count as wrong")
    return report


def _columns_report(model: Any, y: Any, truth: NDArray[Any], predicted: Any) -> dict[str, Any]:
    """Of one label for each of several columns; rows count for the columns of which they have
    labels."""
    import numpy as np

    from ..reporting.scores import class_scores

    columns, found = label_columns(model), []
    if truth.shape != predicted.shape:
        raise ValueError(
            f"the labels have shape {truth.shape}, but the model predicts one for each of "
            f"{', '.join(columns.names)}"
        )
    known = np.array(
        [[cell is not None and cell == cell for cell in row] for row in truth.tolist()]
    )
    for k, (name, classes) in enumerate(zip(columns.names, columns.classes, strict=True)):
        rows = np.flatnonzero(known[:, k])
        if not len(rows):
            raise ValueError(f"no row has a label in column {name!r}; there is nothing to compare")
        own = [np.array([*table[rows, k].tolist()]) for table in (truth, predicted)]
        found.append({"column": name, **class_scores(classes, *own)})
    right = ((truth.astype(object) == predicted.astype(object)) | ~known).all(axis=1)
    return {
        "rows": len(truth),
        "accuracy": float(np.mean([column["accuracy"] for column in found])),
        "all_columns_right": float(right.mean()),
        "columns": found,
    }


def _print_report(report: dict[str, Any]) -> None:
    if "targets" in report:
        print_pairs({"rows": f"{report['rows']:,}", "R²": f"{report['r2']:.4f}"})
        print_table(
            [name.replace("_", " ") for name in report["targets"][0]],
            [[*row.values()] for row in report["targets"]],
        )
        return
    pairs = {"rows": f"{report['rows']:,}", "accuracy": f"{report['accuracy']:.2%}"}
    if "columns" in report:
        pairs["accuracy"] += " of a column, on average"
        pairs["rows with all columns right"] = f"{report['all_columns_right']:.2%}"
        print_pairs(pairs)
        for column in report["columns"]:
            print_pairs({"column": column["column"]})
            _print_report(column)
        return
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
