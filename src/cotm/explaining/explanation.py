"""What a model says about its predictions, as data that does not change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_integer
from ..model.label_columns import LabelColumns, outputs_for
from ..model.probabilities import Sharpness, probabilities
from ..model.quantities import Scaling
from .games import Exact, Games
from .html import explanation_html
from .spoken import SpokenRule
from .wording import Reason, plain, quantity_sentence, sentence, simple, value_text

#: Arrays with a row for each example.
_BY_EXAMPLE = ("predictions", "votes", "contributions", "feature_values", "patch_votes", "_margins")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model predicts what it predicts, for some examples.

    ``base + contributions.sum(axis=1)`` are the votes, up to the rounding of floats; of a regressor
    they are its predictions, and :meth:`exact` alone counts in votes.
    ``docs/explaining.md`` says how contributions are defined. It has a length, and
    ``explanation[i]`` is that of one example.

    Attributes
    ----------
    classes : array
        The labels, in the order of the outputs; of several columns ``column=label``.
    predictions : array (N,), or (N, outputs) with several labels, (N, columns) with columns of them
        What the model predicts.
    votes : int64 (N, outputs)
        As the model's ``votes``.
    base : float64 (outputs,)
        The mean votes of the background; 0 for images.
    contributions : float64 (N, features, outputs)
        What each column of X, or each pixel, added to the votes.
    feature_names : tuple of str
        The columns of X, or the pixels row by row.
    feature_values : object (N, features), or None
        The cells of X, of texts in windows their words; None for images, and where a transformer
        that is not cotm's reads them.
    image_shape : tuple of (rows, columns), or None
        The grid on which pixels lie: that of the bits, as a booleanizer makes them.
    patch_votes : float64 (N, patch rows, patch columns, outputs), or None
        The votes of each patch, of a single classifier that reads images.
    rules : sequence of tuples of :class:`SpokenRule`
        For each example the rules that spoke, strongest first.
    multilabel : bool
        Whether each output is a label that an example has or has not.
    unit : int
        What one vote counts: 1, or 2**32 where a composite divides votes.
    members : dict of str to Explanation
        Of a composite, those of its members, in their own votes.
    """

    classes: NDArray[Any]
    predictions: NDArray[Any]
    votes: NDArray[np.int64]
    base: NDArray[np.float64]
    contributions: NDArray[np.float64]
    feature_names: tuple[str, ...]
    feature_values: NDArray[np.object_] | None
    image_shape: tuple[int, int] | None
    patch_votes: NDArray[np.float64] | None
    rules: Sequence[tuple[SpokenRule, ...]]
    multilabel: bool
    unit: int
    members: dict[str, Explanation]
    are_bits: bool = field(repr=False)
    _games: Games | None = field(repr=False)
    _margins: NDArray[np.float64] = field(repr=False)
    _sharpness: Sharpness = field(repr=False)
    is_quantity: bool = field(default=False, repr=False)
    columns: LabelColumns | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, entry.name, view)

    def __len__(self) -> int:
        return len(self.votes)

    def __repr__(self) -> str:
        count, features = len(self), len(self.feature_names)
        return f"<Explanation of {count} example{'s' * (count != 1)} by {features} features>"

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> Explanation:
        if isinstance(rows, int | np.integer):
            rows = [range(len(self))[rows]]
        taken: dict[str, Any] = {name: getattr(self, name) for name in _BY_EXAMPLE}
        taken = {name: None if value is None else value[rows] for name, value in taken.items()}
        return replace(
            self,
            **taken,
            rules=self.rules.take(rows),  # type: ignore[attr-defined]
            members={name: member[rows] for name, member in self.members.items()},
            _games=None if self._games is None else self._games.take(rows),
        )

    @property
    def has_values(self) -> bool:
        """Whether the cells of X are known."""
        return self.feature_values is not None

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """As the model's ``predict_proba``, (N, outputs), of several columns side by side; the
        first time it may take a moment."""
        if self.is_quantity:
            raise ValueError("quantities have no probabilities; see predictions")
        return probabilities(
            self._margins, self._sharpness, outputs_for(self.multilabel, self.columns)
        )

    def in_quantities(self, scaling: Scaling, states: int) -> Explanation:
        """The same of a regressor, whose outputs are quantities instead of classes."""
        unit, offset = np.multiply(scaling.unit, states), np.array(scaling.offset)
        return replace(
            self,
            predictions=scaling.in_form(scaling.quantities(self.votes, states)),
            base=self.base / unit + offset,
            contributions=self.contributions / unit,
            patch_votes=None if self.patch_votes is None else self.patch_votes / unit,
            is_quantity=True,
        )

    def exact(self, i: int = 0) -> Exact:
        """Base and contributions of one example, as exact fractions.

        Returns
        -------
        base : object (outputs,) of fractions.Fraction
        contributions : object (features, outputs) of fractions.Fraction
        """
        if self._games is None:
            raise ValueError(
                "exact fractions are for models that read tables or bits; votes of images are "
                "shared by patches and pixels, see contributions"
            )
        return self._games.exact(self._example(i))

    def output_of(self, i: int = 0, label: Any = None) -> int:
        """The output that reasons are given for: a label's, or that of what is predicted.

        With several labels or columns of them it is the one with the most votes, of several
        quantities the first.
        """
        if label is None and self.is_quantity:
            return 0
        if label is None:
            return int(self.votes[self._example(i)].argmax())
        found = np.flatnonzero([plain(value) == plain(label) for value in self.classes])
        if not len(found):
            raise ValueError(
                f"label={label!r} is not a class of this model; it has "
                f"{[plain(value) for value in self.classes]!r:.200}"
            )
        return int(found[0])

    def reasons(self, i: int = 0, label: Any = None, top: int | None = 5) -> list[Reason]:
        """The features that moved the votes for a label most, for or against it.

        Parameters
        ----------
        i : int, default=0
            The example.
        label : optional
            By default what is predicted.
        top : int or None, default=5
            How many at the most; None: all that moved them.

        Returns
        -------
        list of (name, value, contribution)
            The largest contribution first, whatever its sign, in units of one vote.
        """
        top = None if top is None else check_integer("top", top, 1)
        output = self.output_of(i, label)
        moved = self.contributions[self._example(i), :, output] / self.unit
        order = np.argsort(-np.abs(moved), kind="stable")
        order = order[moved[order] != 0][:top]
        return [
            Reason(self.feature_names[k], self._value(i, int(k)), float(moved[k])) for k in order
        ]

    def sentence(self, i: int = 0, label: Any = None, top: int = 5) -> str:
        """Why, in one sentence: the label, how likely it is, and the first of the reasons.

        Of a quantity: its value, what it is on average, and what raised and lowered it.
        """
        i = self._example(i)
        output = self.output_of(i, label)
        if self.is_quantity:
            name = "" if len(self.classes) == 1 else f"{plain(self.classes[output])}: "
            reasons = self.reasons(i, label, top)
            value = float(self.predictions.reshape(len(self), -1)[i, output])
            said = f"{name}{value_text(value)}"
            usual = value_text(float(self.base[output]))
            return quantity_sentence(
                said, usual, reasons, bits=self.are_bits, known=self.has_values
            )
        chance = float(self.probabilities[i, output])
        said = str(plain(self.classes[output]))
        outputs = outputs_for(self.multilabel, self.columns)
        predicted = outputs.predicted(self.votes[[i]])[0, output]
        reasons = self.reasons(i, label, top)
        return sentence(
            said, chance, bool(predicted), reasons, bits=self.are_bits, known=self.has_values
        )

    def to_pandas(self) -> Any:
        """A frame with a row for each example, label and feature that moved its votes."""
        import pandas as pd

        rows, features, outputs = np.nonzero(self.contributions)
        order = np.lexsort((features, outputs, rows))
        rows, features, outputs = rows[order], features[order], outputs[order]
        values = None if self.feature_values is None else self.feature_values[rows, features]
        return pd.DataFrame(
            {
                "example": rows,
                "label": self.classes[outputs],
                "feature": np.array(self.feature_names, dtype=object)[features],
                "value": values,
                "contribution": self.contributions[rows, features, outputs] / self.unit,
            }
        )

    def to_data(self, top: int | None = None) -> list[dict[str, Any]]:
        """A dictionary for each example, of what JSON can hold; votes in units of one vote."""

        def chances(i: int) -> dict[str, Any]:
            if self.is_quantity:
                return {}
            return {"probabilities": self._by_label(self.probabilities[i].tolist())}

        return [
            {
                "prediction": _plain_list(self.predictions[i]),
                **chances(i),
                "votes": self._by_label(self._in_votes(self.votes[i])),
                "base": self._by_label(self._in_votes(self.base)),
                "reasons": {
                    str(plain(label)): [
                        reason.to_data() for reason in self.reasons(i, plain(label), top)
                    ]
                    for label in self.classes
                },
                "rules": [spoken.to_data() for spoken in self.rules[i][:top]],
            }
            for i in range(len(self))
        ]

    def to_json(self, top: int | None = None) -> str:
        """A JSON text: a list with an object for each example."""
        return json.dumps(self.to_data(top), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        return explanation_html(self)

    def _example(self, i: int) -> int:
        """A row's number, or an IndexError."""
        count = len(self)
        if not -count <= i < count:
            raise IndexError(f"example {i} does not exist; there are {count}")
        return int(i) % count

    def _value(self, i: int, feature: int) -> Any:
        if self.feature_values is None:
            return None
        return plain(self.feature_values[self._example(i), feature])

    def _in_votes(self, values: NDArray[Any]) -> list[Any]:
        return list(values.tolist() if self.unit == 1 else (values / self.unit).tolist())

    def _by_label(self, values: Sequence[Any]) -> dict[str, Any]:
        return {str(plain(label)): value for label, value in zip(self.classes, values, strict=True)}


def _plain_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [simple(plain(part)) for part in value]
    return simple(plain(value))
