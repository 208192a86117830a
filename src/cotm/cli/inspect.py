"""``cotm rules`` and ``cotm info``: what is in a model, and what this installation can do."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import suggestion
from .facts import file_size, kind_of, progress, size
from .options import AsJson, ModelFile
from .show import one_line, print_json, print_line, print_pairs, say

# Rules -------------------------------------------------------------------------------


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


# Information -------------------------------------------------------------------------


def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="Model file to describe.", show_default=False),
    ] = None,
) -> None:
    """Describe a model file, or without one this installation.

    \b
    Example:
      cotm info flowers.cotm
    """
    print_pairs(_installation() if model is None else _model_facts(model))


def _installation() -> dict[str, str]:
    from .. import __version__
    from ..backends import backend_names
    from ..core.system import available_processors

    facts = {
        "cotm": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
    }
    for name in backend_names():
        if name != "auto":
            facts[f"backend {name}"] = _backend_status(name)
    facts["threads"] = str(available_processors())
    variables = sorted(name for name in os.environ if name.startswith("COTM_"))
    return facts | {name: os.environ[name] for name in variables}


def _backend_status(name: str) -> str:
    from .. import Machine
    from ..backends import describe_backend

    try:
        # The only reliable check is to train with it.
        Machine(1, T=1, backend=name).fit([[0], [1]], [[0], [1]])
    except ValueError as error:
        return one_line(str(error))
    return " ".join(["available,", describe_backend(name)]).rstrip(" ,")


def _model_facts(path: Path) -> dict[str, str]:
    from ..classifier import restored
    from ..files import load

    # The file is read once, as it may be a pipe.
    model, saved = load(path, lambda saved: (restored(saved), saved))
    facts = {
        "file": f"{file_size(path)}, format {saved.format}, written by cotm {saved.version}",
        "class": f"{type(model).__name__} ({kind_of(model).value})",
        "labels" if model._multilabel else "classes": _shortened(model.classes_.tolist()),
        **size(model),
        **progress(model),
        "step": f"{model.step_:,} examples presented",
        "seed": str(model.seed_),
        "margin": str(model.T_),
    }
    if hasattr(model, "feature_names_in_"):
        facts["feature names"] = _shortened(model.feature_names_in_.tolist())
    parameters = model.get_params(deep=False)
    return facts | {f"parameter {name}": str(value) for name, value in parameters.items()}


def _shortened(values: list[Any], most: int = 20) -> str:
    more = f", ... ({len(values)} in all)" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more
