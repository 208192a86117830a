"""``cotm tune``: search settings, and train the best of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.parameters import takes
from .data.source import STDIN, Source, require_target
from .errors import INTERRUPTED
from .fitting import new_model, source_words
from .logs import are_json
from .options import (
    PARAMETER_OPTIONS,
    DataForm,
    Drop,
    Missing,
    Model,
    NewModelFile,
    NoLimit,
    Separator,
    Target,
    TrainingFile,
    XName,
    YName,
    classifier_options,
)
from .output import print_json, print_pairs, say
from .output_files import check_model_output, check_output
from .search_options import (
    FoldCount,
    HoldOut,
    MaxEpochs,
    Metric,
    Minutes,
    PageFile,
    SamplerName,
    Searched,
    StudyFile,
    TrainingsAtOnce,
    Trials,
    dimension_of,
    folds_for,
)
from .streams import OutputError
from .summary import file_size, plain
from .text_columns import TextColumn, TextReader, text_column
from .train import warn_about_names

if TYPE_CHECKING:
    from .data.examples import Data

#: Options of a training that a search decides on itself, or has in another sense.
_OWN = ("epochs", "early_stopping", "scoring", "patience", "validation_fraction", "n_jobs")


@takes([option for option in classifier_options() if option.name not in _OWN])
def tune(
    data: TrainingFile,
    target: Target = None,
    out: NewModelFile = Path("model.cotm"),
    trials: Trials = None,
    minutes: Minutes = None,
    study: StudyFile = None,
    metric: Metric = None,
    folds: FoldCount = None,
    hold_out: HoldOut = None,
    search: Searched = None,
    sampler: SamplerName = "tpe",
    max_epochs: MaxEpochs = None,
    page: PageFile = None,
    jobs: TrainingsAtOnce = None,
    drop: Drop = None,
    x: XName = "X",
    y: YName = "y",
    separator: Separator = None,
    missing: Missing = None,
    form: DataForm = None,
    model: Model = None,
    text: TextColumn = None,
    text_as: TextReader = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what came of it as JSON, and progress aside.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    **parameters: Any,
) -> None:
    """Search settings for a file, and train a model with the best of them.

    \b
    Candidates train for a few epochs, and the best go on. What options of a
    training leave open is searched. Ctrl-C trains the best so far; with
    --study the same command goes on, also after a kill.

    \b
    Examples:
      cotm tune flowers.csv --target species --seed 1 --page search.html
      cotm tune mail.parquet --target spam --study mail.study --trials 100
    """
    from .. import CoTMSearchCV
    from .data.loading import read_training

    _check(data, folds, hold_out)
    source = require_target(
        Source.given(data, target=target, drop=drop, x=x, y=y, separator=separator,
                     missing=missing, form=form)
    )  # fmt: skip
    _check_outputs(data, out, page)
    given = {
        name: None if isinstance(value, NoLimit) else getattr(value, "value", value)
        for name, value in parameters.items()
        if value is not None
    }
    learner = new_model(model, given)
    space = None if search is None else dict(dimension_of(part, learner) for part in search)
    text = text_column(learner, text, text_as, resume=False, several="," in (source.target or ""))
    examples = read_training(learner, source, text, quiet=quiet)
    if text is None:
        warn_about_names(examples, source)
    found = CoTMSearchCV(
        learner, space, n_trials=trials or 27, minutes=minutes, scoring=metric,
        cv=folds_for(folds, hold_out, examples), sampler=sampler, max_epochs=max_epochs or "auto",
        study=study, n_jobs=jobs, verbose=0 if quiet or are_json() else 1,
    )  # fmt: skip
    found._fixed = tuple(given)
    interrupted = _fit(found, examples)
    found.best_estimator_.save(out)
    if page is not None:
        found.report(page)
    if as_json or not quiet:
        kinds = {"--model": model, "--text": text, "--text-as": text_as}
        words = ["cotm", "train", str(data), "--out", str(out), *source_words(source)]
        for flag, value in kinds.items():
            words += [] if value is None else [flag, str(getattr(value, "value", value))]
        _print_summary(found, words, out, as_json=as_json)
    if interrupted:
        _end(study)


def _check_outputs(data: Path, out: Path, page: Path | None) -> None:
    check_model_output(out, [data])
    if page is not None:
        check_output(page, [data])


def _end(study: Path | None) -> None:
    if study is not None:
        say(f"the search is kept in {study}; the same command goes on with it")
    raise typer.Exit(INTERRUPTED)


def _check(data: Path, folds: int | None, hold_out: float | None) -> None:
    if data == STDIN:
        raise typer.BadParameter(
            "a search reads a file, so that it can go on; write standard input to one",
            param_hint="DATA",
        )
    if folds is not None and hold_out is not None:
        raise typer.BadParameter("name one of --folds and --hold-out", param_hint="--hold-out")


def _fit(search: Any, examples: Data) -> bool:
    """Search; whether Ctrl-C ended it, with something found."""
    try:
        search.fit(examples.X, examples.y)
    except ImportError as error:  # of Optuna
        raise ValueError(str(error)) from error
    except KeyboardInterrupt:
        if not hasattr(search, "best_estimator_"):
            raise
        return True
    return False


def _print_summary(search: Any, words: list[str], out: Path, *, as_json: bool) -> None:
    from ..tuning.code import command_of

    flags = dict(PARAMETER_OPTIONS)
    if "--text" in words:  # which says how texts are cut up
        flags.pop("patch_shape")
    command = command_of(words, search.best_estimator_, flags)
    best = {name: _shown(value) for name, value in search.best_params_.items()}
    try:
        if as_json:
            facts = {
                "score": search.best_score_,
                "settings": best,
                "seed": search.seed_,
                "candidates": len(set(search.cv_results_["candidate"].tolist())),
                "trials_per_hour": search.trials_per_hour_,
                "interrupted": search.interrupted_,
                "python": search.code_,
                "command": command,
                "model": str(out),
            }
            print_json(plain(facts))
            return
        facts = search.trials_.facts
        shown = {name: str(value) for name, value in best.items()}
        pairs = {**facts, **shown, "model": file_size(out)}
        print_pairs({**pairs, "python": search.code_, "command": command})
    except OutputError as error:
        if not error.reader_left:  # the model is written, whoever wants to hear of it
            raise


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else repr(value)
