"""The model card: what a model is, what it was made from and how it came to be, as texts."""

from __future__ import annotations

import datetime
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__
from ..core.system import format_bytes
from ..exporting.description import Description, ImageInput, Member, TableInput
from ..model.presets import describe_choice

#: Most epochs that the learning curve shows.
_MOST_POINTS = 400
#: Most names that a fact lists.
_MOST_NAMES = 12

#: Types of columns, one and several.
_TYPES = {
    "bit": ("bit", "bits"),
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
    "duration": ("duration", "durations"),
    "time": ("time", "times"),
}


def members_of(model: Any) -> dict[str, Any]:
    """The classifiers that vote, by their names."""
    return getattr(model, "named_estimators_", None) or {"model": model}


def what_it_is(model: Any, description: Description, count: int) -> str:
    """The model, of so many rules, in two sentences."""
    if description.quantities is not None:
        targets = len(description.classes)
        on = "a quantity" if targets == 1 else f"{targets} quantities"
        return (
            f"A Coalesced Tsetlin Machine with {count:,} rules, which predicts {on}. A rule whose "
            "conditions hold raises or lowers the prediction by its votes."
        )
    outputs = f"{len(description.classes)} {'labels' if description.multilabel else 'classes'}"
    if len(description.members) > 1:
        first = (
            f"{len(description.members)} Tsetlin machines with {count:,} rules, whose votes on "
            f"{outputs} are added up."
        )
    elif hasattr(model, "weighted"):
        first = f"A Tsetlin machine with {count:,} rules, divided among {outputs}."
    else:
        first = f"A Coalesced Tsetlin Machine with {count:,} rules that {outputs} share."
    most = (
        "Every label with 0 votes or more is predicted."
        if description.multilabel
        else "The class with the most votes is predicted."
    )
    return f"{first} A rule whose conditions hold votes for some of them and against others. {most}"


def card(model: Any, description: Description) -> list[list[str]]:
    """Names of facts, and facts."""
    shown = [str(label) for label in description.classes[:_MOST_NAMES]]
    more = ", …" if len(description.classes) > _MOST_NAMES else ""
    facts = {"Kind": type(model).__name__}
    if description.quantities is None:
        what = "Labels" if description.multilabel else "Classes"
        facts[what] = f"{len(description.classes)}: {', '.join(shown)}{more}"
    elif not description.quantities.one:
        facts["Targets"] = f"{len(description.classes)}: {', '.join(shown)}{more}"
    members = members_of(model)
    for (name, classifier), member in zip(members.items(), description.members, strict=True):
        prefix = f"{name}: " if len(members) > 1 else ""
        for key, value in _of_member(classifier, member).items():
            facts[prefix + key] = value
    size = _file_size(model)
    if size is not None:
        facts["Model file"] = size
    facts["Report"] = f"{datetime.date.today().isoformat()}, with cotm {__version__}"
    return [[*pair] for pair in facts.items()]


def _of_member(classifier: Any, member: Member) -> dict[str, str]:
    fitted = classifier._now()
    conditions = [len(clause.literals) for clause in member.clauses]
    mean = sum(conditions) / max(1, len(conditions))
    states = fitted.machine.n_states_
    facts = {
        "Reads": _reads(member),
        "Clauses": f"{len(conditions):,} that can vote, {mean:.1f} conditions on average"
        + (f"; of {states} states that vote together" if states > 1 else "")
        + (f"; {member.tolerance - 1} conditions may fail" if member.tolerance > 1 else ""),
        "Trained": how_trained(fitted),
        "Settings": describe_choice(classifier, fitted),
        "Margin T, specificity s": f"{classifier.T_:,}, {classifier.s_:g}",
        "Seed": str(classifier.seed_),
    }
    return {name: text for name, text in facts.items() if text}


def _reads(member: Member) -> str:
    source, grid = member.input, member.grid
    if isinstance(source, ImageInput):
        height, width, channels = source.shape
        colours = f" × {channels}" if channels > 1 else ""
        shape = f"{grid.patch_height} × {grid.patch_width}"
        return f"images of {height} × {width}{colours}, by patches of {shape}"
    kinds = Counter(column.type for column in source.columns)
    told = [f"{count:,} {_TYPES[kind][count > 1]}" for kind, count in kinds.items()]
    of = told[0] if len(told) == 1 else f"{len(source.columns):,} columns ({', '.join(told)})"
    return of if {*kinds} == {"bit"} else f"{of}, as {len(source.tests):,} bits"


def how_trained(fitted: Any) -> str:
    """Epochs, examples and what they came to; nothing where it is not known."""
    progress = fitted.progress
    if not progress.history:
        return ""
    rows = (progress.data or {}).get("rows")
    on = "" if rows is None else f" on {rows:,} examples"
    last = progress.history[-1]
    measure = "accuracy" if fitted.scaling is None else "D²"
    told = f"{progress.epochs} epochs{on}, to a training {measure} of {last['train_accuracy']:.2%}"
    if progress.is_scored and progress.scored():
        best = max(progress.scored(), key=progress.score)
        told += f"; the best validation score, {progress.score(best):.4g}, in epoch {best['epoch']}"
    return told


def _file_size(model: Any) -> str | None:
    """How large the model's own file is; None where it cannot be saved."""
    with tempfile.TemporaryDirectory() as folder, suppress(TypeError, ValueError, OSError):
        path = Path(folder) / "model.cotm"
        model.save(path)
        return format_bytes(path.stat().st_size)
    return None


def parameters(model: Any) -> list[dict[str, Any]]:
    """Every parameter of every member, with what "auto" came to be."""
    told = []
    for name, classifier in members_of(model).items():
        chosen = classifier.chosen_
        rows = [
            [key, str(value), str(chosen[key]) if key in chosen else ""]
            for key, value in classifier.get_params(deep=False).items()
        ]
        told.append({"member": name, "rows": rows})
    return told


def learning_curves(model: Any) -> list[dict[str, Any]]:
    """The accuracies of each member's epochs, thinned where there are many."""
    curves = []
    for name, classifier in members_of(model).items():
        history = classifier.history_
        step = -(-len(history) // _MOST_POINTS)
        # The last epoch is always there.
        kept = history[::-1][:: max(1, step)][::-1]
        series = {
            key: [record.get(key) for record in kept]
            for key in ("train_accuracy", "validation_accuracy", "validation_score")
            if any(key in record for record in kept)
        }
        epochs = [record["epoch"] for record in kept]
        seconds = sum(record["seconds"] for record in history)
        curves.append({"member": name, "epochs": epochs, "series": series, "seconds": seconds})
    return curves


def is_table(description: Description) -> bool:
    """Whether examples are shown as rows of a table: not if any member reads images."""
    return all(isinstance(member.input, TableInput) for member in description.members)
