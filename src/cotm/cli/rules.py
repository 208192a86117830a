"""``cotm rules``: what a model has learned, in words."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .errors import suggestion
from .options import AsJson, ModelFile
from .output import print_json, print_line, say


def rules(
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many at the most.")] = 10,
    label: Annotated[
        str | None, typer.Option(help="Those that speak most for this class or label.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the strongest rules of a model in words.

    Each rule gives its votes, for or against, to every class; the most votes win.

    \b
    Example:
      cotm rules flowers.cotm --top 3 --label virginica
    """
    from .. import load

    classifier = load(model)
    chosen = None if label is None else _find_class(classifier, label)
    found = classifier.rules(label=chosen, top=top)
    if as_json:
        print_json([_rule_data(rule) for rule in found])
        return
    for number, rule in enumerate(found, start=1):
        print_line(f"{number}. {rule}")
    if not found:
        say("no clause votes" + (f" for {label!r}" if label else ""))


def _find_class(model: Any, text: str) -> Any:
    by_text = {str(value): value for value in model.classes_.tolist()}
    if text not in by_text:
        raise ValueError(f"the model has no class {text!r}; {suggestion(text, [*by_text])}")
    return by_text[text]


def _rule_data(rule: Any) -> dict[str, Any]:
    return {
        **({"member": rule.member} if hasattr(rule, "member") else {}),
        "clause": rule.clause,
        "conditions": [
            {
                "column": condition.feature.column,
                "op": condition.feature.op,
                "value": condition.feature.value,
                "negated": condition.negated,
                "text": str(condition),
            }
            for condition in rule.conditions
        ],
        "weights": {str(label): weight for label, weight in rule.weights.items()},
        "text": str(rule),
    }
