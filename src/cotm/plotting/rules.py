"""The strongest rules as bars."""

from __future__ import annotations

from typing import Any

from ..rules import Rule
from .drawing import Display, bars

#: A rule beside its bar.
_LINES = 2


class RulesDisplay(Display):
    """Rules, and how many votes each gives a label.

    Parameters
    ----------
    rules : list of Rule
        As a model's ``rules`` gives them.
    label : optional
        Whose votes are shown; by default of each rule the label that it votes for or against most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cotm import CoTMClassifier
    >>> from cotm.plotting import RulesDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CoTMClassifier(50, max_literals=3, random_state=0).fit(X, y)
    >>> display = RulesDisplay.from_estimator(model, label=2, top=5)
    >>> len(display.ax_.patches)
    5
    """

    def __init__(self, rules: list[Rule], label: Any = None) -> None:
        self.rules = list(rules)
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        label: Any = None,
        top: int = 10,
        sort: str = "votes",
        ax: Any = None,
    ) -> RulesDisplay:
        """The first rules of a fitted model; with X sorted also by what they do on it."""
        found = estimator.rules(X, y, label=label, top=top, sort=sort)
        return cls(found, label).plot(ax)

    def plot(self, ax: Any = None) -> RulesDisplay:
        """Draw it, on axes of your own if you like."""
        ax = self._start(ax, (9, 0.8 + 0.46 * len(self.rules)))
        names, votes = [], []
        for rule in self.rules:
            label = self.label
            if label is None:
                label = max(rule.weights, key=lambda name: abs(rule.weights[name]))
            member = getattr(rule, "member", "")
            names.append(f"{member}: {rule.condition}" if member else rule.condition)
            votes.append(float(rule.most * rule.weights[label]))
            if self.label is None:
                names[-1] = f"{names[-1]} → {label}"
        title = "votes" if self.label is None else f"votes for {self.label}"
        bars(ax, names, votes, title, lines=_LINES)
        return self
