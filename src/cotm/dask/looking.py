"""From how all parts look to what rows and labels become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import Recount
from ..classifier import CoTMClassifier
from ..model.input_parts import fit_reader, needs_summaries_of_bits
from ..model.labels import Labels, warn_about_quantities
from .collections import Part
from .work import LabelLooks, Looks, Meanings, look_at_bits, recount

#: Does a function for several parts on workers, and brings the results.
OnAll = Callable[..., list[Any]]


def meanings_of(
    learner: CoTMClassifier, parts: Sequence[Part], looks: Sequence[Looks], on_all: OnAll
) -> tuple[Meanings, Labels]:
    """What rows and labels become, and labels that stand for all there are."""
    inputs = [seen.X for seen in looks]
    if needs_summaries_of_bits(learner, inputs):
        numbers = [n for n, seen in enumerate(inputs) if seen.n_rows and seen.summary is None]
        found = on_all(look_at_bits, [parts[number].X for number in numbers])
        for number, seen in zip(numbers, found, strict=True):
            inputs[number] = seen

    def count_again(empty: Recount) -> list[Recount]:
        return on_all(recount, [part.X for part in parts], empty)

    reader = fit_reader(learner, inputs, count_again)
    labels, counts = _joined([seen.y for seen in looks if seen.y is not None])
    classes = learner._task.first_classes(labels, None)
    n_rows = sum(seen.n_rows for seen in inputs)
    if not labels.multilabel:
        repeated = np.broadcast_to(labels.values[:1], (n_rows,))
        warn_about_quantities(labels._replace(values=repeated), classes)
    if not any(seen.weight for seen in looks):
        raise ValueError("sample_weight is 0 for every example, so there is nothing to learn from")
    factors = _class_weight(learner.class_weight, labels, counts, n_rows)
    return Meanings(reader, classes, factors), labels


def _joined(parts: Sequence[LabelLooks]) -> tuple[Labels, NDArray[np.int64]]:
    """Every label once, and how often it is there."""
    first = parts[0]
    for part in parts:
        if (part.multilabel, part.names, part.columns) != (
            first.multilabel, first.names, first.columns,
        ):  # fmt: skip
            raise ValueError(
                "y is of another kind (labels or indicator matrix), or has other columns, in some "
                "partitions than in the first"
            )
    if first.multilabel:
        some = np.zeros((1, first.columns), dtype=np.uint8)
        return Labels(some, True, first.names), np.empty(0, dtype=np.int64)
    kinds = {"text" if part.classes.dtype.kind in "SU" else "others" for part in parts}
    if len(kinds) > 1 and all(part.classes.dtype.kind != "O" for part in parts):
        raise ValueError(
            "y holds text in some partitions and numbers in others; convert it to one type"
        )
    values = np.concatenate([part.classes for part in parts])
    classes, place = np.unique(values, return_inverse=True)
    counts = np.zeros(len(classes), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
    return Labels(classes, False), counts


def _class_weight(
    given: Any, labels: Labels, counts: NDArray[np.int64], n_rows: int
) -> dict[Any, float] | None:
    """Factors by label: "balanced" ones go by how often each is there."""
    if not isinstance(given, str):
        return given
    if given != "balanced" or labels.multilabel:
        raise ValueError(
            f"class_weight={given!r} must be a dictionary, 'balanced' or None, and with several "
            "labels at once None; pass sample_weight for anything else"
        )
    factors = n_rows / (len(counts) * np.maximum(counts, 1))
    return dict(zip(labels.values.tolist(), factors.tolist(), strict=True))
