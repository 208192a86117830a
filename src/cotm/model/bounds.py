"""The constraints of a fitted model, on the literals and outputs of its machine."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

from ..booleanize.frames import default_names
from ..rules import feature_descriptions
from .constraints import Constraints, Limits, limits_of
from .fitted import Fitted


def limits_for(fitted: Fitted, constraints: Constraints | None) -> Limits:
    """Constraints, and the pins of a model, for its machine."""
    edits, reader, spec = fitted.edits, fitted.reader, fitted.machine.spec
    features = []
    if constraints is not None:
        if reader.reads_images:
            raise ValueError(
                f"constraints={constraints!r:.200} are about columns, but patch_shape="
                f"{reader.patch_shape} reads X as images; set one of them to None"
            )
        described = SimpleNamespace(
            booleanizer_=reader.booleanizer,
            machine_=fitted.machine,
            patch_shape=None,
            _reader=reader,
            **({} if reader.names is None else {"feature_names_in_": reader.names}),
        )
        features = feature_descriptions(described)
    return limits_of(
        constraints,
        features,
        reader.names or default_names(reader.n_features),
        fitted.classes.tolist(),
        sharing=spec.sharing,
        pinned=edits.pinned,
        held=edits.held,
    )


def within(fitted: Fitted, constraints: Constraints | None) -> Fitted:
    """What was fitted, brought within constraints, which are in effect from here on."""
    constraints = copy.deepcopy(constraints)
    limits = limits_for(fitted, constraints)
    fitted = replace(fitted, edits=replace(fitted.edits, constraints=constraints))
    state, progress = fitted.machine.snapshot(), fitted.progress
    amended = limits.apply(state)
    if progress.best is not None:
        progress = replace(progress, best=limits.apply(progress.best))
    if amended is state and progress.best is fitted.progress.best:
        return fitted
    return replace(fitted, machine=fitted.machine.with_state(amended), progress=progress)
