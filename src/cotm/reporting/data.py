"""All that a report shows of one fitted model and some examples, as plain data.

``summary`` is what a reader sees first: the card, the scores, the curves. ``details`` is what the
table of rules and the explorer need: the JSON export, its rules in words, examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..booleanize import ImageUnion, SequenceBooleanizer, is_own
from ..core.checks import check_integer
from ..explaining.explaining import joint_features
from ..exporting.description import Description, plain
from ..exporting.js_format import check as check_javascript
from ..exporting.json_format import as_data as export_data
from ..model.labels import read_labels
from ..model.quantities import read_quantities
from ..rules import Rule
from .examples import as_data, chosen_rows, take
from .facts import card, learning_curves, members_of, parameters, what_it_is
from .importance import importance
from .quantities import points, quantity_scores, target_names
from .scores import calibration, class_scores, label_scores, require_one_column
from .words import rules_in_words


@dataclass(frozen=True)
class Options:
    """What users say of a report."""

    title: str | None = None
    n_examples: int = 200
    n_background: int = 50
    feature_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_integer("n_examples", self.n_examples, 0)
        check_integer("n_background", self.n_background, 0)


@dataclass(frozen=True)
class ReportData:
    """What a page is made of; JSON can hold all of it."""

    summary: dict[str, Any]
    details: dict[str, Any]


def gather(model: Any, X: Any, y: Any, options: Options) -> ReportData:
    """The data of a report. ``model`` is one that does not change any more."""
    require_one_column(model)
    inputs = "raw" if all(map(_reads_raw, members_of(model).values())) else "bits"
    description: Description = model._description(inputs)
    check_javascript(description)
    kind = _Examples if description.quantities is None else _Measured
    truth = None if y is None else kind.truth(y, model)
    examples = kind.of(model, X, truth)
    scores = None if examples is None else examples.scores(model)  # which looks at the labels
    known = None if examples is None else examples.with_known_labels(model)
    rules = [*_rules(model, known, options.feature_names)]
    summary = {
        "title": options.title or f"{type(model).__name__}: a report",
        "about": what_it_is(model, description, len(rules)),
        "facts": card(model, description),
        "parameters": parameters(model),
        "classes": _names(description),
        "quantities": description.quantities is not None,
        "multilabel": description.multilabel,
        "scores": scores,
        "curves": learning_curves(model),
    }
    details: dict[str, Any] = {
        "export": _export(description, options.feature_names),
        "rules": rules_in_words(rules, description),
        "rows": 0 if known is None else len(known.predicted),
        "totals": None if known is None else known.totals(model),
        "examples": None
        if examples is None
        else examples.shown(model, description, inputs, options),
        "reasons": _reasons(model, options.feature_names),
        "importance": importance(model, options.feature_names),
    }
    # Where members read different things there is no one example for all of them.
    details["explorer"] = examples is None or details["examples"] is not None
    return ReportData(summary, details)


def _rules(model: Any, examples: _Examples | None, names: Sequence[str] | None) -> Iterable[Rule]:
    """All rules, with what they do on the examples."""
    X, y = (None, None) if examples is None else (examples.X, examples.labels)
    found: Iterable[Rule] = model.rules(X, y, **({} if names is None else {"feature_names": names}))
    return found


def _reasons(model: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """What votes are divided among, for each member the number of each bit's, or the first pixel's.

    ``image_shape`` is there if all of it is the pixels of one image.
    """
    members = model._voters().members
    known, places = joint_features(members)
    shapes = {member.features.image_shape for member in members} - {None}
    whole = len(shapes) == 1 and len(known) == len(members[0].features)
    return {
        "names": [*map(str, names)] if names and len(names) == len(known) else [*known],
        "players": [
            place[member.features.of_bits].tolist()
            if member.features.image_shape is None
            else int(place[0])
            for member, place in zip(members, places, strict=True)
        ],
        "image_shape": [*shapes.pop()] if whole else None,
    }


def _export(description: Description, names: Sequence[str] | None) -> dict[str, Any]:
    """The JSON export; bits that have no names of their own get those that are given."""
    data = export_data(description)
    for member in data["members"]:
        columns = member["input"].get("columns", ())
        if names and len(names) == len(columns) and {c["type"] for c in columns} == {"bit"}:
            for column, name in zip(columns, names, strict=True):
                column["name"] = str(name)
    return data


def _reads_raw(classifier: Any) -> bool:
    booleanizer = classifier.booleanizer_
    own = is_own(booleanizer) and not isinstance(booleanizer, SequenceBooleanizer | ImageUnion)
    return booleanizer is None or own


def _names(description: Description) -> list[str]:
    """What the outputs are called."""
    if description.quantities is not None:
        return target_names(description.classes, description.quantities.one)
    return [str(label) for label in description.classes]


def _labels(y: Any) -> NDArray[Any]:
    """Checked labels: (N,), or (N, outputs) of 0 and 1."""
    values = read_labels(y).values
    if values.dtype.kind == "O" and all(isinstance(label, str) for label in values.tolist()):
        values = values.astype(str)
    return values


@dataclass(frozen=True)
class _Examples:
    """The examples of a report: what they are, what they should be, and what is predicted."""

    X: Any
    y: NDArray[Any] | None
    predicted: NDArray[Any]

    @staticmethod
    def truth(y: Any, model: Any) -> NDArray[Any]:
        """y, checked."""
        return _labels(y)

    @property
    def labels(self) -> NDArray[Any] | None:
        """What rules are measured by."""
        return self.y

    @classmethod
    def of(cls, model: Any, X: Any, y: NDArray[Any] | None) -> _Examples | None:
        if X is None:
            if y is not None:
                raise ValueError("y is given without X; pass the examples that it labels as X")
            return None
        predicted = model.predict(X)
        if y is not None and len(y) != len(predicted):
            raise ValueError(f"X has {len(predicted)} rows, but y has {len(y)}; they need as many")
        return cls(X, y, predicted)

    def with_known_labels(self, model: Any) -> _Examples:
        """Those whose labels the model knows; all of them without labels."""
        if self.y is None or self.y.ndim > 1:
            return self
        rows = np.flatnonzero(np.isin(self.y, model.classes_))
        if len(rows) == len(self.y):
            return self
        if not len(rows):
            raise ValueError(
                f"the model knows none of the labels in y, such as {plain(self.y[0])!r}; its "
                f"classes are like {plain(model.classes_[0])!r}"
            )
        if _is_dictionary(self.X):
            X = {name: take(part, rows) for name, part in self.X.items()}
        else:
            X = take(self.X, rows)
        return _Examples(X, self.y[rows], self.predicted[rows])

    def totals(self, model: Any) -> list[int] | None:
        """How many there are of each label."""
        if self.y is None:
            return None
        there = self.y if self.y.ndim > 1 else self.y[:, None] == model.classes_
        return [int(count) for count in there.sum(axis=0)]

    def scores(self, model: Any) -> dict[str, Any] | None:
        if self.y is None:
            return None
        make = label_scores if self.predicted.ndim == 2 else class_scores
        found = make(model.classes_, self.y, self.predicted)
        if self.predicted.ndim == 1:
            matrix = found["confusion_matrix"]
            matrix["labels"] = [str(plain(label)) for label in matrix["labels"]]
        proba = model.predict_proba(self.X)
        known = calibration(model.classes_, self.y, self.predicted, proba)
        return {**found, "calibration": known}

    def shown(
        self, model: Any, description: Description, inputs: str, options: Options
    ) -> dict[str, Any] | None:
        """Some of them; None where members read different things."""
        if _is_dictionary(self.X):
            return None
        if inputs == "bits" and len(description.members) > 1:
            return None
        rows = chosen_rows(len(self.predicted), options.n_examples, self.wrong())
        X = take(self.X, rows)
        if inputs == "bits":
            bits = model._reader.read(X).on_host().bits
            X = bits if not isinstance(bits, np.ndarray) else bits.reshape(len(rows), -1)
        # Members that read a table say what a cell is; images are numbers anyway.
        sources = [member.input for member in description.members]
        source = next((s for s in sources if hasattr(s, "columns")), sources[0])
        return {
            "numbers": rows.tolist(),
            "of": len(self.predicted),
            **as_data(X, source),
            "labels": None if self.y is None else self.answers(self.y[rows], model),
            "predicted": self.answers(self.predicted[rows], model),
            "background": chosen_rows(len(rows), options.n_background, None).tolist(),
        }

    def wrong(self) -> NDArray[np.bool_] | None:
        """Which predictions are wrong, if that is known."""
        return None if self.y is None else _wrong(self.y, self.predicted)

    def answers(self, labels: NDArray[Any], model: Any) -> list[Any]:
        """Labels as the page has them."""
        return _places(labels, model.classes_.tolist())


@dataclass(frozen=True)
class _Measured(_Examples):
    """The examples of a regressor; y and predictions are (N, targets)."""

    @staticmethod
    def truth(y: Any, model: Any) -> NDArray[Any]:
        answers = read_quantities(y)
        model._task.same_classes(answers, model._now())
        return answers.values

    @classmethod
    def of(cls, model: Any, X: Any, y: NDArray[Any] | None) -> _Examples | None:
        found = super().of(model, X, y)
        return found and cls(found.X, found.y, found.predicted.reshape(len(found.predicted), -1))

    @property
    def labels(self) -> None:
        return None

    def with_known_labels(self, model: Any) -> _Examples:
        return self

    def totals(self, model: Any) -> None:
        return None

    def scores(self, model: Any) -> dict[str, Any] | None:
        if self.y is None:
            return None
        names = target_names(model.classes_, model._now().scaling.one)
        found = quantity_scores(names, self.y, self.predicted)
        for target, drawn in zip(found["targets"], points(self.y, self.predicted), strict=True):
            known = math.isfinite(target["r2"])
            target |= {"r2": target["r2"] if known else None, "points": drawn}
        return {"rows": found["rows"], "targets": found["targets"]}

    def wrong(self) -> None:
        return None

    def answers(self, labels: NDArray[Any], model: Any) -> list[Any]:
        return [*labels.tolist()]


def _is_dictionary(X: Any) -> bool:
    """Whether X has a part for each member."""
    return isinstance(X, Mapping) and not hasattr(X, "shape")


def _wrong(y: NDArray[Any], predicted: NDArray[Any]) -> NDArray[np.bool_]:
    wrong = y != predicted
    return np.asarray(wrong.any(axis=1) if wrong.ndim == 2 else wrong)


def _places(y: NDArray[Any], classes: list[Any]) -> list[Any]:
    """Labels as numbers of outputs, -1 for one that the model does not know."""
    if y.ndim == 2:
        return [np.flatnonzero(row).tolist() for row in y]
    places = {label: place for place, label in enumerate(classes)}
    return [places.get(label, -1) for label in y.tolist()]
