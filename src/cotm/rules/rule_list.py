"""Many rules: sorted, filtered, and as tables, JSON, text, LaTeX and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from .markup import MOST_SHOWN, html_of, latex_of
from .rule import MemberRule, Rule
from .tables import data_of, rows_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: What rules can be sorted by, and need not be below, and what it asks of them.
MEASURES = ("votes", "coverage", "count", "precision", "lift", "share")


class RuleList(list[Rule]):
    """Rules in an order, with what they are written as. Its slices are such lists too."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> RuleList: ...
    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return RuleList(found) if isinstance(place, slice) else found

    def chosen(
        self,
        *,
        label: Any = None,
        top: int | None = None,
        sort: str = "votes",
        at_least: Mapping[str, float] | None = None,
    ) -> RuleList:
        """The rules that matter, those first that matter most.

        Parameters
        ----------
        label : optional
            Measure votes, precision and lift of this label only, and leave out rules that do not
            vote for it. Without it these are measured of the label that a rule votes for most.
        top : int, optional
            How many at the most.
        sort : {"votes", "coverage", "count", "precision", "lift", "share"}, default="votes"
            What they are sorted by, the highest first.
        at_least : dict of str to float, optional
            The least that a rule needs of these measures, as in ``{"coverage": 0.05}``.

        Returns
        -------
        RuleList
        """
        asked = {sort, *(at_least or ())}
        for name in asked:
            if name not in MEASURES:
                raise ValueError(f"{name!r} measures no rule; {', '.join(MEASURES)} do")
        for name in asked - {"votes"}:
            if any(rule.evidence is None for rule in self):
                raise ValueError(f"{name!r} needs examples; pass X, and for precision and lift y")
            if name in ("precision", "lift") and any(rule.evidence.counts is None for rule in self):  # type: ignore[union-attr]
                raise ValueError(f"{name!r} needs labels; pass y beside X")
        known = [*self[0].weights] if self else []
        if label is not None and self and label not in known:
            raise ValueError(f"label={label!r} is not a class of this model; it has {known}")
        found = self if label is None else [rule for rule in self if rule.weights[label] > 0]
        for name, least in (at_least or {}).items():
            found = [rule for rule in found if _measure(rule, name, label) >= least]
        ranked = sorted(found, key=lambda rule: -_measure(rule, sort, label))
        return RuleList(ranked if top is None or top < 0 else ranked[:top])

    def __repr__(self) -> str:
        more = f"\nand {len(self) - MOST_SHOWN:,} more" if len(self) > MOST_SHOWN else ""
        return self[:MOST_SHOWN].to_text() + more if self else "RuleList([])"

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rules as plain data, which JSON can hold."""
        return [data_of(rule) for rule in self]

    def to_json(self, **options: Any) -> str:
        """The rules as JSON; options are those of :func:`json.dumps`."""
        return json.dumps(self.to_dicts(), **{"ensure_ascii": False, "indent": 2, **options})

    def to_text(self) -> str:
        """A numbered line for each rule."""
        return "\n".join(f"{number}. {rule}" for number, rule in enumerate(self, start=1))

    def to_pandas(self) -> pd.DataFrame:
        """A row for each rule, as a frame of pandas."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas") from error
        return pd.DataFrame(rows_of(self))

    def to_polars(self) -> pl.DataFrame:
        """A row for each rule, as a frame of polars."""
        try:
            import polars as pl
        except ImportError as error:
            raise ImportError('to_polars needs polars: pip install "cotm[tables]"') from error
        return pl.DataFrame(rows_of(self))

    def to_latex(self) -> str:
        """A LaTeX table, which needs no package."""
        return latex_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


def _measure(rule: Rule, name: str, label: Any) -> float:
    """How much a rule has of a measure."""
    if name == "votes":
        votes = rule.strength if label is None else rule.most * rule.weights[label]
        return votes / rule.divisor if isinstance(rule, MemberRule) else votes
    evidence = rule.evidence
    assert evidence is not None
    if name in ("precision", "lift"):
        of_label = getattr(evidence, name)
        chosen = max(rule.weights, key=rule.weights.__getitem__) if label is None else label
        return -1.0 if of_label is None else of_label.get(chosen, 0.0)
    return float({"share": evidence.share_of_votes}.get(name, getattr(evidence, name, 0.0)))
