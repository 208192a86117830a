"""Composites: several classifiers whose votes are added up, as one classifier."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import _BaseComposition

from . import files
from .backends import side_by_side
from .core.checks import check_choice
from .estimator.composition import (
    Composition,
    check_input,
    classifier_of,
    composed,
    eval_sets_of,
    input_of,
)
from .estimator.compressing_members import CompressingMembers
from .estimator.joined_rules import JoinedRules
from .explaining.methods import Explaining
from .explaining.voters import Voters
from .exporting import Description, describe, export
from .model.joining import SCALES, UNIT
from .model.label_cells import row_accuracy
from .model.probabilities import probabilities
from .reporting import Reporting
from .reporting.notebook import Showing

if TYPE_CHECKING:
    from typing_extensions import Self


class CoTMComposite(
    CompressingMembers,
    JoinedRules,
    Explaining,
    Reporting,
    Showing,
    ClassifierMixin,  # type: ignore[misc]
    _BaseComposition,  # type: ignore[misc]
):
    """Several classifiers with the same outputs, whose votes are added up.

    Each member reads X in its own way: with its own booleanizer, patches, clauses and margin. Its
    votes v, whole numbers, are divided by a whole number alpha of its own, so that no member
    drowns out the others, and the quotients are added::

        votes = sum over members of (v * 2**32) // alpha

    in exact integers, division to the floor. The class with the most votes is predicted, the
    first of equals; with several labels those that have 0 votes or more.

    :func:`cotm.join` makes one of classifiers that are fitted already.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members by their names: :class:`cotm.CoTMClassifier`, :class:`cotm.TMClassifier`, or
        pipelines that end in one. ``fit`` trains copies of them. Their parameters are the
        composite's too, as ``name__parameter``.
    scale : {"range", "margin", "none"}, default="range"
        What alpha is. "range": the largest less the smallest of the member's votes on the
        training data, over all examples and outputs, and 1 where that is 0. "margin": its
        margin ``T``, times the number of states that vote with ``average``. "none": votes are
        added as they are, without ``2**32``.
    n_jobs : int, default=None
        How many members are trained at the same time, in threads of joblib. None is one after
        the other, each with as many threads as its own ``n_jobs`` says. The result does not
        depend on it.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    named_estimators_ : dict
        The same by their names.
    divisors_ : tuple of int, or None
        Alpha of each member; None with ``scale="none"``.
    classes_ : array
        The labels, in the order of the outputs.
    n_features_in_ : int
        Columns of X, where all members agree on it.
    feature_names_in_ : array of str
        Names of X's columns, where all members agree on them.

    See Also
    --------
    join : A composite, or one pool of clauses, of fitted classifiers.

    References
    ----------
    O.-C. Granmo, "TMComposites: Plug-and-Play Collaboration Between Specialized Tsetlin
    Machines", arXiv:2309.04801, 2023.

    Examples
    --------
    A member looks at patches, another at whole images in finer steps of gray:

    >>> from sklearn.datasets import load_digits
    >>> from cotm import CoTMClassifier, CoTMComposite, Thermometer
    >>> X, y = load_digits(return_X_y=True)
    >>> shapes = CoTMClassifier(
    ...     80, epochs=3, image_shape=(8, 8), patch_shape=(4, 4), random_state=0
    ... )
    >>> grays = CoTMClassifier(80, epochs=3, booleanize=Thermometer(3), random_state=0)
    >>> both = CoTMComposite([("shapes", shapes), ("grays", grays)]).fit(X, y)
    >>> bool(both.score(X, y) > 0.9)
    True
    """

    _kind = "CoTMComposite"

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        scale: str = "range",
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.scale = scale
        self.n_jobs = n_jobs

    @classmethod
    def _of(cls, composition: Composition, n_jobs: int | None = None) -> Self:
        """One whose members are fitted already."""
        pairs = [(member.name, member.model) for member in composition.members]
        composite = cls(pairs, scale=composition.scale, n_jobs=n_jobs)
        composite._checked_estimators()
        composite._composition = composition
        return composite

    # Parameters ----------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with ``deep`` those of the members as ``name__parameter``."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by their names, and members' as ``name__parameter``."""
        self._set_params("estimators", **params)
        return self

    def _checked_estimators(self) -> list[tuple[str, Any]]:
        """The members to be, or an error that says what is wrong with them."""
        pairs = [*self.estimators]
        for pair in pairs:
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
                raise ValueError(f"estimators holds {pair!r:.200}; it needs pairs (name, model)")
        if not pairs:
            raise ValueError("estimators is empty; name one or more, as [('first', model)]")
        self._validate_names([name for name, _ in pairs])
        for name, model in pairs:
            if not name:
                raise ValueError("a member's name is empty; give it one")
            classifier_of(model, name)
        return [(name, model) for name, model in pairs]

    # Training ------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, eval_set: Any = None
    ) -> Self:
        """Train a copy of each member on the same examples, and measure their votes.

        Whatever is raised on the way, the composite stays as it was. So it does on Ctrl-C,
        although with ``n_jobs`` trainings that have begun go on in their threads.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict
            What all members read, or a dictionary with what each of them reads, by its name.
        y : array
            As in :meth:`cotm.CoTMClassifier.fit`.
        sample_weight : array of (N,), optional
            As in :meth:`cotm.CoTMClassifier.fit`.
        eval_set : tuple of (X, y), optional
            Every member stops by these examples, at an epoch of its own; X may be a dictionary
            as above. A pipeline would pass them on as they are, so it is refused.

        Returns
        -------
        self
        """
        import joblib

        check_choice("scale", self.scale, SCALES)
        pairs = self._checked_estimators()
        names = [name for name, _ in pairs]
        check_input(X, names)
        sets = eval_sets_of(eval_set, pairs)
        jobs = [(model, input_of(X, name), y, sample_weight, sets[name]) for name, model in pairs]
        if joblib.effective_n_jobs(self.n_jobs) == 1:
            # In a worker of joblib, even if it is the only one, members would take one thread.
            models = [_trained(*job) for job in jobs]
        else:
            train = joblib.delayed(_trained_beside_others)
            models = joblib.Parallel(n_jobs=self.n_jobs, prefer="threads")(
                train(*job) for job in jobs
            )
        self._composition = composed(zip(names, models, strict=True), self.scale, X)
        return self

    # State ---------------------------------------------------------------------------

    def _now(self) -> Composition:
        """What has been learned. Ask once per call, so that all parts are of the same moment."""
        composition: Composition | None = self.__dict__.get("_composition")
        if composition is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return composition

    def _voters(self) -> Voters:
        return self._now().voters()

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_composition") is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members."""
        return [member.model for member in self._now().members]

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted members by their names."""
        return {member.name: member.model for member in self._now().members}

    @property
    def divisors_(self) -> tuple[int, ...] | None:
        """What each member's votes are divided by; None where they are added as they are."""
        return self._now().divisors

    @property
    def classes_(self) -> NDArray[Any] | list[NDArray[Any]]:
        """The labels, in the order of the outputs; of several columns of labels a list with those
        of each."""
        now = self._now()
        return now.classes if now.columns is None else [*now.columns.classes]

    @property
    def output_names_(self) -> NDArray[Any]:
        """What the outputs are called: as the labels, of several columns ``column=label``."""
        return self._now().classes

    @property
    def n_features_in_(self) -> int:
        """Columns of X; there is no such attribute where members do not agree on it."""
        first, *others = (model.n_features_in_ for model in self.estimators_)
        if any(other != first for other in others):
            raise AttributeError("the members have different numbers of features")
        return int(first)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns; there is no such attribute where members do not agree on them."""
        first, *others = (model.feature_names_in_ for model in self.estimators_)
        if not all(np.array_equal(other, first) for other in others):
            raise AttributeError("the members have different feature names")
        return np.array(first, dtype=object)

    @property
    def _multilabel(self) -> bool:
        return self._now().multilabel

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all members to one file, whole or not at all; :func:`cotm.load` reads it.

        A file holds no pipelines: a TypeError names a member that is one.
        """
        files.save(self._saved_model(), path)

    def export(self, path: str | os.PathLike[str], *, inputs: str = "raw", **options: Any) -> None:
        """Write all members for other programs, as :meth:`cotm.CoTMClassifier.export` does."""
        export(self._description(inputs), path, **options)

    def _unchanging(self) -> Any:
        """Its members do not change, and what it is made of is replaced as a whole."""
        return copy.copy(self)

    def _description(self, inputs: str = "raw") -> Description:
        """What has been learned, as plain data."""
        now = self._now()
        _check_whole(now, "exported")
        return describe(
            [(member.name, member.classifier._still()._now()) for member in now.members],
            divisors=now.divisors,
            margin=now.margin,
            sharpness=now.sharpness(),
            inputs=inputs,
        )

    def _saved_model(self) -> files.SavedComposite:
        now = self._now()
        _check_whole(now, "saved")
        return files.SavedComposite(
            names=tuple(member.name for member in now.members),
            members=tuple(member.classifier._still()._saved_model() for member in now.members),
            scale=now.scale,
            divisors=now.divisors if now.scale == "range" else None,
            n_jobs=self.n_jobs,
        )

    # Prediction ----------------------------------------------------------------------

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Add up the members' votes for each output, each member's divided by its alpha.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict
            What all members read, or a dictionary with what each of them reads, by its name.

        Returns
        -------
        int64 (N, outputs)
            In units of ``2**-32``; with ``scale="none"`` plain votes.
        """
        return self._now().votes(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels: by the most votes, or with several labels by 0 votes or more.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict
            As in :meth:`votes`.

        Returns
        -------
        array (N,), or (N, outputs) with several labels, (N, columns) with columns of labels
        """
        now = self._now()
        return now.outputs.labels(now.votes(X), now.classes)

    def decision_function(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Tell how sure predictions are.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict
            As in :meth:`votes`.

        Returns
        -------
        float64 (N, outputs), or (N,) with two classes
            As :meth:`cotm.CoTMClassifier.decision_function`, of votes in units of 1.
        """
        now = self._now()
        unit = 1 if now.divisors is None else UNIT
        votes = now.votes(X)
        if now.columns is not None:
            return [scores / unit for scores in now.columns.column_scores(votes)]
        return now.outputs.scores(votes) / unit

    def predict_proba(self, X: Any) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Predict probabilities: a squashed ranking of the votes.

        As those of the members, of the joined votes in units of the members' margins, which are
        divided and added like votes. The sharpness is the mean of theirs.

        Parameters
        ----------
        X : array, sparse matrix, frame, or dict
            As in :meth:`votes`.

        Returns
        -------
        float64 (N, outputs)
            In the order of :attr:`classes_`. With several labels each is a probability of its own.
        """
        now = self._now()
        margins = now.outputs.in_margins(now.votes(X), now.margin)
        found = probabilities(margins, now.sharpness(), now.outputs)
        return found if now.columns is None else now.columns.split(found)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of examples that are predicted right, as :meth:`cotm.CoTMClassifier.score`."""
        now = self._now()
        if now.columns is None:
            return float(super().score(X, y, sample_weight))
        return row_accuracy(now.columns, now.votes(X), y, sample_weight)


def _check_whole(now: Composition, done: str) -> None:
    """Refuse members that are more than a classifier."""
    for member in now.members:
        if member.model is not member.classifier:
            raise TypeError(
                f"a composite with the member {member.name!r} cannot be {done}, since it is a "
                f"{type(member.model).__name__}: files hold classifiers; give it its "
                "booleanizer as the parameter booleanize"
            )


def _trained(
    model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, eval_set: tuple[Any, Any] | None
) -> Any:
    """A copy of a member, fitted."""
    model = clone(model)
    given = {"sample_weight": sample_weight, "eval_set": eval_set}
    given = {name: value for name, value in given.items() if value is not None}
    if hasattr(model, "steps"):
        given = {f"{model.steps[-1][0]}__{name}": value for name, value in given.items()}
    return model.fit(X, y, **given)


def _trained_beside_others(*job: Any) -> Any:
    with side_by_side():
        return _trained(*job)
