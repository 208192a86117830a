"""Fitted classifiers joined: to a composite, or to one pool of clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import files
from .classifier import CoTMClassifier
from .composite import CoTMComposite
from .core.limits import MAX_T
from .core.parameters import OPTIONS
from .core.state import Snapshot, voters
from .estimator.classifying import TsetlinClassifier
from .estimator.composition import Composition, composed
from .estimator.settings import machine_parameters
from .machine import Machine
from .model.edits import Edits
from .model.fitted import Fitted, TrainingProgress
from .model.joining import joined_margin


def join(
    models: Mapping[str, Any] | Iterable[Any],
    X: Any = None,
    scale: str | None = None,
) -> CoTMComposite | CoTMClassifier:
    """Join fitted classifiers with the same outputs to one, whose votes are the sum of theirs.

    Each member keeps its own booleanizer, patches and clauses. Its votes v are divided by a
    whole number alpha of its own, in exact integers with division to the floor::

        votes = sum over members of (v * 2**32) // alpha

    The models are taken as they are now; what they learn later changes nothing.

    Parameters
    ----------
    models : list, list of (str, model), or dict of str to model
        Fitted classifiers of cotm, or pipelines that end in one. Without names they are called
        ``member0``, ``member1`` and so on.
    X : array, sparse matrix, frame, or dict, optional
        Examples to measure votes on, best those of training; or a dictionary with what each
        member reads, by its name.
    scale : {"range", "margin", "none"}, optional
        What alpha is. "range", which is what X means without a ``scale``: the largest less the
        smallest of the member's votes on X, over all examples and outputs, and 1 where that is 0.
        "margin", without X: its margin ``T``, times the number of states that vote with
        ``average``. "none": votes are added as they are, without ``2**32``.

    Returns
    -------
    CoTMComposite, or CoTMClassifier
        With ``scale="none"`` several :class:`cotm.CoTMClassifier` that make the same bits of X,
        with the same ``tolerance`` and ``include_depth``, become one, whose pool has the clauses
        of all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier, join
    >>> X, y = load_iris(return_X_y=True)
    >>> small = {"n_clauses": 20, "epochs": 5, "average": 1}
    >>> models = [CoTMClassifier(**small, random_state=k).fit(X, y) for k in range(3)]
    >>> join(models, X).divisors_ == tuple(m.votes(X).max() - m.votes(X).min() for m in models)
    True
    >>> pool = join(models, scale="none")
    >>> pool.n_clauses
    60
    >>> bool((pool.votes(X) == sum(model.votes(X) for model in models)).all())
    True
    """
    if scale is None:
        scale = "margin" if X is None else "range"
    elif X is not None and scale != "range":
        raise ValueError(f"X is given, but scale={scale!r} measures nothing on it; leave X out")
    composition = composed(_named(models), scale, X)
    composite = CoTMComposite._of(composition)  # which looks at the names
    return _pool(composition) if scale == "none" and _is_pool(composition) else composite


def _named(models: Mapping[str, Any] | Iterable[Any]) -> list[tuple[str, Any]]:
    """The models with their names."""
    if isinstance(models, Mapping):
        return [*models.items()]
    if isinstance(models, TsetlinClassifier) or hasattr(models, "steps"):
        raise TypeError("join needs a list of models, or a dictionary of them by their names")
    return [
        (item[0], item[1])
        if isinstance(item, tuple) and len(item) == 2
        else (f"member{number}", item)
        for number, item in enumerate(models)
    ]


def _is_pool(composition: Composition) -> bool:
    """Whether all clauses see the same bits and fire by the same rules."""
    if not all(isinstance(member.model, CoTMClassifier) for member in composition.members):
        return False
    first, *others = (member.classifier._now() for member in composition.members)
    return all(
        files.same_inputs(first.reader, other.reader)
        and all(
            getattr(first.machine.parameters, name) == getattr(other.machine.parameters, name)
            for name, option in OPTIONS.items()
            if option.pooled is None
        )
        for other in others
    )


def _pool(composition: Composition) -> CoTMClassifier:
    """One classifier with the clauses of all members.

    If it is trained on, it is with the options of the first one, but within limits that leave
    all clauses as they are. Its margin is the sum of the members', for as many times the clauses.
    """
    members = [member.classifier for member in composition.members]
    parts = [member._now() for member in members]
    states = [part.machine.snapshot() for part in parts]
    pools = [voters(state) for state in states]
    memory = np.concatenate([memory for memory, _ in pools])
    weights = np.concatenate([weights for _, weights in pools])
    first = parts[0]
    options = [part.machine.parameters for part in parts]
    settings = members[0].get_params(deep=False)
    automatic = isinstance(settings["e"], str)
    constraints = first.edits.constraints
    if any(part.edits.constraints != constraints for part in parts):
        constraints = None
    # What was set since the training is not what trained these clauses.
    settings |= {
        name: option.of_pool([getattr(each, name) for each in options])
        for name, option in OPTIONS.items()
        if name in settings
    }
    settings |= {name: getattr(first.reader, name) for name in files.READER_PARAMETERS}
    settings |= {
        "n_clauses": len(memory),
        "T": min(MAX_T, joined_margin(composition.margins, None)),
        "e": "auto" if automatic else options[0].e,
        "average": 1,
        "callbacks": None,
        "constraints": constraints,
    }
    model = CoTMClassifier(**settings)
    parameters = machine_parameters(model, first.preset, len(first.classes), first.judge)
    machine = Machine(**{**parameters, "random_state": first.machine.seed_})
    assert first.reader.grid is not None
    step = sum(state.step for state in states)
    machine.load_state(first.reader.grid, Snapshot(memory, weights, step))
    model._fitted = Fitted(
        first.reader,
        first.classes,
        first.multilabel,
        machine,
        TrainingProgress(step=step),
        composition.sharpness(),
        first.preset,
        edits=Edits(constraints=constraints),
        columns=first.columns,
    )
    return model
