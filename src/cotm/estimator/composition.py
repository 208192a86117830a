"""Fitted models that vote together: who they are, and how their votes become one sum."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import check_choice
from ..explaining.voters import Voter, Voters
from ..model.joining import SCALES, joined_margin, joined_votes, vote_range
from ..model.label_columns import LabelColumns, outputs_for
from ..model.outputs import Outputs, Votes
from ..model.probabilities import MeanSharpness
from .classifying import TsetlinClassifier
from .validation import eval_pair


@dataclass(frozen=True)
class Member:
    """A model of a composite, and what the composite calls it."""

    name: str
    model: Any  # a classifier of cotm, or a pipeline that ends in one

    @property
    def classifier(self) -> TsetlinClassifier:
        """The classifier that votes."""
        return classifier_of(self.model, self.name)

    def part_of(self, X: Any) -> Any:
        """What the classifier reads of X."""
        X = input_of(X, self.name)
        for _, step in steps_before(self.model):
            X = step.transform(X)
        return X

    def votes(self, X: Any) -> Votes:
        """Votes for its part of X."""
        return self.classifier.votes(self.part_of(X))


@dataclass(frozen=True)
class Composition:
    """Members whose votes count together. It never changes."""

    members: tuple[Member, ...]
    scale: str  # one of SCALES
    divisors: tuple[int, ...] | None  # of the members' votes; None: they are added as they are
    margins: tuple[int, ...]  # of the members, of all their states that vote
    classes: NDArray[Any]
    multilabel: bool
    columns: LabelColumns | None = None  # of labels, where y has several

    @property
    def outputs(self) -> Outputs:
        """What votes mean."""
        return outputs_for(self.multilabel, self.columns)

    @property
    def margin(self) -> int:
        """The margins of all members, in the unit of their joined votes."""
        return joined_margin(self.margins, self.divisors)

    def votes(self, X: Any) -> Votes:
        """The joined votes; X is for all members, or a dictionary with each one's by its name."""
        check_input(X, [member.name for member in self.members])
        return joined_votes([member.votes(X) for member in self.members], self.divisors)

    def voters(self) -> Voters:
        """The same as what explanations are made from."""

        def part_of(member: Member, X: Any) -> Any:
            check_input(X, [other.name for other in self.members])
            return member.part_of(X)

        members = tuple(
            Voter(
                member.name,
                member.classifier,
                partial(part_of, member),
                transformed=bool(steps_before(member.model)),
            )
            for member in self.members
        )
        return Voters(
            members,
            self.divisors,
            self.classes,
            self.multilabel,
            self.margin,
            self.sharpness(),
            self.columns,
        )

    def sharpness(self) -> MeanSharpness:
        """The sharpness of probabilities."""
        return MeanSharpness(member.classifier._now().sharpness for member in self.members)


def composed(
    models: Iterable[tuple[str, Any]],
    scale: str,
    X: Any = None,
    divisors: Sequence[int] | None = None,
) -> Composition:
    """Fitted models as members, measured on X or with divisors that were measured before."""
    scale = check_choice("scale", scale, SCALES)
    members = tuple(Member(name, _still(model, name)) for name, model in models)
    if not members:
        raise ValueError("there is no model to join; pass one or more")
    first = members[0].classifier
    for member in members[1:]:
        _check_same_outputs(members[0].name, first, member.name, member.classifier)
    margins = tuple(m.classifier.T_ * m.classifier.machine_.n_states_ for m in members)
    if scale == "range" and divisors is None:
        if X is None:
            raise ValueError(
                "scale='range' divides votes by their range on examples; pass some as X, best of "
                "the training data, or take scale='margin'"
            )
        check_input(X, [member.name for member in members])
        divisors = [vote_range(member.votes(X)) for member in members]
    elif scale == "margin":
        divisors = margins
    elif scale == "none":
        divisors = None
    known = None if divisors is None else tuple(divisors)
    now = first._now()
    return Composition(members, scale, known, margins, now.classes, now.multilabel, now.columns)


def classifier_of(model: Any, name: str) -> TsetlinClassifier:
    """The classifier of cotm that a model is, or that a pipeline ends in."""
    last = model.steps[-1][1] if getattr(model, "steps", None) else model
    if not isinstance(last, TsetlinClassifier):
        raise TypeError(
            f"{name!r} is a {type(last).__name__}, which has no votes to count; members are "
            "CoTMClassifier, TMClassifier, and pipelines that end in one"
        )
    return last


def steps_before(model: Any) -> list[tuple[str, Any]]:
    """The transformers of a pipeline; a classifier has none."""
    steps = model.steps[:-1] if getattr(model, "steps", None) else []
    return [(name, step) for name, step in steps if step not in (None, "passthrough")]


def input_of(X: Any, name: str) -> Any:
    """A member's part of X, where a dictionary has one for each."""
    return X[name] if _is_dictionary(X) else X


def eval_sets_of(
    eval_set: Any, models: Sequence[tuple[str, Any]]
) -> dict[str, tuple[Any, Any] | None]:
    """What each member is to stop by, by its name."""
    names = [name for name, _ in models]
    if eval_set is None:
        return dict.fromkeys(names)
    X, y = eval_pair(eval_set)
    check_input(X, names)
    for name, model in models:
        if steps_before(model):
            raise ValueError(
                f"eval_set: the member {name!r} is a pipeline, which would not transform it; give "
                "its classifier the transformer as the parameter booleanize, or leave eval_set "
                "out and set early_stopping=True in the members"
            )
    return {name: (input_of(X, name), y) for name in names}


def _is_dictionary(X: Any) -> bool:
    """Some sparse matrices of SciPy are dictionaries too, of their entries."""
    return isinstance(X, Mapping) and not hasattr(X, "shape")


def check_input(X: Any, names: Sequence[str]) -> None:
    """A dictionary as X must have the names of all members, and no others."""
    if not _is_dictionary(X):
        return
    if {*X} != {*names}:
        raise ValueError(
            f"X is a dictionary with {[*X]}, but the members are {[*names]}; it needs what each "
            "of them reads, by its name"
        )
    lengths = {name: X[name].shape[0] if hasattr(X[name], "shape") else len(X[name]) for name in X}
    if len({*lengths.values()}) > 1:
        raise ValueError(f"X holds different numbers of examples: {lengths}")


def _still(model: Any, name: str) -> Any:
    """A model as it is now: whatever it learns later, the composite stays what it is."""
    last = classifier_of(model, name)._still()
    if not getattr(model, "steps", None):
        return last
    pipeline = copy.copy(model)
    pipeline.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
    return pipeline


def _check_same_outputs(
    first_name: str, first: TsetlinClassifier, name: str, other: TsetlinClassifier
) -> None:
    if first._multilabel != other._multilabel:
        one, several = (name, first_name) if first._multilabel else (first_name, name)
        raise ValueError(
            f"{one!r} predicts one class and {several!r} several labels; members need the same "
            "outputs"
        )
    ours, theirs = first.output_names_, other.output_names_
    columns, others = first._now().columns, other._now().columns
    if columns is not None or others is not None:
        if columns != others:
            raise ValueError(
                f"{first_name!r} has the outputs {ours.tolist()!r:.200}, but {name!r} "
                f"{theirs.tolist()!r:.200}, or of other columns or types of labels; members need "
                "the same, in the same order"
            )
        return
    if ours.dtype.kind != theirs.dtype.kind or not np.array_equal(ours, theirs):
        raise ValueError(
            f"{first_name!r} has the classes {ours.tolist()!r:.200}, but {name!r} "
            f"{theirs.tolist()!r:.200}; members need the same, in the same order"
        )
