"""``cotm info``: what a model file holds, or what this installation can do."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer

from .models import is_detector, is_other, other_facts
from .options import AsJson
from .output import one_line, print_json, print_pairs
from .summary import file_data, file_size, kind_of, model_data, outputs_title, progress, size


def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="Model file to describe.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a model file, or without one this installation.

    \b
    Examples:
      cotm info flowers.cotm
      cotm info flowers.cotm --json
    """
    if as_json:
        print_json(_installation_data() if model is None else _model_data(model))
    else:
        print_pairs(_installation() if model is None else _model_facts(model))


def _installation_data() -> dict[str, Any]:
    """What `_installation` says, for programs."""
    facts = _installation()
    backends = {n.split()[1]: facts.pop(n) for n in [*facts] if n.startswith("backend ")}
    return {**facts, "threads": int(facts["threads"]), "backends": backends}


def _model_data(path: Path) -> dict[str, Any]:
    """What a model file holds, for programs."""
    from ..files import load
    from ..loading import restored

    model, saved = load(path, lambda saved: (restored(saved), saved))
    file = {"format": saved.format, "version": saved.version}
    if is_other(model):
        return {**file_data(path), **file, **other_facts(model)}
    if is_detector(model):
        classifier = model_data(model.classifier_)
        facts = {"class": type(model).__name__, "offset": model.offset_, "classifier": classifier}
        return {**file_data(path), **file, **facts}
    return {**file_data(path), **file, **model_data(model)}


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
    from ..files import load
    from ..loading import restored

    # The file is read once, as it may be a pipe.
    model, saved = load(path, lambda saved: (restored(saved), saved))
    file = f"{file_size(path)}, format {saved.format}, written by cotm {saved.version}"
    if is_other(model):
        return {"file": file, **other_facts(model)}
    if hasattr(model, "estimators_"):
        return {"file": file, **_composite_facts(model)}
    if is_detector(model):
        found = f"{type(model).__name__}, outliers have scores below {model.offset_:g}"
        return {"file": file, "detector": found, **_classifier_facts(model.classifier_)}
    return {"file": file, **_classifier_facts(model)}


def _classifier_facts(model: Any) -> dict[str, str]:
    facts = {
        "class": f"{type(model).__name__} ({kind_of(model).value})",
        outputs_title(model): _shortened(model.output_names_.tolist()),
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


def _composite_facts(model: Any) -> dict[str, str]:
    members = model.named_estimators_
    divisors = model.divisors_ or [None] * len(members)
    facts = {
        "class": f"{type(model).__name__} of {len(members)} members",
        outputs_title(model): _shortened(model.output_names_.tolist()),
        "scale": model.scale,
    }
    for (name, member), divisor in zip(members.items(), divisors, strict=True):
        divided = "" if divisor is None else f", votes divided by {divisor:,}"
        clauses = f"{len(member.memory_):,} clauses, margin {member.T_}"
        facts[f"member {name}"] = f"{type(member).__name__}, {clauses}{divided}"
    return facts


def _shortened(values: list[Any], most: int = 20) -> str:
    more = f", ... ({len(values)} in all)" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more
