"""Training as a command: beginning anew or going on, and ending well on Ctrl-C."""

from __future__ import annotations

import os
import shlex
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..core.interrupts import InterruptGuard
from .data.source import Source
from .errors import INTERRUPTED
from .logs import are_json, as_line
from .options import PARAMETER_OPTIONS, ModelKind
from .output import say, visible
from .summary import is_regressor, kind_of

if TYPE_CHECKING:
    from .data.examples import Data

#: What may differ when a training is resumed: how far and where it runs, not what it learns.
_CHANGEABLE = ("epochs", "n_jobs", "backend")


def new_model(kind: ModelKind | None, given: dict[str, Any]) -> Any:
    """A classifier or regressor with the given parameters."""
    from .. import CoTMClassifier, CoTMRegressor, TMClassifier

    if kind is ModelKind.quantities:
        known = CoTMRegressor().get_params()
        foreign = [PARAMETER_OPTIONS[name] for name in given if name not in known]
        if foreign:
            raise ValueError(
                f"{', '.join(foreign)}: for classes only; leave it out with --model quantities"
            )
        return CoTMRegressor(**given)
    if kind in (None, ModelKind.coalesced):
        return CoTMClassifier(**given)
    return TMClassifier(weighted=kind is ModelKind.weighted, **given)


def resumed_model(path: Path, kind: ModelKind | None, given: dict[str, Any]) -> Any:
    """The model of a file, ready to go on: options may repeat its settings, not contradict."""
    from .models import load

    model = load(path)
    if hasattr(model, "estimators_"):
        raise ValueError(f"{path} is a composite, whose training cannot be resumed")
    # Early stopping ends by going back to the best epoch: what would follow is another
    # training than a longer one from the beginning.
    if _stops_early(model) and model._progress.best is None:
        raise ValueError(f"{path} is finished: early stopping has kept the best epoch")
    parameters = model.get_params()
    differing = [
        f"{PARAMETER_OPTIONS[name]} {value} (was {parameters[name]})"
        for name, value in given.items()
        if name not in _CHANGEABLE and parameters.get(name, value) != value
    ]
    if kind not in (None, kind_of(model)):
        differing.append(f"--model {kind.value} (was {kind_of(model).value})")
    if differing:
        raise ValueError(
            f"{path} was begun with other settings: {', '.join(differing)}; leave these options "
            "out, or train anew without --resume"
        )
    target = model._progress.until_epoch
    longer = given.get("epochs", "auto")
    if longer != "auto" and longer < target:
        raise ValueError(
            f"{path} is on its way to {target} epochs; --epochs {given['epochs']} would be fewer, "
            "and a training can only be made longer"
        )
    model.set_params(**{name: given[name] for name in _CHANGEABLE if name in given})
    until = target if longer == "auto" else longer
    # What was killed after its last epoch, before probabilities were learned, is to be ended.
    ended = is_regressor(model) or model._now().sharpness.value() is not None
    if not _stops_early(model) and model._progress.epochs >= until and ended:
        raise ValueError(f"{path} has its {until} epochs; to train longer, set --epochs")
    return model


def _stops_early(model: Any) -> bool:
    """Whether its training, with its settings or an ``eval_set``, goes by held-out examples."""
    return bool(model.early_stopping or model._progress.is_scored)


def tell_interrupted() -> None:
    """Answer the first Ctrl-C at once, for what follows may take a while.

    Called in the middle of anything, so it goes past Python's streams.
    """
    said = "interrupted; saving what is finished ..."
    with suppress(OSError):
        os.write(2, f"{as_line(said)}\n".encode() if are_json() else f"\n{said}\n".encode())


def fit(
    model: Any,
    examples: Data,
    evaluation: Data | None,
    out: Path,
    resumption: str,
    *,
    resume: bool,
) -> float:
    """Train and save; the seconds training took. Ctrl-C saves what is finished and ends the
    program, and no further one disturbs that; ``resumption`` is how to go on then."""
    finished_before = _finished_epochs(model)
    began = time.perf_counter()
    with InterruptGuard(tell_interrupted) as guard:
        try:
            eval_set = None if evaluation is None else (evaluation.X, evaluation.y)
            model.fit(examples.X, examples.y, eval_set=eval_set, resume=resume)
        except KeyboardInterrupt:
            if _finished_epochs(model) == finished_before:
                say("interrupted before an epoch was finished; nothing was written")
            else:
                model.save(out)
                say(_farewell(model, out, resumption))
            raise typer.Exit(INTERRUPTED) from None
        seconds = time.perf_counter() - began
        model.save(out)
    if guard.interrupted:
        say(f"the training had ended before; {out} is complete")
        raise typer.Exit(INTERRUPTED)
    return seconds


def _farewell(model: Any, out: Path, resumption: str) -> str:
    finished = _finished_epochs(model)
    if finished >= model.epochs_ and not _stops_early(model):
        return f"interrupted after the last epoch; {out} is complete"
    return (
        f"interrupted after epoch {finished} of {model.epochs_}; it is saved. Go on with:\n"
        f"  {visible(resumption)}"
    )


def _finished_epochs(model: Any) -> int:
    return model._progress.epochs if hasattr(model, "machine_") else 0


def resume_command(
    source: Source, eval_file: Path | None, out: Path, *, stream: bool | None = None
) -> str:
    """What to type to go on with a training that was interrupted."""
    words = ["cotm", "train", str(source.path), "--out", str(out), "--resume"]
    words += source_words(source)
    words += [] if eval_file is None else ["--eval", str(eval_file)]
    words += [] if stream is None else ["--stream" if stream else "--no-stream"]
    return shlex.join(words)


def source_words(source: Source) -> list[str]:
    """The options that say how a file is read."""
    words: list[str] = []
    options = {"--target": source.target, "--separator": source.separator, "--from": source.form}
    if not source.is_table:
        options |= {"--x": source.x, "--y": source.y}
    for option, value in options.items():
        words += [option, value] if value is not None else []
    for column in source.drop:
        words += ["--drop", column]
    for text in source.missing or ():
        words += ["--missing", text]
    return words
