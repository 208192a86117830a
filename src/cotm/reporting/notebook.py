"""A fitted model in a notebook: what it has learned, below the diagram that scikit-learn draws."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..explaining.html import bars_html, block, heat_map_html
from .facts import how_trained, members_of
from .importance import importance

#: Rules and columns that are shown.
_MOST = 5


class Showing:
    """How estimators show themselves in notebooks; it stands before BaseEstimator."""

    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{model_html(self)}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in found:
            found["text/html"] = self._repr_html_inner()
        return found


def model_html(model: Any) -> str:
    """How a model was trained, its strongest rules, and what they look at; nothing before."""
    if not model.__sklearn_is_fitted__():
        return ""
    rules = model.rules()
    facts = [
        f"{name}: {fact}" if name != "model" else fact
        for name, member in members_of(model).items()
        if (fact := how_trained(classifier_in(member)._now()))
    ]
    told = "; ".join([f"{len(rules):,} rules", *facts])
    looked_at = _looked_at(model) if rules else ""
    more = "the strongest, and how much of all votes is by what they look at"
    head = f"<p>{escape(told)}{f'; {more}:' if rules else ''}</p>"
    strongest = rules[:_MOST]._repr_html_() if rules else ""
    return block(f"{head}{strongest}{looked_at}")


def classifier_in(member: Any) -> Any:
    """A member, or the classifier in which its pipeline ends."""
    return member.steps[-1][1] if hasattr(member, "steps") else member


def _looked_at(model: Any) -> str:
    found = importance(model, None)
    values = found["outputs"][0]
    if found["shape"] is not None:
        shape = tuple(found["shape"])
        return heat_map_html(np.reshape(values, shape).astype(np.float64), "importance of pixels")
    return bars_html([(name, f"{share:.1%}", share) for name, share in values[:_MOST]])
